"""Writes tests/golden/autoencoders: small sparse autoencoders and transcoders with what their latents do on a few vectors.

    python3 tests/golden/make_autoencoders.py

SAELens (6.54) writes its folders with save_model, circuit-tracer (0.5) its files with to_safetensors; their encode() gives the activations. The
reference code of bilinear models is no package: the same modules are saved here as it saves them, and its rule is computed below. Expected
values are in expected.json by the name of the file.
"""
import json
import pathlib
import sys

import torch
from circuit_tracer.transcoder import activation_functions
from circuit_tracer.transcoder.single_layer_transcoder import SingleLayerTranscoder
from sae_lens import saes
from safetensors.torch import load_file, save_file, save_model

FOLDER = pathlib.Path(__file__).parent / "autoencoders"
D, F, OUT = 6, 10, 6


def filled(module, seed):
    """Random values for every parameter; thresholds that some latents pass."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(module.named_parameters()):
            p.copy_(0.5 * torch.randn(p.shape, generator=generator))
            if "threshold" in name:
                p.abs_()
    return module


def saelens(expected, x):
    common = dict(d_in=D, d_sae=F)
    place = saes.sae.SAEMetadata(hook_name="blocks.1.hook_mlp_out", model_name="none")
    made = {
        "standard": saes.StandardSAE(saes.StandardSAEConfig(**common, metadata=place)),
        "jumprelu": saes.JumpReLUSAE(saes.JumpReLUSAEConfig(**common, metadata=place, apply_b_dec_to_input=False)),
        "topk": saes.TopKSAE(saes.TopKSAEConfig(**common, k=3, metadata=place)),
        "gated": saes.GatedSAE(saes.GatedSAEConfig(**common, metadata=place)),
        "transcoder": saes.Transcoder(saes.TranscoderConfig(**common, d_out=8, apply_b_dec_to_input=False)),
        "skip_transcoder": saes.SkipTranscoder(saes.SkipTranscoderConfig(**common, d_out=OUT, apply_b_dec_to_input=False)),
        "jumprelu_transcoder": saes.JumpReLUTranscoder(saes.JumpReLUTranscoderConfig(**common, d_out=OUT, apply_b_dec_to_input=False)),
        "half": saes.StandardSAE(saes.StandardSAEConfig(**common, metadata=place)),
    }
    for seed, (name, sae) in enumerate(made.items()):
        filled(sae, seed)
        if name == "half":  # the rounded values are what the file has
            sae.to(torch.bfloat16)
        sae.save_model(FOLDER / name)
        exact = sae.to(torch.float64)
        exact.dtype = torch.float64
        expected[name] = {"activations": exact.encode(x).tolist(), "latents": F, "format": "SAELens"}


def circuit_tracer(expected, x):
    made = {
        "tracer_relu": (torch.nn.ReLU(), True),
        "tracer_jump": (activation_functions.JumpReLU(torch.zeros(F)), False),
        "tracer_topk": (activation_functions.TopK(3), False),
    }
    for seed, (name, (rule, skip)) in enumerate(made.items()):
        sae = filled(SingleLayerTranscoder(D, F, rule, 0, skip_connection=skip, dtype=torch.float32), 20 + seed)
        path = FOLDER / f"{name}.safetensors"
        sae.to_safetensors(str(path))
        if name == "tracer_topk":  # this version of the package writes no k; the next one does, as a single number
            save_file(load_file(path) | {"k": torch.tensor(rule.k)}, path)
        expected[path.name] = {"activations": sae.double().encode(x).tolist(), "latents": F, "format": "circuit-tracer"}


class BilinearCode(torch.nn.Module):
    """The modules that the reference code of bilinear models saves: two linear layers and the decoder's bias."""

    def __init__(self):
        super().__init__()
        self.w_dec = torch.nn.Linear(F, D, bias=False)
        self.w_enc = torch.nn.Linear(D, F, bias=False)
        self.b_dec = torch.nn.Parameter(torch.zeros(D))


def bilinear(expected, x):
    folder = FOLDER / "bilinear"
    folder.mkdir(exist_ok=True)
    module = filled(BilinearCode(), 30)
    save_model(module, str(folder / "model.safetensors"))
    config = {"point": ["mlp-out", 2], "target": None, "expansion": 2, "k": 3, "d_model": D, "normalize": 2.0, "bilinear_encoder": False}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    hidden = (x / 2.0 - module.b_dec.double()) @ module.w_enc.weight.double().T
    kept = torch.zeros_like(hidden).scatter_(-1, hidden.topk(3).indices, hidden.topk(3).values)
    expected["bilinear"] = {"activations": kept.tolist(), "latents": F, "format": "bilinear"}


def main():
    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(0)
    # Floats, so that the test reads them back exactly.
    x = torch.randn(7, D, generator=torch.Generator().manual_seed(99)).double()
    expected = {}
    with torch.no_grad():
        saelens(expected, x)
        circuit_tracer(expected, x)
        bilinear(expected, x)
    (FOLDER / "expected.json").write_text(json.dumps({"inputs": x.tolist(), "autoencoders": expected}) + "\n")
    print(f"wrote {len(expected)} autoencoders to {FOLDER}", file=sys.stderr)


if __name__ == "__main__":
    main()
