#include "glint/model/params.h"

#include <cmath>

#include "glint/base/error.h"
#include "glint/base/rng.h"

namespace glint {

size_t ParamTable::add(ParamSpec spec) {
  spec.offset = floats_;
  floats_ += (spec.size() + 15) / 16 * 16;
  specs_.push_back(std::move(spec));
  return specs_.size() - 1;
}

const ParamSpec& ParamTable::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const ParamSpec& s : specs_) {
    if (s.name == name) return s;
    names.push_back(s.name);
  }
  throw Error({.code = ErrorCode::usage,
               .what = "the model has no tensor " + std::string(name),
               .where = "name",
               .expected = suggest(name, names)});
}

size_t ParamTable::parameters() const {
  size_t total = 0;
  for (const ParamSpec& s : specs_) total += s.size();
  return total;
}

void ParamTable::check_buffer(std::span<const float> buffer, const char* where) const {
  if (buffer.size() != floats_)
    bad_argument(where, std::to_string(buffer.size()) + " floats",
                 std::to_string(floats_) + ": the parameters of the model, with the gaps for alignment");
}

void ParamTable::initialise(std::span<float> buffer, uint64_t seed) const {
  check_buffer(buffer, "initialise");
  std::fill(buffer.begin(), buffer.end(), 0.0f);
  for (size_t t = 0; t < specs_.size(); t++) {
    const ParamSpec& s = specs_[t];
    const Rng rng(seed, Stream::init, static_cast<uint32_t>(t));
    float* p = buffer.data() + s.offset;
    if (s.start) {
      std::fill_n(p, s.size(), *s.start);
      continue;
    }
    const double bound = s.fan_in ? 1.0 / std::sqrt(static_cast<double>(s.fan_in)) : 0;
    for (size_t i = 0; i < s.size(); i++)
      p[i] = static_cast<float>(s.fan_in ? bound * (2 * rng.uniform(i) - 1) : rng.normal(i));
  }
}

}  // namespace glint
