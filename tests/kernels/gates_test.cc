// The gates: float values and slopes of every instruction-set level against the double formulas, the formulas
// against finite differences, special values, names and domains.
#include "glint/kernels/gates.h"

#include <algorithm>
#include <limits>
#include <map>

#include "glint/base/error.h"
#include "glint/kernels/kernels.h"
#include "tests/kernels/testing.h"

namespace glint::model_testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every finite and infinite float has the same chance.
std::vector<float> any_floats(size_t n, uint32_t sub) {
  std::vector<float> x;
  const Rng rng(1, Stream::test, sub);
  for (uint64_t i = 0; x.size() < n; i++) {
    const float f = vmath::bits_to_float(static_cast<int32_t>(rng.bits(i)));
    if (!std::isnan(f)) x.push_back(f);
  }
  return x;
}
std::vector<float> normal_floats(size_t n, uint32_t sub) {
  const Matrix<float> m = random_matrix(sub, 1, n, 3);
  return {m.span().begin(), m.span().end()};
}

std::string describe(const Gate& gate) {
  const GateParams& g = gate.params;
  return std::string(gate_info(gate.kind).text.name) + " c=" + std::to_string(g.c) +
         " lambda=" + std::to_string(g.lambda) + " p=" + std::to_string(g.p);
}

struct Worst {
  double value_ulps = 0, slope_error = 0;  // slope: in units of slope_bound
};

// Every level against the double formulas, with the options as floats hold them.
Worst compare(const Gate& gate, const std::vector<float>& x, GateKind loop, double most = 4) {
  const GateInfo& info = gate_info(gate.kind);
  const GateParams params = as_floats(gate.params);
  const size_t n = x.size();
  std::vector<double> value(n), slope(n), bound(n);
  for (size_t i = 0; i < n; i++) {
    value[i] = info.value(x[i], params);
    slope[i] = info.slope(x[i], params);
    bound[i] = slope_bound(info, x[i], params);
  }
  Worst worst;
  for (const Isa isa : runnable_isas(cpu())) {
    std::vector<float> v(n), s(n);
    kernels(isa).gate_apply[static_cast<int>(loop)](params, n, x.data(), v.data(), s.data());
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
      const double value_ulps = ulps(v[i], value[i]);
      const double slope_error = s[i] == slope[i] ? 0 : std::fabs(s[i] - slope[i]) / bound[i];
      worst.value_ulps = std::max(worst.value_ulps, value_ulps);
      worst.slope_error = std::max(worst.slope_error, slope_error);
      if ((value_ulps <= most && slope_error <= 1) || ++bad > 3) continue;
      ADD_FAILURE() << describe(gate) << " on " << name(isa) << " at " << x[i] << ": value " << v[i] << ", should be "
                    << value[i] << " (" << value_ulps << " ulp); slope " << s[i] << ", should be " << slope[i] << " ("
                    << slope_error << " of the bound)";
    }
    EXPECT_EQ(bad, 0u) << "floats outside the bounds: " << describe(gate) << " on " << name(isa);
  }
  return worst;
}
Worst compare(const Gate& gate, const std::vector<float>& x) { return compare(gate, x, gate.kind); }

class GateTest : public ::testing::TestWithParam<int> {
 protected:
  GateKind kind() const { return static_cast<GateKind>(GetParam()); }
  const GateInfo& info() const { return gate_info(kind()); }
};

TEST_P(GateTest, MillionsOfFloatsWithin4Ulp) {
  const Gate gate{kind(), {}};
  const Worst any = compare(gate, any_floats(1'000'000, 1)), normal = compare(gate, normal_floats(1'000'000, 2));
  RecordProperty("worst_value_ulps", std::to_string(std::max(any.value_ulps, normal.value_ulps)));
  RecordProperty("worst_slope_of_bound", std::to_string(std::max(any.slope_error, normal.slope_error)));
}

void check_options(GateKind kind) {
  std::vector<float> x = any_floats(20'000, 3), more = normal_floats(40'000, 4);
  x.insert(x.end(), more.begin(), more.end());
  Worst all;
  for (const double c : {-2.0, -0.3, 0.0, 0.01, 0.5}) {
    for (const double lambda : {0.0, 0.3, 0.5, 3.0}) {
      for (const double p : {0.5, 1.0, 2.0, 3.7}) {
        const Worst w = compare({kind, {c, lambda, p}}, x);
        all.value_ulps = std::max(all.value_ulps, w.value_ulps);
        all.slope_error = std::max(all.slope_error, w.slope_error);
      }
    }
  }
  ::testing::Test::RecordProperty("worst_value_ulps", std::to_string(all.value_ulps));
  ::testing::Test::RecordProperty("worst_slope_of_bound", std::to_string(all.slope_error));
}

TEST(Gates, EveryOptionWithin4Ulp) {
  for (int i = 0; i < kGateCount; i++)
    if (gate_table()[i].text.has_params) check_options(static_cast<GateKind>(i));
}

// GELU as PyTorch's tensors have it: in float, and no less exact.
TEST(Gates, GeluInFloatWithin2Ulp) {
  std::vector<float> tail;
  for (double h = -13; h < -1e-6; h *= 0.99999) tail.push_back(static_cast<float>(h));
  Worst worst;
  for (const std::vector<float>& x : {any_floats(1'000'000, 6), normal_floats(1'000'000, 7), tail}) {
    const Worst w = compare({GateKind::Gelu, {}}, x, kGeluFloat, 2);
    worst.value_ulps = std::max(worst.value_ulps, w.value_ulps);
  }
  RecordProperty("worst_value_ulps", std::to_string(worst.value_ulps));
}

TEST(Gates, WordsHaveTheOptions) {
  const Gate gate = parse_gate_word("sqs:lambda=0.1,c=-0.25");
  EXPECT_EQ(gate.kind, GateKind::Sqs);
  EXPECT_EQ(gate.params.lambda, 0.1);
  EXPECT_EQ(gate.params.c, -0.25);
  EXPECT_EQ(gate.params.p, GateParams{}.p);
  EXPECT_EQ(gate_word(gate), "sqs:lambda=0.1,c=-0.25,p=1");
  EXPECT_EQ(gate_word(parse_gate_word("swish")), "silu");
  for (int i = 0; i < kGateCount; i++) {
    const Gate own{static_cast<GateKind>(i), {0.1 + 0.2, 1e-300, 1e3}};
    const Gate back = parse_gate_word(gate_word(own));
    EXPECT_EQ(back.kind, own.kind);
    if (gate_table()[i].text.has_params) EXPECT_EQ(gate_word(back), gate_word(own));
  }
  for (const char* word : {"", "sqs:", "sqs:c", "sqs:c=", "sqs:c=x", "sqs:c=1x", "sqs:c=1,,p=1", "sqs:lam=1",
                           "silu:c=1", "sqs:p=0", "sqs:lambda=nan", "sqs:c=1,", "nonsense:c=1"})
    EXPECT_THROW(parse_gate_word(word), Error) << word;
}

// An option that no float holds moves the result by what rounding the option moves it: for p = 1 the shift c
// by half an ulp of c, over 1 + lambda a.
TEST(Gates, OptionsAreRoundedToFloat) {
  const GateParams params{0.01, 0.3, 1.0};
  const std::vector<float> x = normal_floats(100'000, 5);
  for (const Isa isa : runnable_isas(cpu())) {
    std::vector<float> v(x.size());
    kernels(isa).gate_apply[static_cast<int>(GateKind::Sqs)](params, x.size(), x.data(), v.data(), nullptr);
    for (size_t i = 0; i < x.size(); i++) {
      const double want = Sqs::value(x[i], params);
      const double shift = kU * std::fabs(params.c) / (1 + params.lambda * std::fabs(x[i]));
      ASSERT_LE(std::fabs(v[i] - want), 4 * ulp(want) + shift) << x[i] << " on " << name(isa);
    }
  }
}

// gate_apply may be asked for one of its outputs alone: the same bits.
TEST_P(GateTest, ValueAloneAndSlopeAlone) {
  const std::vector<float> x = normal_floats(67, 6);
  for (const Isa isa : runnable_isas(cpu())) {
    const auto apply = kernels(isa).gate_apply[GetParam()];
    std::vector<float> v(67), s(67), v1(67), s1(67);
    apply({}, 67, x.data(), v.data(), s.data());
    apply({}, 67, x.data(), v1.data(), nullptr);
    apply({}, 67, x.data(), nullptr, s1.data());
    EXPECT_EQ(v, v1);
    EXPECT_EQ(s, s1);
  }
}

// Central differences of fourth order with step 1e-3, less near 0 and where the value changes fast against
// its size: truncation 1e-12 / 30 of the fifth derivative, rounding 2^-53 / 1e-3. In GELU's tail at -30 the
// fifth derivative is 30^4 slopes, in that of its tanh form at -20 it is 90^4: with steps of a third and a
// ninth both leave less than 1e-8.
double difference(double (*f)(double, const GateParams&), double x, double slope, const GateParams& g) {
  const double scale = std::min(std::fabs(x), f(x, g) == 0 ? 1 : 10 * std::fabs(f(x, g) / slope));
  const double h = 1e-3 * std::clamp(scale, 0.1, 1.0);
  return (8 * (f(x + h, g) - f(x - h, g)) - (f(x + 2 * h, g) - f(x - 2 * h, g))) / (12 * h);
}

std::vector<GateParams> many_params(bool has_params) {
  if (!has_params) return {{}};
  std::vector<GateParams> all;
  for (const double c : {-0.3, 0.0, 0.01, 0.5})
    for (const double lambda : {0.0, 0.5, 3.0})
      for (const double p : {0.5, 1.0, 2.0, 3.7}) all.push_back({c, lambda, p});
  return all;
}

void check_slopes(const GateInfo& info) {
  for (const GateParams& g : many_params(info.text.has_params)) {
    for (double a = 0.02; a < 30; a *= 1.17) {
      for (const double x : {a, -a}) {  // never across 0, where gates jump or bend
        const double slope = info.slope(x, g);
        const double scale = std::max(std::fabs(slope), std::fabs(info.value(x, g) / x));
        EXPECT_LE(std::fabs(difference(info.value, x, slope, g) - slope), 1e-7 * scale)
            << info.text.name << " at " << x << " c=" << g.c << " lambda=" << g.lambda << " p=" << g.p;
      }
    }
  }
}

TEST_P(GateTest, SlopeIsTheDerivative) { check_slopes(info()); }

TEST_P(GateTest, SpecialValues) {
  const std::vector<float> x = {
      0.0f, -0.0f, kTiny, -static_cast<float>(kTiny), 1e-40f, -1e-40f, 1e38f, -1e38f, 3.4e38f, -3.4e38f, kInf, -kInf};
  const std::vector<float> nan = {kNan, -kNan};
  for (const GateParams& g : many_params(info().text.has_params)) {
    SCOPED_TRACE(describe({kind(), g}));
    compare({kind(), g}, x);
    for (const Isa isa : runnable_isas(cpu())) {
      float v[2], s[2];
      kernels(isa).gate_apply[GetParam()](g, 2, nan.data(), v, s);
      EXPECT_TRUE(std::isnan(v[0]) && std::isnan(v[1])) << name(isa);
    }
    EXPECT_TRUE(std::isnan(info().value(kNan, g)));
  }
}

INSTANTIATE_TEST_SUITE_P(Gates, GateTest, ::testing::Range(0, kGateCount), [](const auto& test) {
  std::string name(gate_info(static_cast<GateKind>(test.param)).text.name);
  std::replace(name.begin(), name.end(), '-', '_');  // as the names of tests may be
  return name;
});

// What the text says of a gate's two sides is true of its value.
TEST_P(GateTest, Parity) {
  for (const GateParams& g : many_params(info().text.has_params))
    for (double h = 1e-3; h < 40; h *= 1.3) {
      const double right = info().value(h, g), left = info().value(-h, g);
      switch (info().text.parity) {
        case Parity::odd:
          EXPECT_EQ(left, -right) << h;
          break;
        case Parity::half_linear:
          EXPECT_NEAR(right - left, h, 4e-16 * h) << h;
          break;
        case Parity::other:
          break;
      }
    }
}

float apply(Isa isa, GateKind kind, const GateParams& g, float x, bool slope = false) {
  float v = 0, s = 0;
  kernels(isa).gate_apply[static_cast<int>(kind)](g, 1, &x, &v, &s);
  return slope ? s : v;
}

TEST(Gates, LimitsAndJumps) {
  for (const Isa isa : runnable_isas(cpu())) {
    for (const double p : {0.5, 1.0, 2.0, 3.7}) {
      const GateParams g{0.25, 0.5, p};
      EXPECT_EQ(apply(isa, GateKind::Sqs, g, kInf), 2.0f);
      EXPECT_EQ(apply(isa, GateKind::Sqs, g, -kInf), -2.0f);
      EXPECT_EQ(apply(isa, GateKind::Sqs, g, 0.0f), -0.25f);
      EXPECT_EQ(apply(isa, GateKind::Sqs, g, -0.0f), -0.25f);
      EXPECT_EQ(apply(isa, GateKind::Sqs, g, -static_cast<float>(kTiny)), 0.25f);
      EXPECT_EQ(apply(isa, GateKind::Sqs, g, kInf, true), 0.0f);
      EXPECT_EQ(apply(isa, GateKind::Sqs, {0.25, 0.0, p}, kInf), kInf);
      EXPECT_EQ(apply(isa, GateKind::Sqs, {0.25, 0.0, p}, -kInf), -kInf);
      EXPECT_EQ(apply(isa, GateKind::Sqs, {0.25, 0.0, p}, kInf, true), 1.0f);
    }
    EXPECT_EQ(apply(isa, GateKind::Relu, {}, -0.0f), 0.0f);
    EXPECT_EQ(apply(isa, GateKind::Relu, {}, 0.0f, true), 0.0f);
    EXPECT_EQ(apply(isa, GateKind::Relu, {}, -kInf), 0.0f);
    for (const GateKind kind : {GateKind::Gelu, GateKind::Silu, GateKind::GeluTanh}) {
      EXPECT_EQ(apply(isa, kind, {}, -kInf), 0.0f);
      EXPECT_EQ(apply(isa, kind, {}, kInf), kInf);
      EXPECT_EQ(apply(isa, kind, {}, -kInf, true), 0.0f);
      EXPECT_EQ(apply(isa, kind, {}, kInf, true), 1.0f);
    }
  }
}

TEST(Gates, QuadraticShrink) {
  const GateInfo& g = plain_activation();
  check_slopes(g);
  for (const double x : {-3.0, -0.5, 0.0, 1e-3, 2.0, 1e100}) {
    EXPECT_DOUBLE_EQ(g.value(x, {.c = 0, .lambda = 0, .p = 1}), x * x);
    // With lambda = 1, c = 0, p = 1 it is x^2 / (1 + |x|), in another order of operations.
    EXPECT_NEAR(g.value(x, {.c = 0, .lambda = 1, .p = 1}), std::fabs(x) * (std::fabs(x) / (1 + std::fabs(x))),
                1e-15 * std::fabs(x));
    // Even.
    EXPECT_EQ(g.value(x, {}), g.value(-x, {}));
  }
  EXPECT_EQ(g.value(0, {}), 0);
  for (const double lambda : {0.0, 0.5}) {
    EXPECT_EQ(g.value(HUGE_VAL, {.lambda = lambda}), HUGE_VAL);
    EXPECT_TRUE(std::isnan(g.value(std::nan(""), {.lambda = lambda})));
  }
}

TEST(Gates, NamesAndAliases) {
  for (int i = 0; i < kGateCount; i++) EXPECT_EQ(parse_gate(gate_table()[i].text.name), static_cast<GateKind>(i));
  EXPECT_EQ(parse_gate("none"), GateKind::Identity);  // the paper's names
  EXPECT_EQ(parse_gate("bilinear"), GateKind::Identity);
  EXPECT_EQ(parse_gate("swiglu"), GateKind::Silu);
  EXPECT_EQ(parse_gate("swish"), GateKind::Silu);
  EXPECT_EQ(parse_gate("none"), GateKind::Identity);
  EXPECT_EQ(parse_gate("gelu_pytorch_tanh"), GateKind::GeluTanh);
  try {
    parse_gate("gelo");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE(e.parts().expected.find("gelu"), std::string::npos) << e.what();
  }
  EXPECT_THROW(parse_gate(""), Error);
  EXPECT_THROW(parse_gate("quadratic-shrink"), Error);  // not the gate of a GLU
}

TEST(Gates, DomainsOfOptions) {
  const double nan = std::nan("");
  EXPECT_NO_THROW(check({}));
  EXPECT_NO_THROW(check({-2, 0, 0.1}));
  const auto blamed = [](const GateParams& g) -> std::string {
    try {
      check(g);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage);
      EXPECT_FALSE(e.parts().expected.empty());
      return e.parts().where;
    }
    return "nothing";
  };
  EXPECT_EQ(blamed({.c = HUGE_VAL}), "c");
  EXPECT_EQ(blamed({.c = nan}), "c");
  EXPECT_EQ(blamed({.lambda = -0.1}), "lambda");
  EXPECT_EQ(blamed({.lambda = nan}), "lambda");
  EXPECT_EQ(blamed({.p = 0}), "p");
  EXPECT_EQ(blamed({.p = -1}), "p");
  EXPECT_EQ(blamed({.p = nan}), "p");
}

// A gate is one struct and one line: every level must have picked it up, whole.
TEST(Gates, EveryTableHasEveryGate) {
  ASSERT_EQ(gate_table().size(), static_cast<size_t>(kGateCount));
  ASSERT_EQ(gate_names().size(), static_cast<size_t>(kGateCount));
  std::map<std::string, int> names;
  for (const GateInfo& info : gate_table()) {
    names[std::string(info.text.name)]++;
    EXPECT_TRUE(info.value && info.slope);
    EXPECT_FALSE(info.text.title.empty() || info.text.value.empty() || info.text.derivative.empty());
    EXPECT_FALSE(info.code.empty() || info.text.slope_code.empty());
    for (const std::string_view alias : gate_aliases(info.text)) names[std::string(alias)]++;
  }
  for (const auto& [gate, count] : names) EXPECT_EQ(count, 1) << "two gates share the name " << gate;
  for (const Isa isa : runnable_isas(cpu())) {
    const Kernels& table = kernels(isa);
    EXPECT_EQ(table.isa, isa);
    for (int i = 0; i < kGateLoops; i++)
      EXPECT_TRUE(table.glu_forward[i] && table.glu_backward[i] && table.gate_apply[i]) << i;
    EXPECT_TRUE(table.gemm && table.pack_panel && table.pack_tiles && table.softmax_xent);
    EXPECT_TRUE(table.rmsnorm_forward && table.rmsnorm_backward && table.add_rows && table.add_bias);
    EXPECT_TRUE(table.column_sums && table.sum && table.sum_squares && table.adamw && table.noisy_pixels);
  }
}

}  // namespace
}  // namespace glint::model_testing
