#include "glint/data/story_file.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr std::string_view kSpace = " \t\r\n\v\f";
std::string_view trimmed(std::string_view text) {
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
