#include "glint/model/transformer.h"

#include "glint/base/error.h"

namespace glint {
namespace {

void check_range(const char* option, size_t value, size_t low, size_t high) {
  if (value >= low && value <= high) return;
  throw Error({.code = ErrorCode::usage,
               .what = std::string(option) + " = " + std::to_string(value) + " is outside its domain",
               .where = option,
               .expected = "a whole number from " + std::to_string(low) + " to " + std::to_string(high)});
}

}  // namespace

void check(const TransformerConfig& c) {
  check_range("--vocab", c.vocab, 2, 65536);  // ids have 16 bits
  check_range("--layers", c.layers, 1, 64);
  check_range("--d-model", c.d_model, 2, 16384);
  check_range("--d-hidden", c.hidden(), 1, 16384);
  check_range("--heads", c.heads, 1, 1024);
  check_range("--context", c.context, 1, 16384);
  if (c.d_model % (2 * c.heads) != 0)
    throw Error(
        {.code = ErrorCode::usage,
         .what = "--d-model = " + std::to_string(c.d_model) + " cannot be cut into " +
                 std::to_string(c.heads) + " heads",
         .where = "--heads",
         .expected = "--d-model a multiple of twice --heads, because positions turn pairs of numbers"});
  check(c.gate.params);
}

TransformerParams transformer_params(const TransformerConfig& c) {
  TransformerParams p;
  const auto add = [&](const std::string& name, size_t rows, size_t cols) {
    return p.table.add({.name = name + ".weight", .rows = rows, .cols = cols, .fan_in = cols});
  };
  const size_t d = c.d_model, h = c.hidden();
  p.wte = p.table.add({.name = "transformer.wte.weight", .rows = c.vocab, .cols = d, .fan_in = 0});
  for (size_t i = 0; i < c.layers; i++) {
    const std::string block = "transformer.h." + std::to_string(i);
    TransformerParams::Block b;
    b.qkv = add(block + ".attn.qkv", 3 * d, d);
    b.o = add(block + ".attn.o", d, d);
    b.mlp_w = add(block + ".mlp.w", 2 * h, d);
    b.mlp_p = add(block + ".mlp.p", d, h);
    p.blocks.push_back(b);
  }
  p.head = add("lm_head", c.vocab, d);
  return p;
}

}  // namespace glint
