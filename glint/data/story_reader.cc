#include "glint/data/story_reader.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

size_t ascii_run(std::string_view text, size_t from) {
  size_t i = from;
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) i++;
  return i;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

StoryCounts& StoryCounts::operator+=(const StoryCounts& o) {
  stories += o.stories, empty += o.empty, replaced += o.replaced, bytes += o.bytes;
  return *this;
}

uint64_t repair_utf8(std::string& text) {
  size_t good = 0;
  while ((good = ascii_run(text, good)) < text.size()) {
    const size_t n = utf8_length(std::string_view(text).substr(good));
    if (n == 0) break;
    good += n;
  }
  if (good == text.size()) return 0;
  uint64_t replaced = 0;
  std::string out = text.substr(0, good);
  for (size_t i = good; i < text.size();) {
    const size_t n = utf8_length(std::string_view(text).substr(i));
    if (n > 0) {
      out.append(text, i, n);
      i += n;
      continue;
    }
    // A lead byte and what belongs to it count as one stretch, a stray byte as one too.
    const unsigned char lead = static_cast<unsigned char>(text[i]);
    const size_t most = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    const size_t end = std::min(text.size(), i + (lead >= 0xf5 ? 1 : most));
    i++;
    while (i < end && continues(text[i])) i++;
    out += kReplacement;
    replaced++;
  }
  text = std::move(out);
  return replaced;
}

bool StoryReader::fill() {
  buffer_.erase(0, at_);
  searched_ -= at_;
  at_ = 0;
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const size_t n = stream_.read(std::span(buffer_).subspan(before));
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
        throw Error({.code = ErrorCode::bad_file,
                     .what = "a story of more than " + std::to_string(kMaxStoryBytes >> 20) + " MB",
                     .where = stream_.name() + ", story " + std::to_string(counts_.stories + 1),
                     .expected = "stories with a line " + std::string(kEndOfText) + " between them"});
      more = fill();
      if (more) mark = buffer_.find(kEndOfText, searched_);
    }
    const size_t end = std::min(mark, buffer_.size());
    const std::string_view text = trimmed(std::string_view(buffer_).substr(at_, end - at_));
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

}  // namespace glint
