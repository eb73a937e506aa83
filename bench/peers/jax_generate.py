"""Stories of 255 tokens from the language model in JAX, with a cache of keys and values, sampled at temperature 0.8. A
whole story is one compiled function. Attention looks at as many parts of the cache as are in use."""
import math

import jax
import jax.numpy as jnp

from jax_gates import gate, linear
from jax_lm import angles, draw_weights, norm, rest, turned

TEMPERATURE, CONTEXT, PART = 0.8, 256, 64


def logits_of(weights, cache, tokens, t, used, heads=4, precision="f32"):
    """One token of each story at place t; `used` places of the cache are looked at."""
    product, layers = linear(precision), len(weights["blocks"])
    size = weights["wte"].shape[1] // heads
    cos, sin = (jax.lax.dynamic_slice_in_dim(a, t, 1) for a in angles(CONTEXT, size // 2))
    hidden = jnp.where(jnp.arange(used) <= t, 0, -jnp.inf)
    x, out = weights["wte"][tokens][:, None], []
    for block, (keys, values) in zip(weights["blocks"], cache):
        q, k, v = turned(x, block["qkv"], heads, cos, sin, product)
        keys = jax.lax.dynamic_update_slice_in_dim(keys, k, t, axis=2)
        values = jax.lax.dynamic_update_slice_in_dim(values, v, t, axis=2)
        scores = (q @ keys[:, :, :used].swapaxes(2, 3)).astype(jnp.float32) / math.sqrt(size) + hidden
        y = jax.nn.softmax(scores).astype(v.dtype) @ values[:, :, :used]
        x = rest(x, y, block, layers, gate("sqs"), product)
        out.append((keys, values))
    return product(norm(x), weights["head"])[:, 0].astype(jnp.float32), out


def empty_cache(weights, stories, heads, precision):
    shape = (stories, heads, CONTEXT, weights["wte"].shape[1] // heads)
    kind = jnp.bfloat16 if precision == "bf16" else jnp.float32
    return [(jnp.zeros(shape, kind), jnp.zeros(shape, kind)) for _ in weights["blocks"]]


def pick(chances, uniform):
    """The token whose share of [0, 1) holds the number; sums of 64 first, because jnp.cumsum of thousands is slow here."""
    b, vocab = chances.shape
    parts = chances.reshape(b, vocab // PART, PART)
    ends = parts.sum(2) @ jnp.triu(jnp.ones((vocab // PART, vocab // PART)))
    goal = uniform * ends[:, -1:]
    part = jnp.minimum((ends <= goal).sum(1), ends.shape[1] - 1)
    before = jnp.where(part > 0, jnp.take_along_axis(ends, part[:, None] - 1, axis=1)[:, 0], 0)
    inside = jnp.take_along_axis(parts, part[:, None, None], axis=1)[:, 0] @ jnp.triu(jnp.ones((PART, PART)))
    return (part * PART + jnp.minimum((before[:, None] + inside <= goal).sum(1), PART - 1)).astype(jnp.int32)


def generator(stories, precision, heads=4):
    @jax.jit
    def generate(weights, key):
        uniforms = jax.random.uniform(key, (CONTEXT, stories, 1))
        state = jnp.ones(stories, jnp.int32), empty_cache(weights, stories, heads, precision)
        for first in range(0, CONTEXT, PART):
            def draw(t, state, used=first + PART):
                logits, cache = logits_of(weights, state[1], state[0], t, used, heads, precision)
                return pick(jax.nn.softmax(logits / TEMPERATURE), uniforms[t]), cache

            state = jax.lax.fori_loop(first, min(first + PART, CONTEXT - 1), draw, state)
        return state[0]

    return generate


def make(case, precision):
    weights, generate, key = draw_weights(), generator(case["stories"], precision), jax.random.key(0)
    if precision == "bf16":
        weights = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)
    return lambda: jax.block_until_ready(generate(weights, key))
