#!/usr/bin/env python3
"""Writes trainable/NAME/ beside itself: tiny models of the shapes that glint trains, made by transformers with random weights
that a float holds exactly, and trainable/gradients.safetensors: logits, losses and every gradient of the mean loss over all
tokens, computed by PyTorch in double. Gradients have the names and the packing of glint's parameters; queries, keys and
values stand below each other, and so do both halves of a GLU."""
import json
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import torch  # noqa: E402
import transformers  # noqa: E402

from torch_classifier import write_safetensors  # noqa: E402

HERE = Path(__file__).resolve().parent / "trainable"
LENGTHS = (9, 4, 1, 7)
COMMON = dict(vocab_size=23, hidden_size=16, intermediate_size=10, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=16, pad_token_id=None, bos_token_id=1, eos_token_id=2)


def models():
    t = transformers
    rope = lambda theta, **more: {"rope_theta": theta, "rope_type": "default"} | more  # noqa: E731
    small = {k: v for k, v in COMMON.items() if k != "num_hidden_layers"}
    yield "llama", t.LlamaConfig(**COMMON, head_dim=6, rms_norm_eps=1e-5, rope_parameters=rope(10000.0), tie_word_embeddings=False)
    yield "llama-tied", t.LlamaConfig(**small, num_hidden_layers=3, rms_norm_eps=1e-5, hidden_act="gelu", tie_word_embeddings=True,
                                      head_dim=4, rope_parameters=rope(10000.0, rope_type="llama3", factor=4.0, low_freq_factor=1.0,
                                                           high_freq_factor=4.0, original_max_position_embeddings=8))
    yield "qwen2", t.Qwen2Config(**COMMON, rms_norm_eps=1e-6, rope_parameters=rope(1e6), tie_word_embeddings=True,
                                 use_sliding_window=False)
    yield "qwen3", t.Qwen3Config(**COMMON, rms_norm_eps=1e-6, head_dim=8, rope_parameters=rope(1e6), tie_word_embeddings=False,
                                 use_sliding_window=False)


def draw(config, seed):
    g = torch.Generator().manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").double()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.empty(p.shape).uniform_(-0.7, 0.7, generator=g).double() + (1 if "norm" in name else 0))
            p.copy_(p.float().double())
    return model, [torch.randint(0, config.vocab_size, (n + 1,), generator=g) for n in LENGTHS]


def packed(model):
    """Gradients under glint's names."""
    grads = {n: p.grad for n, p in model.named_parameters()}
    out = {"transformer.wte.weight": grads["model.embed_tokens.weight"], "transformer.norm.weight": grads["model.norm.weight"]}
    if "lm_head.weight" in grads:
        out["lm_head.weight"] = grads["lm_head.weight"]
    for i in range(model.config.num_hidden_layers):
        from_, to = f"model.layers.{i}.", f"transformer.h.{i}."
        for end in ("weight", "bias"):
            if from_ + "self_attn.q_proj." + end in grads:
                out[to + "attn.qkv." + end] = torch.cat([grads[from_ + f"self_attn.{k}_proj." + end] for k in "qkv"])
        out[to + "attn.o.weight"] = grads[from_ + "self_attn.o_proj.weight"]
        out[to + "mlp.w.weight"] = torch.cat([grads[from_ + f"mlp.{k}_proj.weight"] for k in ("gate", "up")])
        out[to + "mlp.p.weight"] = grads[from_ + "mlp.down_proj.weight"]
        out[to + "attn.norm.weight"] = grads[from_ + "input_layernorm.weight"]
        out[to + "mlp.norm.weight"] = grads[from_ + "post_attention_layernorm.weight"]
        for k in "qk":
            if from_ + f"self_attn.{k}_norm.weight" in grads:
                out[to + f"attn.{k}_norm.weight"] = grads[from_ + f"self_attn.{k}_norm.weight"]
    return out


def main():
    shutil.rmtree(HERE, ignore_errors=True)
    tensors, listed = {}, []
    for seed, (name, config) in enumerate(models()):
        model, rows = draw(config, seed)
        logits = torch.cat([model(row[None, :-1]).logits[0] for row in rows])
        losses = torch.nn.functional.cross_entropy(logits, torch.cat([row[1:] for row in rows]), reduction="none")
        losses.mean().backward()
        found = {"tokens": torch.cat(rows).double(), "logits": logits.detach(), "losses": losses.detach()}
        found |= {"gradients/" + k: v for k, v in packed(model).items()}
        tensors |= {f"{name}/{k}": v.float() for k, v in found.items()}
        model.float().save_pretrained(HERE / name)
        for extra in (HERE / name).iterdir():
            if extra.name not in ("config.json", "model.safetensors"):
                extra.unlink()
        listed.append(name)
    write_safetensors(HERE / "gradients.safetensors", tensors)
    (HERE / "gradients.json").write_text(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__,
                                                     "lengths": LENGTHS, "cases": listed}, indent=1) + "\n")


if __name__ == "__main__":
    main()
