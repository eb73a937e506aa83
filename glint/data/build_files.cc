#include "glint/data/build_files.h"

#include <unistd.h>

#include <memory>

#include "glint/base/error.h"
#include "glint/data/text_stream.h"

namespace glint {

namespace fs = std::filesystem;

bool reads_once(const std::string& path) {
  std::error_code ignored;
  return path == "-" || fs::is_fifo(path, ignored) || fs::is_character_file(path, ignored);
}

void check_readable(const std::vector<std::string>& paths) {
  size_t from_stdin = 0;
  for (const std::string& path : paths) {
    if (path == "-")
      from_stdin++;
    else if (!reads_once(path) || ::access(path.c_str(), R_OK) != 0)
      const TextStream opened(path);
  }
  if (from_stdin > 1)
    throw Error({.code = ErrorCode::usage,
                 .what = "stdin is named " + std::to_string(from_stdin) + " times",
                 .where = "-",
                 .expected = "once: it can be read once"});
}

Spool::~Spool() {
  for (const std::string& copy : copies_) {
    try {
      files_.remove(copy);
    } catch (...) {  // a file that stays behind is no reason to fail
    }
  }
}

void Spool::take(std::vector<std::string>& paths, const std::function<void(uint64_t bytes)>& each) {
  for (std::string& path : paths) {
    if (!reads_once(path)) continue;
    TextStream from(path);
    copies_.push_back(temporary_name(folder_ + "/text"));
    const std::unique_ptr<WritableFile> to = files_.create(copies_.back());
    std::vector<char> block(size_t{1} << 18);
    for (uint64_t bytes = 0; const size_t n = from.read(block);) {
      to->write(as_bytes({block.data(), n}));
      each(bytes += n);
    }
    path = copies_.back();
  }
}

NewFolder::NewFolder(const std::string& path) {
  std::error_code error;
  for (fs::path p = path; !p.empty() && !fs::exists(p, error); p = p.parent_path()) made_.push_back(p);
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path)) return;
  discard();
  throw Error(
      {.what = "cannot make the folder: " + (error ? error.message() : "it is a file"), .where = path});
}

void NewFolder::discard() {
  std::error_code ignored;
  for (const fs::path& p : made_) fs::remove(p, ignored);
}

}  // namespace glint
