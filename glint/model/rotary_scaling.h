// How the frequencies of rotary positions follow from one number, and how models scale them for longer texts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace glint {

// Pair j of a head turns by position * frequency_j; frequency_j = theta^(-2 j / dims), then scaled.
struct RotaryScaling {
  enum class Kind { none, linear, llama3, yarn, longrope };
  Kind kind = Kind::none;
  double factor = 1;         // linear: all frequencies are divided by it
  double low = 1, high = 4;  // llama3: long waves are, short ones are not
  double original = 8192;    // llama3, yarn, longrope: the context that it was first trained for
  double fast = 32,
         slow = 1;    // yarn: pairs that turn more often than `fast` in it are not, those below `slow` are
  bool whole = true;  // yarn: the borders between them are whole pairs
  double size = 1;    // what is turned is multiplied by it
  // One per pair, as the file lists them (GGUF, longrope). Those of longrope are for texts of up to
  // `original` tokens; there are others for longer ones, which glint does not run.
  std::vector<double> divisors = {}, long_divisors = {};

  bool operator==(const RotaryScaling&) const = default;
};

// "", "linear:4", "llama3:8,1,4,8192" (factor, low, high, original) or "divisors:1,1,2" (one per pair); the other
// kinds have no text. Error (usage).
RotaryScaling parse_rotary_scaling(const std::string& text);
std::optional<std::string> rotary_scaling_text(const RotaryScaling& scaling);

// The frequency of every pair of `dims` numbers, after scaling.
std::vector<double> rotary_frequencies(double theta, const RotaryScaling& scaling, size_t dims);

}  // namespace glint
