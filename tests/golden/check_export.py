#!/usr/bin/env python3
"""Loads an exported folder with its own modeling_glint.py and compares logits: check_export.py FOLDER DATA LOGITS.npy

DATA has the IDX files whose test images glint eval computed LOGITS.npy from. In single precision, as the model computes."""
import sys
from pathlib import Path

import numpy
import torch

from check_torch import TOLERANCE, idx


def main():
    folder, data, file = map(Path, sys.argv[1:])
    sys.path.insert(0, str(folder))
    from modeling_glint import GlintClassifier
    model = GlintClassifier.from_pretrained(folder)
    images = torch.from_numpy(idx(data, "t10k-images-idx3-ubyte").astype(numpy.float32) / 255)
    with torch.no_grad():
        logits = model(images)
    expected = torch.from_numpy(numpy.load(file))
    allowed = TOLERANCE * max(1.0, expected.abs().max().item())
    worst = (logits - expected).abs().max().item()
    print(f"{folder}: largest difference of logits {worst:.3g}, allowed {allowed:.3g}")
    # The quadratic form of a bilinear layer without bias, residual and norm is the logit.
    k = model.config
    if k["gate"] == "identity" and not (k["bias"] or k["residual"]) and k["norm"] == "none" and k["layers"] == 1:
        x = model.embed(images.flatten(1)).double()
        form = torch.stack([((x @ model.interaction(u)) * x).sum(1) for u in range(k["classes"])], 1)
        apart = (form - logits).abs().max().item()
        print(f"{folder}: largest difference of the quadratic form {apart:.3g}")
        worst = max(worst, apart)
    return 0 if worst <= allowed else 1


if __name__ == "__main__":
    sys.exit(main())
