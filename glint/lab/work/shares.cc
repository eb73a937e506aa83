#include "glint/lab/work/shares.h"

#include <cstring>
#include <filesystem>
#include <thread>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/lab/work/result_files.h"

namespace glint {
namespace {

// Pieces as files, each with its hash before it: a damaged one is computed again.
class PieceFiles {
 public:
  PieceFiles(const Engine& engine, const Pieces& pieces) : engine_(engine), pieces_(pieces) {
    folder_ = pieces.folder + "-" + hash(pieces.key).substr(0, 12);
    make_directory(folder_);
  }
  const std::string& folder() const { return folder_; }
  std::string lease(size_t i) const { return file(i) + ".lease"; }

  std::optional<std::string> stored(size_t i) const {
    if (!exists(file(i))) return std::nullopt;
    std::string text;
    try {
      text = read_file(file(i));
    } catch (const Error&) {  // gone meanwhile
      return std::nullopt;
    }
    if (text.size() < kHash || text.compare(0, kHash, hash(text.substr(kHash))) != 0) return std::nullopt;
    return text.substr(kHash);
  }
  std::string computed(size_t i) const {
    engine_.check_stop();
    std::string bytes = pieces_.compute(i);
    write_atomic(engine_.files(), file(i), hash(bytes) + bytes);
    return bytes;
  }

 private:
  static constexpr size_t kHash = 64;
  static std::string hash(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text))); }
  std::string file(size_t i) const { return folder_ + "/piece-" + std::to_string(i); }

  const Engine& engine_;
  const Pieces& pieces_;
  std::string folder_;
};

void tell(const Engine& engine, const Pieces& p, size_t done, size_t of) {
  engine.progress({.label = p.label, .done = done, .total = of, .unit = p.unit});
}

PiecesResult with_files(const Engine& engine, const Pieces& p, const PieceSharing& sharing) {
  const PieceFiles files(engine, p);
  std::optional<Leases> leases;
  if (sharing.join) leases.emplace(sharing.times);
  std::vector<std::optional<std::string>> got(p.count);
  size_t done = 0;
  const auto keep = [&](size_t i, std::optional<std::string> bytes) {
    if (!bytes) return false;
    got[i] = std::move(bytes);
    tell(engine, p, ++done, p.count);
    return true;
  };
  for (;;) {
    const size_t before = done;
    for (size_t i = 0; i < p.count; i++) {
      if (got[i] || keep(i, files.stored(i))) continue;
      if (!leases) {
        keep(i, files.computed(i));
      } else if (leases->claim(files.lease(i))) {
        // It may have been finished between the look and the claim.
        if (!keep(i, files.stored(i))) keep(i, files.computed(i));
        leases->release(files.lease(i));
      }
    }
    if (done == p.count) break;
    if (done > before) continue;
    if (!sharing.wait) return {.all = {}, .left = p.count - done, .folder = files.folder()};
    engine.check_stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  PiecesResult result{.all = {}, .left = 0, .folder = files.folder()};
  for (std::optional<std::string>& bytes : got) result.all.push_back(std::move(*bytes));
  return result;
}

PiecesResult over_ranks(const Engine& engine, const Pieces& p) {
  Group& group = engine.group();
  const Range own = part_of(p.count, group.rank(), group.size());
  std::string bytes;  // each piece after its length
  for (size_t i = 0; i < own.count; i++) {
    engine.check_stop();
    const std::string piece = p.compute(own.first + i);
    const uint64_t length = piece.size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(piece);
    tell(engine, p, i + 1, own.count);
  }
  PiecesResult result;
  for (const std::string& part : group.gather(bytes))
    for (size_t at = 0; at < part.size();) {
      uint64_t length = 0;
      std::memcpy(&length, part.data() + at, sizeof length);
      result.all.push_back(part.substr(at + sizeof length, length));
      at += sizeof length + length;
    }
  return result;
}

}  // namespace

PiecesResult compute_pieces(const Engine& engine, const Pieces& pieces, const PieceSharing& sharing) {
  if (engine.group().alone()) return with_files(engine, pieces, sharing);
  if (sharing.join) bad_argument("join", "ranks share their work already", "several ranks, or workers that join");
  return over_ranks(engine, pieces);
}

void discard_pieces(const PiecesResult& result, const PieceSharing& sharing) {
  if (sharing.join || result.folder.empty()) return;
  std::error_code ignored;  // left over pieces are no harm
  std::filesystem::remove_all(result.folder, ignored);
}

}  // namespace glint
