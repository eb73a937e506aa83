#include "glint/model/family_rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/io/fields.h"

namespace glint {
namespace {

constexpr uint64_t kMaxHeadWidth = 1 << 20;

// What yarn and longrope multiply queries and keys by, where the file does not say.
double yarn_size(double factor, double by = 1) { return factor <= 1 ? 1 : 0.1 * by * std::log(factor) + 1; }
double longrope_size(double factor, double original) {
  return factor <= 1 || original <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
}

void read_yarn(const ConfigKeys& keys, const FamilyConfig& c, RotaryScaling& s) {
  s.kind = RotaryScaling::Kind::yarn;
  s.original = keys.real_or("original_max_position_embeddings", static_cast<double>(c.context));
  s.factor = keys.find("factor") ? keys.real("factor") : static_cast<double>(c.context) / s.original;
  s.fast = keys.real_or("beta_fast", 32), s.slow = keys.real_or("beta_slow", 1);
  s.whole = keys.flag("truncate", true);
  const double scale = keys.real_or("mscale", 0), all = keys.real_or("mscale_all_dim", 0);
  s.size = keys.real_or("attention_factor", scale > 0 && all > 0 ? yarn_size(s.factor, scale) / yarn_size(s.factor, all)
                                                                 : yarn_size(s.factor));
  if (!(s.original > 0)) keys.refuse("original_max_position_embeddings", "more than 0");
  if (!(s.fast > 0)) keys.refuse("beta_fast", "more than 0");
  if (!(s.slow > 0)) keys.refuse("beta_slow", "more than 0");
}

void read_longrope(const ConfigKeys& keys, const FamilyConfig& c, double original, RotaryScaling& s) {
  s.kind = RotaryScaling::Kind::longrope;
  s.original = keys.real_or("original_max_position_embeddings", original);
  if (!(s.original >= 1)) keys.refuse("original_max_position_embeddings", "at least 1");
  const double factor = keys.find("factor") ? keys.real("factor") : static_cast<double>(c.context) / s.original;
  s.size = keys.real_or("attention_factor", longrope_size(factor, s.original));
  s.divisors = keys.reals("short_factor", c.rotary_dims / 2);
  s.long_divisors = keys.reals("long_factor", c.rotary_dims / 2);
}

// `original`: what the configuration says beside it, 0: nothing.
void read_scaling(const ConfigKeys& keys, const FamilyConfig& c, double original, RotaryScaling& scaling) {
  const std::string key = keys.find("rope_type") ? "rope_type" : "type";
  const std::string kind = keys.text_or(key, "default");
  keys.find("type");
  if (kind == "linear") {
    scaling.kind = RotaryScaling::Kind::linear;
    scaling.factor = keys.real("factor");
  } else if (kind == "llama3") {
    scaling.kind = RotaryScaling::Kind::llama3;
    scaling.factor = keys.real("factor");
    scaling.low = keys.real("low_freq_factor");
    scaling.high = keys.real("high_freq_factor");
    scaling.original = keys.real("original_max_position_embeddings");
    if (!(scaling.high > scaling.low)) keys.refuse("high_freq_factor", "more than low_freq_factor");
  } else if (kind == "yarn") {
    read_yarn(keys, c, scaling);
  } else if (kind == "longrope" || kind == "su") {  // the first files of Phi-3 say su
    read_longrope(keys, c, original, scaling);
  } else if (kind == "default") {
    keys.find("original_max_position_embeddings");
  } else {
    keys.refuse(key, "default, linear, llama3, yarn or longrope");
  }
  if (!(scaling.factor > 0)) keys.refuse("factor", "more than 0");
}

std::vector<double> divisors_of(const WeightFile& file, const StoredTensor& t, size_t pairs) {
  const std::string where = file.where() + ", " + t.name;
  if (t.values() != pairs)
    throw Error({.code = ErrorCode::bad_file,
                 .what = std::to_string(t.values()) + " divisors of rotary frequencies",
                 .where = where,
                 .expected = std::to_string(pairs) + ", one for each pair"});
  std::vector<float> values(pairs);
  widen(t, 0, values);
  if (std::ranges::any_of(values, [](float v) { return !(v > 0) || !std::isfinite(v); }))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "a divisor of rotary frequencies is not positive",
                 .where = where,
                 .expected = "numbers above 0"});
  return {values.begin(), values.end()};
}

// Between what turns more often than `fast` in the first context, and is left, and what turns less often than
// `slow`, and is divided by the factor, the pairs go over from one to the other.
double yarn_frequency(const RotaryScaling& s, double theta, size_t dims, size_t pair, double f) {
  const auto pair_that_turns = [&](double times) {
    return static_cast<double>(dims) * std::log(s.original / (times * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  double low = pair_that_turns(s.fast), high = pair_that_turns(s.slow);
  if (s.whole) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, static_cast<double>(dims) - 1);
  if (low == high) high += 0.001;
  const double slowed = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return f / s.factor * slowed + f * (1 - slowed);
}

// Numbers of a head that turn.
size_t turning(const ConfigKeys& keys, double partial, size_t head_dim) {
  if (!(partial > 0) || partial > 1) keys.refuse("partial_rotary_factor", "more than 0, at most 1");
  return static_cast<size_t>(partial * static_cast<double>(head_dim));
}

// A number may stand in two places; then it must be the same.
void agree(const ConfigKeys& keys, const std::string& key, const ConfigKeys& inner, const std::string& inner_key) {
  const Json *here = keys.find(key), *there = inner.find(inner_key);
  if (here && there && *here != *there)
    keys.refuse(key, there->dump() + ", as `" + inner_key + "` says inside `rope_parameters` or `rope_scaling`");
}

}  // namespace

void read_rotary_hf(const ConfigKeys& keys, const std::string& title, const std::string& where, FamilyConfig& c) {
  const double partial = keys.real_or("partial_rotary_factor", 1);
  c.theta = keys.real_or("rope_theta", 10000);
  c.local_theta = keys.real_or("rope_local_base_freq", c.family->local_theta);
  const double original = keys.real_or("original_max_position_embeddings", 0);
  c.rotary_dims = turning(keys, partial, c.head_dim);
  for (const std::string key : {"rope_parameters", "rope_scaling"}) {
    const Json* object = keys.find(key);
    if (!object) continue;
    if (!object->is_object()) keys.refuse(key, "an object");
    const bool second = key == "rope_scaling" && keys.find("rope_parameters");
    const FamilyConfig before = c;
    const auto one = [&](const Json& part, const char* theta_key, double& theta, RotaryScaling& scaling) {
      const ConfigKeys inner(part, title, where);
      agree(keys, theta_key, inner, "rope_theta");
      agree(keys, "partial_rotary_factor", inner, "partial_rotary_factor");
      agree(keys, "original_max_position_embeddings", inner, "original_max_position_embeddings");
      theta = inner.real_or("rope_theta", theta);
      if (inner.find("partial_rotary_factor"))
        c.rotary_dims = turning(inner, inner.real("partial_rotary_factor"), c.head_dim);
      scaling = {};
      read_scaling(inner, c, original, scaling);
      inner.no_others();
    };
    const auto full = object->find("full_attention"), local = object->find("sliding_attention");
    if (full != object->end() && local != object->end() && full->is_object() && local->is_object()) {
      RotaryScaling none;
      one(*full, "rope_theta", c.theta, c.scaling);
      const size_t dims = c.rotary_dims;
      one(*local, "rope_local_base_freq", c.local_theta, none);
      if (none.kind != RotaryScaling::Kind::none) keys.refuse(key, "no scaling in layers with a window");
      if (c.rotary_dims != dims) keys.refuse(key, "one `partial_rotary_factor` for all layers");
    } else {
      one(*object, "rope_theta", c.theta, c.scaling);
    }
    if (second && (c.theta != before.theta || c.local_theta != before.local_theta ||
                   c.rotary_dims != before.rotary_dims || c.scaling != before.scaling))
      keys.refuse(key, "the same as `rope_parameters` beside it");
  }
}

void read_rotary_gguf(const ConfigKeys& keys, const WeightFile& file, const std::string& architecture,
                      FamilyConfig& c) {
  const auto own = [&](const char* key) { return architecture + "." + key; };
  c.theta = keys.real_or(own("rope.freq_base"), 10000);
  c.local_theta = keys.real_or(own("rope.freq_base_swa"), c.family->local_theta);
  c.rotary_dims = keys.count_or(own("rope.dimension_count"), 2, kMaxHeadWidth, c.head_dim);
  c.adjacent = c.family->gguf_adjacent;
  RotaryScaling& s = c.scaling;
  const std::string kind = keys.text_or(own("rope.scaling.type"), "none");
  s.original = keys.real_or(own("rope.scaling.original_context_length"), static_cast<double>(c.context));
  if (kind == "linear" || kind == "yarn") {
    s.kind = kind == "yarn" ? RotaryScaling::Kind::yarn : RotaryScaling::Kind::linear;
    s.factor = keys.real(own("rope.scaling.factor"));
    if (!(s.factor > 0)) keys.refuse(own("rope.scaling.factor"), "more than 0");
    if (kind == "yarn") {
      s.fast = keys.real_or(own("rope.scaling.yarn_beta_fast"), 32);
      s.slow = keys.real_or(own("rope.scaling.yarn_beta_slow"), 1);
      if (!(s.fast > 0)) keys.refuse(own("rope.scaling.yarn_beta_fast"), "more than 0");
      if (!(s.slow > 0)) keys.refuse(own("rope.scaling.yarn_beta_slow"), "more than 0");
      if (!(s.original > 0)) keys.refuse(own("rope.scaling.original_context_length"), "more than 0");
      s.size = yarn_size(s.factor);
    }
  } else if (kind != "none" && kind != "longrope") {
    keys.refuse(own("rope.scaling.type"), "none, linear, yarn or longrope");
  }
  const size_t pairs = c.rotary_dims / 2;
  const StoredTensor* divisors = file.find("rope_freqs.weight");
  const StoredTensor *shorter = file.find("rope_factors_short.weight"), *longer = file.find("rope_factors_long.weight");
  if (divisors) s.divisors = divisors_of(file, *divisors, pairs);
  if (!shorter != !longer || (kind == "longrope" && !shorter) || (shorter && divisors))
    keys.refuse(own("rope.scaling.type"), "both sets of factors of longrope, or neither");
  if (shorter) {
    s.kind = RotaryScaling::Kind::longrope;
    s.divisors = divisors_of(file, *shorter, pairs);
    s.long_divisors = divisors_of(file, *longer, pairs);
    if (!(s.original >= 1)) keys.refuse(own("rope.scaling.original_context_length"), "at least 1");
    s.size = longrope_size(static_cast<double>(c.context) / s.original, s.original);
  }
  const double size = keys.real_or(own("rope.scaling.attn_factor"), 0);
  if (size > 0) s.size = (s.kind == RotaryScaling::Kind::yarn ? s.size : 1) * size;
}

size_t longest_text(const FamilyConfig& c) {
  return c.scaling.kind == RotaryScaling::Kind::longrope ? std::min(c.context, static_cast<size_t>(c.scaling.original))
                                                         : c.context;
}

RotaryScaling parse_rotary_scaling(const std::string& text) {
  using Kind = RotaryScaling::Kind;
  RotaryScaling s;
  if (text.empty()) return s;
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  s.kind = kind == "linear" ? Kind::linear : kind == "llama3" ? Kind::llama3 : Kind::none;
  std::vector<double> numbers;
  if (colon != std::string::npos) set_field(Field(kind, numbers, ""), text.substr(colon + 1), "rotary_scaling");
  const bool sound = !numbers.empty() && std::ranges::all_of(numbers, [](double v) { return v > 0 && v <= 1e9; });
  if (kind == "divisors" && sound) {
    s.divisors = numbers;
    return s;
  }
  const size_t wanted = s.kind == Kind::linear ? 1 : s.kind == Kind::llama3 ? 4 : 0;
  if (wanted == 0 || numbers.size() != wanted || !sound || (wanted == 4 && numbers[2] <= numbers[1]))
    throw Error(
        {.code = ErrorCode::usage,
         .what = "`rotary_scaling` = " + text,
         .where = "rotary_scaling",
         .expected = "linear:FACTOR, llama3:FACTOR,LOW,HIGH,ORIGINAL or divisors:ONE PER PAIR, numbers above 0"});
  s.factor = numbers[0];
  if (wanted == 4) s.low = numbers[1], s.high = numbers[2], s.original = numbers[3];
  return s;
}

std::optional<std::string> rotary_scaling_text(const RotaryScaling& s) {
  using Kind = RotaryScaling::Kind;
  if (!s.long_divisors.empty() || s.size != 1) return std::nullopt;
  if (!s.divisors.empty()) {
    std::string text;
    for (const double d : s.divisors) text += (text.empty() ? "divisors:" : ",") + number_text(d);
    return s.kind == Kind::none ? std::optional(text) : std::nullopt;
  }
  if (s.kind == Kind::none) return "";
  if (s.kind == Kind::linear) return "linear:" + number_text(s.factor);
  if (s.kind != Kind::llama3) return std::nullopt;
  return "llama3:" + number_text(s.factor) + "," + number_text(s.low) + "," + number_text(s.high) + "," +
         number_text(s.original);
}

std::vector<double> rotary_frequencies(double theta, const RotaryScaling& s, size_t dims) {
  std::vector<double> out(dims / 2);
  for (size_t j = 0; j < out.size(); j++) {
    double f = std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(dims));
    if (s.kind == RotaryScaling::Kind::linear) f /= s.factor;
    if (s.kind == RotaryScaling::Kind::llama3) {
      const double wave = 2 * std::numbers::pi / f;
      const double smooth = std::clamp((s.original / wave - s.low) / (s.high - s.low), 0.0, 1.0);
      f = (1 - smooth) * f / s.factor + smooth * f;
    }
    if (!s.divisors.empty()) f /= s.divisors[j];
    if (s.kind == RotaryScaling::Kind::yarn) f = yarn_frequency(s, theta, dims, j, f);
    out[j] = f;
  }
  return out;
}

std::vector<double> rotary_frequencies(const FamilyConfig& c, bool local) {
  if (local && c.local_theta > 0) return rotary_frequencies(c.local_theta, {}, c.rotary_dims);
  return rotary_frequencies(c.theta, c.scaling, c.rotary_dims);
}

}  // namespace glint
