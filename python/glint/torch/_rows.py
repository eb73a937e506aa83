"""Tensors as rows of neighbours, at one distance from row to row: what the loops and the kernels take."""

from __future__ import annotations

import torch


def in_rows(t: torch.Tensor) -> bool:
    """Whether the elements lie in rows of neighbours at one distance."""
    if t.is_contiguous():
        return True
    shape, strides = t.shape, t.stride()
    if shape[-1] > 1 and strides[-1] != 1:
        return False
    wanted = 0  # the stride that the next axis to the left must have; 0: any
    for size, stride in zip(reversed(shape[:-1]), reversed(strides[:-1])):
        if size == 1:
            continue
        if stride < shape[-1] or (wanted and stride != wanted):
            return False
        wanted = stride * size
    return True


def row_of(t: torch.Tensor) -> int:
    """Elements from one row to the next."""
    if not t.is_contiguous():
        for size, stride in zip(reversed(t.shape[:-1]), reversed(t.stride()[:-1])):
            if size != 1:
                return stride
    return t.shape[-1] if t.dim() else 1


def shape_of(t: torch.Tensor) -> tuple[int, int]:
    """Rows and columns."""
    cols = t.shape[-1] if t.dim() else 1
    return (t.numel() // cols if cols else 0), cols
