#include "glint/model/redrawn.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

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

void draw(const StoredTensor& t, ThreadPool& pool, const Rng& rng, std::vector<uint16_t>& out) {
  // The norm of n normal numbers is sqrt(n), but for a part in sqrt(2 n).
  const double scale = norm_of(t, pool) / std::sqrt(static_cast<double>(t.values()));
  pool.for_tiles((t.values() + kDrawn - 1) / kDrawn, [&](size_t tile, size_t) {
    const size_t end = std::min(t.values(), (tile + 1) * kDrawn);
    for (size_t i = tile * kDrawn; i < end; i++) out[i] = to_bf16(static_cast<float>(scale * rng.normal(i)));
  });
}

// "blk.12.attn_q.weight" is "blk.#.attn_q.weight" of layer 12; no layer: none.
std::string role_of(const std::string& name, std::optional<size_t>& layer) {
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    const size_t end = name.find_first_not_of("0123456789", dot + 1);
    if (end == name.npos || end == dot + 1 || name[end] != '.') continue;
    layer = std::stoul(name.substr(dot + 1, end - dot - 1));
    return name.substr(0, dot + 1) + "#" + name.substr(end);
  }
  return name;
}

// What a redrawn file keeps alive: its own numbers, by role, and the file whose norms and biases it shares.
struct RedrawnFile {
  WeightContents contents;
  std::map<std::string, std::vector<uint16_t>> numbers;
  struct Drawn {
    const StoredTensor* from;
    uint32_t number;
    std::vector<uint16_t>* to;
  };
  std::vector<std::vector<Drawn>> layers;
  WeightFile source;
  std::optional<size_t> ready = {};  // the layer whose numbers are there
};

}  // namespace

FamilyModel redrawn(const FamilyModel& model, ThreadPool& pool, uint64_t seed) {
  const WeightFile& file = model.file();
  const auto made = std::make_shared<RedrawnFile>(RedrawnFile{{}, {}, {}, file});
  made->layers.resize(model.config().layers);
  made->contents.format = file.format(), made->contents.where = file.where();
  made->contents.metadata = file.metadata();
  struct Place {
    std::string role;
    std::optional<size_t> layer;
  };
  std::vector<Place> places;
  for (const StoredTensor& t : file.tensors()) {
    Place& place = places.emplace_back();
    if (!is_matrix(t)) continue;
    place.role = role_of(t.name, place.layer);
    std::vector<uint16_t>& numbers = made->numbers[place.role];
    numbers.resize(std::max(numbers.size(), t.values()));
  }
  for (uint32_t i = 0; i < places.size(); i++) {
    const StoredTensor& from = file.tensors()[i];
    StoredTensor t = from;
    if (!places[i].role.empty()) {
      std::vector<uint16_t>& numbers = made->numbers[places[i].role];
      t.type = StoredType::bf16, t.bytes = std::as_bytes(std::span(numbers)).first(t.values() * sizeof(uint16_t));
      t.scales = {}, t.group = 0;
      const RedrawnFile::Drawn drawn{&from, i + 1, &numbers};
      if (!places[i].layer)
        draw(from, pool, Rng(seed, Stream::init, i + 1), numbers);
      else if (*places[i].layer < made->layers.size())
        made->layers[*places[i].layer].push_back(drawn);
    }
    made->contents.tensors.push_back(std::move(t));
  }
  FamilyModel out(WeightFile(std::shared_ptr<const WeightContents>(made, &made->contents)), model.config());
  out.set_prepare([made = made.get(), &pool, seed](size_t layer) {
    if (made->ready == layer) return;
    made->ready = layer;
    for (const RedrawnFile::Drawn& d : made->layers[layer])
      draw(*d.from, pool, Rng(seed, Stream::init, d.number), *d.to);
  });
  return out;
}

}  // namespace glint
