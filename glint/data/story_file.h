// Stories from a text stream: what stands between the marks <|endoftext|> (and the ends of the file), without
// the white space around it. The mark is found anywhere, on a line of its own or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace glint {

// The bytes of a text file as a stream: plain, gzip or xz (known by their first bytes), from a path or from
// stdin ("-"). Memory is bounded whatever the size of the file.
class TextStream {
 public:
  // Error (bad_file) when it cannot be opened, and for a device: /dev/zero has no end. Only "-" may be a
  // terminal. `waiting` is called again and again while a pipe has nothing to give; what it throws ends the
  // waiting.
  explicit TextStream(const std::string& path, std::function<void()> waiting = {});
  ~TextStream();
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;

  // Fills `out` from the start and gives the number of bytes; fewer than asked for only at the end, then 0.
  // Error (bad_file) for damaged packed data, with the byte.
  size_t read(std::span<char> out);

  uint64_t consumed() const;  // bytes of the file itself so far
  const std::string& name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Size in bytes of a regular file; 0 for what cannot be read twice: stdin, pipes, devices.
uint64_t repeatable_size(const std::string& path);

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
  struct InMemory {
    std::string text;
  };
  explicit StoryReader(InMemory text) : buffer_(std::move(text.text)) {}

  // The next story that is not empty, in valid UTF-8; false at the end of the file.
  bool next(std::string& story);

  const StoryCounts& counts() const { return counts_; }
  uint64_t consumed() const { return stream_ ? stream_->consumed() : 0; }  // bytes of the file, for progress

 private:
  bool fill();  // false at the end of the stream

  std::optional<TextStream> stream_;  // none: the text is in memory
  std::string buffer_;
  size_t at_ = 0, searched_ = 0;  // the story starts at at_; no mark starts before searched_
  bool first_ = true;
  StoryCounts counts_;
};

}  // namespace glint
