// The paper's formulas, checked with numbers: what each statement says, what was computed, what came out.
//
//   computed:  compute_formulas()            numbers under names, kept in measured.json
//   judged:    judge_formulas(numbers)       rules that look at these numbers and nothing else
//   written:   formulas_table(numbers)       the section "formulas" of the report
#pragma once

#include <span>
#include <string>
#include <vector>

#include "glint/paper/measured.h"
#include "glint/report/report_page.h"

namespace glint {

// Every statement once, in the order of the paper. The same numbers on every machine, but for rounding.
std::vector<FormulaCheck> compute_formulas();

struct FormulaFinding {
  std::string id, statement, place;  // the statement in the paper's words
  std::string computed;              // which numbers
  std::string result;                // what they say, in words
  Verdict verdict = Verdict::not_tested;
};
// Checks that are missing are not tested.
std::vector<FormulaFinding> judge_formulas(std::span<const FormulaCheck> checks);

ReportTable formulas_table(std::span<const FormulaCheck> checks);

// Two numbers are the same when they differ by no more than rounding.
inline constexpr double kRounding = 1e-12;
// A power of x is that of a line (1) or of a square (2) when it is no farther from it.
inline constexpr double kNearPower = 0.25;

}  // namespace glint
