"""All eigenpairs of ten symmetric matrices in double, in JAX."""
import jax

UNITS = 10

jax.config.update("jax_enable_x64", True)


def make(case, precision):
    a = jax.random.normal(jax.random.key(1), (UNITS, case["width"], case["width"]), dtype="float64")
    eigh = jax.jit(lambda m: jax.numpy.linalg.eigh(m, symmetrize_input=False))
    a = (a + a.swapaxes(1, 2)) / 2
    return lambda: jax.block_until_ready(eigh(a))
