// The bytes of a text file as a stream: plain, gzip or xz (known by their first bytes), from a path or from
// stdin ("-"). Memory is bounded whatever the size of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace glint {

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

}  // namespace glint
