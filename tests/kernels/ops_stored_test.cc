// Dot products with stored weights: operations of the table. A sum of k products, in any order, is off by
// (k + 2) u sum|w x|; scales and offsets of blocks round twice more, and so does what is added to. Products with
// the scale and with the offset are summed apart, so that each counts with its size.
#include "glint/io/tensor.h"
#include "glint/kernels/reference.h"
#include "tests/kernels/ops.h"

namespace glint::model_testing {
namespace {

constexpr size_t kDotRows = 7;

const char* layout_name(WeightLayout layout) {
  constexpr const char* kNames[] = {"f32",  "f16",  "bf16", "q8_0", "q4_0", "q4_1", "q5_0",
                                    "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k"};
  return kNames[static_cast<size_t>(layout)];
}

size_t block_of(WeightLayout layout) { return stored_shape(layout).values; }
bool in_blocks(WeightLayout layout) { return block_of(layout) > 1; }

// Where the halves of a block are.
std::vector<size_t> halves_of(WeightLayout layout) {
  switch (layout) {
    case WeightLayout::q4_1:
    case WeightLayout::q5_1:
    case WeightLayout::q4_k:
    case WeightLayout::q5_k:
      return {0, 2};
    case WeightLayout::q2_k:
      return {80, 82};
    case WeightLayout::q3_k:
      return {108};
    case WeightLayout::q6_k:
      return {208};
    default:
      return {0};
  }
}

// Rows of numbers or blocks, `pad` bytes apart and at an odd address where `pad` is odd.
std::vector<std::byte> random_rows(WeightLayout layout, size_t n, size_t k, size_t row_bytes) {
  std::vector<std::byte> bytes(n * row_bytes + 1);
  const Rng random(7, Stream::noise);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<std::byte>(random.bits(i));
  const Matrix<float> values = random_matrix(5, n, k);
  const auto put = [&](size_t at, const void* value, size_t size) { std::memcpy(bytes.data() + 1 + at, value, size); };
  for (size_t r = 0; r < n; r++) {
    if (in_blocks(layout)) {  // any bytes are values; scales must be numbers, one of them subnormal
      for (size_t b = 0; b < k / block_of(layout); b++)
        for (const size_t at : halves_of(layout)) {
          const uint16_t d = b == 1 ? uint16_t{0x0203} : to_half(values(r, 2 * b + (at % 4 == 2)) / 16);
          put(r * row_bytes + b * stored_shape(layout).bytes + at, &d, sizeof(d));
        }
      continue;
    }
    for (size_t j = 0; j < k; j++) {
      const float v = values(r, j);
      const uint16_t half = j == 3 ? uint16_t{0x8007} : to_half(v), brain = to_bf16(v);
      if (layout == WeightLayout::f32) put(r * row_bytes + 4 * j, &v, sizeof(v));
      if (layout == WeightLayout::f16) put(r * row_bytes + 2 * j, &half, sizeof(half));
      if (layout == WeightLayout::bf16) put(r * row_bytes + 2 * j, &brain, sizeof(brain));
    }
  }
  return bytes;
}

Case dots_case(WeightLayout layout, const Shape& shape, bool accumulate) {
  const size_t n = shape.rows, k = shape.depth * block_of(layout);
  const size_t row_bytes = reference::stored_row_bytes(layout, k) + shape.pad;
  const auto w = std::make_shared<std::vector<std::byte>>(random_rows(layout, n, k, row_bytes));
  const auto x = std::make_shared<Matrix<float>>(random_matrix(1, 1, k));
  const auto start = std::make_shared<Matrix<float>>(random_matrix(2, n, 1));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> y(n, 1, 0);
    for (size_t r = 0; r < n; r++) y.view()(r, 0) = (*start)(r, 0);
    for_row_tiles(pool, n, kDotRows, [&](size_t first, size_t count, size_t) {
      target.kernels().stored_dots[static_cast<size_t>(layout)]({.n = count,
                                                                 .k = k,
                                                                 .w = w->data() + 1 + first * row_bytes,
                                                                 .row_bytes = row_bytes,
                                                                 .x = x->data(),
                                                                 .y = y.view().row_ptr(first),
                                                                 .accumulate = accumulate});
    });
    return std::vector<Output>{output("y", y)};
  };
  const Matrix<double> wide = to_double(*x), from = to_double(*start);
  std::vector<double> begin(n);
  if (accumulate) begin.assign(from.span().begin(), from.span().end());
  const std::span<const std::byte> bytes = std::span<const std::byte>(*w).subspan(1);
  const std::vector<double> want = reference::stored_dots(layout, bytes, row_bytes, wide.span(), begin);
  Matrix<double> bound(n, 1);
  for (size_t r = 0; r < n; r++) {
    double sizes = std::fabs(begin[r]);
    for (size_t j = 0; j < k; j++) {
      const reference::StoredParts parts = reference::stored_parts(layout, bytes.data() + r * row_bytes, j);
      sizes += (std::fabs(parts.product) + std::fabs(parts.offset)) * std::fabs(wide(0, j));
    }
    bound(r, 0) = (static_cast<double>(k) + 6) * kU * sizes + kTiny;
  }
  test.expected.push_back({column(want), std::move(bound)});
  return test;
}

// The values themselves. Floats hold what is a half times eight bits; the scale of a group in a block of 256, its
// product and the sum with an offset round.
Case floats_case(WeightLayout layout, const Shape& shape) {
  const size_t n = shape.rows, k = shape.depth * block_of(layout);
  const size_t row_bytes = reference::stored_row_bytes(layout, k) + shape.pad;
  const auto w = std::make_shared<std::vector<std::byte>>(random_rows(layout, n, k, row_bytes));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> out(n, k, shape.pad);
    for_row_tiles(pool, n, kDotRows, [&](size_t first, size_t count, size_t) {
      for (size_t r = first; r < first + count; r++)
        target.kernels().stored_floats[static_cast<size_t>(layout)](k, w->data() + 1 + r * row_bytes,
                                                                    out.view().row_ptr(r));
    });
    return std::vector<Output>{output("floats", out)};
  };
  Expected e{Matrix<double>(n, k), Matrix<double>(n, k)};
  for (size_t r = 0; r < n; r++)
    for (size_t j = 0; j < k; j++) {
      const reference::StoredParts parts = reference::stored_parts(layout, w->data() + 1 + r * row_bytes, j);
      e.value(r, j) = parts.product + parts.offset;
      if (block_of(layout) == 256 || parts.offset != 0)
        e.bound(r, j) = 3 * kU * (std::fabs(parts.product) + std::fabs(parts.offset)) + kTiny;
    }
  test.expected.push_back(std::move(e));
  return test;
}

}  // namespace

std::vector<Op> stored_ops() {
  std::vector<Op> ops;
  for (size_t i = 0; i < kWeightLayouts; i++) {
    const auto layout = static_cast<WeightLayout>(i);
    std::vector<Shape> shapes;
    for (size_t depth = 1; depth <= (block_of(layout) == 256 ? 3 : in_blocks(layout) ? 9 : 70); depth++)
      shapes.push_back({1 + depth % 11, 1, depth, depth % 3});
    shapes.push_back({0, 1, 9, 0});
    shapes.push_back({67, 1, 768 / block_of(layout), 0});
    for (const bool accumulate : {false, true})
      ops.push_back({std::string("stored_dots_") + layout_name(layout) + (accumulate ? "_add" : ""), every_isa(),
                     shapes, [=](const Shape& shape) { return dots_case(layout, shape, accumulate); }});
    ops.push_back({std::string("stored_floats_") + layout_name(layout), every_isa(), shapes,
                   [=](const Shape& shape) { return floats_case(layout, shape); }});
  }
  return ops;
}

// Every half there is: subnormal numbers, infinities and NaN as the numbers that they are.
TEST(StoredDots, TakesEveryHalfAsItIs) {
  for (const Target& target : every_isa()) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
      uint16_t row[16] = {};
      row[0] = static_cast<uint16_t>(bits);
      float x[16] = {1}, y = 0;
      target.kernels().stored_dots[static_cast<size_t>(WeightLayout::f16)](
          {.n = 1, .k = 16, .w = row, .row_bytes = sizeof(row), .x = x, .y = &y, .accumulate = false});
      const double want = reference::stored_value(WeightLayout::f16, reinterpret_cast<std::byte*>(row), 0);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(y) : y == want) << target.name << " " << bits;
    }
  }
}

}  // namespace glint::model_testing
