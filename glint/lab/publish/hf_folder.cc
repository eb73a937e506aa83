#include "glint/lab/publish/hf_folder.h"

#include <charconv>

#include "glint/nn/norm.h"
#include "glint/report/gate_table.h"
#include "glint/report/table.h"

namespace glint {
namespace {

std::string plain_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

}  // namespace

std::string norm_eps_text() {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, kNormEps).ptr};
}

std::string options_markdown(const Json& options) {
  if (!options.is_object()) return "";
  Table table({{.header = "option"}, {.header = "value"}});
  for (const auto& [key, value] : options.items()) table.add({key, plain_text(value)});
  return "\n## Training\n\nThe options of `glint train`; the same options and data give the same "
         "weights.\n\n" +
         table.markdown();
}

Json hf_config(const ImageModel& model) {
  Json json = config_to_json(model);
  json["model_type"] = "glint-classifier";
  json["architectures"] = {"GlintClassifier"};
  json["torch_dtype"] = "float32";
  json["num_labels"] = model.config.classes;
  json["id2label"] = Json::object();
  json["label2id"] = Json::object();
  for (size_t c = 0; c < model.class_names.size(); c++) {
    json["id2label"][std::to_string(c)] = model.class_names[c];
    json["label2id"][model.class_names[c]] = c;
  }
  return json;
}

std::string hf_readme(const ImageModel& model, const ModelCard& card) {
  const ClassifierConfig& c = model.config;
  const GateText& text = gate_info(c.gate.kind).text;
  const std::string gate(text.name);
  const bool pictures = model.height > 0;
  // Names come from files: as JSON strings they cannot break the YAML of the header.
  std::string out = std::string("---\nlibrary_name: pytorch\npipeline_tag: ") + (pictures ? "image" : "tabular") +
                    "-classification\ntags:\n- glint\n- glu\n- " + gate + "\n- interpretability\n";
  if (!model.data.empty()) out += "datasets:\n- " + Json(model.data).dump() + "\n";
  out += "---\n\n# " + card.name + "\n\n" + (pictures ? "An image classifier" : "A classifier") +
         " of gated layers, trained and exported with glint " + card.version +
         ". It is small enough to be read from its weights.\n\n";
  out += "    embed (" + std::to_string(c.inputs) + " to " + std::to_string(c.d_model) + ") -> " +
         std::to_string(c.layers) + " x [gate(L x) * (R x)] (width " + std::to_string(c.hidden()) + ") -> head (" +
         std::to_string(c.classes) + ")\n\n";
  out += "Gate: " + gate + ", " + std::string(text.value);
  if (text.has_params)
    out += " with c = " + number_text(c.gate.params.c) + ", lambda = " + number_text(c.gate.params.lambda) +
           ", p = " + number_text(c.gate.params.p);
  out += ". Bias: " + std::string(c.bias ? "yes" : "no") + ". Residual: " + (c.residual ? "yes" : "no") +
         ". Norm: " + (c.norm == Norm::rms ? "rms" : "none") +
         ". Parameters: " + std::to_string(classifier_params(c).table.parameters()) + ".\n\n";
  out +=
      "## Use\n\n```python\nfrom modeling_glint import GlintClassifier\n\n"
      "model = GlintClassifier.from_pretrained(\".\")\n"
      "logits = model(" +
      std::string(pictures ? "pixels" : "x") + ")  # float32 [n, " + std::to_string(c.inputs) + "]" +
      (pictures ? ", 0 (background) to 1" : "") +
      "\nmatrix = model.interaction(3)  # of class 3, in the input space of the last "
      "layer\n"
      "```\n\n`blocks.{i}.weight` holds the gated half L first, then the linear half R.\n";
  if (card.result.is_object()) {
    Table table({{.header = "measured"}, {.header = "value", .align = Align::right}});
    for (const char* key : {"test_accuracy", "test_loss", "train_accuracy", "train_loss", "epoch", "step"})
      if (card.result.contains(key)) table.add({key, plain_text(card.result[key])});
    out += "\n## Metrics\n\nAt the end of training" + (model.data.empty() ? "" : " on `" + model.data + "`") +
           ". Training figures are with input noise.\n\n" + table.markdown();
  }
  if (!card.fidelity.empty()) {
    Table table(
        headers({"form"}, {"same decision", "R²", "R² rescaled", "R² centred", "same decision on −x", "accuracy"}));
    for (const auto& [what, f] : card.fidelity)
      table.add({what, fixed_text(f.agreement, 4), fixed_text(f.r2, 4), fixed_text(f.r2_scaled, 4),
                 fixed_text(f.r2_centred, 4), f.mirrored ? fixed_text(f.mirrored->agreement, 4) : "",
                 fixed_text(f.accuracy_form, 4)});
    out +=
        "\n## How far the weights explain it\n\nThe last layer read as a quadratic form of its input, on the "
        "test images. `weights`: from the weights alone. `scaled`: a gain for each gate that depends on the "
        "size of the layer's input, and no linear part. `calibrated`: each gate a line measured on training "
        "images.\n\nR² rescaled is after one factor for the whole form, R² centred of the logits of each "
        "image less their mean, and −x are the mirror images of the layer's inputs. Controls, to compare "
        "with: the best linear map of the layer's input in place of the layer, and the same forms of an "
        "untrained model.\n\n" +
        table.markdown();
  }
  return out + options_markdown(card.options);
}

std::string hf_modeling() {
  return R"PYTHON("""A glint image classifier in PyTorch. Needs torch alone.

    model = GlintClassifier.from_pretrained("folder with config.json and model.safetensors")
    logits = model(pixels)       # [n, inputs] or [n, height, width], 0 (background) to 1
    matrix = model.interaction(3)  # class 3 as a quadratic form of the last layer's input
"""
import json
import struct
from pathlib import Path

import torch
from torch import nn

_DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_safetensors(path):
    """Name -> tensor. The file is a length, a JSON header and the data; nothing in it is executed."""
    raw = Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        part = bytearray(raw[8 + size + begin:8 + size + end])
        tensors[name] = torch.frombuffer(part, dtype=_DTYPES[info["dtype"]]).reshape(info["shape"])
    return tensors


)PYTHON" +
         gates_python() +
         R"PYTHON(

def gate(config, h):
    return GATES[config["gate"]](h, config.get("c"), config.get("lambda"), config.get("p"))


class GlintClassifier(nn.Module):
    """embed -> layers of gate(L x) * (R x) -> head. A block's weight is L above R."""

    def __init__(self, config):
        super().__init__()
        self.config = dict(config)
        d, h, bias = config["d_model"], config["d_hidden"], config["bias"]
        self.embed = nn.Linear(config["inputs"], d, bias=bias)
        self.blocks = nn.ModuleList(nn.Linear(h if i else d, 2 * h, bias=bias) for i in range(config["layers"]))
        self.head = nn.Linear(h, config["classes"], bias=bias)

    @classmethod
    def from_pretrained(cls, folder):
        folder = Path(folder)
        model = cls(json.loads((folder / "config.json").read_text(encoding="utf-8")))
        model.load_state_dict(read_safetensors(folder / "model.safetensors"), strict=True)
        return model.eval()

    def forward(self, pixels):
        x = self.embed(pixels.flatten(1))
        for block in self.blocks:
            u = x
            if self.config["norm"] == "rms":
                u = x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + )PYTHON" +
         norm_eps_text() + R"PYTHON()
            left, right = block(u).chunk(2, dim=1)
            y = gate(self.config, left) * right
            x = x + y if self.config["residual"] else y
        return self.head(x)

    @torch.no_grad()
    def interaction(self, unit, layer=-1):
        """Q = (L' diag(q) R + R' diag(q) L) / 2 in double, q the head's row; the gate taken as the identity."""
        left, right = self.blocks[layer].weight.double().chunk(2, dim=0)
        q = self.head.weight[unit].double()
        half = left.T @ (q[:, None] * right)
        return (half + half.T) / 2
)PYTHON";
}

}  // namespace glint
