#include "glint/data/build_files.h"

#include <unistd.h>

#include <algorithm>

#include "glint/base/error.h"
#include "glint/data/story_file.h"

namespace glint {

namespace fs = std::filesystem;

namespace {

// Notices a stream that is no text before it fills the disk: one without marks. StoryReader says the same of
// the copy, but only when there is one.
class StoryLength {
 public:
  explicit StoryLength(std::string name) : name_(std::move(name)) {}

  void add(std::string_view block) {
    // A mark may lie across two blocks.
    const std::string seam = end_ + std::string(block.substr(0, kEndOfText.size() - 1));
    if (seam.find(kEndOfText) != seam.npos) since_mark_ = 0;
    const size_t mark = block.rfind(kEndOfText);
    since_mark_ = mark == block.npos ? since_mark_ + block.size() : block.size() - mark;
    end_ = block.substr(block.size() - std::min(block.size(), kEndOfText.size() - 1));
    if (since_mark_ > kMaxStoryBytes + block.size())
      bad_file(name_, "a story of more than " + std::to_string(kMaxStoryBytes >> 20) + " MB",
               "stories with a line " + std::string(kEndOfText) + " between them");
  }

 private:
  std::string name_, end_;
  uint64_t since_mark_ = 0;
};

}  // namespace

bool reads_once(const std::string& path) {
  std::error_code ignored;
  return path == "-" || fs::is_fifo(path, ignored) || fs::is_character_file(path, ignored);
}

void check_readable(const std::vector<std::string>& paths) {
  size_t from_stdin = 0;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path == "-")
      from_stdin++;
    else if (!fs::is_fifo(path, ignored) || ::access(path.c_str(), R_OK) != 0)
      const TextStream opened(path);
  }
  if (from_stdin > 1)
    bad_argument("-", "stdin is named " + std::to_string(from_stdin) + " times", "once: it can be read once");
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
    uint64_t bytes = 0;
    TextStream from(path, [&] { each(bytes); });
    copies_.push_back(temporary_name(folder_ + "/" + kSpooled));
    WritableFile& to = *held_.emplace_back(files_.create(copies_.back()));
    std::vector<char> block(size_t{1} << 18);
    StoryLength length(from.name());
    while (const size_t n = from.read(block)) {
      length.add({block.data(), n});
      to.write(as_bytes({block.data(), n}));
      each(bytes += n);
    }
    path = copies_.back();
  }
}

NewFolder::NewFolder(const std::string& path) {
  std::error_code error;
  // A link that leads nowhere is there, and not ours to remove.
  for (fs::path p = path; !p.empty() && !fs::exists(fs::symlink_status(p, error)); p = p.parent_path())
    made_.push_back(p);
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path)) return;
  discard();
  throw Error({.what = "cannot make the folder: " + (error ? error.message() : "it is a file"), .where = path});
}

void NewFolder::discard() {
  std::error_code ignored;
  for (const fs::path& p : made_) fs::remove(p, ignored);
}

}  // namespace glint
