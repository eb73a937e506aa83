#include "glint/data/corpus.h"

#include <cstring>

#include "tests/data/text_files.h"

namespace glint {
namespace {

const std::string kHash(64, 'a');

std::vector<std::vector<TokenId>> some_stories() { return {{1, 2, 3}, {9}, {4, 4, 4, 4, 4}, {0, 8}}; }

std::vector<std::byte> some_file() { return corpus_bytes(some_stories(), 10, kHash); }

void expect_same(const Corpus& c, const std::vector<std::vector<TokenId>>& stories) {
  ASSERT_EQ(c.stories(), stories.size());
  uint64_t tokens = 0;
  for (size_t i = 0; i < stories.size(); i++) {
    EXPECT_EQ(c.story(i).ids(), stories[i]);
    tokens += stories[i].size();
  }
  EXPECT_EQ(c.tokens(), tokens);
}

TEST(Corpus, MemoryAndFileAreTheSameBytes) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{4}, size_t{300'000}}) {
    std::vector<std::vector<TokenId>> stories;
    for (size_t i = 0; i < count; i++) stories.emplace_back(1 + i % 5, static_cast<TokenId>(i % 1000));
    const TempFolder folder;
    CorpusWriter writer(real_files(), folder.path("c.bin"), 1000, kHash);
    for (const auto& s : stories) writer.add(s);
    EXPECT_FALSE(std::filesystem::exists(folder.path("c.bin")));
    const std::string checksum = writer.finish();
    const std::string file = read_file(folder.path("c.bin"));
    const std::vector<std::byte> memory = corpus_bytes(stories, 1000, kHash);
    ASSERT_EQ(file.size(), memory.size());
    EXPECT_EQ(std::memcmp(file.data(), memory.data(), file.size()), 0);
    const Corpus c = Corpus::open(folder.path("c.bin"));
    expect_same(c, stories);
    EXPECT_EQ(c.vocab(), 1000u);
    EXPECT_EQ(c.tokenizer_hash(), kHash);
    EXPECT_EQ(c.checksum(), checksum);
    // Nothing is left beside it.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  }
}

// A vocabulary that 16 bits cannot number: ids take four bytes, and everything else stays.
TEST(Corpus, LargeVocabulariesHaveWideIds) {
  const std::vector<std::vector<TokenId>> stories = {{1, 70'000, 3}, {128'255}, {65'535, 65'536}};
  const TempFolder folder;
  CorpusWriter writer(real_files(), folder.path("c.bin"), 128'256, kHash);
  for (const auto& s : stories) writer.add(s);
  writer.finish();
  const std::string file = read_file(folder.path("c.bin"));
  const std::vector<std::byte> memory = corpus_bytes(stories, 128'256, kHash);
  ASSERT_EQ(file.size(), memory.size());
  EXPECT_EQ(std::memcmp(file.data(), memory.data(), file.size()), 0);
  expect_same(Corpus::open(folder.path("c.bin")), stories);
  // An id beyond the vocabulary, and a version that does not fit it.
  std::vector<std::byte> high = memory, narrow = memory;
  const uint32_t id = 128'256, version = 1;
  std::memcpy(high.data() + 64 + 4, &id, sizeof id);
  std::memcpy(narrow.data() + 8, &version, sizeof version);
  EXPECT_THROW(Corpus::parse(high, "f", CorpusCheck::content), Error);
  EXPECT_THROW(Corpus::parse(narrow, "f", CorpusCheck::content), Error);
}

TEST(Corpus, AnUnfinishedWriterLeavesNothing) {
  const TempFolder folder;
  {
    CorpusWriter writer(real_files(), folder.path("c.bin"), 10, kHash);
    for (const auto& s : some_stories()) writer.add(s);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Corpus, EveryShorterAndLongerFileIsRefused) {
  const std::vector<std::byte> file = some_file();
  for (size_t length = 0; length < file.size(); length++)
    EXPECT_EQ(error_parts([&] {
                Corpus::parse({file.begin(), file.begin() + static_cast<long>(length)}, "f");
              }).code,
              ErrorCode::bad_file)
        << length;
  for (const size_t more : {1, 2, 8, 64}) {
    std::vector<std::byte> longer = file;
    longer.resize(file.size() + more);
    EXPECT_EQ(error_parts([&] { Corpus::parse(longer, "f"); }).code, ErrorCode::bad_file);
  }
}

TEST(Corpus, EveryChangedBitIsNoticed) {
  const std::vector<std::byte> file = some_file();
  for (size_t bit = 0; bit < 8 * file.size(); bit++) {
    std::vector<std::byte> changed = file;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_EQ(error_parts([&] { Corpus::parse(changed, "f"); }).code, ErrorCode::bad_file) << bit;
  }
}

// Each rule broken alone, the checksum left out: the message names the byte.
TEST(Corpus, EveryRuleIsCheckedWithoutTheChecksum) {
  const size_t starts = 64 + 2 * 11 + 2, footer = starts + 8 * 5;
  ASSERT_EQ(some_file().size(), footer + 64);
  const struct {
    size_t byte;
    uint8_t value;
    const char* what;
    size_t named;
  } cases[] = {
      {0, 'x', "not a tokenized corpus", 0},
      {8, 3, "version 3", 8},
      {8, 2, "in version 2", 12},
      {12, 0, "vocabulary of 0", 12},
      {14, 2, "vocabulary of 131082 in version 1", 12},
      {14, 0x20, "vocabulary of 2097162", 12},
      {48, 1, "unknown bytes in the header", 48},
      {64, 10, "the id 10", 64},
      {64 + 22, 1, "unknown bytes behind the ids", 64 + 22},
      {starts, 1, "the first story starts at 1", starts},
      {starts + 8, 0, "story 0 ends at 0", starts + 8},
      {starts + 16, 200, "story 1 ends at 200", starts + 16},
      {starts + 24, 4, "story 2 ends at 4", starts + 24},
      {starts + 32, 10, "the stories end at 10", starts + 32},
      {footer, 3, "bytes of ids and starts", footer},
      {footer + 7, 0x80, "claims", footer},
      {footer + 8, 200, "claims", footer},
      {footer + 15, 0xff, "claims", footer},
      {footer + 16, 1, "unknown bytes in the footer", footer + 16},
      {footer + 63, 'x', "cut off", footer + 56},
  };
  for (const auto& c : cases) {
    std::vector<std::byte> file = some_file();
    file[c.byte] = static_cast<std::byte>(c.value);
    const ErrorParts parts = error_parts([&] { Corpus::parse(file, "f", CorpusCheck::content); });
    EXPECT_EQ(parts.code, ErrorCode::bad_file);
    EXPECT_NE(parts.what.find(c.what), std::string::npos) << c.byte << ": " << parts.what;
    EXPECT_EQ(parts.where, "f, byte " + std::to_string(c.named)) << c.byte;
    EXPECT_FALSE(parts.expected.empty());
  }
  // A changed id that is still one is found by the checksum alone.
  std::vector<std::byte> file = some_file();
  file[64] = std::byte{5};
  EXPECT_NO_THROW(Corpus::parse(file, "f", CorpusCheck::content));
  EXPECT_NE(error_parts([&] { Corpus::parse(file, "f"); }).what.find("SHA-256"), std::string::npos);
}

TEST(Corpus, FailuresOfTheDiskLeaveNothingBehind) {
  // Fails at the n-th operation.
  class Failing : public FileSystem {
   public:
    explicit Failing(size_t n) : left_(n) {}
    void step() {
      if (left_-- == 0) throw Error({.what = "disk full"});
    }
    struct File : WritableFile {
      File(Failing& f, std::unique_ptr<WritableFile> real) : files(f), file(std::move(real)) {}
      void write(std::span<const std::byte> b) override { files.step(), file->write(b); }
      void sync() override { files.step(), file->sync(); }
      Failing& files;
      std::unique_ptr<WritableFile> file;
    };
    std::unique_ptr<WritableFile> create(const std::string& p) override {
      step();
      return std::make_unique<File>(*this, real_files().create(p));
    }
    std::unique_ptr<WritableFile> append(const std::string& p) override { return real_files().append(p); }
    void rename(const std::string& a, const std::string& b) override { step(), real_files().rename(a, b); }
    void remove(const std::string& p) override { real_files().remove(p); }
    void sync_directory(const std::string& d) override { real_files().sync_directory(d); }

   private:
    size_t left_;
  };
  const auto write = [](FileSystem& files, const std::string& path) {
    CorpusWriter writer(files, path, 10, kHash);
    for (const auto& s : some_stories()) writer.add(s);
    writer.finish();
  };
  size_t failures = 0;
  for (size_t n = 0; n < 100; n++) {
    const TempFolder folder;
    Failing files(n);
    try {
      write(files, folder.path("c.bin"));
      expect_same(Corpus::open(folder.path("c.bin")), some_stories());
      break;
    } catch (const Error&) {
      failures++;
      EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << n;
    }
  }
  EXPECT_GT(failures, 6u);
}

}  // namespace
}  // namespace glint
