"""The image models in PyTorch, written as a user would who wants speed: stacked weights, fused loss, no wasted pass."""
import torch
import torch.nn.functional as F


def gate(name, table=None, c=0.01, lam=0.5):
    """Fused where PyTorch has it; else the code that `glint gates --json` (table) gives."""
    fused = {"sqs": lambda h: (h - c * torch.sign(h)) / (1 + lam * h.abs()), "identity": lambda h: h, "relu": F.relu,
             "gelu": F.gelu, "silu": F.silu, "gelu-tanh": lambda h: F.gelu(h, approximate="tanh")}
    if name in fused:
        return fused[name]
    words = {"torch": torch}
    exec(table["python"], words)
    return lambda h: words["GATES"][name](h, c, lam, 1.0)


class Glu(torch.nn.Module):
    def __init__(self, width, gate_name):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(2 * width, width).uniform_(-1, 1) / width ** 0.5)
        self.gate = gate(gate_name)

    def forward(self, x):
        l, r = F.linear(x, self.weight).chunk(2, dim=1)
        return self.gate(l) * r


def classifier(layers, width, gate_name, inputs=784, classes=10):
    return torch.nn.Sequential(torch.nn.Linear(inputs, width, bias=False),
                               *[Glu(width, gate_name) for _ in range(layers)],
                               torch.nn.Linear(width, classes, bias=False))


class Trainer:
    """Steps as glint's: gather, noise on half of the samples, forward, backward, AdamW."""

    def __init__(self, layers, width, batch, gate_name, bf16, images=None, labels=None):
        torch.manual_seed(0)
        self.model = classifier(layers, width, gate_name)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.1)
        self.images = images if images is not None else torch.randint(0, 256, (60000, 784), dtype=torch.uint8)
        self.labels = labels if labels is not None else torch.randint(0, 10, (60000,))
        self.batch, self.bf16 = batch, bf16

    def step(self, index=None):
        if index is None:
            index = torch.randint(0, self.images.shape[0], (self.batch,))
        x = self.images[index].float().div_(255)
        noisy = torch.rand(index.shape[0]) < 0.5
        x[noisy] += torch.randn(int(noisy.sum()), x.shape[1])
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            loss = F.cross_entropy(self.model(x).float(), self.labels[index])
        loss.backward()
        self.optimizer.step()
        return loss
