"""All eigenpairs of ten symmetric matrices in double, in PyTorch."""
import torch

UNITS = 10


def make(case, precision, compiled):
    torch.manual_seed(1)
    a = torch.randn(UNITS, case["width"], case["width"], dtype=torch.float64)
    a = torch.tril(a) + torch.tril(a, -1).transpose(1, 2)
    return lambda: torch.linalg.eigh(a)
