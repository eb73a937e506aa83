#include "glint/data/story_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <lzma.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr std::string_view kSpace = " \t\r\n\v\f";
std::string_view without_space(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

StoryCounts& StoryCounts::operator+=(const StoryCounts& o) {
  stories += o.stories, empty += o.empty, replaced += o.replaced, bytes += o.bytes;
  return *this;
}

bool StoryReader::fill() {
  if (!stream_) return false;
  buffer_.erase(0, at_);
  searched_ -= at_;
  at_ = 0;
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const size_t n = stream_->read(std::span(buffer_).subspan(before));
  buffer_.resize(before + n);
  if (first_ && buffer_.size() >= 3) {  // a byte order mark is no text
    if (buffer_.starts_with("\xEF\xBB\xBF")) at_ = searched_ = 3;
    first_ = false;
  }
  return n > 0;
}

bool StoryReader::next(std::string& story) {
  for (bool more = true; more;) {
    size_t mark = buffer_.find(kEndOfText, searched_);
    while (mark == buffer_.npos && more) {
      // A mark may begin in the last bytes that there are.
      searched_ = std::max(at_, buffer_.size() - std::min(buffer_.size(), kEndOfText.size() - 1));
      if (buffer_.size() - at_ > kMaxStoryBytes)
        bad_file((stream_ ? stream_->name() : "the text") + ", story " + std::to_string(counts_.stories + 1),
                 "a story of more than " + std::to_string(kMaxStoryBytes >> 20) + " MB",
                 "stories with a line " + std::string(kEndOfText) + " between them");
      more = fill();
      if (more) mark = buffer_.find(kEndOfText, searched_);
    }
    const size_t end = std::min(mark, buffer_.size());
    const std::string_view text = without_space(std::string_view(buffer_).substr(at_, end - at_));
    const bool nothing_left = mark == buffer_.npos && text.empty();
    story.assign(text);
    at_ = searched_ = mark == buffer_.npos ? buffer_.size() : mark + kEndOfText.size();
    if (!story.empty()) {
      counts_.stories++;
      counts_.replaced += repair_utf8(story);
      counts_.bytes += story.size();
      return true;
    }
    if (!nothing_left) counts_.empty++;
  }
  return false;
}

enum class Packing { none, gzip, xz };

namespace {

constexpr size_t kChunk = size_t{1} << 18;
// What liblzma may ask for: enough for the 64 MB window of xz -9, of which only what is unpacked is touched.
constexpr uint64_t kXzMemory = uint64_t{68} << 20;

Packing packing_of(std::span<const unsigned char> start) {
  constexpr unsigned char kXz[] = {0xfd, '7', 'z', 'X', 'Z', 0};
  if (start.size() >= 2 && start[0] == 0x1f && start[1] == 0x8b) return Packing::gzip;
  if (start.size() >= sizeof kXz && std::equal(std::begin(kXz), std::end(kXz), start.begin())) return Packing::xz;
  return Packing::none;
}

}  // namespace

struct TextStream::State {
  std::string name;
  int file = -1;
  std::function<void()> waiting;
  Packing packing = Packing::none;
  std::vector<unsigned char> input = std::vector<unsigned char>(kChunk);
  size_t at = 0, have = 0;  // of `input`
  uint64_t file_read = 0;
  bool file_ended = false, ended = false;
  bool open_member = false;  // gzip: inside a member
  z_stream gzip{};
  lzma_stream xz = LZMA_STREAM_INIT;

  ~State() {
    if (packing == Packing::gzip) inflateEnd(&gzip);
    if (packing == Packing::xz) lzma_end(&xz);
    if (file > STDIN_FILENO) ::close(file);
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& expected, const std::string& hint) {
    glint::refuse(name, file_read - (have - at), what, expected, hint);
  }
  [[noreturn]] void unreadable() const {
    throw Error({.code = code_of_errno(errno),
                 .what = std::string("cannot read: ") + std::strerror(errno),
                 .where = name,
                 .expected = "a text file, plain, .gz or .xz, or - for stdin"});
  }
  // Returns when there is something to read, or the end. A pipe that nobody writes to may wait for ever, and
  // a signal must be able to end that.
  void wait_for_input() const {
    constexpr int kPatience = 100;  // milliseconds
    pollfd wanted{.fd = file, .events = POLLIN, .revents = 0};
    int ready = 0;
    while ((ready = ::poll(&wanted, 1, kPatience)) <= 0) {
      if (ready < 0 && errno != EINTR && errno != EAGAIN) unreadable();
      if (waiting) waiting();
    }
  }
  // Called when `input` is used up, and once before anything is read. Fills it unless the file ends.
  void refill() {
    at = have = 0;
    while (!file_ended && have < input.size()) {
      wait_for_input();
      const ssize_t n = ::read(file, input.data() + have, input.size() - have);
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n < 0) unreadable();
      have += static_cast<size_t>(n);
      file_ended = n == 0;
    }
    file_read += have;
  }
  size_t read_gzip(std::span<char> out);
  size_t read_xz(std::span<char> out);
};

TextStream::TextStream(const std::string& path, std::function<void()> waiting) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.name = path == "-" ? "stdin" : path;
  s.waiting = std::move(waiting);
  // Not blocking: otherwise the opening of a pipe would wait for its writer, deaf to signals.
  s.file = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info {};
  if (s.file < 0 || ::fstat(s.file, &info) != 0) s.unreadable();
  if (S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && (path != "-" || !::isatty(s.file))))
    bad_file(s.name, "this is a device, not a text", "a text file, plain, .gz or .xz, or - for stdin");
  s.refill();
  const Packing packing = packing_of({s.input.data(), s.have});
  if (packing == Packing::gzip) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&s.gzip, kGzipOnly) != Z_OK)
      throw Error({.what = "cannot start to unpack gzip: out of memory", .where = s.name});
    s.open_member = true;
  } else if (packing == Packing::xz) {
    if (lzma_stream_decoder(&s.xz, kXzMemory, LZMA_CONCATENATED) != LZMA_OK)
      throw Error({.what = "cannot start to unpack xz: out of memory", .where = s.name});
  }
  s.packing = packing;
}

TextStream::~TextStream() = default;
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;

uint64_t TextStream::consumed() const { return state_->file_read - (state_->have - state_->at); }
const std::string& TextStream::name() const { return state_->name; }

size_t TextStream::read(std::span<char> out) {
  State& s = *state_;
  size_t n = 0;
  while (n < out.size() && !s.ended) {
    if (s.at == s.have) s.refill();
    const std::span<char> rest = out.subspan(n);
    if (s.packing == Packing::gzip) {
      n += s.read_gzip(rest);
    } else if (s.packing == Packing::xz) {
      n += s.read_xz(rest);
    } else {
      const size_t some = std::min(rest.size(), s.have - s.at);
      std::copy_n(s.input.data() + s.at, some, rest.data());
      s.at += some, n += some;
      s.ended = s.file_ended && s.at == s.have;
    }
  }
  return n;
}

// Members may follow each other, as `cat a.gz b.gz` makes them.
size_t TextStream::State::read_gzip(std::span<char> out) {
  if (at == have && file_ended) {
    if (open_member) refuse("gzip data ends too early", "a whole gzip file", "get the file again");
    ended = true;
    return 0;
  }
  if (!open_member) {
    if (inflateReset(&gzip) != Z_OK) throw Error({.what = "cannot go on unpacking gzip", .where = name});
    open_member = true;
  }
  gzip.next_in = input.data() + at;
  gzip.avail_in = static_cast<uInt>(have - at);
  gzip.next_out = reinterpret_cast<Bytef*>(out.data());
  const uInt room = static_cast<uInt>(std::min(out.size(), size_t{1} << 30));
  gzip.avail_out = room;
  const int result = inflate(&gzip, Z_NO_FLUSH);
  at = have - gzip.avail_in;
  if (result == Z_STREAM_END)
    open_member = false;
  else if (result == Z_MEM_ERROR)
    throw Error({.what = "cannot unpack gzip: out of memory", .where = name});
  else if (result != Z_OK && result != Z_BUF_ERROR)
    refuse(std::string("gzip data is damaged: ") + (gzip.msg ? gzip.msg : "unknown block"),
           "gzip data with a right checksum", "get the file again");
  return room - gzip.avail_out;
}

size_t TextStream::State::read_xz(std::span<char> out) {
  xz.next_in = input.data() + at;
  xz.avail_in = have - at;
  xz.next_out = reinterpret_cast<uint8_t*>(out.data());
  xz.avail_out = out.size();
  const lzma_ret result = lzma_code(&xz, file_ended ? LZMA_FINISH : LZMA_RUN);
  at = have - xz.avail_in;
  if (result == LZMA_STREAM_END) {
    ended = true;
  } else if (result == LZMA_MEM_ERROR) {
    throw Error({.what = "cannot unpack xz: out of memory", .where = name});
  } else if (result == LZMA_MEMLIMIT_ERROR) {
    refuse("the xz file needs more memory than allowed", "a window of at most 64 MB, as xz -9 has",
           "unpack it first: xz -dk " + name);
  } else if (result != LZMA_OK) {
    refuse(result == LZMA_BUF_ERROR ? "xz data ends too early" : "xz data is damaged",
           "a whole xz file with a right checksum", "get the file again");
  }
  return out.size() - xz.avail_out;
}

uint64_t repeatable_size(const std::string& path) {
  struct stat info {};
  if (path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return 0;
  return static_cast<uint64_t>(info.st_size);
}

}  // namespace glint
