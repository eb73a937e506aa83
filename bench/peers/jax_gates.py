"""Forward and backward of a one-layer GLU in JAX, and the gates."""
import math

import jax
import jax.numpy as jnp

C, LAMBDA = 0.01, 0.5


def gate(name):
    return {"sqs": lambda h: (h - C * jnp.sign(h)) / (1 + LAMBDA * jnp.abs(h)), "identity": lambda h: h, "relu": jax.nn.relu,
            "gelu": lambda h: jax.nn.gelu(h, approximate=False), "gelu-tanh": jax.nn.gelu, "silu": jax.nn.silu}[name]


def linear(precision):
    """x [m, k], w [n, k] -> x w'. In bf16 the operands and the result are rounded, as PyTorch's autocast does."""
    def f32(x, w):
        return x @ w.T

    def bf16(x, w):
        return x.astype(jnp.bfloat16) @ w.T.astype(jnp.bfloat16)

    return bf16 if precision == "bf16" else f32


def glu(x, w, gate_of, linear_of):
    left, right = jnp.split(linear_of(x, w), 2, axis=-1)
    return gate_of(left) * right


def layer_gradients(gate_name, precision):
    """(x, w, dy) -> (dx, dw)"""
    def step(x, w, dy):
        y, back = jax.vjp(lambda x, w: glu(x, w, gate(gate_name), linear(precision)), x, w)
        return back(dy.astype(y.dtype))

    return jax.jit(step)


def make(case, precision):
    batch, width = case["batch"], case["width"]
    keys = jax.random.split(jax.random.key(1), 3)
    draw = lambda key, shape, size: jax.random.uniform(key, shape, minval=-size, maxval=size)  # noqa: E731
    x, w, dy = draw(keys[0], (batch, width), math.sqrt(3)), draw(keys[1], (2 * width, width), width ** -0.5), draw(keys[2], (batch, width), 1e-3)
    step = layer_gradients(case["gate"], precision)
    return lambda: jax.block_until_ready(step(x, w, dy))
