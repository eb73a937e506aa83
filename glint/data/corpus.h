// A tokenized corpus: the ids of stories, in one file that is mapped and used in place. Little-endian.
//
//   header  64 bytes  "glinttok" | u32 version | u32 vocab | SHA-256 of the tokenizer | 16 zero bytes
//   ids               u16 each in version 1, u32 each in version 2 (more than 65,536 pieces), story after
//   story
//                     without end marks; zeros up to a multiple of 8 bytes
//   starts            u64 for every story, the index of its first id, and one more: the number of ids
//   footer  64 bytes  u64 stories | u64 ids | u64 zero | SHA-256 of all bytes before it | "glintend"
//
// The counts stand at the end because they are known at the end: a file is written in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/base/tokens.h"

namespace glint {

// In the place of a SHA-256.
inline constexpr std::string_view kNoTokenizer = "0000000000000000000000000000000000000000000000000000000000000000";

// The ids of one story as the file has them.
class StoredStory {
 public:
  StoredStory(const std::byte* ids, size_t id_bytes, size_t size) : ids_(ids), id_bytes_(id_bytes), size_(size) {}
  size_t size() const { return size_; }
  TokenId operator[](size_t i) const {
    return id_bytes_ == 2 ? reinterpret_cast<const uint16_t*>(ids_)[i] : reinterpret_cast<const uint32_t*>(ids_)[i];
  }
  // The first to.size() ids.
  void copy(std::span<TokenId> to) const {
    for (size_t i = 0; i < to.size(); i++) to[i] = (*this)[i];
  }
  std::vector<TokenId> ids() const {
    std::vector<TokenId> all(size_);
    copy(all);
    return all;
  }

 private:
  const std::byte* ids_;
  size_t id_bytes_, size_;
};

enum class CorpusCheck {
  full,     // sizes, starts, ids and the checksum
  content,  // all but the checksum
};

class Corpus {
 public:
  Corpus() = default;  // no stories
  // Error (bad_file) for everything that does not fit, with the byte and the rule. Nothing is allocated that
  // the file asks for.
  static Corpus open(const std::string& path, CorpusCheck check = CorpusCheck::full);
  static Corpus parse(std::vector<std::byte> file, const std::string& where = "memory",
                      CorpusCheck check = CorpusCheck::full);

  size_t stories() const { return stories_; }
  uint64_t tokens() const { return tokens_; }
  size_t vocab() const { return vocab_; }
  StoredStory story(size_t i) const {
    return {ids_ + id_bytes_ * starts_[i], id_bytes_, static_cast<size_t>(starts_[i + 1] - starts_[i])};
  }
  const std::string& tokenizer_hash() const { return tokenizer_hash_; }  // hex
  const std::string& checksum() const { return checksum_; }              // hex, as the file has it

 private:
  void attach(std::span<const std::byte> file, const std::string& where, CorpusCheck check);

  std::shared_ptr<const void> owner_;  // the mapping or the bytes
  const std::byte* ids_ = nullptr;
  const uint64_t* starts_ = nullptr;
  size_t stories_ = 0, vocab_ = 0, id_bytes_ = 2;
  uint64_t tokens_ = 0;
  std::string tokenizer_hash_, checksum_;
};

// Writes a corpus story by story in bounded memory: `path` appears whole at finish, or never.
class CorpusWriter {
 public:
  // `tokenizer_hash` is hex; kNoTokenizer: the ids are of no tokenizer that glint has.
  CorpusWriter(FileSystem& files, std::string path, size_t vocab, const std::string& tokenizer_hash);
  ~CorpusWriter();  // without finish: removes what was written
  CorpusWriter(const CorpusWriter&) = delete;
  CorpusWriter& operator=(const CorpusWriter&) = delete;

  // Error (usage) for an empty story or an id that is not below the vocabulary.
  void add(std::span<const TokenId> story);
  uint64_t stories() const { return stories_; }
  uint64_t tokens() const { return tokens_; }
  // Gives the checksum, hex.
  std::string finish();

 private:
  void write(std::span<const std::byte> bytes);
  void discard();

  FileSystem& files_;
  std::string path_, temporary_, starts_path_;
  std::unique_ptr<WritableFile> file_, starts_file_;
  std::vector<std::byte> ids_;    // not written yet
  std::vector<uint64_t> starts_;  // not written yet
  Sha256 hash_;
  uint64_t stories_ = 0, tokens_ = 0;
  size_t vocab_, id_bytes_;
};

// The same file in memory. Error (usage) for an empty story, an id that is not below the vocabulary, or a
// hash that is none.
std::vector<std::byte> corpus_bytes(std::span<const std::vector<TokenId>> stories, size_t vocab,
                                    const std::string& tokenizer_hash);

}  // namespace glint
