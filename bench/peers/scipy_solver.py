"""The strongest eigenpairs of a wide GLU layer with SciPy's eigsh (ARPACK) on a LinearOperator: half of them of either end.

"scipy" keeps the weights in double and multiplies in double, as accurate as glint; "scipy_f32" keeps and multiplies in float,
which is half the memory traffic and leaves six digits. Both stack L and R, so that a product is two calls of BLAS."""
import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from solver_weights import layer

WARM = 0  # rounds before the clock: a product is nothing but memory traffic
TOLERANCE = {"scipy": 1e-12, "scipy_f32": 1e-6}


def make(case, peer):
    kind = np.float64 if peer == "scipy" else np.float32
    left, right, norm, q = layer(case)
    h, d = left.shape
    both = np.empty((2 * h, d), kind)
    both[:h], both[h:] = left, right
    both *= norm.astype(kind)
    half = (q / 2).astype(kind)
    count = 0

    def product(x):
        nonlocal count
        count += 1
        p = both @ x.astype(kind, copy=False).ravel()
        return both.T @ np.concatenate((half * p[h:], half * p[:h]))

    operator = LinearOperator((d, d), matvec=product, dtype=kind)
    start = np.random.default_rng(1).standard_normal(d).astype(kind)

    def step():
        nonlocal count
        count = 0
        values, _ = eigsh(operator, k=case["k"], which="BE", tol=TOLERANCE[peer], v0=start, ncv=min(d, case["ncv"]))
        np.savez(case["answers"] + peer + ".npz", values=np.sort(values), products=count)

    return step
