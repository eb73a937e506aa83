
#include "glint/lab/publish/hf_folder.h"
#include "glint/report/gate_table.h"
#include "glint/report/table.h"

namespace glint {

Json hf_config(const LanguageModel& model, TokenId end) {
  Json json = config_to_json(model.config);
  json["data"] = model.data;
  json["tokenizer_hash"] = model.tokenizer_hash;
  json["model_type"] = "glint-transformer";
  json["architectures"] = {"GlintForCausalLM"};
  json["auto_map"] = {{"AutoConfig", "modeling_glint.GlintConfig"},
                      {"AutoModelForCausalLM", "modeling_glint.GlintForCausalLM"}};
  json["torch_dtype"] = "float32";
  json["tie_word_embeddings"] = false;
  json["use_cache"] = false;
  json["bos_token_id"] = json["eos_token_id"] = end;
  return json;
}

std::string hf_readme(const LanguageModel& model, const LanguageCard& card) {
  const TransformerConfig& c = model.config;
  const GateText& text = gate_info(c.gate.kind).text;
  const std::string gate(text.name);
  std::string out = "---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- glint\n- glu\n- " + gate +
                    "\n- interpretability\n";
  if (!model.data.empty()) out += "datasets:\n- " + Json(model.data).dump() + "\n";
  out += "---\n\n# " + card.name + "\n\nA small transformer with gated layers, trained and exported with glint " +
         card.version + ".\n\n    " + std::to_string(c.vocab) + " tokens -> " + std::to_string(c.layers) +
         " x [attention (" + std::to_string(c.heads) + " heads), GLU (width " + std::to_string(c.d_model) + " and " +
         std::to_string(c.hidden()) + ")] -> norm -> head\n\nGate: " + gate + ", " + std::string(text.value);
  if (text.has_params)
    out += " with c = " + number_text(c.gate.params.c) + ", lambda = " + number_text(c.gate.params.lambda) +
           ", p = " + number_text(c.gate.params.p);
  out += ". Context: " + std::to_string(c.context) +
         " tokens. Parameters: " + std::to_string(transformer_params(c).table.parameters()) +
         ".\n\n## Use\n\n```python\n"
         "from transformers import AutoModelForCausalLM\n\n"
         "model = AutoModelForCausalLM.from_pretrained(\".\", trust_remote_code=True)\n"
         "logits = model(ids).logits  # ids [n, tokens], each row begins with the end of a story\n"
         "```\n\n"
         "`tokenizer.model` is a SentencePiece model: "
         "`sentencepiece.SentencePieceProcessor(\"tokenizer.model\")`. "
         "`transformer.h.{i}.mlp.w.weight` holds the gated half L first, then the linear half R.\n";
  if (card.result.is_object()) {
    Table table({{.header = "measured"}, {.header = "value", .align = Align::right}});
    for (const char* key : {"test_loss", "test_perplexity", "test_accuracy", "train_loss", "epoch", "step"})
      if (card.result.contains(key)) table.add({key, card.result[key].dump()});
    out += "\n## Metrics\n\nAt the end of training" + (model.data.empty() ? "" : " on `" + model.data + "`") + ".\n\n" +
           table.markdown();
  }
  if (!card.layers.empty()) {
    Table table({{.header = "layer", .align = Align::right},
                 {.header = "form"},
                 {.header = "R²", .align = Align::right},
                 {.header = "R², eigenvectors alone", .align = Align::right},
                 {.header = "control: linear map", .align = Align::right}});
    for (const LayerTrust& l : card.layers)
      table.add({std::to_string(l.layer), l.form, fixed_text(l.trust.r2, 4), fixed_text(l.trust.eigenvectors_r2, 4),
                 fixed_text(card.linear_r2[l.layer - 1], 4)});
    out +=
        "\n## How far the weights explain it\n\nEach layer's GLU read as quadratic forms of its input, over "
        "all that it adds to the residual stream, on validation stories. The control is the best linear map "
        "of the layer's input in the place of the layer.\n\n" +
        table.markdown();
  }
  return out + options_markdown(card.options);
}

std::string hf_language_modeling() {
  return R"PYTHON("""A glint language model in PyTorch, for transformers.

    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained("this folder", trust_remote_code=True)
    logits = model(ids).logits       # [n, tokens, vocab]; a row begins with the end of a story
    matrix = model.interaction(u, 0)  # what the GLU of layer 0 adds along u, as a quadratic form of its input
"""
import torch
from torch import nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

)PYTHON" +
         gates_python() +
         R"PYTHON(

class GlintConfig(PretrainedConfig):
    model_type = "glint-transformer"
    attribute_map = {"vocab_size": "vocab", "hidden_size": "d_model", "intermediate_size": "d_hidden",
                     "num_hidden_layers": "layers", "num_attention_heads": "heads", "max_position_embeddings": "context"}

    def __init__(self, vocab=4096, layers=4, d_model=128, d_hidden=128, heads=4, context=256, gate="sqs", **kwargs):
        self.vocab, self.layers, self.d_model, self.d_hidden = vocab, layers, d_model, d_hidden
        self.heads, self.context, self.gate = heads, context, gate
        kwargs.setdefault("tie_word_embeddings", False)
        super().__init__(**kwargs)


def gate(config, h):
    return GATES[config.gate](h, *(getattr(config, key, None) for key in ("c", "lambda", "p")))


def norm(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + )PYTHON" +
         norm_eps_text() + R"PYTHON()


def turn(x, cos, sin):
    """Rotary positions by halves: x [n, t, heads, size], cos and sin [t, 1, size / 2]."""
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=False)
        self.o = nn.Linear(config.d_model, config.d_model, bias=False)


class Glu(nn.Module):
    """P (gate(L x) * (R x)); w is L above R."""

    def __init__(self, config):
        super().__init__()
        self.w = nn.Linear(config.d_model, 2 * config.d_hidden, bias=False)
        self.p = nn.Linear(config.d_hidden, config.d_model, bias=False)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attn, self.mlp = Attention(config), Glu(config)


class GlintForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = GlintConfig
    base_model_prefix = "model"
    _no_split_modules = ["Block"]

    def __init__(self, config):
        super().__init__(config)
        self.transformer = nn.Module()
        self.transformer.wte = nn.Embedding(config.vocab, config.d_model)
        self.transformer.h = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.lm_head = nn.Linear(config.d_model, config.vocab, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.transformer.wte

    def get_output_embeddings(self):
        return self.lm_head

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    def forward(self, input_ids, attention_mask=None, labels=None, **kwargs):
        k, (n, t) = self.config, input_ids.shape
        if t > k.context:
            raise ValueError(f"{t} tokens; the model reads at most {k.context}")
        heads, size = k.heads, k.d_model // k.heads
        x = self.transformer.wte(input_ids)
        pair = torch.arange(size // 2, dtype=torch.float64, device=x.device)
        angle = torch.arange(t, dtype=torch.float64, device=x.device)[:, None] * 10000.0 ** (-2 * pair / size)
        cos, sin = (f(angle)[:, None].to(x.dtype) for f in (torch.cos, torch.sin))
        hidden = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        if attention_mask is not None:  # padding, where nothing is looked at but by itself
            hidden = hidden | ~attention_mask.bool()[:, None, None, :] & ~torch.eye(t, dtype=torch.bool, device=x.device)
        for block in self.transformer.h:
            q, key, v = block.attn.qkv(norm(x)).view(n, t, 3, heads, size).unbind(2)
            scores = torch.einsum("nihc,njhc->nhij", turn(q, cos, sin), turn(key, cos, sin)) / size ** 0.5
            p = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
            a = torch.einsum("nhij,njhc->nihc", p, v).reshape(n, t, -1)
            x = x + block.attn.o(a) / (2 * k.layers) ** 0.5
            left, right = block.mlp.w(norm(x)).chunk(2, dim=-1)
            x = x + block.mlp.p(gate(k, left) * right)
        logits = self.lm_head(norm(x))
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits)

    @torch.no_grad()
    def interaction(self, direction, layer=-1):
        """Q of what a layer adds along a direction [d_model] of the residual stream, the gate taken as the identity."""
        mlp = self.transformer.h[layer].mlp
        left, right = mlp.w.weight.double().chunk(2, dim=0)
        q = direction.double() @ mlp.p.weight.double()
        half = left.T @ (q[:, None] * right)
        return (half + half.T) / 2
)PYTHON";
}

}  // namespace glint
