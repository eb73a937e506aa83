#include "glint/paper/formulas.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "glint/base/rng.h"
#include "glint/kernels/gates.h"
#include "glint/paper/columns.h"
#include "glint/paper/measure.h"
#include "glint/paper/write.h"

namespace glint {
namespace {

constexpr GateParams kPaperParams = {};  // c = .01, lambda = .5, p = 1

double sigma(double x, const GateParams& params = kPaperParams) { return Sqs::formula(x, params); }

// The paper's g, as it prints it; the gate table has it with |x| factored out.
double paper_g(double x, const GateParams& g) {
  const double a = std::fabs(x);
  return ((a + g.c) * (a + g.c) - g.c * g.c) / std::pow(1 + std::pow(g.lambda * a, g.p), 1 / g.p);
}

// 2000 points from -100 to 100 that leave out 0, close together near it.
std::vector<double> points() {
  std::vector<double> x;
  for (int i = -1000; i <= 1000; i++)
    if (i != 0) x.push_back((i < 0 ? -1 : 1) * 1e-4 * std::pow(1e6, (std::abs(i) - 1) / 999.0));
  return x;
}

double largest(const std::vector<double>& x, const auto& value) {
  double most = 0;
  for (const double v : x) most = std::max(most, value(v));
  return most;
}

double apart(double a, double b) {
  const double scale = std::max(std::fabs(a), std::fabs(b));
  return scale == 0 ? 0 : std::fabs(a - b) / scale;
}

// The power of x that |f| follows at x: d ln |f| / d ln x.
double power(const auto& f, double x) {
  const double step = 1e-4;
  return (std::log(std::fabs(f(x * std::exp(step)))) - std::log(std::fabs(f(x * std::exp(-step))))) / (2 * step);
}

// A GLU with d = h = 16, random weights and 100 random inputs: the only shape in which x / |x| can stand
// where the paper puts it.
struct SmallGlu {
  static constexpr size_t kWidth = 16, kInputs = 100;
  std::vector<double> w, v, x;
  SmallGlu() {
    const Rng rng(0, Stream::sample, 0x666d6c00u);
    for (size_t i = 0; i < 2 * kWidth * kWidth + kInputs * kWidth; i++) {
      std::vector<double>& part = i < kWidth * kWidth ? w : i < 2 * kWidth * kWidth ? v : x;
      part.push_back(rng.normal(i));
    }
  }
  static double product(const std::vector<double>& m, size_t row, const double* x) {
    double sum = 0;
    for (size_t i = 0; i < kWidth; i++) sum += m[row * kWidth + i] * x[i];
    return sum;
  }
};

FormulaCheck symmetric_part() {
  // A = W_a V_a' of one output: rank one, as the paper writes it.
  const SmallGlu glu;
  constexpr size_t n = SmallGlu::kWidth;
  const auto a = [&](size_t i, size_t j) { return glu.w[i] * glu.v[j]; };
  double skew = 0, whole = 0, difference = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      skew += std::pow((a(i, j) - a(j, i)) / 2, 2);
      whole += a(i, j) * a(i, j);
    }
  for (size_t s = 0; s < SmallGlu::kInputs; s++) {
    const double* x = &glu.x[s * n];
    double full = 0, half = 0, size = 0;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) {
        full += x[i] * a(i, j) * x[j];
        half += x[i] * (a(i, j) + a(j, i)) / 2 * x[j];
        size += std::fabs(x[i] * a(i, j) * x[j]);
      }
    difference = std::max(difference, std::fabs(full - half) / size);
  }
  return {"symmetric",
          {{"antisymmetric part of A, share of its norm", std::sqrt(skew / whole)},
           {"x'Ax against its symmetric part, largest relative difference", difference}}};
}

FormulaCheck direction_factor() {
  const SmallGlu glu;
  constexpr size_t n = SmallGlu::kWidth;
  double written = 0, signs = 0, all = 0;
  for (size_t s = 0; s < SmallGlu::kInputs; s++) {
    const double* x = &glu.x[s * n];
    double norm = 0;
    for (size_t i = 0; i < n; i++) norm += x[i] * x[i];
    norm = std::sqrt(norm);
    for (size_t h = 0; h < n; h++) {
      const double w = SmallGlu::product(glu.w, h, x), v = SmallGlu::product(glu.v, h, x);
      const double shrunk = (w * std::fabs(v) - kPaperParams.c * w) / (1 + kPaperParams.lambda * std::fabs(v));
      const double right = w * sigma(v);  // what appendix C computes
      written += std::pow(x[h] / norm * shrunk - right, 2);
      signs += std::pow(gate_code::sign(v) * shrunk - right, 2);
      all += right * right;
    }
  }
  return {"direction-factor",
          {{"with x/|x|, relative difference from appendix C's algorithm", std::sqrt(written / all)},
           {"with sgn(Vx), relative difference from it", std::sqrt(signs / all)}}};
}

std::string short_text(double v) {
  if (v != 0 && std::fabs(v) < 1e-3) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0e", v);
    return text;
  }
  return fixed_text(v, 3);
}

struct FormulaRule {
  const char *id, *statement, *place, *computed;
  // From the numbers in the order of compute_formulas.
  FormulaFinding (*judge)(const std::vector<double>& v);
};

FormulaFinding ruled(Verdict verdict, std::string result) {
  FormulaFinding f;
  f.verdict = verdict, f.result = std::move(result);
  return f;
}

const FormulaRule kFormulas[] = {
    {"symmetric", "the anti-symmetric component always evaluates to 0, which implies that A is a symmetric matrix",
     "section 2.1", "A = W_a V_a' of random rows with 16 entries, and x'Ax of 100 random inputs",
     [](const std::vector<double>& v) {
       if (v[1] > kRounding) return ruled(Verdict::fails, "x'Ax is not that of the symmetric part");
       if (v[0] <= kRounding) return ruled(Verdict::holds, "A is symmetric");
       return ruled(Verdict::in_part,
                    "A is not symmetric; it may be replaced by its symmetric part, which has "
                    "the same values");
     }},
    {"limit", "g = f if hyperparameters c = \xce\xbb = 0 and p = 1", "section 3.1",
     "g(x) against x\xc2\xb2 at 2000 points between \xe2\x88\x92"
     "100 and 100",
     [](const std::vector<double>& v) {
       return v[0] <= kRounding ? ruled(Verdict::holds, "the same to rounding") : ruled(Verdict::fails, "they differ");
     }},
    {"gradients", "vanishing gradients for small x and exploding gradients for large x. To rectify this, we modify",
     "section 3.1",
     "slope of x\xc2\xb2 and of g (c = .01, \xce\xbb = .5, p = 1) at x = 1e\xe2\x88\x92"
     "6 and 1e6",
     [](const std::vector<double>& v) {
       const bool small = v[1] > 100 * v[0], large = v[3] < v[2] / 100;
       return ruled(small && large   ? Verdict::holds
                    : small || large ? Verdict::in_part
                                     : Verdict::fails,
                    small && large ? "the slope of g stays between 2c and 1/\xce\xbb" : "not at both ends");
     }},
    {"factor", "we then adapt this g(x) for GLUs by factoring out an |x| [which leaves |x| \xe2\x88\x92 c above]",
     "section 3.1",
     "g(x)/|x| against (|x| + 2c)/(1 + \xce\xbb|x|) and against (|x| \xe2\x88\x92 c)/(1 + \xce\xbb|x|), 2000 "
     "points",
     [](const std::vector<double>& v) {
       if (v[1] <= kRounding) return ruled(Verdict::holds, "the same to rounding");
       return ruled(Verdict::fails, v[0] <= kRounding
                                        ? "factoring out |x| gives |x| + 2c; |x| \xe2\x88\x92 c is another function"
                                        : "neither |x| + 2c nor |x| \xe2\x88\x92 c");
     }},
    {"direction-factor", "x/||x|| times (Wx |Vx| \xe2\x88\x92 c(Wx)) / (1 + (\xce\xbb|Vx|)^p)^(1/p)", "section 3.1",
     "a GLU with 16 inputs and 16 hidden units (any other shape does not multiply), 100 inputs: the formula "
     "as printed, and with sgn(Vx) for x/||x||, against algorithm 1 of appendix C",
     [](const std::vector<double>& v) {
       if (v[0] <= kRounding) return ruled(Verdict::holds, "the same to rounding");
       return ruled(Verdict::fails, v[1] <= kRounding ? "x/||x|| stands where sgn(Vx) is meant"
                                                      : "neither is what appendix C computes");
     }},
    {"direction-kept", "adding a component to maintain directional information in the gate", "section 3.1",
     "sign of \xcf\x83(x) against sign of x, 1000 points with |x| < c and 1000 with |x| > c; the jump at 0",
     [](const std::vector<double>& v) {
       if (v[1] > 0) return ruled(Verdict::fails, "the sign is lost beyond c as well");
       if (v[0] == 0) return ruled(Verdict::holds, "the sign is that of x everywhere");
       return ruled(Verdict::in_part, "kept for |x| > c, turned round for |x| < c; at 0 the gate jumps by 2c");
     }},
    {"p-one", "can be approximated by the following if p = 1: (x \xe2\x88\x92 c sgn(x)) / (1 + \xce\xbb x sgn(x))",
     "section 3.1, algorithm 1", "both formulas at 2000 points, p = 1",
     [](const std::vector<double>& v) {
       return v[0] <= kRounding ? ruled(Verdict::holds, "it is no approximation: the two are the same function")
                                : ruled(Verdict::fails, "they differ");
     }},
    {"quasi-linear", "quasi-linear for |x| << 1 and |x| > 10 and is otherwise similar to a signed quadratic function",
     "section 3.1",
     "the power of x that \xcf\x83(x) follows, d ln|\xcf\x83|/d ln x, at x = 0.2, 3 and 20 (1: a line, 2: a "
     "square); the same of x \xcf\x83(x), what a GLU makes of it when Wx = Vx",
     [](const std::vector<double>& v) {
       const auto is = [](double power, double wanted) { return std::fabs(power - wanted) <= kNearPower; };
       const size_t met = is(v[0], 1) + is(v[1], 2) + is(v[2], 1);
       std::string words = std::to_string(met) + " of 3 parts for \xcf\x83: it is " +
                           (is(v[0], 1) ? "linear near 0, " : "not linear near 0, ") +
                           (is(v[2], 1)   ? "linear beyond 10, "
                            : is(v[2], 0) ? "almost constant beyond 10, "
                                          : "not linear beyond 10, ") +
                           (is(v[1], 2) ? "quadratic between" : "nowhere quadratic between");
       if (is(v[3], 2) && is(v[5], 1)) words += "; x \xcf\x83(x) is quadratic near 0 and linear beyond 10";
       return ruled(met == 3 ? Verdict::holds : met ? Verdict::in_part : Verdict::fails, words);
     }},
};

}  // namespace

std::vector<FormulaCheck> compute_formulas() {
  const std::vector<double> x = points();
  const GateParams& k = kPaperParams;
  std::vector<FormulaCheck> all = {symmetric_part()};
  all.push_back({"limit", {{"largest relative difference of g and x^2", largest(x, [](double v) {
                              return apart(paper_g(v, {.c = 0, .lambda = 0, .p = 1}), v * v);
                            })}}});
  all.push_back({"gradients",
                 {{"slope of x^2 at 1e-6", 2e-6},
                  {"slope of g at 1e-6", QuadraticShrink::slope(1e-6, k)},
                  {"slope of x^2 at 1e6", 2e6},
                  {"slope of g at 1e6", QuadraticShrink::slope(1e6, k)}}});
  const auto factored = [&](double shift) {
    return largest(x, [&](double v) {
      const double a = std::fabs(v);
      return apart(paper_g(v, k) / a, (a + shift) / (1 + k.lambda * a));
    });
  };
  all.push_back({"factor",
                 {{"largest relative difference from |x| + 2c", factored(2 * k.c)},
                  {"largest relative difference from |x| - c", factored(-k.c)}}});
  all.push_back(direction_factor());
  double below = 0, above = 0;
  for (int i = 1; i <= 1000; i++) {
    const double near = k.c * (i - 0.5) / 1000 * (i % 2 ? 1 : -1), far = k.c * (1 + 0.1 * i) * (i % 2 ? 1 : -1);
    below += (sigma(near) < 0) != (near < 0), above += (sigma(far) < 0) != (far < 0);
  }
  all.push_back({"direction-kept",
                 {{"share of |x| < c with the other sign", below / 1000},
                  {"share of |x| > c with the other sign", above / 1000},
                  {"jump at 0", sigma(-1e-300) - sigma(0)}}});
  all.push_back({"p-one", {{"largest relative difference", largest(x, [&](double v) {
                              const double s = gate_code::sign(v), a = std::fabs(v);
                              const double general = s * (a - k.c) / std::pow(1 + std::pow(k.lambda * a, k.p), 1 / k.p);
                              return apart(general, (v - k.c * s) / (1 + k.lambda * v * s));
                            })}}});
  FormulaCheck powers{"quasi-linear", {}};
  for (const double at : {0.2, 3.0, 20.0})
    powers.numbers.push_back({"power of sigma at " + number_text(at), power([](double v) { return sigma(v); }, at)});
  for (const double at : {0.2, 3.0, 20.0})
    powers.numbers.push_back(
        {"power of x sigma at " + number_text(at), power([](double v) { return v * sigma(v); }, at)});
  all.push_back(std::move(powers));
  return all;
}

std::vector<FormulaFinding> judge_formulas(std::span<const FormulaCheck> checks) {
  static const std::vector<FormulaCheck> kShape = compute_formulas();  // how many numbers each has
  std::vector<FormulaFinding> findings;
  for (const FormulaRule& rule : kFormulas) {
    const auto found = std::ranges::find(checks, std::string(rule.id), &FormulaCheck::id);
    const auto shape = std::ranges::find(kShape, std::string(rule.id), &FormulaCheck::id);
    FormulaFinding f;
    if (found != checks.end() && found->numbers.size() == shape->numbers.size()) {
      std::vector<double> values;
      for (const FormulaNumber& n : found->numbers) values.push_back(n.value);
      f = rule.judge(values);
    }
    f.id = rule.id, f.statement = rule.statement, f.place = rule.place, f.computed = rule.computed;
    findings.push_back(std::move(f));
  }
  return findings;
}

ReportTable formulas_table(std::span<const FormulaCheck> checks) {
  ReportTable t{.name = "formulas",
                .caption =
                    "The paper's formulas, computed. Differences of 1e-12 and less are rounding. c = .01, \xce\xbb = "
                    ".5 and p = 1 where nothing else is said.",
                .heads = heads({"the paper says", "computed", "numbers", "so"}, 4),
                .data = data_table("id statement place computed number value verdict result")};
  for (const FormulaFinding& f : judge_formulas(checks)) {
    if (f.verdict == Verdict::not_tested) continue;
    const auto& check = *std::ranges::find(checks, f.id, &FormulaCheck::id);
    std::string numbers;
    for (const FormulaNumber& n : check.numbers) {
      numbers += (numbers.empty() ? "" : "; ") + n.name + ": " + short_text(n.value);
      t.data.add({f.id, f.statement, f.place, f.computed, n.name, number_text(n.value), std::string(name(f.verdict)),
                  f.result});
    }
    t.rows.push_back({{{"\xe2\x80\x9c" + f.statement + "\xe2\x80\x9d", f.place},
                       {f.computed},
                       {numbers},
                       {std::string(name(f.verdict)), f.result, true}},
                      true});
  }
  return t;
}

void measure_formulas(Measuring& m) { m.measured.formulas = compute_formulas(); }

void write_formulas(const Measured& m, ReportSection& section) {
  if (m.formulas.empty()) return;
  const std::vector<FormulaFinding> findings = judge_formulas(m.formulas);
  const auto count = [&](Verdict v) {
    return std::to_string(std::ranges::count(findings, v, &FormulaFinding::verdict));
  };
  section.blocks.push_back(Paragraph{"What the paper writes about its formulas, computed with numbers. Of " +
                                     std::to_string(findings.size()) + " statements " + count(Verdict::holds) +
                                     " hold, " + count(Verdict::in_part) + " hold in part, " + count(Verdict::fails) +
                                     " do not hold as printed. None of this touches the experiments: the code computes "
                                     "algorithm 1 of appendix C, which is sound."});
  section.blocks.push_back(formulas_table(m.formulas));
}

}  // namespace glint
