#include "glint/model/redrawn.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "glint/base/rng.h"
#include "glint/io/weight_contents.h"

namespace glint {
namespace {

constexpr size_t kDrawn = size_t{1} << 16;  // values of a tile

bool is_matrix(const StoredTensor& t) { return t.shape.size() > 1 && t.rows() > 1 && t.cols() > 1; }

// To nearest, ties to even.
uint16_t to_bf16(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double norm_of(const StoredTensor& t, ThreadPool& pool) {
  const size_t tiles = (t.values() + kDrawn - 1) / kDrawn;
  std::vector<double> parts(tiles);
  pool.for_tiles(tiles, [&](size_t tile, size_t) {
    std::vector<float> some(std::min(kDrawn, t.values() - tile * kDrawn));
    widen(t, tile * kDrawn, some);
    for (const float v : some) parts[tile] += static_cast<double>(v) * v;
  });
  double sum = 0;
  for (const double p : parts) sum += p;
  return std::sqrt(sum);
}

std::vector<uint16_t> drawn(const StoredTensor& t, ThreadPool& pool, const Rng& rng) {
  // The norm of n normal numbers is sqrt(n), but for a part in sqrt(2 n).
  const double scale = norm_of(t, pool) / std::sqrt(static_cast<double>(t.values()));
  std::vector<uint16_t> out(t.values());
  pool.for_tiles((out.size() + kDrawn - 1) / kDrawn, [&](size_t tile, size_t) {
    const size_t end = std::min(out.size(), (tile + 1) * kDrawn);
    for (size_t i = tile * kDrawn; i < end; i++) out[i] = to_bf16(static_cast<float>(scale * rng.normal(i)));
  });
  return out;
}

// What a redrawn file keeps alive: its own numbers, and the file whose norms and biases it shares.
struct RedrawnFile {
  WeightContents contents;
  std::vector<std::vector<uint16_t>> numbers;
  WeightFile source;
};

}  // namespace

uint64_t redrawn_bytes(const FamilyModel& model) {
  uint64_t sum = 0;
  for (const StoredTensor& t : model.file().tensors())
    if (is_matrix(t)) sum += t.values() * sizeof(uint16_t);
  return sum;
}

FamilyModel redrawn(const FamilyModel& model, ThreadPool& pool, uint64_t seed) {
  const WeightFile& file = model.file();
  const auto made = std::make_shared<RedrawnFile>(RedrawnFile{{}, {}, file});
  made->contents.format = file.format(), made->contents.where = file.where();
  made->contents.metadata = file.metadata();
  uint32_t number = 0;
  for (StoredTensor t : file.tensors()) {
    number++;
    if (is_matrix(t)) {
      made->numbers.push_back(drawn(t, pool, Rng(seed, Stream::init, number)));
      t.type = StoredType::bf16, t.bytes = std::as_bytes(std::span(made->numbers.back()));
      t.scales = {}, t.group = 0;
    }
    made->contents.tensors.push_back(std::move(t));
  }
  return FamilyModel(WeightFile(std::shared_ptr<const WeightContents>(made, &made->contents)));
}

}  // namespace glint
