#include "glint/cli/machine.h"

#include <cstdlib>

#include "glint/base/error.h"

namespace glint::cli {
namespace {

Products make_products(const Context& context, Bf16Unit unit) {
  const Kernels& k = kernels(context.isa);
  return unit == Bf16Unit::none ? Products(k) : Products(k, unit);
}

}  // namespace

Bf16Unit bf16_unit(const Context& context, bool loud) {
  if (parse_precision(context.shared.precision) == Precision::f32) return Bf16Unit::none;
  const char* forced = std::getenv("GLINT_BF16");
  const std::string word = forced ? forced : "";
  if (word == "emulated") return Bf16Unit::emulated;
  if (!word.empty() && word != "auto")
    throw Error({.code = ErrorCode::usage,
                 .what = "unknown bf16 unit '" + word + "'",
                 .where = "GLINT_BF16",
                 .expected = suggest(word, {"auto", "emulated"})});
  const Bf16Unit unit = best_bf16(context.cpu);
  if (unit == Bf16Unit::none && loud)
    context.say(
        "note: this processor has no bf16 instructions; computing in f32 (GLINT_BF16=emulated computes bf16 "
        "in portable code, slowly)");
  return unit;
}

Machine::Machine(const Context& context) : Machine(context, context.shared.threads) {}

Machine::Machine(const Context& context, size_t threads, bool loud)
    : unit_(bf16_unit(context, loud)),
      products_(make_products(context, unit_)),
      pool_(threads),
      scratch_(pool_.size()),
      compute_{products_, pool_, scratch_} {}

}  // namespace glint::cli
