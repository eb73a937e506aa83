"""The language model in JAX: the whole step, clipping and AdamW included, is one compiled function that reuses the memory
of weights and moments."""
import functools
import math

import jax
import jax.numpy as jnp

from jax_gates import gate, glu, linear
from jax_step import adamw

EPS = 1e-8


def norm(x):
    x = x.astype(jnp.float32)
    return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + EPS)


def draw_weights(vocab=4096, layers=4, d=128, hidden=128, seed=0):
    keys = iter(jax.random.split(jax.random.key(seed), 4 * layers + 2))
    matrix = lambda rows, cols: jax.random.uniform(next(keys), (rows, cols), minval=-1, maxval=1) / cols ** 0.5  # noqa: E731
    blocks = [{"qkv": matrix(3 * d, d), "o": matrix(d, d), "w": matrix(2 * hidden, d), "p": matrix(d, hidden)} for _ in range(layers)]
    return {"wte": jax.random.normal(next(keys), (vocab, d)), "head": matrix(vocab, d), "blocks": blocks}


def angles(context, half):
    angle = jnp.arange(context)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    return jnp.cos(angle), jnp.sin(angle)


def turned(x, qkv, heads, cos, sin, product):
    """Queries, keys and values of x [b, t, d], each [b, heads, t, size]; the first two with their positions."""
    b, t, d = x.shape
    q, k, v = product(norm(x), qkv).reshape(b, t, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)

    def turn(z):
        left, right = jnp.split(z, 2, axis=-1)
        return jnp.concatenate((left * cos - right * sin, right * cos + left * sin), axis=-1).astype(v.dtype)

    return turn(q), turn(k), v


def rest(x, y, block, layers, gate_of, product):
    """From what attention gave, y [b, heads, t, size], to the end of the block."""
    x = x + product(y.transpose(0, 2, 1, 3).reshape(x.shape), block["o"]) / math.sqrt(2 * layers)
    return x + product(glu(norm(x), block["w"], gate_of, product), block["p"])


def logits_of(weights, tokens, heads=4, gate_name="sqs", precision="f32"):
    product, t, layers = linear(precision), tokens.shape[1], len(weights["blocks"])
    size = weights["wte"].shape[1] // heads
    cos, sin = angles(t, size // 2)
    hidden = jnp.triu(jnp.full((t, t), -jnp.inf), 1)
    x = weights["wte"][tokens]
    for block in weights["blocks"]:
        q, k, v = turned(x, block["qkv"], heads, cos, sin, product)
        scores = (q @ k.swapaxes(2, 3)).astype(jnp.float32) / math.sqrt(size) + hidden
        x = rest(x, jax.nn.softmax(scores).astype(v.dtype) @ v, block, layers, gate(gate_name), product)
    return product(norm(x), weights["head"])


def loss_of(weights, inputs, targets, tokens, **options):
    """The sum over the targets that are not -100, divided by `tokens`."""
    logits = logits_of(weights, inputs, **options).astype(jnp.float32)
    chosen = jnp.take_along_axis(logits, jnp.maximum(targets, 0)[..., None], axis=2)[..., 0]
    return jnp.where(targets < 0, 0, jax.nn.logsumexp(logits, axis=2) - chosen).sum() / tokens


class Trainer:
    """Steps as glint's: micro-batches forward and backward, clipping, AdamW. Targets of padding are -100."""

    def __init__(self, parts, precision="f32", **shape):
        weights = draw_weights(**shape)
        self.state = [weights, jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights), jnp.zeros(())]
        self.parts = [tuple(jnp.asarray(p) for p in part) for part in parts]
        tokens = sum(int((targets >= 0).sum()) for _, targets in parts)

        @functools.partial(jax.jit, donate_argnums=range(4))
        def step(weights, moments, squares, t, parts):
            gradients, loss = jax.tree.map(jnp.zeros_like, weights), 0
            if len({inputs.shape for inputs, _ in parts}) == 1:  # one loop body instead of a copy for each
                def add(sums, part):
                    return jax.tree.map(jnp.add, sums, jax.value_and_grad(loss_of)(weights, *part, tokens, precision=precision)), None

                (loss, gradients), _ = jax.lax.scan(add, (0.0, gradients), tuple(jnp.stack(p) for p in zip(*parts)))
            else:
                for part in parts:
                    more, partial = jax.value_and_grad(loss_of)(weights, *part, tokens, precision=precision)
                    loss, gradients = loss + more, jax.tree.map(jnp.add, gradients, partial)
            size = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(gradients)))
            gradients = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / (size + 1e-6)), gradients)
            return *adamw(weights, moments, squares, gradients, t + 1, betas=(0.9, 0.95)), t + 1, loss

        self.compiled = step

    def step(self):
        *self.state, loss = self.compiled(*self.state, self.parts)
        return jax.block_until_ready(loss)


def batches(lengths, micro_batch, vocab=4096):
    """Rows padded to the longest of their micro-batch, which is filled with rows of about the same length."""
    import numpy
    draw, lengths, out = numpy.random.default_rng(0), sorted(lengths), []
    for first in range(0, len(lengths), micro_batch):
        part = lengths[first:first + micro_batch]
        inputs = numpy.zeros((len(part), part[-1]), numpy.int32)
        targets = numpy.full_like(inputs, -100)
        for i, n in enumerate(part):
            inputs[i, :n], targets[i, :n] = draw.integers(0, vocab, (2, n))
        out.append((inputs, targets))
    return out


def make(case, precision):
    return Trainer(batches(case["lengths"], case["micro_batch"]), precision).step
