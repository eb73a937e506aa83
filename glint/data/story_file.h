// Stories from a text stream: what stands between the marks <|endoftext|> (and the ends of the file), without
// the white space around it. The mark is found anywhere, on a line of its own or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "glint/data/byte_stream.h"

namespace glint {

inline constexpr std::string_view kEndOfText = "<|endoftext|>";
// A longer story is an Error: such a file has no marks. Shorter ones are kept whole.
inline constexpr size_t kMaxStoryBytes = size_t{16} << 20;

struct StoryCounts {
  uint64_t stories = 0;
  uint64_t empty = 0;     // skipped: nothing but white space
  uint64_t replaced = 0;  // stretches of bytes that are not UTF-8, each now U+FFFD: a space to the tokenizer
  uint64_t bytes = 0;     // of the stories
  StoryCounts& operator+=(const StoryCounts& other);
};

class StoryReader {
 public:
  explicit StoryReader(const std::string& path) : stream_(path) {}

  // The next story that is not empty, in valid UTF-8; false at the end of the file.
  bool next(std::string& story);

  const StoryCounts& counts() const { return counts_; }
  uint64_t consumed() const { return stream_.consumed(); }  // bytes of the file, for progress

 private:
  bool fill();  // false at the end of the stream

  TextStream stream_;
  std::string buffer_;
  size_t at_ = 0, searched_ = 0;  // the story starts at at_; no mark starts before searched_
  bool first_ = true;
  StoryCounts counts_;
};

}  // namespace glint
