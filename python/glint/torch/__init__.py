"""glint's gates and GLU layers for PyTorch, and PyTorch's models for glint.

`SQS`, `Gate` and `GLU` are modules, `sqs` and `glu` functions. On the CPU in float32 they run on glint's fused
loops, one pass over memory forward and one back; elsewhere, and under `torch.compile`, they are plain operations
of PyTorch. `read` reads the GLU of a model that is there, `capture` collects what it sees, `to_module` and
`from_module` take whole models over and back; `register`, `open`, `direction` and `convert_` are for models of Hugging Face.

>>> import torch, glint.torch as gt
>>> gt.sqs(torch.tensor([-2.0, 0.0, 2.0]))
tensor([-0.9950, -0.0100,  0.9950])
>>> gt.GLU(8, 16, 8, gate="sqs")(torch.ones(3, 8)).shape
torch.Size([3, 8])
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as _e:
    raise ImportError("glint.torch needs PyTorch: pip install torch") from _e

from . import _ops  # noqa: F401
from ._families import GluParts, find_glus, parts_of
from ._functions import gate, glu, sqs
from ._hugging_face import convert_, direction, open, register
from ._models import Classifier, Transformer, from_module, to_module
from ._modules import GLU, SQS, Gate
from ._reading import capture, read

__all__ = [
    "GLU",
    "SQS",
    "Classifier",
    "Gate",
    "GluParts",
    "Transformer",
    "capture",
    "convert_",
    "direction",
    "find_glus",
    "from_module",
    "gate",
    "glu",
    "open",
    "parts_of",
    "read",
    "register",
    "sqs",
    "to_module",
]
