#include "glint/data/story_file.h"
#include "glint/base/utf8.h"

#include <lzma.h>

#include "tests/data/text_files.h"

namespace glint {
namespace {

std::string xz(const std::string& content) {
  std::string packed(lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  const lzma_ret result =
      lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(content.data()),
                              content.size(), reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size());
  if (result != LZMA_OK) throw std::runtime_error("lzma");
  packed.resize(size);
  return packed;
}

std::vector<std::string> stories_of(const std::string& path, StoryCounts* counts = nullptr) {
  StoryReader reader(path);
  std::vector<std::string> all;
  for (std::string s; reader.next(s);) all.push_back(s);
  if (counts) *counts = reader.counts();
  return all;
}

TEST(StoryReader, SplitsTrimsAndSkipsEmptyStories) {
  const TempFolder folder;
  folder.write("a.txt",
               "\xEF\xBB\xBF one\r\ntwo \r\n<|endoftext|>\r\n\r\n<|endoftext|>\n "
               "three<|endoftext|>four\n\n<|endoftext|>\n");
  StoryCounts counts;
  EXPECT_EQ(stories_of(folder.path("a.txt"), &counts), (std::vector<std::string>{"one\r\ntwo", "three", "four"}));
  EXPECT_EQ(counts.stories, 3u);
  EXPECT_EQ(counts.empty, 1u);  // what follows the last mark is no story
  EXPECT_EQ(counts.bytes, 8u + 5 + 4);
  EXPECT_EQ(counts.replaced, 0u);
  folder.write("no end", "a story without a mark");
  EXPECT_EQ(stories_of(folder.path("no end")).size(), 1u);
  folder.write("none", "");
  EXPECT_TRUE(stories_of(folder.path("none")).empty());
}

// Marks that lie across the borders of what is read at once: stories of every length around it.
TEST(StoryReader, MarksAcrossReads) {
  const TempFolder folder;
  std::string text;
  std::vector<std::string> expected;
  for (size_t i = 0; i < 40; i++) {
    expected.emplace_back(13090 + i * 7, static_cast<char>('a' + i % 26));
    text += expected.back() + "\n<|endoftext|>\n";
  }
  ASSERT_GT(text.size(), size_t{1} << 19);
  for (size_t shift = 0; shift < 16; shift++) {
    folder.write("t", std::string(shift, ' ') + text);
    EXPECT_EQ(stories_of(folder.path("t")), expected) << shift;
  }
}

TEST(StoryReader, PackedFilesGiveTheSame) {
  const TempFolder folder;
  std::string text;
  for (const std::string& t : some_tales(700)) text += t + "\n<|endoftext|>\n";
  folder.write("plain", text);
  const std::vector<std::string> expected = stories_of(folder.path("plain"));
  ASSERT_EQ(expected.size(), 700u);
  const size_t half = text.size() / 2;
  folder.write("gz", gzip(text.substr(0, half)) + gzip(text.substr(half)));  // two members
  folder.write("xz", xz(text.substr(0, half)) + xz(text.substr(half)));
  EXPECT_EQ(stories_of(folder.path("gz")), expected);
  EXPECT_EQ(stories_of(folder.path("xz")), expected);

  for (const std::string& packed : {gzip(text), xz(text)}) {
    for (const size_t length : {packed.size() - 1, packed.size() / 2, size_t{20}}) {
      folder.write("cut", packed.substr(0, length));
      const ErrorParts parts = error_parts([&] { stories_of(folder.path("cut")); });
      EXPECT_EQ(parts.code, ErrorCode::bad_file);
      EXPECT_NE(parts.where.find(", byte "), std::string::npos);
    }
    std::string damaged = packed;
    damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
    folder.write("damaged", damaged);
    EXPECT_EQ(error_parts([&] { stories_of(folder.path("damaged")); }).code, ErrorCode::bad_file);
  }
}

TEST(StoryReader, FilesThatCannotBeRead) {
  const TempFolder folder;
  EXPECT_EQ(error_parts([&] { StoryReader r(folder.path("none")); }).where, folder.path("none"));
  EXPECT_EQ(error_parts([&] { stories_of(folder.path()); }).code, ErrorCode::bad_file);  // a folder
  folder.write("endless", std::string(kMaxStoryBytes + (size_t{1} << 20), 'x'));
  EXPECT_NE(error_parts([&] { stories_of(folder.path("endless")); }).what.find("more than 16 MB"), std::string::npos);
}

TEST(StoryReader, InvalidUtf8IsReplacedAndCounted) {
  const struct {
    std::string text, expected;
    uint64_t replaced;
  } cases[] = {
      {"plain", "plain", 0},
      {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80", "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80", 0},
      {"a\xFFz", "a\xEF\xBF\xBDz", 1},
      {"a\xE2\x82z", "a\xEF\xBF\xBDz", 1},          // a cut sequence is one stretch
      {"\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD", 2},  // stray bytes are one each
      {"a\xC3", "a\xEF\xBF\xBD", 1},                // cut by the end
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", 2},  // overlong
      {"\xF5\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 4},
  };
  for (const auto& c : cases) {
    std::string text = c.text;
    EXPECT_EQ(repair_utf8(text), c.replaced) << c.text;
    EXPECT_EQ(text, c.expected);
  }
  const TempFolder folder;
  folder.write("t",
               "good\n<|endoftext|>\nb\xFF"
               "d\n");
  StoryCounts counts;
  EXPECT_EQ(stories_of(folder.path("t"), &counts)[1],
            "b\xEF\xBF\xBD"
            "d");
  EXPECT_EQ(counts.replaced, 1u);
}

}  // namespace
}  // namespace glint
