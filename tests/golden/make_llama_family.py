#!/usr/bin/env python3
"""Golden values for models of other programs: tests/golden/families.

    pip install torch==2.13.0 transformers==5.23.0 gguf==0.19.0 safetensors numpy
    python tests/golden/make_llama_family.py [NAME ...]

Without names all files are made anew, with names those alone. For every family a tiny random model: NAME/ is a folder as `save_pretrained` of transformers writes it, NAME.gguf has
the same weights under the names that the gguf package has for them. NAME.safetensors has the tokens, the logits that
transformers computes in f32 after each of them, and the tokens that it chooses when it goes on by itself. Weights are
large, so that gates, caps, windows and norms all matter. More files hold the weights of a Llama: llama.bin as llama2.c
stores them (version 0), llama_v1.bin and llama_v2.bin as its export.py writes versions 1 and 2 (the second in int8 with
scales), q8.gguf and q4.gguf in blocks. tiny/ is a model of llama2.c with a tokenizer beside it: tiny.safetensors has
its logits too.

Mixtures of experts: NAME.safetensors has `x`, and for layer L and expert E what transformers computes for it,
`L.E` and `L.shared`.
"""
import json
import os
import shutil
import struct
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

OUT = Path(__file__).parent / "families"
SIZES = dict(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
SLIDING = ["sliding_attention", "full_attention"]

# name: (class, architecture of GGUF or None, type of the stored numbers, options)
FAMILIES = {
    "llama": ("Llama", "llama", torch.float32, {"rms_norm_eps": 1e-5}),  # that of llama2.c
    "llama3": ("Llama", "llama", torch.bfloat16, {"rope_parameters": LLAMA3, "tie_word_embeddings": True}),
    "mistral": ("Mistral", None, torch.bfloat16, {"sliding_window": 4, "head_dim": 8}),
    "qwen2": ("Qwen2", "qwen2", torch.float16, {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", "qwen3", torch.bfloat16, {"head_dim": 8}),
    "gemma": ("Gemma", "gemma", torch.bfloat16, {"head_dim": 8}),
    "gemma2": ("Gemma2", "gemma2", torch.bfloat16,
               {"head_dim": 8, "sliding_window": 4, "layer_types": SLIDING, "attn_logit_softcapping": 2.0,
                "final_logit_softcapping": 3.0, "query_pre_attn_scalar": 8}),
    "gemma3": ("Gemma3Text", "gemma3", torch.bfloat16,
               {"head_dim": 8, "sliding_window": 4, "num_hidden_layers": 6, "query_pre_attn_scalar": 8,
                "num_key_value_heads": 1, "intermediate_size": 16}),
    "phi3": ("Phi3", "phi3", torch.bfloat16, {"sliding_window": 6}),
    "olmo": ("Olmo", "olmo", torch.bfloat16, {}),
    "olmo2": ("Olmo2", "olmo2", torch.bfloat16, {}),
    "stablelm": ("StableLm", "stablelm", torch.float16,
                 {"use_qkv_bias": True, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0,
                                                            "partial_rotary_factor": 0.5}}),
    "stablelm_parallel": ("StableLm", "stablelm", torch.float16,
                          {"use_parallel_residual": True,
                           "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0,
                                               "partial_rotary_factor": 0.5}}),
    "qwen2_yarn": ("Qwen2", "qwen2", torch.float16,
                   {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                        "original_max_position_embeddings": 16},
                    "head_dim": 8}),
    "phi3_long": ("Phi3", "phi3", torch.bfloat16,
                  {"num_attention_heads": 2, "num_key_value_heads": 1, "original_max_position_embeddings": 32,
                   "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0,
                                       "short_factor": [1.0, 1.1, 1.5, 2.5], "long_factor": [1.0, 2.0, 4.0, 8.0],
                                       "original_max_position_embeddings": 32}}),
}

# Mixtures of experts, which are read and not run: name: (class, architecture or None, options). The second layer of the
# last has no experts.
MIXTURE = dict(vocab_size=288, hidden_size=8, intermediate_size=12, num_attention_heads=2, num_key_value_heads=1)
MIXTURES = {
    "mixtral": ("Mixtral", "llama", {"num_local_experts": 3, "num_experts_per_tok": 2}),
    "qwen2_moe": ("Qwen2Moe", "qwen2moe", {"num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 20,
                                           "shared_expert_intermediate_size": 8}),
    "qwen3_moe": ("Qwen3Moe", "qwen3moe", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 20,
                                           "head_dim": 4}),
    "qwen3_moe_mixed": ("Qwen3Moe", None, {"num_experts": 3, "num_experts_per_tok": 1, "moe_intermediate_size": 20,
                                           "mlp_only_layers": [1]}),
}


def make_model(cls, options, seed):
    config = getattr(tf, cls + "Config")(**{**SIZES, **options})
    model = getattr(tf, cls.replace("Text", "") + "ForCausalLM")(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if "norm" in name and name.endswith("weight"):
                centre = 0.0 if cls.startswith("Gemma") else 1.0
                p.copy_(centre + 0.3 * noise)
            elif p.dim() == 1:
                p.copy_(0.5 * noise)
            else:
                p.copy_(noise / np.sqrt(p.shape[1]) * 1.5)
    return model


def expected(model, tokens, more):
    with torch.no_grad():
        logits = model(torch.tensor([tokens]), use_cache=False).logits[0].float()
        ids = list(tokens)
        for _ in range(more):
            ids.append(int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
    return {"tokens": torch.tensor(tokens, dtype=torch.int32), "logits": logits,
            "greedy": torch.tensor(ids[len(tokens):], dtype=torch.int32)}


def permute(w, heads):
    """Pairs (j, j + half) of a head to (2j, 2j + 1), as converters do for Llama."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def merged_experts(tensors, experts):
    """The experts of a layer in one tensor, under the names that the gguf package knows."""
    out = {}
    for name, tensor in tensors.items():
        if ".experts." not in name:
            out[name] = tensor
        elif ".experts.0." in name:
            out[name.replace(".experts.0.", ".experts.")] = torch.stack(
                [tensors[name.replace(".experts.0.", f".experts.{e}.")] for e in range(experts)])
    return out


def write_gguf(path, arch, config, tensors, kind):
    """kind: the type of matrices; vectors are F32, as converters write them."""
    writer = gguf.GGUFWriter(path, arch)
    heads, kv = config.num_attention_heads, config.num_key_value_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    rope = config.rope_parameters
    full = rope.get("full_attention", rope)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    if hasattr(config, "rms_norm_eps"):
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    else:
        writer.add_layer_norm_eps(getattr(config, "layer_norm_eps", 1e-5))
    writer.add_rope_freq_base(full["rope_theta"])
    writer.add_rope_dimension_count(int(head_dim * full.get("partial_rotary_factor", 1.0)))
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    if getattr(config, "attn_logit_softcapping", None):
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
    if getattr(config, "final_logit_softcapping", None):
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if getattr(config, "use_parallel_residual", False):
        writer.add_parallel_residual(True)
    if full["rope_type"] == "llama3":
        inverse, _ = tf.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
        plain = full["rope_theta"] ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        writer.add_tensor("rope_freqs.weight", (plain / inverse).numpy().astype(np.float32))
    if full["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(full["factor"])
        writer.add_rope_scaling_orig_ctx_len(full["original_max_position_embeddings"])
    if full["rope_type"] == "longrope":
        _, size = tf.modeling_rope_utils.ROPE_INIT_FUNCTIONS["longrope"](config, "cpu")
        writer.add_rope_scaling_orig_ctx_len(full["original_max_position_embeddings"])
        writer.add_rope_scaling_attn_factors(size)
        for key in ("long", "short"):
            writer.add_tensor(f"rope_factors_{key}.weight", np.array(full[f"{key}_factor"], dtype=np.float32))
    experts = getattr(config, "num_local_experts", None) or getattr(config, "num_experts", None)
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        if getattr(config, "moe_intermediate_size", None):
            writer.add_expert_feed_forward_length(config.moe_intermediate_size)
        if getattr(config, "shared_expert_intermediate_size", None):
            writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
        tensors = merged_experts(tensors, experts)
    arch_id = next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == arch)
    names = gguf.get_tensor_name_map(arch_id, config.num_hidden_layers)
    for name, tensor in tensors.items():
        value = tensor.float().numpy()
        stem, _, suffix = name.rpartition(".")
        new = names.get_name(stem)
        assert new, name
        if arch in ("llama", "olmo") and (".q_proj" in name or ".k_proj" in name):
            value = permute(value, heads if ".q_proj" in name else kv)
        if arch.startswith("gemma") and "norm" in name:
            value = value + 1
        if value.ndim == 1:
            kind_here = gguf.GGMLQuantizationType.F32
        else:
            kind_here = kind
        data = gguf.quants.quantize(np.ascontiguousarray(value), kind_here)
        writer.add_tensor(f"{new}.{suffix}", data, raw_dtype=kind_here)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


GGUF_TYPES = {torch.float32: gguf.GGMLQuantizationType.F32, torch.float16: gguf.GGMLQuantizationType.F16,
              torch.bfloat16: gguf.GGMLQuantizationType.BF16}


def write_llama2c(path, config, t):
    """Version 0: seven integers, then f32."""
    heads, kv, n = config.num_attention_heads, config.num_key_value_heads, config.num_hidden_layers
    layers = range(n)
    head_dim, seq = config.hidden_size // heads, config.max_position_embeddings
    angle = np.outer(np.arange(seq), 10000.0 ** (-np.arange(0, head_dim, 2) / head_dim))
    of = lambda i, name: t[f"model.layers.{i}.{name}.weight"].float().numpy()
    parts = [t["model.embed_tokens.weight"].float().numpy()]
    parts += [of(i, "input_layernorm") for i in layers]
    parts += [permute(of(i, "self_attn.q_proj"), heads) for i in layers]
    parts += [permute(of(i, "self_attn.k_proj"), kv) for i in layers]
    for name in ("self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.down_proj",
                 "mlp.up_proj"):
        parts += [of(i, name) for i in layers]
    parts += [t["model.norm.weight"].float().numpy(), np.cos(angle), np.sin(angle), t["lm_head.weight"].float().numpy()]
    with open(path, "wb") as f:
        f.write(struct.pack("<7i", config.hidden_size, config.intermediate_size, n, heads, kv, -config.vocab_size, seq))
        for p in parts:
            f.write(np.ascontiguousarray(p, dtype="<f4").tobytes())


def write_export(path, version, config, t, group=8):
    """Versions 1 and 2 as export.py of llama2.c writes them. Gives the weights that the file holds."""
    heads, kv, layers = config.num_attention_heads, config.num_key_value_heads, range(config.num_hidden_layers)
    kept = dict(t)

    def floats(name):
        f.write(np.ascontiguousarray(t[name].float().numpy(), dtype="<f4").tobytes())

    def matrix(name):
        w = t[name].float().numpy()
        turned = heads if ".q_proj" in name else kv if ".k_proj" in name else 0
        if turned:
            w = permute(w, turned)
        if version == 1:
            return f.write(np.ascontiguousarray(w, dtype="<f4").tobytes())
        rows = w.reshape(-1, group)
        scale = np.abs(rows).max(axis=1) / 127
        values = np.round(rows / scale[:, None]).astype(np.int8)
        f.write(values.tobytes() + scale.astype("<f4").tobytes())
        w = (values.astype(np.float32) * scale.astype(np.float32)[:, None]).reshape(w.shape)
        if turned:  # back to halves
            w = w.reshape(turned, w.shape[0] // turned // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)
        kept[name] = torch.tensor(w)

    with open(path, "wb") as f:
        f.write(struct.pack("<Ii", 0x616B3432, version))
        f.write(struct.pack("<7i", config.hidden_size, config.intermediate_size, len(layers), heads, kv, config.vocab_size,
                            config.max_position_embeddings))
        f.write(struct.pack("<B", 0))  # a head of its own
        if version == 2:
            f.write(struct.pack("<i", group))
        f.write(bytes(256 - f.tell()))
        of = lambda name: [f"model.layers.{i}.{name}.weight" for i in layers]
        for name in of("input_layernorm") + of("post_attention_layernorm") + ["model.norm.weight"]:
            floats(name)
        matrix("model.embed_tokens.weight")
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj",
                     "mlp.down_proj", "mlp.up_proj"):
            for each in of(name):
                matrix(each)
        matrix("lm_head.weight")
    return kept


def expert_outputs(model, x):
    """What every expert makes of x, by the modules of transformers themselves."""
    out = {"x": x}
    with torch.no_grad():
        for i, layer in enumerate(model.model.layers):
            experts = getattr(layer.mlp, "experts", None)
            if experts is None:
                out[f"{i}.own"] = layer.mlp(x)
                continue
            n = model.config.num_local_experts if hasattr(model.config, "num_local_experts") else model.config.num_experts
            for e in range(n):
                index = torch.full((len(x), 1), e)
                out[f"{i}.{e}"] = experts(x, index, torch.ones(len(x), 1))
            if hasattr(layer.mlp, "shared_expert"):
                out[f"{i}.shared"] = layer.mlp.shared_expert(x)
    return out


def write_tokenizer(path, words):
    """tokenizer.bin of llama2.c: the marks, the bytes, then words; longer words have higher scores."""
    pieces = ["<unk>", "\n<s>\n", "\n</s>\n"] + [f"<0x{b:02X}>" for b in range(256)] + words
    with open(path, "wb") as f:
        f.write(struct.pack("<i", max(len(p) for p in pieces)))
        for i, piece in enumerate(pieces):
            f.write(struct.pack("<fi", float(len(piece)) if i >= 259 else 0.0, len(piece)) + piece.encode())


def make_mixture(seed, name):
    cls, arch, options = MIXTURES[name]
    model = make_model(cls, {**MIXTURE, **options}, seed)
    model.save_pretrained(OUT / name)
    (OUT / name / "generation_config.json").unlink(missing_ok=True)
    model = type(model).from_pretrained(OUT / name, dtype=torch.float32).eval()
    x = torch.randn(3, MIXTURE["hidden_size"], generator=torch.Generator().manual_seed(seed))
    save_file({k: v.contiguous() for k, v in expert_outputs(model, x).items()}, OUT / f"{name}.safetensors")
    if arch:
        write_gguf(OUT / f"{name}.gguf", arch, model.config, load_file(OUT / name / "model.safetensors"),
                   gguf.GGMLQuantizationType.F32)


def main():
    only = sys.argv[1:]
    wanted = lambda name: not only or name in only
    if not only:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir()
    tokens = [1, 7, 23, 38, 5, 5, 30, 12, 9, 17, 3, 33]
    for seed, name in enumerate(MIXTURES):
        if wanted(name):
            make_mixture(seed, name)
    for seed, (name, (cls, arch, dtype, options)) in enumerate(FAMILIES.items()):
        if not wanted(name):
            continue
        model = make_model(cls, options, seed)
        model.to(dtype).save_pretrained(OUT / name)
        for extra in ("generation_config.json",):
            (OUT / name / extra).unlink(missing_ok=True)
        model = type(model).from_pretrained(OUT / name, dtype=torch.float32, attn_implementation="eager").eval()
        save_file(expected(model, tokens, 12), OUT / f"{name}.safetensors")
        tensors = load_file(OUT / name / "model.safetensors")
        if arch:
            write_gguf(OUT / f"{name}.gguf", arch, model.config, tensors, GGUF_TYPES[dtype])
        if name == "llama":
            write_llama2c(OUT / "llama.bin", model.config, tensors)
            write_export(OUT / "llama_v1.bin", 1, model.config, tensors)
            model.load_state_dict(write_export(OUT / "llama_v2.bin", 2, model.config, tensors))
            save_file(expected(model, tokens, 12), OUT / "llama_v2.safetensors")

    if only:
        return
    # Blocks of 32 need rows of 32.
    model = make_model("Llama", {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}, 99)
    tensors = model.state_dict()
    for name, kind in (("q8", gguf.GGMLQuantizationType.Q8_0), ("q4", gguf.GGMLQuantizationType.Q4_0)):
        write_gguf(OUT / f"{name}.gguf", "llama", model.config, tensors, kind)
        rounded = {k: torch.tensor(gguf.quants.dequantize(gguf.quants.quantize(v.numpy(), kind), kind))
                   if v.dim() == 2 else v for k, v in tensors.items()}
        copy = make_model("Llama", {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}, 99)
        copy.load_state_dict(rounded)
        save_file(expected(copy, tokens, 12), OUT / f"{name}.safetensors")

    words = [" ", "a", "t", "c", "h", "e", "s", "o", "n", "d", "r", "g", "m", "th", "at", "the", " t", " the", " c", "cat",
             " cat", "og", "dog", " d", " dog", "sa", "sat", " s", " sat"]
    model = make_model("Llama", {"vocab_size": 259 + len(words), "hidden_size": 8, "intermediate_size": 12,
                                 "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
                                 "rms_norm_eps": 1e-5, "max_position_embeddings": 16}, 7)
    (OUT / "tiny").mkdir()
    write_llama2c(OUT / "tiny" / "tiny.bin", model.config, model.state_dict())
    write_tokenizer(OUT / "tiny" / "tokenizer.bin", words)
    save_file(expected(model, [1, 276, 279, 287], 6), OUT / "tiny.safetensors")
    total = sum(f.stat().st_size for f in OUT.rglob("*") if f.is_file())
    print(f"{total} bytes in {OUT}")


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    main()
