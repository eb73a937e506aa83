#!/usr/bin/env python3
"""Loads finished runs into PyTorch and compares: check_torch.py RUN... --data FOLDER [--logits FILE.npy]

FOLDER has the IDX files that the runs were trained on. The test loss and the accuracy in run.json must be those that PyTorch
finds with the weights of model.safetensors; with --logits, the logits of the test set as well, to 1e-5 of the largest."""
import argparse
import gzip
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import numpy  # noqa: E402
import torch  # noqa: E402

from torch_classifier import Classifier, read_safetensors  # noqa: E402

TOLERANCE = 1e-5


def idx(folder, name):
    path = next(p for p in (folder / name, folder / (name + ".gz")) if p.exists())
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def check(run, images, labels, logits_file):
    config = json.loads((run / "config.json").read_text())
    result = json.loads((run / "run.json").read_text())["result"]
    model = Classifier(config)
    model.load_state_dict(read_safetensors(run / "model.safetensors"), strict=True)
    model.double()
    with torch.no_grad():
        logits = model(images)
        loss = torch.nn.functional.cross_entropy(logits, labels).item()
    accuracy = (logits.argmax(1) == labels).double().mean().item()
    all_good = True

    def compare(what, torch_value, glint_value, allowed):
        nonlocal all_good
        good = abs(torch_value - glint_value) <= allowed
        all_good = all_good and good
        print(f"{run}: {what} {torch_value:.9g} in PyTorch, {glint_value:.9g} in glint{'' if good else '  DIFFERENT'}")

    compare("test loss", loss, result["test_loss"], TOLERANCE * max(1.0, abs(loss)))
    # Two logits that are equal but for rounding may change places.
    top = logits.topk(2, 1).values
    ties = ((top[:, 0] - top[:, 1]) < TOLERANCE * logits.abs().max()).double().mean().item()
    compare("test accuracy", accuracy, result["test_accuracy"], ties + 1e-12)
    if logits_file:
        other = torch.from_numpy(numpy.load(logits_file).astype(numpy.float64))
        compare("largest difference of logits", 0.0, (other - logits).abs().max().item(),
                TOLERANCE * logits.abs().max().item())
    return all_good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--logits", type=Path)
    a = parser.parse_args()
    images = idx(a.data, "t10k-images-idx3-ubyte").astype(numpy.float64)
    images = torch.from_numpy(images.reshape(len(images), -1) / 255)
    labels = torch.from_numpy(idx(a.data, "t10k-labels-idx1-ubyte").astype(numpy.int64))
    return 0 if all([check(run, images, labels, a.logits) for run in a.runs]) else 1


if __name__ == "__main__":
    sys.exit(main())
