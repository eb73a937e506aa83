// A claim and what became of it: a block of a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glint {

enum class Verdict { holds, in_part, fails, not_tested };
// "holds", "holds in part", "does not hold", "not tested at this scale".
std::string_view name(Verdict verdict);

struct Finding {
  std::string id;            // for CSV and JSON
  std::string quote, place;  // the claim in a few words, and where the paper makes it
  std::string rule;          // what would make it hold
  std::string measured;
  Verdict verdict = Verdict::not_tested;
  bool in_paper = true;    // false: a question that the paper does not ask
  std::string why = {};    // of a claim that is not tested: what was missing or too small
  std::string small = {};  // of such a claim: what the smaller data say, "on glyphs: holds"; empty: nothing
  // The same rule on the numbers that the paper prints: the verdict's name, and these numbers in words. Empty
  // where it prints none.
  std::string paper = {}, paper_measured = {};
};
using Findings = std::vector<Finding>;

// `measured` of a claim whose experiment was not run.
inline constexpr const char* kNotRun = "not run";

}  // namespace glint
