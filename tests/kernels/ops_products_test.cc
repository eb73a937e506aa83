// Matrix products in f32 and bf16: operations of the table.
//
// C = A B with k terms an element. In any order of summation a term passes at most k additions and one
// rounding of its product: |error| <= gamma(k + 1) S with S = |A| |B|, and gamma(k + 1) <= (k + 2) u for k <
// 4000. C +=: one term more, |C|. bf16 products are exact in float, so that the same bound holds once the
// operands are rounded.
#include "tests/kernels/bf16_units.h"
#include "tests/kernels/ops.h"

namespace glint::model_testing {
namespace {

struct Kind {
  bool tn, transposed, accumulate, bf16;
};

double rounded_bf16(double v) { return from_bf16(to_bf16(static_cast<float>(v))); }

struct ProductInput {
  Kind kind;
  Shape shape;
  Guarded<float> a, b, c;  // as the call takes them; c: what is there before

  ProductInput(const Kind& kd, const Shape& s)
      : kind(kd),
        shape(s),
        a(kd.tn ? random_matrix(1, s.depth, s.rows) : random_matrix(1, s.rows, s.depth), s.pad),
        b(kd.transposed ? random_matrix(2, s.cols, s.depth) : random_matrix(2, s.depth, s.cols), s.pad + 1),
        c(random_matrix(3, s.rows, s.cols), s.pad + 2) {}
};

// C on a pool: B packed in pieces of two panels, C in tiles whose borders depend on the shape alone.
void multiply_on(const ProductInput& in, const Target& target, ThreadPool& pool, Scratch& scratch,
                 MatrixView<float> c) {
  const Products& products = target.products;
  const ConstMatrixView<float> a = in.a.view(), b = in.b.view();
  const Shape& s = in.shape;
  if (in.kind.tn) {
    const size_t step = s.rows < 100 ? 24 : products.tile_rows(), cols = s.cols < 100 ? 40 : size_t{512};
    for_row_tiles(pool, s.rows, step, [&](size_t i, size_t rows, size_t worker) {
      for (size_t j = 0; j < s.cols; j += cols) {
        const size_t n = std::min(cols, s.cols - j);
        products.multiply_tn(a.col_range(i, rows), b.col_range(j, n), c.row_range(i, rows).col_range(j, n),
                             in.kind.accumulate, scratch[worker]);
      }
    });
    return;
  }
  Matrix<std::byte> packed(1, products.packed_bytes(s.depth, s.cols));
  for_row_tiles(pool, products.panels(s.cols), 2, [&](size_t first, size_t count, size_t) {
    products.pack(b, in.kind.transposed ? Products::Form::transposed : Products::Form::as_is, packed.span(), first,
                  count);
  });
  for_row_tiles(pool, s.rows, s.rows < 100 ? 24 : 96, [&](size_t i, size_t rows, size_t worker) {
    products.multiply(a.row_range(i, rows), packed.span(), c.row_range(i, rows), in.kind.accumulate, scratch[worker]);
  });
}

Case product_case(const Kind& kind, const Shape& shape) {
  const auto in = std::make_shared<ProductInput>(kind, shape);
  Case test;
  test.run = [in](const Target& target, ThreadPool& pool, Scratch& scratch) {
    Guarded<float> c = in->kind.accumulate ? in->c : Guarded<float>(in->shape.rows, in->shape.cols, in->shape.pad);
    multiply_on(*in, target, pool, scratch, c.view());
    return std::vector<Output>{output("c", c)};
  };
  Matrix<double> a = to_double(in->a.view()), b = to_double(in->b.view());
  if (kind.bf16) a = map(std::move(a), rounded_bf16), b = map(std::move(b), rounded_bf16);
  if (kind.transposed) b = reference::transpose(b);
  const auto product = [&](const Matrix<double>& x, const Matrix<double>& y) {
    return kind.tn ? reference::multiply_tn(x, y) : reference::multiply(x, y);
  };
  Matrix<double> value = product(a, b), bound = product(absolute(std::move(a)), absolute(std::move(b)));
  for (size_t i = 0; i < value.size(); i++) {
    const double before = kind.accumulate ? in->c.view()(i / shape.cols, i % shape.cols) : 0;
    value.span()[i] += before;
    bound.span()[i] = static_cast<double>(shape.depth + 3) * kU * (bound.span()[i] + std::fabs(before));
  }
  test.expected.push_back({std::move(value), std::move(bound)});
  return test;
}

std::vector<Shape> product_shapes(bool training) {
  constexpr size_t kPads[] = {0, 1, 3, 13};
  std::vector<Shape> shapes;
  for (size_t i = 0; i <= 67; i++) {
    shapes.push_back({7, 19, i, kPads[i % 4]});
    shapes.push_back({9, i, 21, kPads[(i + 1) % 4]});
    shapes.push_back({i, 18, 11, kPads[(i + 2) % 4]});
  }
  // Around the borders of register tiles, of blocks of k in f32 (320) and in bf16 (512).
  for (const Shape& s : {Shape{33, 65, 129, 1},
                         {67, 67, 67, 13},
                         {96, 64, 320, 0},
                         {31, 33, 321, 3},
                         {100, 40, 641, 1},
                         {5, 3, 1025, 0},
                         {40, 37, 2100, 1},
                         {336, 48, 24, 0},
                         {168, 256, 64, 0},
                         {64, 1024, 32, 0},
                         {70, 1030, 700, 0},  // A packed, several blocks of k, rows and columns at the edge
                         {20, 80, 1024, 0}})  // A packed because of its stride
    shapes.push_back(s);
  for (const Shape& s : {Shape{512, 10, 256, 0}, {512, 256, 256, 13}}) shapes.push_back(s);
  if (training)
    for (const Shape& s : {Shape{512, 256, 784, 0}, {2048, 512, 784, 0}}) shapes.push_back(s);
  return shapes;
}

Target bf16_target(const Unit& u) { return {"bf16 " + u.name, bf16_of(u)}; }

}  // namespace

std::vector<Op> product_ops() {
  const std::pair<std::string, Kind> kinds[] = {
      {"multiply_as_is", {.tn = false, .transposed = false, .accumulate = false, .bf16 = false}},
      {"multiply_as_is_accumulate", {.tn = false, .transposed = false, .accumulate = true, .bf16 = false}},
      {"multiply_transposed", {.tn = false, .transposed = true, .accumulate = false, .bf16 = false}},
      {"multiply_transposed_accumulate", {.tn = false, .transposed = true, .accumulate = true, .bf16 = false}},
      {"multiply_tn", {.tn = true, .transposed = false, .accumulate = false, .bf16 = false}},
      {"multiply_tn_accumulate", {.tn = true, .transposed = false, .accumulate = true, .bf16 = false}}};
  std::vector<Op> ops;
  for (auto [name, kind] : kinds) {
    const bool training = name == "multiply_transposed" || name == "multiply_tn";
    ops.push_back(
        {name, every_isa(), product_shapes(training), [kind = kind](const Shape& s) { return product_case(kind, s); }});
    kind.bf16 = true;
    for (const Unit& u : bf16_units())
      ops.push_back({name + "_bf16_" + u.name, u.products ? std::vector<Target>{bf16_target(u)} : std::vector<Target>{},
                     product_shapes(false), [kind = kind](const Shape& s) { return product_case(kind, s); },
                     u.products ? "" : u.missing});
  }
  return ops;
}

namespace {

std::vector<Target> every_product() {
  std::vector<Target> targets = every_isa();
  for (const Unit& u : bf16_units())
    if (u.products) targets.push_back(bf16_target(u));
  return targets;
}

bool same_bytes(const Matrix<float>& a, const Matrix<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// gemm.h promises: an element is summed in an order that depends on k alone.
TEST(Products, CutsOfMAndNDoNotChangeBytes) {
  Scratch scratch(1);
  for (const Target& target : every_product()) {
    const Products& products = target.products;
    for (const Shape& s : {Shape{70, 67, 333}, Shape{73, 50, 1100}, Shape{64, 64, 40}}) {
      for (const bool accumulate : {false, true}) {
        const Matrix<float> a = random_matrix(1, s.rows, s.depth), b = random_matrix(2, s.cols, s.depth);
        const Matrix<float> at = random_matrix(4, s.depth, s.rows), bt = random_matrix(5, s.depth, s.cols);
        const Matrix<float> before = random_matrix(3, s.rows, s.cols);
        Matrix<float> whole = before, whole_tn = before;
        const auto multiply = [&](size_t i, size_t rows, size_t j, size_t cols, Matrix<float>& c) {
          Matrix<std::byte> packed(1, products.packed_bytes(s.depth, cols));
          products.pack(b.view().row_range(j, cols), Products::Form::transposed, packed.span(), 0,
                        products.panels(cols));
          products.multiply(a.view().row_range(i, rows), packed.span(), c.view().row_range(i, rows).col_range(j, cols),
                            accumulate, scratch[0]);
        };
        const auto multiply_tn = [&](size_t i, size_t rows, size_t j, size_t cols, Matrix<float>& c) {
          products.multiply_tn(at.view().col_range(i, rows), bt.view().col_range(j, cols),
                               c.view().row_range(i, rows).col_range(j, cols), accumulate, scratch[0]);
        };
        multiply(0, s.rows, 0, s.cols, whole);
        multiply_tn(0, s.rows, 0, s.cols, whole_tn);
        for (const size_t step : {1, 5, 13, 32, 40}) {
          if (step == 1 && s.depth > 100) continue;  // slow, and shows no more
          Matrix<float> cut = before, cut_tn = before;
          for (size_t i = 0; i < s.rows; i += step) {
            for (size_t j = 0; j < s.cols; j += step + 3) {
              const size_t rows = std::min(step, s.rows - i), cols = std::min(step + 3, s.cols - j);
              multiply(i, rows, j, cols, cut);
              multiply_tn(i, rows, j, cols, cut_tn);
            }
          }
          EXPECT_TRUE(same_bytes(cut, whole)) << target.name << " k " << s.depth << " cut at " << step;
          EXPECT_TRUE(same_bytes(cut_tn, whole_tn)) << target.name << " tn, k " << s.depth << " cut at " << step;
        }
      }
    }
  }
}

// Rounding an operand to bf16 (8 bits) is a relative error of at most 2^-8: the products of f32 and bf16
// differ by (2 2^-8 + 2^-16) S and the sums' own errors.
TEST(Products, Bf16IsNearF32) {
  ThreadPool pool(2);
  Scratch scratch(2);
  const Shape shape{65, 70, 300, 1};
  for (const bool tn : {false, true}) {
    const Kind kind{tn, false, false, false};
    const ProductInput in(kind, shape);
    const Matrix<double> a = absolute(to_double(in.a.view())), b = absolute(to_double(in.b.view()));
    const Matrix<double> size = tn ? reference::multiply_tn(a, b) : reference::multiply(a, b);
    Matrix<float> f32(shape.rows, shape.cols);
    multiply_on(in, every_isa().back(), pool, scratch, f32);
    for (const Target& target : every_product()) {
      if (target.products.precision() != Precision::bf16) continue;
      Matrix<float> bf16(shape.rows, shape.cols);
      multiply_on(in, target, pool, scratch, bf16);
      const double factor = 0x1p-7 + 0x1p-16 + 2.1 * static_cast<double>(shape.depth + 3) * kU;
      for (size_t i = 0; i < size.size(); i++)
        ASSERT_LE(std::fabs(double{bf16.span()[i]} - f32.span()[i]), factor * size.span()[i]) << target.name;
    }
  }
}

TEST(Products, TilesAndPanels) {
  for (const Target& target : every_product()) {
    EXPECT_LE(target.products.tile_rows(), Products::kMaxTileRows);
    EXPECT_EQ(target.products.panels(0), 0u);
    EXPECT_EQ(target.products.panels(1), 1u);
    EXPECT_EQ(target.products.panels(target.products.panel_columns() + 1), 2u);
    EXPECT_EQ(target.products.packed_bytes(0, 0), 0u);
    const bool bf16 = target.products.precision() == Precision::bf16;
    EXPECT_EQ(target.products.tile_rows() % (bf16 ? kBf16Block : target.kernels().mr), 0u);
  }
}

}  // namespace
}  // namespace glint::model_testing
