"""The image models in PyTorch, written as a user would who wants speed: stacked weights, fused loss and AdamW, no wasted
pass. Compiled: the step without its optimiser is one graph, which torch.compile differentiates and fuses; of its modes
none is faster than the default here (max-autotune, freezing), nor is a compiled AdamW faster than PyTorch's fused one."""
import torch
import torch.nn.functional as F

from torch_gates import autocast, compiled_alone, gate


def matrix(rows, cols):
    return torch.nn.Parameter(torch.empty(rows, cols).uniform_(-1, 1) / cols ** 0.5)


class Classifier(torch.nn.Module):
    def __init__(self, layers, width, gate_name="sqs", inputs=784, classes=10):
        super().__init__()
        self.embed, self.head = matrix(width, inputs), matrix(classes, width)
        self.glu = torch.nn.ParameterList(matrix(2 * width, width) for _ in range(layers))
        self.gate = gate(gate_name)

    def forward(self, x):
        x = F.linear(x, self.embed)
        for w in self.glu:
            left, right = F.linear(x, w).chunk(2, dim=1)
            x = self.gate(left) * right
        return F.linear(x, self.head)


class Trainer:
    """Steps as glint's: gather, noise on half of the samples, forward, backward, AdamW."""

    def __init__(self, layers, width, batch, precision="f32", compiled=False, images=None, labels=None, gate_name="sqs"):
        torch.manual_seed(0)
        self.model = Classifier(layers, width, gate_name)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
        self.images = images if images is not None else torch.randint(0, 256, (60000, 784), dtype=torch.uint8)
        self.labels = labels if labels is not None else torch.randint(0, 10, (60000,))
        self.batch, self.precision = batch, precision
        self.loss = compiled_alone(self.noisy_loss, dynamic=False) if compiled else self.noisy_loss

    def loss_of(self, x, labels):
        with autocast(self.precision):
            logits = self.model(x)
        return F.cross_entropy(logits.float(), labels)

    def noisy_loss(self, index, noise):
        """The order is random, so the first half is a random half."""
        x, half = self.images[index].float() / 255, noise.shape[0]
        if torch.compiler.is_compiling():  # one pass without a copy
            x = torch.cat((x[:half] + noise, x[half:]))
        else:
            x[:half] += noise
        return self.loss_of(x, self.labels[index])

    def step(self, index=None):
        if index is None:
            index = torch.randint(0, self.images.shape[0], (self.batch,))
        self.optimizer.zero_grad(set_to_none=True)
        # Drawn outside of the graph: what the compiler makes of randn takes five times as long.
        loss = self.loss(index, torch.randn(index.shape[0] // 2, self.images.shape[1]))
        loss.backward()
        self.optimizer.step()
        return loss


def make(case, precision, compiled):
    return Trainer(case["layers"], case["width"], case["batch"], precision, compiled).step
