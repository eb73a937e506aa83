// A tokenized corpus: stories as 16-bit ids, in one file that is mapped and used in place. Little-endian.
//
//   header  64 bytes  "glinttok" | u32 version 1 | u32 vocab | SHA-256 of the tokenizer | 16 zero bytes
//   ids               u16 each, story after story without end marks; zeros up to a multiple of 8 bytes
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
#include <vector>

#include "glint/base/file.h"
#include "glint/base/sha256.h"

namespace glint {

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
  std::span<const uint16_t> story(size_t i) const {
    return {ids_ + starts_[i], static_cast<size_t>(starts_[i + 1] - starts_[i])};
  }
  const std::string& tokenizer_hash() const { return tokenizer_hash_; }  // hex
  const std::string& checksum() const { return checksum_; }              // hex, as the file has it

 private:
  void attach(std::span<const std::byte> file, const std::string& where, CorpusCheck check);

  std::shared_ptr<const void> owner_;  // the mapping or the bytes
  const uint16_t* ids_ = nullptr;
  const uint64_t* starts_ = nullptr;
  size_t stories_ = 0, vocab_ = 0;
  uint64_t tokens_ = 0;
  std::string tokenizer_hash_, checksum_;
};

// Writes a corpus story by story in bounded memory: `path` appears whole at finish, or never.
class CorpusWriter {
 public:
  // `tokenizer_hash` is hex.
  CorpusWriter(FileSystem& files, std::string path, size_t vocab, const std::string& tokenizer_hash);
  ~CorpusWriter();  // without finish: removes what was written
  CorpusWriter(const CorpusWriter&) = delete;
  CorpusWriter& operator=(const CorpusWriter&) = delete;

  void add(std::span<const uint16_t> story);
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
  std::vector<uint16_t> ids_;     // not written yet
  std::vector<uint64_t> starts_;  // not written yet
  Sha256 hash_;
  uint64_t stories_ = 0, tokens_ = 0;
  size_t vocab_;
};

// The same file in memory.
std::vector<std::byte> corpus_bytes(std::span<const std::vector<uint16_t>> stories, size_t vocab,
                                    const std::string& tokenizer_hash);

}  // namespace glint
