// The gates of a GLU, y = gate(l) * r. Each is one struct: its text, its value and derivative in double (the
// reference, straight from the formula) and in float (what the loops vectorise). To add a gate, write its
// struct and give it a line in GLINT_GATES: the program, the kernels, the page, the exported models, the
// figures, the tests and the benchmarks take it from there.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/kernels/vmath.h"

namespace glint {

// Options of a gate. Only SQS has any; the others ignore them.
struct GateParams {
  double c = 0.01;      // shift, any finite value
  double lambda = 0.5;  // shrink, >= 0
  double p = 1.0;       // sharpness of the shrink, > 0
};

// What a gate does when its input changes sign.
enum class Parity {
  odd,          // gate(-h) = -gate(h), but for the value at 0 where a gate jumps
  half_linear,  // gate(h) - gate(-h) = h: the odd part is h / 2
  other
};

struct GateText {
  std::string_view name;   // as on the command line
  std::string_view title;  // as in a legend
  std::string_view value;  // formulas, plain text
  std::string_view derivative;
  // The derivative at finite h in the words of the code: kernels for GPUs are made of both.
  std::string_view slope_code = {};
  std::string_view aliases = {};  // other names that are understood, with spaces between them
  Parity parity = Parity::other;
  bool has_params = false;
  bool glu = true;  // false: a plain activation, not offered as the gate of a GLU
};

// The words of a gate's code, besides + - * / and numbers: h, the options c, lam (lambda) and p, and these.
// JavaScript has them in web/gates.js, Python in report/gate_table.cc. The code of slopes has also exp, step (1 above
// 0, else 0) and power(k, x, y) = k x^y, which is 0 where k is.
namespace gate_code {
inline double abs(double x) { return std::fabs(x); }
inline double sign(double x) { return x < 0 ? -1 : 1; }
inline double relu(double x) { return x <= 0 ? 0 : x; }
inline double erfc(double x) { return std::erfc(x); }
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// (1 + t^p)^(1/p) for t >= 0, without overflow.
inline double shrink(double t, double p) {
  if (p == 1) return 1 + t;
  const double more = t < 1 ? 1 : t, less = t < 1 ? t : 1;
  return more * std::pow(1 + std::pow(less / more, p), 1 / p);
}
}  // namespace gate_code

// The value of a gate at finite h: one expression, compiled here as formula() and kept as the text `code` for
// the languages of the page and of exported models.
#define GLINT_GATE_CODE(...)                                                               \
  static constexpr std::string_view code = #__VA_ARGS__;                                   \
  static double formula([[maybe_unused]] double h, [[maybe_unused]] const GateParams& g) { \
    using gate_code::abs, gate_code::sign, gate_code::relu, gate_code::erfc;               \
    using gate_code::sigmoid, gate_code::shrink;                                           \
    [[maybe_unused]] const double c = g.c, lam = g.lambda, p = g.p;                        \
    return __VA_ARGS__;                                                                    \
  }

struct ValueAndSlope {
  float value, slope;
};

// ---------------------------------------------------------------------------------------------------------------

// Signed Quadratic Shrink. sgn(0) = +1; it jumps from +c to -c at 0 and the slope there is that of the right
// side.
struct Sqs {
  static constexpr GateText text = {.name = "sqs",
                                    .title = "SQS",
                                    .value = "sgn(h) (|h| - c) / (1 + (lambda |h|)^p)^(1/p)",
                                    .derivative = "(1 + c lambda^p |h|^(p-1)) / (1 + (lambda |h|)^p)^(1 + 1/p)",
                                    .slope_code =
                                        "power(1, 1 / shrink(lam * abs(h), p), p + 1) + power(c * lam, lam * abs(h) / "
                                        "shrink(lam * abs(h), p), p - 1) * power(1, 1 / shrink(lam * abs(h), p), 2)",
                                    .parity = Parity::odd,
                                    .has_params = true};
  GLINT_GATE_CODE(sign(h) * (abs(h) - c) / shrink(lam * abs(h), p))

  static double value(double h, const GateParams& g) {
    return std::isinf(h) ? gate_code::sign(h) / g.lambda : formula(h, g);
  }
  static double slope(double h, const GateParams& g) {
    const double t = g.lambda * std::fabs(h), cl = g.c * g.lambda;
    if (std::isinf(h)) return g.lambda == 0 ? 1 : 0;
    if (t <= 1) {
      const double shift = cl == 0 ? 0 : cl * std::pow(t, g.p - 1);
      return (1 + shift) / std::pow(1 + std::pow(t, g.p), 1 + 1 / g.p);
    }
    return (std::pow(t, -g.p - 1) + cl / (t * t)) / std::pow(1 + std::pow(t, -g.p), 1 + 1 / g.p);
  }

  // lambda = 0: no shrink, whatever p. Apart, because 0 * inf would make infinite inputs NaN.
  struct Unshrunk {
    float c;
    explicit Unshrunk(const GateParams& g) : c(static_cast<float>(g.c)) {}
    GLINT_INLINE ValueAndSlope operator()(float h) const {
      const float v = __builtin_fabsf(h) - c;
      return {h < 0 ? -v : v, 1.0f};
    }
  };

  // p = 1, the fast path: one division.
  struct P1 {
    float c, lambda, slope0, far, limit;
    explicit P1(const GateParams& g)
        : c(static_cast<float>(g.c)),
          lambda(static_cast<float>(g.lambda)),
          slope0(static_cast<float>(1 + g.lambda * g.c)),
          // Beyond `far` the value is 1/lambda to rounding, and the quotient might be inf/inf.
          far(g.lambda > 1e-18 ? static_cast<float>(0x1p64 / g.lambda) : std::numeric_limits<float>::infinity()),
          limit(static_cast<float>(1 / g.lambda)) {}
    GLINT_INLINE ValueAndSlope operator()(float h) const {
      const float a = __builtin_fabsf(h);
      const float d = 1.0f / (1.0f + lambda * a);
      const float v = a >= far ? limit : (a - c) * d;
      return {h < 0 ? -v : v, slope0 * d * d};
    }
  };

  // Any p: through logarithms, in double.
  struct AnyP {
    double c, lambda, p, cl, shift0;  // shift0: c lambda t^(p-1) at t = 0
    explicit AnyP(const GateParams& g)
        : c(g.c),
          lambda(g.lambda),
          p(g.p),
          cl(g.c * g.lambda),
          shift0(p < 1 && cl != 0 ? cl * std::numeric_limits<double>::infinity() : 0) {}
    GLINT_INLINE ValueAndSlope operator()(float hf) const {
      const double a = __builtin_fabs(static_cast<double>(hf));
      // lambda a kept inside what log takes; beyond 1e300 the shrink is complete.
      const double ta = lambda * a;
      const double t = ta < 1e-300 ? 1e-300 : ta > 1e300 ? 1e300 : ta;
      const double lt = vmath::log(t);
      const double alt = __builtin_fabs(lt);
      const double e = -p * alt;                                                     // ln of min(t, 1/t)^p
      const double u = ta == 0 || e < -700 ? 0.0 : vmath::exp(e < -700 ? -700 : e);  // in [0, 1]
      const double lu = u < 1e-16 ? u : vmath::log(1 + u);                           // ln(1 + u)
      const double rest = lu / p > 700 ? 700 : lu / p;
      const double root = vmath::exp(-rest);  // (1 + u)^(-1/p)
      const bool far = lt > 0;
      // t > 1: (1 + t^p)^(1/p) = t (1 + t^-p)^(1/p), and a/t = 1/lambda.
      const double v = far ? (1 / lambda - c / t) * root : (a - c) * root;
      const double scale = root / (1 + u);
      const double t1 = 1 / t;
      const double near_shift = ta == 0 ? shift0 : cl * u * t1;  // c lambda t^(p-1)
      const double s = far ? (u * t1 + cl * t1 * t1) * scale : (1 + near_shift) * scale;
      const float vf = static_cast<float>(v);
      const bool nan = hf != hf;
      return {nan ? hf : hf < 0 ? -vf : vf, nan ? hf : static_cast<float>(s)};
    }
  };

  template <class Body>
  static void with(const GateParams& g, Body&& body) {
    if (g.lambda == 0)
      body(Unshrunk(g));
    else if (g.p == 1)
      body(P1(g));
    else
      body(AnyP(g));
  }
};

struct Identity {
  static constexpr GateText text = {.name = "identity",
                                    .title = "Bilinear",
                                    .value = "h",
                                    .derivative = "1",
                                    .slope_code = "1",
                                    .aliases = "bilinear none",
                                    .parity = Parity::odd};
  GLINT_GATE_CODE(h)
  static double value(double h, const GateParams& g) { return formula(h, g); }
  static double slope(double, const GateParams&) { return 1; }
  GLINT_INLINE ValueAndSlope operator()(float h) const { return {h, 1.0f}; }
};

struct Relu {
  static constexpr GateText text = {.name = "relu",
                                    .title = "ReLU",
                                    .value = "max(h, 0)",
                                    .derivative = "1 if h > 0 else 0",
                                    .slope_code = "step(h)",
                                    .parity = Parity::half_linear};
  GLINT_GATE_CODE(relu(h))
  static double value(double h, const GateParams& g) { return formula(h, g); }
  static double slope(double h, const GateParams&) { return h > 0 ? 1 : 0; }
  GLINT_INLINE ValueAndSlope operator()(float h) const { return {h <= 0 ? 0.0f : h, h > 0 ? 1.0f : 0.0f}; }
};

// At -inf the values of GELU and SiLU are their limit, 0: as ReLU.
struct Gelu {
  static constexpr GateText text = {.name = "gelu",
                                    .title = "GELU",
                                    .value = "h Phi(h), Phi the normal distribution (exact, erf)",
                                    .derivative = "Phi(h) + h phi(h)",
                                    .slope_code =
                                        "0.5 * erfc(-0.7071067811865476 * h) + 0.3989422804014327 * h * "
                                        "exp(-0.5 * h * h)",
                                    .parity = Parity::half_linear};
  GLINT_GATE_CODE(0.5 * h * erfc(-0.7071067811865476 * h))
  static double value(double h, const GateParams& g) { return std::isinf(h) ? gate_code::relu(h) : formula(h, g); }
  static double slope(double h, const GateParams&) {
    if (std::isinf(h)) return h > 0 ? 1 : 0;
    return 0.5 * std::erfc(-h * std::numbers::sqrt2 / 2) + h * std::exp(-0.5 * h * h) / std::sqrt(2 * std::numbers::pi);
  }
  // In double: the lower tail is a product of tiny numbers that must keep its relative precision.
  // Q(a) = P(-a) = exp(-a^2/2) N(a)/D(a); the quotient is a minimax fit on [0, 14.7], relative error 6e-9.
  GLINT_INLINE ValueAndSlope operator()(float hf) const {
    const double h = hf < -20.0f ? -20.0 : static_cast<double>(hf);
    const double b = __builtin_fabs(h), a = b > 20.0 ? 20.0 : b;
    const double n =
        5.000000030e-01 + a * (4.386936215e-01 + a * (1.835308018e-01 + a * (4.073298493e-02 + a * 4.131141489e-03)));
    const double d =
        1.0 + a * (1.675272234e+00 +
                   a * (1.203730559e+00 + a * (4.702512374e-01 + a * (1.021087632e-01 + a * 1.035511965e-02))));
    const double e = vmath::exp(-0.5 * a * a);
    const double q = e * n / d;
    const double cdf = h < 0 ? q : 1 - q;
    const double density = e * 0.3989422804014327;
    return {static_cast<float>(h * cdf), static_cast<float>(cdf + (h < 0 ? -a : a) * density)};
  }
};

struct Silu {
  static constexpr GateText text = {.name = "silu",
                                    .title = "SwiGLU",
                                    .value = "h / (1 + exp(-h))",
                                    .derivative = "s (1 + h (1 - s)), s = 1 / (1 + exp(-h))",
                                    .slope_code = "sigmoid(h) * (1 + h * sigmoid(-h))",
                                    .aliases = "swiglu swish",
                                    .parity = Parity::half_linear};
  GLINT_GATE_CODE(sigmoid(h) * h)
  static double value(double h, const GateParams& g) { return std::isinf(h) ? gate_code::relu(h) : formula(h, g); }
  static double slope(double h, const GateParams&) {
    if (std::isinf(h)) return h > 0 ? 1 : 0;
    const double s = 1 / (1 + std::exp(-h));
    return s * (1 + h * (1 - s));
  }
  GLINT_INLINE ValueAndSlope operator()(float hf) const {
    const float h = hf < -110.0f ? -110.0f : hf;
    const float b = __builtin_fabsf(h), a = b > 110.0f ? 110.0f : b;
    const vmath::ExpParts x = vmath::exp_parts(-a);
    const int32_t half = x.exponent >> 1;  // 2^exponent in two normal steps
    const float s1 = vmath::power_of_two(half), s2 = vmath::power_of_two(x.exponent - half);
    const float e = x.mantissa * s1 * s2;
    const float big = 1.0f / (1.0f + e), small = e * big;  // logistic(a), logistic(-a)
    const float v = h < 0 ? h * x.mantissa * big * s1 * s2 : h * big;
    const float slope = h < 0 ? small * (1.0f - a * big) : big * (1.0f + a * small);
    return {v, slope};
  }
};

// GELU with a tanh in place of the normal distribution, as in Gemma. (1 + tanh(u)) / 2 is the logistic
// function of 2 u, which keeps its relative precision where it is small.
struct GeluTanh {
  static constexpr GateText text = {
      .name = "gelu-tanh",
      .title = "GELU (tanh)",
      .value = "h (1 + tanh(u)) / 2, u = sqrt(2/pi) (h + 0.044715 h^3)",
      .derivative = "s + h s (1 - s) 2 u', s = (1 + tanh(u)) / 2, u' = sqrt(2/pi) (1 + 0.134145 h^2)",
      .slope_code =
          "sigmoid(1.5957691216057308 * (h + 0.044715 * h * h * h)) + "
          "sigmoid(1.5957691216057308 * (h + 0.044715 * h * h * h)) * "
          "sigmoid(-1.5957691216057308 * (h + 0.044715 * h * h * h)) * h * 1.5957691216057308 * (1 + 0.134145 * h * h)",
      .aliases = "gelu_pytorch_tanh gelu_new",
      .parity = Parity::half_linear};
  GLINT_GATE_CODE(sigmoid(1.5957691216057308 * (h + 0.044715 * h * h * h)) * h)
  static double value(double h, const GateParams& g) { return std::isinf(h) ? gate_code::relu(h) : formula(h, g); }
  static double slope(double h, const GateParams&) {
    if (std::fabs(h) > 100) return h > 0 ? 1 : 0;  // to rounding, long before
    const double w = 1.5957691216057308 * (h + 0.044715 * h * h * h);
    const double s = gate_code::sigmoid(w), rest = gate_code::sigmoid(-w);
    return s + h * s * rest * 1.5957691216057308 * (1 + 0.134145 * h * h);
  }
  // In double, as GELU. Beyond 20 the logistic function is 0 or 1 to rounding.
  GLINT_INLINE ValueAndSlope operator()(float hf) const {
    const double h = hf < -20.0f ? -20.0 : static_cast<double>(hf);
    const double b = __builtin_fabs(h), a = b > 20.0 ? 20.0 : b, square = a * a;
    const double e = vmath::exp(-1.5957691216057308 * a * (1.0 + 0.044715 * square));  // at least exp(-603)
    const double big = 1.0 / (1.0 + e), small = e * big;  // logistic(2 |u|), logistic(-2 |u|)
    const double s = h < 0 ? small : big;
    const double bend = a * big * small * 1.5957691216057308 * (1.0 + 0.134145 * square);
    return {static_cast<float>(h * s), static_cast<float>(h < 0 ? s - bend : s + bend)};
  }
};

// The paper's plain activation g(x), from which SQS was made: for figure 1 and for the library.
struct QuadraticShrink {
  static constexpr GateText text = {
      .name = "quadratic-shrink",
      .title = "g(x)",
      .value = "((|x| + c)^2 - c^2) / (1 + (lambda |x|)^p)^(1/p)",
      .derivative =
          "sgn(x) (2|x| + 2c - (|x|^2 + 2c|x|) lambda^p |x|^(p-1) / (1 + (lambda |x|)^p)) / "
          "(1 + (lambda |x|)^p)^(1/p)",
      .has_params = true,
      .glu = false};
  GLINT_GATE_CODE(abs(h) / shrink(lam * abs(h), p) * (abs(h) + 2 * c))
  static double value(double x, const GateParams& g) { return std::isinf(x) ? std::fabs(x) : formula(x, g); }
  static double slope(double x, const GateParams& g) {
    const double a = std::fabs(x), t = g.lambda == 0 ? 0 : g.lambda * a, sign = x < 0 ? -1 : 1;
    if (t <= 1) {
      const double tp = std::pow(t, g.p);  // (a^2 + 2ca) lambda^p a^(p-1) = (a + 2c) t^p
      return sign * (2 * a + 2 * g.c - (a + 2 * g.c) * tp / (1 + tp)) / std::pow(1 + tp, 1 / g.p);
    }
    const double tm = std::pow(t, -g.p), ca = g.c / a;
    return sign * (2 + 2 * ca - (1 + 2 * ca) / (1 + tm)) / (g.lambda * std::pow(1 + tm, 1 / g.p));
  }
};

// Calls body(gate) with the float functor of a gate; SQS chooses among its three by the options.
template <class G, class Body>
GLINT_INLINE void with_functor(const GateParams& params, const Body& body) {
  if constexpr (requires { G::with(params, body); })
    G::with(params, body);
  else
    body(G{});
}

// Gates for GLUs, in the order of tables and menus.
#define GLINT_GATES(X) \
  X(Sqs)               \
  X(Identity)          \
  X(Relu)              \
  X(Gelu)              \
  X(Silu)              \
  X(GeluTanh)

enum class GateKind : int {
#define GLINT_GATE_KIND(G) G,
  GLINT_GATES(GLINT_GATE_KIND)
#undef GLINT_GATE_KIND
      count
};
inline constexpr int kGateCount = static_cast<int>(GateKind::count);
// The loops over arrays of floats have GELU once more, computed in float: glint.torch takes it, training does not.
inline constexpr GateKind kGeluFloat = GateKind::count;
inline constexpr int kGateLoops = kGateCount + 1;

// A gate with its options: what a layer holds.
struct Gate {
  GateKind kind = GateKind::Sqs;
  GateParams params;
};

// The table that everything above the kernels reads.
struct GateInfo {
  GateText text;
  std::string_view code;  // GLINT_GATE_CODE
  double (*value)(double h, const GateParams&);
  double (*slope)(double h, const GateParams&);
};
std::span<const GateInfo> gate_table();  // indexed by GateKind
const GateInfo& gate_info(GateKind kind);
const GateInfo& plain_activation();  // g(x)
std::vector<std::string> gate_names();
std::vector<std::string_view> gate_aliases(const GateText& text);

// By name or alias, with a suggestion in the Error (usage) when there is none.
GateKind parse_gate(std::string_view name);
// Error (usage) that names the option and its domain.
void check(const GateParams& params);
// A gate with its options in one word, "sqs:lambda=0.1,c=0.01", as the `hidden_act` of a folder of Hugging Face has it.
// What is left out is as by default.
Gate parse_gate_word(std::string_view word);
std::string gate_word(const Gate& gate);

}  // namespace glint
