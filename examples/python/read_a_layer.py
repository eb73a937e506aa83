"""Reads one GLU layer from arrays: no run, no file."""

import numpy as np

import glint

rng = np.random.default_rng(0)
L, R = rng.normal(size=(2, 64, 32)).astype(np.float32)
P = rng.normal(size=(8, 64)).astype(np.float32)
inputs = rng.normal(size=(500, 32)).astype(np.float32)

layer = glint.GLU(L, R, P, gate="silu", norm=True)
form = layer.read(out=np.eye(8)[0], inputs=inputs)
print(form)
print("largest eigenvalue", round(float(form.values[0]), 2), "of", len(form.values))
