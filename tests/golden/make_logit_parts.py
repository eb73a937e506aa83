#!/usr/bin/env python3
"""Golden values for `glint explain` of language models: tests/golden/logit_parts.json.

    pip install torch==2.13.0 transformers==5.23.0 numpy
    python tests/golden/make_logit_parts.py

For the tiny models in tests/golden/families (make_llama_family.py) transformers runs 12 tokens in float32. Hooks see
what the embedding, every attention and every GLU add to the residual stream at the last token, behind the norms that
follow them. In double, the logit of one token and its difference to another are split along the direct path: each
part times the unembedding and the weights of the last norm, with the deviation or rms of that norm as it is there.
Logits are those before a cap: what the head itself gives."""
import json
from pathlib import Path

import numpy as np
import torch
import transformers as tf

HERE = Path(__file__).resolve().parent
TOKENS = [1, 7, 23, 38, 5, 5, 30, 12, 9, 17, 3, 33]
TOKEN, AGAINST = 21, 4
# Families whose attention and GLU go through a norm before they are added.
NORMED = ("gemma2", "gemma3", "olmo2")


def array(t):
    return t.detach().double().numpy()


def parts_of(name):
    model = tf.AutoModelForCausalLM.from_pretrained(HERE / "families" / name, dtype=torch.float32,
                                                    attn_implementation="eager").eval()
    seen = {}

    def keep(key):
        def hook(_, __, output):
            seen[key] = array((output[0] if isinstance(output, tuple) else output)[0, -1])
        return hook

    for i, layer in enumerate(model.model.layers):
        after = name in NORMED
        (layer.post_attention_layernorm if after else layer.self_attn).register_forward_hook(keep(f"attention{i}"))
        (layer.post_feedforward_layernorm if after else layer.mlp).register_forward_hook(keep(f"glu{i}"))
    model.lm_head.register_forward_hook(keep("logits"))
    first = {}
    model.model.layers[0].register_forward_pre_hook(
        lambda _, args, kwargs: first.update(x=array((args[0] if args else kwargs["hidden_states"])[0, -1])),
        with_kwargs=True)
    with torch.no_grad():
        model(torch.tensor([TOKENS]), use_cache=False)

    layers = range(len(model.model.layers))
    stream = first["x"] + sum(seen[f"attention{i}"] + seen[f"glu{i}"] for i in layers)
    norm = model.model.norm
    weight = getattr(norm, "weight", None)
    weight = np.ones_like(stream) if weight is None else array(weight) + (1 if name.startswith("gemma") else 0)
    bias = getattr(norm, "bias", None)
    rms = "RMS" in type(norm).__name__
    eps = next((getattr(norm, k) for k in ("variance_epsilon", "eps") if hasattr(norm, k)), 1e-5)  # OLMo's own: 1e-5
    centred = stream if rms else stream - stream.mean()
    scale = 1 / np.sqrt((centred**2).mean() + eps)
    head = array(model.lm_head.weight)

    def direction(token):
        u = head[token] * weight
        return u if rms else u - u.mean()

    def split(u, constant, logit):
        along = lambda part: float(scale * (u @ part))  # noqa: E731
        return {"logit": float(logit), "embedding": along(first["x"]),
                "attention": [along(seen[f"attention{i}"]) for i in layers],
                "glu": [along(seen[f"glu{i}"]) for i in layers], "constant": float(constant)}

    extra = lambda token: 0.0 if bias is None else float(head[token] @ array(bias))  # noqa: E731
    logits = seen["logits"]
    out = {"tokens": TOKENS, "token": TOKEN, "against": AGAINST,
           "one": split(direction(TOKEN), extra(TOKEN), logits[TOKEN]),
           "difference": split(direction(TOKEN) - direction(AGAINST), extra(TOKEN) - extra(AGAINST),
                               logits[TOKEN] - logits[AGAINST])}
    for part in (out["one"], out["difference"]):
        total = part["embedding"] + sum(part["attention"]) + sum(part["glu"]) + part["constant"]
        assert abs(total - part["logit"]) < 1e-4 * max(1, abs(part["logit"])), (name, total, part["logit"])
    return out


def main():
    names = ("llama", "llama3", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "olmo", "olmo2", "stablelm",
             "stablelm_parallel")
    found = {"transformers": tf.__version__, "torch": torch.__version__, "models": {n: parts_of(n) for n in names}}
    (HERE / "logit_parts.json").write_text(json.dumps(found, indent=1) + "\n")
    print({n: round(m["one"]["logit"], 4) for n, m in found["models"].items()})


if __name__ == "__main__":
    main()
