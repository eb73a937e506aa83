"""Stories of 255 tokens from the language model in PyTorch, with a cache of keys and values, sampled at temperature 0.8."""
import torch
import torch.nn.functional as F

from torch_gates import compiled_alone
from torch_lm import Transformer, norm

TEMPERATURE, CONTEXT = 0.8, 256


class Cached:
    """The model a token at a time: keys and values lie in buffers of the whole context."""

    def __init__(self, model, stories, compiled=False):
        first = model.blocks[0]
        d, heads = first.o.shape[0], first.heads
        self.model, self.stories = model, stories
        self.cache = [[torch.zeros(stories, heads, CONTEXT, d // heads, dtype=first.o.dtype) for _ in "kv"] for _ in model.blocks]
        self.logits = compiled_alone(self.logits_of, dynamic=True) if compiled else self.logits_of

    def logits_of(self, tokens, t):
        x = F.embedding(tokens, self.model.wte)[:, None]
        for block, (keys, values) in zip(self.model.blocks, self.cache):
            q, k, v = block.turned(x, self.model.cos[t:t + 1], self.model.sin[t:t + 1])
            keys[:, :, t:t + 1] = k
            values[:, :, t:t + 1] = v
            x = block.rest(x, F.scaled_dot_product_attention(q, keys[:, :, :t + 1], values[:, :, :t + 1]))
        return F.linear(norm(x), self.model.head)[:, 0]

    def draw(self, tokens, t, uniform):
        """Not compiled: the compiler's cumsum takes far longer than PyTorch's own."""
        chances = torch.softmax(self.logits(tokens, t).float() / TEMPERATURE, dim=-1).cumsum(-1)
        return torch.searchsorted(chances, uniform * chances[:, -1:]).clamp_(max=chances.shape[1] - 1)[:, 0]

    def generate(self):
        with torch.no_grad():
            tokens = torch.ones(self.stories, dtype=torch.long)
            for t in range(CONTEXT - 1):
                tokens = self.draw(tokens, t, torch.rand(self.stories, 1))
        return tokens


def make(case, precision, compiled):
    torch.manual_seed(0)
    model = Transformer()
    return Cached(model.bfloat16() if precision == "bf16" else model, case["stories"], compiled).generate
