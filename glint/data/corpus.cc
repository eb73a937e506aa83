#include "glint/data/corpus.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "glint/base/error.h"

namespace glint {
namespace {

constexpr std::string_view kMagic = "glinttok", kEnd = "glintend";
constexpr size_t kHeader = 64, kFooter = 64, kHash = 32;
// Places in the footer.
constexpr size_t kFooterHash = 24, kFooterEnd = 56;
constexpr size_t kBlock = size_t{1} << 20;
// Ids are stored in two bytes where the vocabulary allows it. Version 1 has them so, version 2 in four.
constexpr size_t kNarrowVocab = 65536;

size_t id_bytes_of(size_t vocab) { return vocab <= kNarrowVocab ? 2 : 4; }

using Block64 = std::array<std::byte, 64>;

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
void store(std::byte* p, auto value) {
  std::memcpy(p, &value, sizeof value);
}

std::string hex_at(const std::byte* p) { return hex({reinterpret_cast<const uint8_t*>(p), kHash}); }

uint8_t nibble(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

void check_story(std::span<const TokenId> ids, uint64_t index, size_t vocab) {
  const std::string where = "story " + std::to_string(index);
  if (ids.empty()) bad_argument(where, "a story is empty", "at least one token");
  const TokenId top = *std::ranges::max_element(ids);
  if (top >= vocab)
    bad_argument(where, "the id " + std::to_string(top), "below the vocabulary of " + std::to_string(vocab));
}

Block64 header_of(size_t vocab, const std::string& tokenizer_hash) {
  if (vocab == 0 || vocab > kMaxVocab)
    bad_argument("vocab", "a vocabulary of " + std::to_string(vocab), "1 to " + std::to_string(kMaxVocab) + " pieces");
  if (tokenizer_hash.size() != 2 * kHash || tokenizer_hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    bad_argument("tokenizer_hash", "this is no SHA-256: " + tokenizer_hash, "64 hexadecimal digits");
  Block64 h{};
  std::memcpy(h.data(), kMagic.data(), kMagic.size());
  store(h.data() + 8, static_cast<uint32_t>(id_bytes_of(vocab) / 2));
  store(h.data() + 12, static_cast<uint32_t>(vocab));
  for (size_t i = 0; i < kHash; i++)
    h[16 + i] = static_cast<std::byte>(nibble(tokenizer_hash[2 * i]) << 4 | nibble(tokenizer_hash[2 * i + 1]));
  return h;
}

// Without the checksum.
Block64 footer_of(uint64_t stories, uint64_t tokens) {
  Block64 f{};
  store(f.data(), stories);
  store(f.data() + 8, tokens);
  std::memcpy(f.data() + kFooterEnd, kEnd.data(), kEnd.size());
  return f;
}

size_t padding(uint64_t id_bytes) { return static_cast<size_t>((8 - id_bytes % 8) % 8); }

void append_ids(std::span<const TokenId> ids, size_t id_bytes, std::vector<std::byte>& out) {
  const size_t first = out.size();
  out.resize(first + id_bytes * ids.size());
  for (size_t i = 0; i < ids.size(); i++)  // little-endian: the low bytes come first
    std::memcpy(out.data() + first + id_bytes * i, &ids[i], id_bytes);
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

void Corpus::attach(std::span<const std::byte> file, const std::string& where, CorpusCheck check) {
  const std::string kind = "a corpus that `tokenize()` wrote";
  const std::string again = "`tokenize()` makes it anew";
  const std::byte* p = file.data();
  if (file.size() < kMagic.size() || std::memcmp(p, kMagic.data(), kMagic.size()) != 0)
    refuse(where, 0, "not a tokenized corpus", kind, "`tokenize(TEXT, out=DIR)` makes one from text");
  if (file.size() < kHeader + 8 + kFooter)
    refuse(where, file.size(), "the corpus ends too early", "a header, ids, starts and a footer", again);
  const uint32_t version = load<uint32_t>(p + 8);
  if (version != 1 && version != 2)
    refuse(where, 8, "the corpus has version " + std::to_string(version), "version 1 or 2", again);
  id_bytes_ = 2 * version;
  vocab_ = load<uint32_t>(p + 12);
  if (vocab_ == 0 || vocab_ > kMaxVocab)
    refuse(where, 12, "a vocabulary of " + std::to_string(vocab_), "1 to " + std::to_string(kMaxVocab) + " pieces");
  if (id_bytes_of(vocab_) != id_bytes_)
    refuse(where, 12, "a vocabulary of " + std::to_string(vocab_) + " in version " + std::to_string(version),
           "version " + std::to_string(id_bytes_of(vocab_) / 2), again);
  if (!all_zero(file.subspan(48, 16))) refuse(where, 48, "unknown bytes in the header", "16 zero bytes");
  tokenizer_hash_ = hex_at(p + 16);

  const size_t footer = file.size() - kFooter;
  const std::byte* f = p + footer;
  if (std::memcmp(f + kFooterEnd, kEnd.data(), kEnd.size()) != 0)
    refuse(where, footer + kFooterEnd, "the corpus is cut off or something follows it", "\"glintend\" at its end",
           again);
  const uint64_t stories = load<uint64_t>(f);
  tokens_ = load<uint64_t>(f + 8);
  if (load<uint64_t>(f + 16) != 0) refuse(where, footer + 16, "unknown bytes in the footer", "8 zero bytes");
  const uint64_t body = footer - kHeader;
  if (tokens_ > body / id_bytes_ || stories > body / 8)
    refuse(where, footer,
           "the corpus claims " + std::to_string(stories) + " stories and " + std::to_string(tokens_) + " tokens",
           "counts that fit a file of " + std::to_string(file.size()) + " bytes", again);
  const uint64_t stored = id_bytes_ * tokens_, id_bytes = stored + padding(stored);
  if (id_bytes + 8 * (stories + 1) != body)
    refuse(where, footer, std::to_string(body) + " bytes of ids and starts",
           std::to_string(id_bytes + 8 * (stories + 1)) + " for " + std::to_string(stories) + " stories and " +
               std::to_string(tokens_) + " tokens",
           again);
  stories_ = static_cast<size_t>(stories);
  // Both are aligned: the file starts at a page or at the alignment of an allocation, and all parts are
  // multiples of 8 bytes.
  ids_ = p + kHeader;
  starts_ = reinterpret_cast<const uint64_t*>(p + kHeader + id_bytes);
  if (!all_zero(file.subspan(kHeader + stored, padding(stored))))
    refuse(where, kHeader + stored, "unknown bytes behind the ids", "zeros up to a multiple of 8 bytes");

  const auto start_byte = [&](size_t i) { return kHeader + id_bytes + 8 * i; };
  if (starts_[0] != 0) refuse(where, start_byte(0), "the first story starts at " + std::to_string(starts_[0]), "0");
  for (size_t i = 0; i < stories_; i++)
    if (starts_[i + 1] <= starts_[i] || starts_[i + 1] > tokens_)
      refuse(where, start_byte(i + 1), "story " + std::to_string(i) + " ends at " + std::to_string(starts_[i + 1]),
             "an end behind its start, at most " + std::to_string(tokens_));
  if (starts_[stories_] != tokens_)
    refuse(where, start_byte(stories_), "the stories end at " + std::to_string(starts_[stories_]),
           std::to_string(tokens_));
  const StoredStory all(ids_, id_bytes_, static_cast<size_t>(tokens_));
  TokenId top = 0;
  for (size_t i = 0; i < all.size(); i++) top = std::max(top, all[i]);
  if (top >= vocab_) {
    size_t bad = 0;
    while (all[bad] < vocab_) bad++;
    refuse(where, kHeader + id_bytes_ * bad, "the id " + std::to_string(all[bad]),
           "below the vocabulary of " + std::to_string(vocab_));
  }
  checksum_ = hex_at(f + kFooterHash);
  if (check == CorpusCheck::full) {
    const std::string actual = sha256_hex(file.first(footer + kFooterHash));
    if (actual != checksum_)
      refuse(where, footer + kFooterHash, "the corpus is damaged: its SHA-256 is " + actual, checksum_, again);
  }
}

Corpus Corpus::open(const std::string& path, CorpusCheck check) {
  const auto file = std::make_shared<const MappedFile>(path);
  Corpus corpus;
  corpus.attach(file->bytes(), path, check);
  corpus.owner_ = file;
  return corpus;
}

Corpus Corpus::parse(std::vector<std::byte> file, const std::string& where, CorpusCheck check) {
  const auto owned = std::make_shared<const std::vector<std::byte>>(std::move(file));
  Corpus corpus;
  corpus.attach(*owned, where, check);
  corpus.owner_ = owned;
  return corpus;
}

CorpusWriter::CorpusWriter(FileSystem& files, std::string path, size_t vocab, const std::string& tokenizer_hash)
    : files_(files),
      path_(std::move(path)),
      temporary_(temporary_name(path_)),
      starts_path_(temporary_name(path_ + ".starts")),
      vocab_(vocab),
      id_bytes_(id_bytes_of(vocab)) {
  file_ = files_.create(temporary_);
  try {
    starts_file_ = files_.create(starts_path_);
    write(header_of(vocab, tokenizer_hash));
  } catch (...) {
    discard();
    throw;
  }
}

CorpusWriter::~CorpusWriter() { discard(); }

void CorpusWriter::discard() {
  if (temporary_.empty()) return;  // finished
  for (const std::string& path : {temporary_, starts_path_}) {
    try {
      files_.remove(path);
    } catch (...) {  // a file that stays behind is no reason to fail
    }
  }
}

void CorpusWriter::write(std::span<const std::byte> bytes) {
  file_->write(bytes);
  hash_.update(bytes);
}

void CorpusWriter::add(std::span<const TokenId> story) {
  check_story(story, stories_, vocab_);
  starts_.push_back(tokens_);
  append_ids(story, id_bytes_, ids_);
  stories_++;
  tokens_ += story.size();
  if (ids_.size() >= kBlock) {
    write(ids_);
    ids_.clear();
  }
  if (starts_.size() * sizeof starts_[0] >= kBlock) {
    starts_file_->write(std::as_bytes(std::span(starts_)));
    starts_.clear();
  }
}

std::string CorpusWriter::finish() {
  constexpr std::array<std::byte, 8> kZeros{};
  write(ids_);
  write(std::span(kZeros).first(padding(id_bytes_ * tokens_)));
  starts_.push_back(tokens_);
  starts_file_->write(std::as_bytes(std::span(starts_)));
  starts_file_.reset();
  {
    const MappedFile starts(starts_path_);
    for (std::span<const std::byte> rest = starts.bytes(); !rest.empty();) {
      const size_t n = std::min(rest.size(), kBlock);
      write(rest.first(n));
      rest = rest.subspan(n);
    }
  }
  files_.remove(starts_path_);
  Block64 footer = footer_of(stories_, tokens_);
  hash_.update(std::span(footer).first(kFooterHash));
  const Sha256::Digest digest = hash_.finish();
  std::memcpy(footer.data() + kFooterHash, digest.data(), kHash);
  file_->write(footer);
  file_->sync();
  file_.reset();
  files_.rename(temporary_, path_);
  temporary_.clear();
  const size_t slash = path_.rfind('/');
  files_.sync_directory(slash == path_.npos ? "." : slash == 0 ? "/" : path_.substr(0, slash));
  return hex(digest);
}

std::vector<std::byte> corpus_bytes(std::span<const std::vector<TokenId>> stories, size_t vocab,
                                    const std::string& tokenizer_hash) {
  std::vector<uint64_t> starts = {0};
  std::vector<std::byte> ids;
  for (const std::vector<TokenId>& story : stories) {
    check_story(story, starts.size() - 1, vocab);
    starts.push_back(starts.back() + story.size());
    append_ids(story, id_bytes_of(vocab), ids);
  }
  const uint64_t tokens = starts.back();
  std::vector<std::byte> file(kHeader + ids.size() + padding(ids.size()) + 8 * starts.size() + kFooter);
  std::byte* at = file.data();
  const auto put = [&](std::span<const std::byte> bytes) { at = std::copy(bytes.begin(), bytes.end(), at); };
  put(header_of(vocab, tokenizer_hash));
  put(ids);
  at += padding(ids.size());
  put(std::as_bytes(std::span(starts)));
  std::byte* footer = at;
  put(footer_of(stories.size(), tokens));
  Sha256 hash;
  hash.update(std::span(file).first(static_cast<size_t>(footer - file.data()) + kFooterHash));
  const Sha256::Digest digest = hash.finish();
  std::memcpy(footer + kFooterHash, digest.data(), kHash);
  return file;
}

}  // namespace glint
