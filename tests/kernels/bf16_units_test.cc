// The files of the AVX-512 BF16 and AMX units, over simulated intrinsics, against the documented operations
// written a second time, against the portable unit, and against the instructions where the processor has
// them. ops_products_test.cc runs all of them through every shape of the products.
#include "tests/kernels/bf16_units.h"

#include <functional>
#include <limits>

#include "tests/kernels/simulated/immintrin.h"

namespace glint::model_testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLeast = std::numeric_limits<float>::min();

uint32_t bits_of(float f) { return static_cast<uint32_t>(vmath::float_to_bits(f)); }
float flushed(float f) { return std::fpclassify(f) == FP_SUBNORMAL ? std::copysign(0.0f, f) : f; }

// a b + c of the C library, which rounds once.
float fma_flushed(float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), flushed(c))); }

TEST(SimulatedIntrinsics, AddsAProductAsTheLibraryDoes) {
  const Rng rng(4, Stream::test);
  size_t flushes = 0, infinite = 0;
  for (uint64_t i = 0; i < 1'000'000; i++) {
    const auto word = [&](uint64_t j) { return static_cast<uint32_t>(rng.bits(4 * i + j)); };
    // c: any float, or one of about the size of the product, where sums cancel and roundings tie.
    const float a = from_bf16(static_cast<uint16_t>(word(0))), b = from_bf16(static_cast<uint16_t>(word(1)));
    const float any = vmath::bits_to_float(static_cast<int32_t>(word(2)));
    const float near = -a * b * (1 + static_cast<float>(word(3) % 4096) * 0x1p-23f);
    const float c = i % 2 == 0 ? any : near;
    const float got = simulated::fused(simulated::daz(a), simulated::daz(b), c), want = fma_flushed(a, b, c);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got));
      continue;
    }
    if (std::fabs(want) == kLeast) continue;  // the library rounds to fewer digits there: see below
    flushes += want == 0 && a != 0 && b != 0;
    infinite += std::isinf(want);
    ASSERT_EQ(bits_of(got), bits_of(want)) << a << " * " << b << " + " << c << " = " << got << ", not " << want;
  }
  EXPECT_GT(flushes, 1000u);
  EXPECT_GT(infinite, 1000u);
}

TEST(SimulatedIntrinsics, FlushesWhatIsDenormalOnceRounded) {
  const auto fused = [](float a, float b, float c) { return simulated::fused(a, b, c); };
  // 2^-126 less a quarter of the last place of a denormal rounds up to 2^-126 at 24 bits; less a half does
  // not.
  EXPECT_EQ(fused(-0x1p-100f, 0x1p-51f, kLeast), kLeast);
  EXPECT_EQ(fused(-0x1p-100f, 0x1p-50f, kLeast), 0.0f);
  EXPECT_EQ(fused(0x1p-60f, 0x1p-66f, 0), kLeast);
  EXPECT_EQ(bits_of(fused(0x1p-60f, 0x1p-67f, 0)), 0u);
  EXPECT_EQ(bits_of(fused(0x1p-60f, -0x1p-67f, 0)), 0x80000000u);
  EXPECT_EQ(fused(1, 1, std::numeric_limits<float>::denorm_min()), 1.0f);
  // A product beyond the floats, whose sum is not.
  EXPECT_EQ(fused(-0x1p100f, 0x1p28f, std::numeric_limits<float>::max()), -0x1p104f);
  EXPECT_EQ(fused(0x1p100f, 0x1p28f, 0), kInfinity);
}

TEST(SimulatedIntrinsics, TilesAreUsedAsTheProcessorDemands) {
  alignas(64) uint8_t config[64] = {};
  const auto configure = [&](std::function<void()> change) {
    std::memset(config, 0, sizeof config);
    config[0] = 1;
    for (size_t i = 0; i < 8; i++) config[16 + 2 * i] = 64, config[48 + i] = 16;
    change();
    simulated::_tile_loadconfig(config);
  };
  simulated::_tile_release();
  EXPECT_THROW(simulated::_tile_zero(0), std::logic_error);
  EXPECT_THROW(configure([&] { config[0] = 2; }), std::logic_error);
  EXPECT_THROW(configure([&] { config[5] = 1; }), std::logic_error);
  EXPECT_THROW(configure([&] { config[16] = 65; }), std::logic_error);
  EXPECT_THROW(configure([&] { config[48] = 17; }), std::logic_error);
  EXPECT_THROW(configure([&] { config[49] = 0; }), std::logic_error);
  EXPECT_THROW(configure([&] { config[56] = 16; }), std::logic_error);
  EXPECT_THROW(simulated::_tile_zero(0), std::logic_error);
  configure([&] { config[48 + 6] = 8; });  // 8 pairs of B for 16 of A
  EXPECT_THROW(simulated::_tile_dpbf16ps(0, 4, 6), std::logic_error);
  EXPECT_THROW(simulated::_tile_dpbf16ps(0, 4, 4), std::logic_error);
  EXPECT_NO_THROW(simulated::_tile_dpbf16ps(0, 4, 5));
  simulated::_tile_release();
}

// One product: A[m,k], B[k,n], C before. The calls: B as it is, and A^T B.
struct Product {
  Matrix<float> a, b, c;
  bool add;

  Matrix<float> multiply(const Products& products) const {
    Matrix<float> out = c;
    Matrix<std::byte> packed(1, products.packed_bytes(b.rows(), b.cols()));
    products.pack(b, Products::Form::as_is, packed.span(), 0, products.panels(b.cols()));
    Scratch scratch(1);
    products.multiply(a, packed.span(), out, add, scratch[0]);
    return out;
  }
  Matrix<float> multiply_tn(const Products& products) const {
    Matrix<float> out = c, at(a.cols(), a.rows());
    for (size_t i = 0; i < a.rows(); i++)
      for (size_t k = 0; k < a.cols(); k++) at(k, i) = a(i, k);
    Scratch scratch(1);
    products.multiply_tn(at, b, out, add, scratch[0]);
    return out;
  }
};

// element(a row, b column, what was there): in the order of the documents, over k padded to whole steps.
using Order = float (*)(const std::vector<float>& x, const std::vector<float>& y, float before);

float avx512_order(const std::vector<float>& x, const std::vector<float>& y, float sum) {
  for (size_t k = 0; k < x.size(); k += 2) {
    sum = fma_flushed(x[k + 1], y[k + 1], sum);
    sum = fma_flushed(x[k], y[k], sum);
  }
  return sum;
}
float amx_order(const std::vector<float>& x, const std::vector<float>& y, float sum) {
  for (size_t k0 = 0; k0 < x.size(); k0 += 32) {
    float even = 0, odd = 0;
    for (size_t k = k0; k < k0 + 32; k += 2) {
      even = fma_flushed(x[k], y[k], even);
      odd = fma_flushed(x[k + 1], y[k + 1], odd);
    }
    sum = flushed(flushed(sum) + flushed(even + odd));
  }
  return sum;
}

Matrix<float> in_order(const Product& p, Order order) {
  const size_t depth = bf16_steps(p.a.cols()) * 32;
  Matrix<float> out(p.c.rows(), p.c.cols());
  for (size_t i = 0; i < out.rows(); i++) {
    for (size_t j = 0; j < out.cols(); j++) {
      std::vector<float> x(depth), y(depth);
      for (size_t k = 0; k < p.a.cols(); k++)
        x[k] = from_bf16(to_bf16(p.a(i, k))), y[k] = from_bf16(to_bf16(p.b(k, j)));
      out(i, j) = order(x, y, p.add ? p.c(i, j) : 0.0f);
    }
  }
  return out;
}

void expect_same(const Matrix<float>& got, const Matrix<float>& want, const std::string& what) {
  for (size_t i = 0; i < got.size(); i++) {
    const float g = got.span()[i], w = want.span()[i];
    if (std::isnan(g) && std::isnan(w)) continue;
    ASSERT_EQ(bits_of(g), bits_of(w)) << what << " at row " << i / got.cols() << ", column " << i % got.cols() << ": "
                                      << g << ", should be " << w;
  }
}

// make(what, rows, cols) gives the operands; check(product) sees shapes around the edges of blocks, steps and
// the depth of 512.
void for_products(const std::function<Matrix<float>(uint32_t, size_t, size_t)>& make,
                  const std::function<void(const Product&, const std::string&)>& check) {
  constexpr size_t kShapes[][3] = {{1, 1, 1},    {5, 3, 64},   {32, 32, 32},  {33, 47, 65},
                                   {64, 64, 96}, {40, 70, 33}, {31, 16, 545}, {36, 34, 1100}};
  for (const auto& [m, n, k] : kShapes)
    for (const bool add : {false, true})
      check({make(1, m, k), make(2, k, n), make(3, m, n), add},
            std::to_string(m) + " x " + std::to_string(n) + ", k " + std::to_string(k) + (add ? ", added" : ""));
}

// Ordinary numbers, and numbers so small that products and sums are flushed.
TEST(Bf16Units, SumInTheDocumentedOrder) {
  for (const bool small : {false, true}) {
    const auto random = [&](uint32_t what, size_t m, size_t n) {
      Matrix<float> x = random_matrix(what, m, n);
      const Rng rng(22, Stream::test, what);
      const int middle = what == 3 ? -124 : -62;  // C is of the size of the products
      if (small)
        for (size_t i = 0; i < x.size(); i++)
          x.span()[i] = std::ldexp(x.span()[i], middle + static_cast<int>(rng.bits(i) % 9) - 4);
      return x;
    };
    for (const Unit& u : bf16_units()) {
      if (u.name == "emulated" || !u.products) continue;
      const Order order = u.name.starts_with("amx") ? amx_order : avx512_order;
      for_products(random, [&](const Product& p, const std::string& what) {
        const Matrix<float> want = in_order(p, order);
        expect_same(p.multiply(bf16_of(u)), want, u.name + " " + what);
        expect_same(p.multiply_tn(bf16_of(u)), want, u.name + " tn " + what);
      });
    }
  }
}

// Whole numbers: every product and sum is exact, so that order and rounding do not matter. The same with
// infinities and NaNs among them, which every unit must pass on.
TEST(Bf16Units, GiveThePortableUnitsBytesWhereNothingIsRounded) {
  for (const bool specials : {false, true}) {
    const auto whole = [&](uint32_t what, size_t m, size_t n) {
      Matrix<float> x(m, n);
      const Rng rng(21, Stream::test, what);
      for (size_t i = 0; i < x.size(); i++) {
        const auto r = static_cast<uint32_t>(rng.bits(i));
        x.span()[i] = static_cast<float>(static_cast<int>(r % 129) - 64);  // 1100 products below 2^12: below 2^23
        if (specials && r >> 16 < 100) x.span()[i] = r >> 16 < 10 ? std::nanf("") : r % 2 ? kInfinity : -kInfinity;
      }
      return x;
    };
    const std::vector<Unit> units = bf16_units();
    ASSERT_EQ(units[0].name, "emulated");
    size_t compared = 0;
    for_products(whole, [&](const Product& p, const std::string& what) {
      const Matrix<float> want = p.multiply(bf16_of(units[0]));
      expect_same(p.multiply_tn(bf16_of(units[0])), want, "emulated tn " + what);
      for (const Unit& u : std::span(units).subspan(1)) {
        if (!u.products) continue;
        compared++;
        expect_same(p.multiply(bf16_of(u)), want, u.name + " " + what);
        expect_same(p.multiply_tn(bf16_of(u)), want, u.name + " tn " + what);
      }
    });
    EXPECT_GE(compared, 32u);
  }
}

// Where they differ on purpose: the instructions take denormals for zero, portable code does not.
TEST(Bf16Units, InstructionsFlushDenormals) {
  const auto one = [](float v) {
    Matrix<float> x(1, 1);
    x(0, 0) = v;
    return x;
  };
  const Product denormal_operand{one(0x1p-130f), one(0x1p20f), one(1), false};
  const Product denormal_result{one(0x1p-70f), one(0x1p-70f), one(1), false};
  for (const Unit& u : bf16_units()) {
    if (!u.products) continue;
    const bool emulated = u.name == "emulated";
    EXPECT_EQ(denormal_operand.multiply(bf16_of(u))(0, 0), emulated ? 0x1p-110f : 0.0f) << u.name;
    EXPECT_EQ(denormal_result.multiply(bf16_of(u))(0, 0), emulated ? 0x1p-140f : 0.0f) << u.name;
  }
}

// The pack of every unit is the same bytes: they share the layout.
TEST(Bf16Units, PackAlike) {
  const Matrix<float> b = random_matrix(7, 77, 45);
  std::vector<Matrix<std::byte>> all;
  for (const Unit& u : bf16_units()) {
    if (!u.products) continue;
    const Products products = bf16_of(u);
    Matrix<std::byte> packed(1, products.packed_bytes(77, 45));
    products.pack(b, Products::Form::as_is, packed.span(), 0, products.panels(45));
    all.push_back(std::move(packed));
    EXPECT_EQ(std::memcmp(all.back().data(), all[0].data(), all[0].size()), 0) << u.name;
  }
}

// By the calling convention any function may leave the tiles in any state: a product must neither trust what
// it finds nor leave its own behind.
TEST(Bf16Units, AmxTakesNothingOverFromTheThreadAndLeavesNothing) {
  const Product p{random_matrix(1, 40, 70), random_matrix(2, 70, 40), random_matrix(3, 40, 40), true};
  const Products products(kernels(cpu().best), bf16_amx_simulated);
  const Matrix<float> want = in_order(p, amx_order);
  for (const bool configured : {true, false}) {
    if (configured) {  // tiles of another size, as another library would use them
      alignas(64) uint8_t config[64] = {1};
      for (size_t i = 0; i < 8; i++) config[16 + 2 * i] = 16, config[48 + i] = 4;
      simulated::_tile_loadconfig(config);
    } else {
      simulated::_tile_release();
    }
    expect_same(p.multiply(products), want, "multiply");
    EXPECT_EQ(simulated::tiles.palette, 0);
    expect_same(p.multiply_tn(products), want, "multiply_tn");
    EXPECT_EQ(simulated::tiles.palette, 0);
  }
}

}  // namespace
}  // namespace glint::model_testing
