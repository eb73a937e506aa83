"""Forward and backward of a one-layer GLU in PyTorch, and the gates."""
import math
import types

import torch
import torch.nn.functional as F

C, LAMBDA = 0.01, 0.5


def gate(name):
    return {"sqs": lambda h: (h - C * torch.sign(h)) / (1 + LAMBDA * h.abs()), "identity": lambda h: h, "relu": F.relu,
            "gelu": F.gelu, "gelu-tanh": lambda h: F.gelu(h, approximate="tanh"), "silu": F.silu}[name]


def autocast(precision):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16")


def compiled_alone(method, **options):
    """torch.compile of a copy with code of its own: the compiler counts and searches what it made by the code, and gives up
    after eight."""
    code = method.__code__
    compiled_alone.made += 1
    copy = types.FunctionType(code.replace(co_name="%s_%d" % (code.co_name, compiled_alone.made)), method.__globals__,
                              closure=method.__func__.__closure__)
    return torch.compile(types.MethodType(copy, method.__self__), **options)


compiled_alone.made = 0


class Layer:
    def __init__(self, batch, width, gate_name, precision="f32", compiled=False):
        torch.manual_seed(1)
        self.x = ((torch.rand(batch, width) * 2 - 1) * math.sqrt(3)).requires_grad_(True)
        self.w = ((torch.rand(2 * width, width) * 2 - 1) / math.sqrt(width)).requires_grad_(True)
        self.dy = (torch.rand(batch, width) * 2 - 1) * 1e-3
        self.gate, self.precision = gate(gate_name), precision
        self.forward = compiled_alone(self.forward_of, dynamic=False) if compiled else self.forward_of

    def forward_of(self, x, w):
        with autocast(self.precision):
            left, right = F.linear(x, w).chunk(2, dim=1)
            return self.gate(left) * right

    def step(self):
        self.x.grad = self.w.grad = None
        y = self.forward(self.x, self.w)
        y.backward(self.dy.to(y.dtype))


def make(case, precision, compiled):
    return Layer(case["batch"], case["width"], case["gate"], precision, compiled).step
