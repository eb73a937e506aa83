"""The image models in JAX: the whole step, noise and AdamW included, is one compiled function that reuses the memory of
weights and moments."""
import functools

import jax
import jax.numpy as jnp

from jax_gates import gate, glu, linear


def adamw(weights, moments, squares, gradients, t, lr=1e-3, betas=(0.9, 0.999), decay=0.1, eps=1e-8):
    """All are trees of arrays; t counts from 1."""
    moments = jax.tree.map(lambda m, g: betas[0] * m + (1 - betas[0]) * g, moments, gradients)
    squares = jax.tree.map(lambda v, g: betas[1] * v + (1 - betas[1]) * g * g, squares, gradients)
    size, root = lr / (1 - betas[0] ** t), jnp.sqrt(1 - betas[1] ** t)
    weights = jax.tree.map(lambda w, m, v: w * (1 - lr * decay) - size * m / (jnp.sqrt(v) / root + eps), weights, moments, squares)
    return weights, moments, squares


def loss_of(weights, x, labels, gate_name="sqs", precision="f32"):
    product = linear(precision)
    x = product(x, weights["embed"])
    for w in weights["glu"]:
        x = glu(x, w, gate(gate_name), product)
    logits = product(x, weights["head"]).astype(jnp.float32)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


def draw_weights(layers, width, inputs=784, classes=10, seed=0):
    keys = iter(jax.random.split(jax.random.key(seed), layers + 2))
    matrix = lambda rows, cols: jax.random.uniform(next(keys), (rows, cols), minval=-1, maxval=1) / cols ** 0.5  # noqa: E731
    return {"embed": matrix(width, inputs), "head": matrix(classes, width), "glu": [matrix(2 * width, width) for _ in range(layers)]}


class Trainer:
    """Steps as glint's: gather, noise on half of the samples, forward, backward, AdamW."""

    def __init__(self, layers, width, batch, precision="f32", images=None, labels=None, gate_name="sqs"):
        keys = jax.random.split(jax.random.key(1), 3)
        images = images if images is not None else jax.random.randint(keys[0], (60000, 784), 0, 256, dtype=jnp.uint8)
        labels = labels if labels is not None else jax.random.randint(keys[1], (60000,), 0, 10)
        weights = draw_weights(layers, width)
        self.state = [weights, jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights), jnp.zeros(()), keys[2]]

        @functools.partial(jax.jit, donate_argnums=range(5))
        def step(weights, moments, squares, t, key, lr, index, images, labels):
            key, for_index, for_noise = jax.random.split(key, 3)
            if index is None:
                index = jax.random.randint(for_index, (batch,), 0, images.shape[0])
            x = images[index].astype(jnp.float32) / 255
            # The order is random, so the first half is a random half.
            x = x.at[:batch // 2].add(jax.random.normal(for_noise, (batch // 2, x.shape[1])))
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, labels[index], gate_name, precision)
            return *adamw(weights, moments, squares, gradients, t + 1, lr), t + 1, key, loss

        self.compiled, self.data = step, (images, labels)

    def step(self, index=None, lr=1e-3):
        *self.state, loss = self.compiled(*self.state, lr, index, *self.data)
        return jax.block_until_ready(loss)


def make(case, precision):
    return Trainer(case["layers"], case["width"], case["batch"], precision).step
