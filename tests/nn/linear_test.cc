// The linear layer: packing, forward, backward, tiles of the weight gradient, chunks of a batch.
#include "glint/nn/linear.h"

#include "tests/nn/layers.h"

namespace glint::model_testing {
namespace {

struct Sizes {
  size_t batch, n, k;
};
constexpr Sizes kSizes[] = {{0, 5, 7},   {1, 1, 1},   {5, 3, 2},      {64, 10, 33},   {67, 65, 67},
                            {130, 0, 4}, {130, 4, 0}, {300, 170, 40}, {513, 33, 257}, {96, 336, 300}};

TEST(Chunks, CoverTheBatchOnce) {
  for (size_t batch = 0; batch < 5000; batch += batch < 600 ? 1 : 37) {
    size_t next = 0;
    for (size_t c = 0; c < chunk_count(batch); c++) {
      const Range r = chunk_range(batch, c);
      ASSERT_EQ(r.first, next);
      ASSERT_GT(r.count, 0u);
      ASSERT_LE(r.count, 256u);
      next += r.count;
    }
    ASSERT_EQ(next, batch);
  }
}

TEST(PackedWeights, PiecesInAnyOrderAreTheWhole) {
  ThreadPool pool(3);
  Scratch scratch(3);
  for (const auto& [name, products] : every_product()) {
    const Compute compute{products, pool, scratch};
    const Matrix<float> w = random_matrix(1, 300, 270);
    PackedWeights whole(products, 300, 270), pieces(products, 300, 270), forward(products, 300, 270, false);
    whole.pack_all(compute, w);
    for (size_t i = pieces.pieces(); i > 0; i--) pieces.pack(products, w, i - 1);
    forward.pack_all(compute, w);
    const auto same = [](std::span<const std::byte> a, std::span<const std::byte> b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    };
    EXPECT_TRUE(same(whole.forward(), pieces.forward())) << name;
    EXPECT_TRUE(same(whole.backward(), pieces.backward())) << name;
    EXPECT_TRUE(same(whole.forward(), forward.forward())) << name;
    EXPECT_TRUE(forward.backward().empty());
    EXPECT_LT(forward.pieces(), whole.pieces());
    EXPECT_EQ(whole.rows(), 300u);
    EXPECT_EQ(whole.cols(), 270u);
  }
}

struct LinearRun {
  Matrix<float> y, dx, dx_added, dw;
};

LinearRun run(const Compute& compute, const Matrix<float>& x, const Matrix<float>& w, const Matrix<float>& dy,
              const Matrix<float>& before) {
  LinearRun out{Matrix<float>(x.rows(), w.rows()), Matrix<float>(x.rows(), x.cols()), before,
                Matrix<float>(w.rows(), w.cols())};
  PackedWeights packed(compute.products, w.rows(), w.cols());
  packed.pack_all(compute, w);
  compute.pool.for_tiles(chunk_count(x.rows()), [&](size_t chunk, size_t worker) {
    const Range r = chunk_range(x.rows(), chunk);
    const auto rows = [&](auto view) { return view.row_range(r.first, r.count); };
    linear_forward(compute.products, rows(x.view()), packed, rows(out.y.view()), compute.scratch[worker]);
    linear_backward(compute.products, rows(dy.view()), packed, rows(out.dx.view()), false, compute.scratch[worker]);
    linear_backward(compute.products, rows(dy.view()), packed, rows(out.dx_added.view()), true,
                    compute.scratch[worker]);
  });
  compute.pool.for_tiles(weight_gradient_tiles(compute.products, w.rows()), [&](size_t tile, size_t worker) {
    weight_gradient_tile(compute.products, dy, x, out.dw, tile, compute.scratch[worker]);
  });
  return out;
}

TEST(Linear, MatchesTheReferenceAtAnyThreadCount) {
  Scratch scratch(7);
  for (const auto& [name, products] : every_product()) {
    for (const Sizes& s : kSizes) {
      const std::string what =
          name + " batch " + std::to_string(s.batch) + " n " + std::to_string(s.n) + " k " + std::to_string(s.k);
      const Matrix<float> x = random_matrix(1, s.batch, s.k), w = random_matrix(2, s.n, s.k);
      const Matrix<float> dy = random_matrix(3, s.batch, s.n), before = random_matrix(4, s.batch, s.k);
      LinearRun first;
      for (const size_t threads : kThreadCounts) {
        ThreadPool pool(threads);
        LinearRun got = run({products, pool, scratch}, x, w, dy, before);
        if (threads == 1) {
          const Matrix<double> xd = operand(products, x), wd = operand(products, w), dyd = operand(products, dy);
          expect_product(got.y, xd, reference::transpose(wd), false, what + " y");
          expect_product(got.dx, dyd, wd, false, what + " dx");
          expect_product(got.dx_added, dyd, wd, false, what + " dx +=", &before);
          expect_product(got.dw, dyd, xd, true, what + " dW");
          first = std::move(got);
        } else {
          ASSERT_TRUE(same_bytes(got.y, first.y) && same_bytes(got.dx, first.dx) &&
                      same_bytes(got.dx_added, first.dx_added) && same_bytes(got.dw, first.dw))
              << what << " depends on the number of threads";
        }
      }
    }
  }
}

// A bias is added after the product; a residual is what was there before plus the product.
TEST(Linear, BiasAndResidual) {
  ThreadPool pool(1);
  Scratch scratch(1);
  const Matrix<float> x = random_matrix(1, 9, 20), w = random_matrix(2, 13, 20), before = random_matrix(3, 9, 13),
                      bias = random_matrix(4, 1, 13);
  for (const auto& [name, products] : every_product()) {
    PackedWeights packed(products, w.rows(), w.cols());
    packed.pack_all({products, pool, scratch}, w);
    Matrix<float> plain(9, 13), biased(9, 13), added = before, rows(9, 13);
    linear_forward(products, x, packed, plain, scratch[0]);
    linear_forward(products, x, packed, biased, scratch[0], bias.span());
    linear_forward_add(products, x, packed, added, scratch[0]);
    for (size_t i = 0; i < 9; i++)
      for (size_t j = 0; j < 13; j++) {
        ASSERT_EQ(biased(i, j), plain(i, j) + bias(0, j)) << name;
        rows(i, j) = bias(0, j);
      }
    const Matrix<double> xd = operand(products, x), wd = reference::transpose(operand(products, w));
    expect_product(added, xd, wd, false, name + " residual", &before);
    expect_product(biased, xd, wd, false, name + " bias", &rows);
  }
}

TEST(WeightGradient, TilesCoverTheMatrixOnce) {
  Scratch scratch(1);
  for (const auto& [name, products] : every_product()) {
    for (const auto& [n, k] : {std::pair<size_t, size_t>{1, 1},
                               {512, 784},
                               {10, 256},
                               {169, 257},
                               {341, 513},
                               {256, 784},
                               {256, 31},
                               {384, 128}}) {
      const Matrix<float> dy = random_matrix(1, 2, n), x = random_matrix(2, 2, k);
      std::vector<int> written(n * k);
      for (size_t tile = 0; tile < weight_gradient_tiles(products, n); tile++) {
        Matrix<float> dw(n, k);
        for (float& v : dw.span()) v = NAN;
        weight_gradient_tile(products, dy, x, dw, tile, scratch[0]);
        for (size_t i = 0; i < dw.size(); i++) written[i] += std::isnan(dw.span()[i]) ? 0 : 1;
      }
      EXPECT_TRUE(std::all_of(written.begin(), written.end(), [](int c) { return c == 1; })) << name << " " << n;
    }
  }
}

// The chain of ranks goes on in bands with rows of its own, where one process takes the whole batch in tiles.
TEST(WeightGradient, BandsOfABatchInPartsHaveTheBytesOfItsTiles) {
  Scratch scratch(1);
  for (const auto& [name, products] : every_product()) {
    const size_t m = 3 * gradient_cut(products) + 5, first = gradient_cut(products);
    for (const auto& [n, k] : {std::pair<size_t, size_t>{10, 256}, {256, 784}, {384, 128}}) {
      const Matrix<float> dy = random_matrix(1, m, n), x = random_matrix(2, m, k);
      Matrix<float> tiles(n, k), bands(n, k);
      for (size_t i = 0; i < weight_gradient_tiles(products, n); i++) {
        weight_gradient_tile(products, dy, x, tiles, i, scratch[0]);
        weight_gradient_band(products, dy.view().row_range(0, first), x.view().row_range(0, first), bands, i, false,
                             scratch[0]);
        weight_gradient_band(products, dy.view().row_range(first, m - first), x.view().row_range(first, m - first),
                             bands, i, true, scratch[0]);
      }
      EXPECT_TRUE(std::equal(tiles.span().begin(), tiles.span().end(), bands.span().begin())) << name << " " << n;
    }
  }
}

}  // namespace
}  // namespace glint::model_testing
