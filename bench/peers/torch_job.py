#!/usr/bin/env python3
"""Recipe mnist-4.1 (SQS) from start to end in compiled PyTorch: torch_job.py FOLDER-OF-MNIST PRECISION THREADS prints
seconds, test loss and test accuracy as JSON."""
import gzip
import json
import os
import sys
import time

import numpy
import torch
import torch.nn.functional as F

from torch_step import Trainer

EPOCHS, BATCH = 20, 2048


def read_idx(folder, name):
    path = os.path.join(folder, name)
    data = gzip.open(path + ".gz").read() if os.path.exists(path + ".gz") else open(path, "rb").read()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape).copy())


def main():
    folder, precision, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    images = read_idx(folder, "train-images-idx3-ubyte").flatten(1)
    labels = read_idx(folder, "train-labels-idx1-ubyte").long()
    test_x = read_idx(folder, "t10k-images-idx3-ubyte").flatten(1).float() / 255
    test_y = read_idx(folder, "t10k-labels-idx1-ubyte").long()
    Trainer(1, 256, BATCH, precision, True, images, labels).step()
    trainer = Trainer(1, 256, BATCH, precision, True, images, labels)
    start = time.perf_counter()
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(trainer.optimizer, EPOCHS)
    for _ in range(EPOCHS):
        order = torch.randperm(len(images))
        for first in range(0, len(images) - BATCH + 1, BATCH):
            trainer.step(order[first:first + BATCH])
        schedule.step()
        with torch.no_grad():
            logits = trainer.model(test_x)
            loss, accuracy = F.cross_entropy(logits, test_y).item(), (logits.argmax(1) == test_y).float().mean().item()
    print(json.dumps({"s": time.perf_counter() - start, "loss": loss, "accuracy": accuracy}))


if __name__ == "__main__":
    main()
