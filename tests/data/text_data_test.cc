#include "glint/data/text_data.h"

#include <cctype>
#include <set>

#include "glint/base/threads.h"
#include "glint/data/batches.h"
#include "glint/data/corpus_build.h"
#include "tests/data/text_files.h"

namespace glint {
namespace {

size_t sentences(const std::string& text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); i++) {
    size_t next = i + 1;
    while (next < text.size() && text[next] == '"') next++;
    n += (text[i] == '.' || text[i] == '!' || text[i] == '?') &&
         (next == text.size() || (text[next] == ' ' && next + 1 < text.size() &&
                                  (std::isupper(static_cast<unsigned char>(text[next + 1])) || text[next + 1] == '"')));
  }
  return n;
}

TEST(Tales, AreVariedAndWellFormed) {
  std::set<std::string> all, words;
  for (uint64_t i = 0; i < 3000; i++) {
    const std::string t = tale(0, i);
    all.insert(t);
    EXPECT_EQ(t.find_first_of("{}[]|"), std::string::npos) << t;
    EXPECT_EQ(t.find("  "), std::string::npos) << t;
    EXPECT_TRUE(std::all_of(t.begin(), t.end(), [](char c) { return c >= ' ' && c <= '~'; })) << t;
    EXPECT_GE(sentences(t), 5u) << t;
    EXPECT_LE(sentences(t), 14u) << t;  // twelve, some of which a person speaks in two
    for (const char* wrong : {" a a", " a e", " a i", " a o", " a u", " an b", " an r", " an s"})
      EXPECT_EQ(t.find(wrong), std::string::npos) << wrong << ": " << t;
    std::string word;
    for (const char c : t + " ") {
      if (std::isalpha(static_cast<unsigned char>(c))) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (!word.empty()) {
        words.insert(word);
        word.clear();
      }
    }
  }
  EXPECT_EQ(all.size(), 3000u);
  EXPECT_GT(words.size(), 300u);
  EXPECT_EQ(tale(0, 5), tale(0, 5));
  EXPECT_NE(tale(0, 5), tale(1, 5));
}

TEST(TextData, TalesAreTheSameEveryTime) {
  const TextDataOptions options{.tale_train = 300, .tale_valid = 30, .tale_vocab = 400};
  const TextData a = load_text_data("tales", options), b = load_text_data("tales", options);
  EXPECT_EQ(a.train.stories(), 300u);
  EXPECT_EQ(a.valid.stories(), 30u);
  EXPECT_EQ(a.train.vocab(), 400u);
  EXPECT_EQ(a.checksum, b.checksum);
  EXPECT_EQ(a.train.tokenizer_hash(), a.tokenizer.sha256());
  std::string lower = tale(0, 17);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  EXPECT_EQ(a.tokenizer.decode(a.train.story(17).ids()), lower);
  // More tales change neither the others nor the validation tales.
  const TextData more =
      load_text_data("tales", {.tale_seed = 1, .tale_train = 300, .tale_valid = 30, .tale_vocab = 400});
  EXPECT_NE(more.checksum, a.checksum);
}

// A small tokenizer, and texts to be encoded by it.
struct Texts {
  TextData tales = load_text_data("tales", {.tale_train = 60, .tale_valid = 6, .tale_vocab = 300});
  std::vector<std::string> train, valid;
  Texts() {
    for (uint64_t i = 0; i < 60; i++) train.push_back(tale(0, i));
    for (uint64_t i = 0; i < 6; i++) valid.push_back(tale(0, kTaleValidStart + i));
  }
};

std::vector<std::vector<TokenId>> ids_of(const Corpus& corpus) {
  std::vector<std::vector<TokenId>> stories;
  for (size_t i = 0; i < corpus.stories(); i++) stories.push_back(corpus.story(i).ids());
  return stories;
}

ErrorParts refused(const std::function<void()>& call) {
  const ErrorParts parts = error_parts(call);
  EXPECT_EQ(parts.code, ErrorCode::usage) << parts.what;
  return parts;
}

TEST(TextData, TextsInMemoryAreWhatFilesWouldBe) {
  const Texts t;
  const TextData data = make_text_data(t.train, t.valid, t.tales.tokenizer, "mine");
  EXPECT_EQ(data.name, "mine");
  EXPECT_EQ(data.end, t.tales.tokenizer.end());
  EXPECT_EQ(data.vocab(), 300u);
  EXPECT_EQ(data.checksum, t.tales.checksum);  // the same tokens, the same tokenizer
  EXPECT_EQ(ids_of(data.valid), ids_of(t.tales.valid));
  std::vector<std::string> other = t.train;
  other[7] += " the end";
  EXPECT_NE(make_text_data(other, t.valid, t.tales.tokenizer).checksum, data.checksum);
  // Not UTF-8: as a file's bytes are read.
  other[7] = "a \xff cat";
  EXPECT_EQ(make_text_data(other, t.valid, t.tales.tokenizer).train.story(7).ids(),
            t.tales.tokenizer.encode("a \ufffd cat"));
}

TEST(TextData, IdsInMemoryWithAndWithoutATokenizer) {
  const Texts t;
  const std::vector<std::vector<TokenId>> train = ids_of(t.tales.train), valid = ids_of(t.tales.valid);
  const TextData with = make_text_data(train, valid, t.tales.tokenizer);
  EXPECT_EQ(with.checksum, t.tales.checksum);
  const TextData without = make_text_data(train, valid, {.size = 300, .end = 2});
  EXPECT_TRUE(without.tokenizer.empty());
  EXPECT_EQ(without.end, 2u);
  EXPECT_EQ(without.vocab(), 300u);
  EXPECT_EQ(ids_of(without.train), train);
  EXPECT_NE(without.checksum, with.checksum);
  EXPECT_EQ(make_text_data(train, valid, {.size = 200'000, .end = 2}).vocab(), 200'000u);
}

TEST(TextData, WhatIsNoTextIsRefused) {
  const Texts t;
  const Tokenizer& tokenizer = t.tales.tokenizer;
  const std::vector<std::string> none, blank = {"a cat", " \n "};
  EXPECT_EQ(refused([&] { make_text_data(none, t.valid, tokenizer); }).where, "train");
  EXPECT_EQ(refused([&] { make_text_data(t.train, none, tokenizer); }).where, "valid");
  EXPECT_EQ(refused([&] { make_text_data(blank, t.valid, tokenizer); }).where, "train, story 1");
  EXPECT_EQ(refused([&] { make_text_data(t.train, t.valid, Tokenizer()); }).where, "tokenizer");
  const std::vector<std::vector<TokenId>> good = {{1, 2}, {3}}, high = {{1}, {2, 10}}, empty = {{}};
  make_text_data(good, good, {.size = 10});
  EXPECT_EQ(refused([&] { make_text_data(good, high, {.size = 10}); }).where, "valid, story 1");
  EXPECT_EQ(refused([&] { make_text_data(empty, good, {.size = 10}); }).where, "train, story 0");
  EXPECT_EQ(refused([&] { make_text_data(good, good, {.size = 10, .end = 10}); }).where, "vocabulary");
  refused([&] { make_text_data(good, good, {.size = kMaxVocab + 1}); });
  refused([&] { make_text_data(good, good, Vocabulary{}); });
  refused([&] { corpus_bytes(good, 10, "short"); });
  refused([&] { corpus_bytes(good, 10, std::string(64, 'g')); });
}

class CorpusFolder : public testing::Test {
 protected:
  void write_text(const std::string& name, size_t count, uint64_t seed = 0) {
    std::string text;
    for (size_t i = 0; i < count; i++) text += tale(seed, i) + "\n<|endoftext|>\n";
    folder_.write(name, text);
  }
  CorpusBuild build(const std::string& out) const {
    CorpusBuild b;
    b.texts = {folder_.path("text")};
    b.out = folder_.path(out);
    b.training.vocab = 500;
    return b;
  }
  TempFolder folder_;
};

TEST_F(CorpusFolder, IsTheSameAtAnyNumberOfThreads) {
  write_text("text", 1500);
  ThreadPool one(1), three(3);
  const CorpusBuildResult a = build_corpus(real_files(), one, build("a"));
  const CorpusBuildResult b = build_corpus(real_files(), three, build("b"));
  for (const char* file : {kTokenizerFile, kTrainFile, kValidFile, kCorpusInfoFile})
    EXPECT_EQ(read_file(folder_.path(std::string("a/") + file)), read_file(folder_.path(std::string("b/") + file)))
        << file;
  EXPECT_EQ(a.train.stories, 1470u);
  EXPECT_EQ(a.valid.stories, 30u);
  EXPECT_EQ(a.sampled, 1470u);  // no validation story is in the sample
  const TextData data = load_text_data(folder_.path("a"));
  EXPECT_EQ(data.train.stories(), 1470u);
  EXPECT_EQ(data.train.tokens(), a.train.tokens);
  EXPECT_EQ(data.train.checksum(), b.train.checksum);
  // Order is kept: stories 49, 99, ... are those of the validation set.
  EXPECT_EQ(data.valid.story(0).size(), data.tokenizer.encode(tale(0, 49)).size());
  EXPECT_EQ(data.train.story(49).ids(), data.tokenizer.encode(tale(0, 50)));
}

TEST_F(CorpusFolder, AnotherSeedDrawsAnotherSample) {
  write_text("text", 600);
  ThreadPool pool(2);
  CorpusBuild b = build("a");
  b.sample = 200;
  const CorpusBuildResult first = build_corpus(real_files(), pool, b);
  EXPECT_EQ(first.sampled, 200u);
  b.out = folder_.path("b");
  EXPECT_EQ(build_corpus(real_files(), pool, b).tokenizer.sha256(), first.tokenizer.sha256());
  b.out = folder_.path("c");
  b.seed = 1;
  EXPECT_NE(build_corpus(real_files(), pool, b).tokenizer.sha256(), first.tokenizer.sha256());
}

TEST_F(CorpusFolder, StopsAndRefusesWithoutLeavingAnything) {
  write_text("text", 200);
  ThreadPool pool(1);
  for (const auto stage : {BuildProgress::Stage::sample, BuildProgress::Stage::encode}) {
    CorpusBuild b = build("stopped");
    b.report = [&](const BuildProgress& p) { return p.stage != stage; };
    EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, b); }).code, ErrorCode::interrupted);
    EXPECT_FALSE(std::filesystem::exists(folder_.path("stopped")));
  }
  build_corpus(real_files(), pool, build("a"));
  const std::string before = read_file(folder_.path("a/train.bin"));
  const ErrorParts again = error_parts([&] { build_corpus(real_files(), pool, build("a")); });
  EXPECT_EQ(again.code, ErrorCode::usage);
  EXPECT_EQ(again.hint, "`force` replaces it");
  CorpusBuild forced = build("a");
  forced.force = true;
  build_corpus(real_files(), pool, forced);
  EXPECT_EQ(read_file(folder_.path("a/train.bin")), before);

  folder_.write("empty", "\n<|endoftext|>\n");
  CorpusBuild nothing = build("nothing");
  nothing.texts = {folder_.path("empty")};
  EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, nothing); }).what, "there are no stories in the text");
  CorpusBuild few = build("few");
  few.valid_share = 0.001;
  EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, few); }).hint,
            "a larger `valid_share`, or `valid=FILE`");
  CorpusBuild damaged = build("damaged");
  folder_.write("bad.model", read_file(folder_.path("a/tokenizer.model")).substr(0, 5000));
  damaged.tokenizer = folder_.path("bad.model");
  EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, damaged); }).code, ErrorCode::bad_file);
  for (const char* out : {"nothing", "few", "damaged"}) EXPECT_FALSE(std::filesystem::exists(folder_.path(out))) << out;
}

TEST_F(CorpusFolder, EmptyFilesAreNamed) {
  write_text("text", 200);
  folder_.write("empty", "\n<|endoftext|>\n");
  ThreadPool pool(1);
  build_corpus(real_files(), pool, build("a"));
  CorpusBuild b = build("x");
  b.tokenizer = folder_.path("a/tokenizer.model");
  b.valid_texts = {folder_.path("empty")};
  const ErrorParts valid = error_parts([&] { build_corpus(real_files(), pool, b); });
  EXPECT_EQ(valid.what, "there are no stories in the text for validation");
  EXPECT_EQ(valid.where, folder_.path("empty"));
  EXPECT_EQ(valid.hint, "");
  std::swap(b.texts, b.valid_texts);
  const ErrorParts train = error_parts([&] { build_corpus(real_files(), pool, b); });
  EXPECT_EQ(train.what, "there are no stories in the text");
  EXPECT_EQ(train.where, folder_.path("empty"));
  EXPECT_EQ(train.hint, "");
}

// Every input is looked at before anything is done, and nothing is made for nothing.
TEST_F(CorpusFolder, MissingFilesAreNoticedFirst) {
  write_text("text", 50);
  ThreadPool pool(1);
  CorpusBuild b = build("new/inner");
  b.report = [](const BuildProgress&) {
    ADD_FAILURE() << "work was done";
    return true;
  };
  b.valid_texts = {folder_.path("text"), folder_.path("missing")};
  EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, b); }).where, folder_.path("missing"));
  b.valid_texts = {};
  b.texts.push_back(folder_.path("missing"));
  EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, b); }).where, folder_.path("missing"));
  b.texts = {"-"};
  b.valid_texts = {"-"};
  EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, b); }).code, ErrorCode::usage);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("new")));
}

TEST_F(CorpusFolder, RunsAreNotOverwritten) {
  write_text("text", 50);
  ThreadPool pool(1);
  for (const char* file : {"run.json", "config.json"}) {
    std::filesystem::create_directory(folder_.path(std::string("with-") + file));
    folder_.write(std::string("with-") + file + "/" + file, "{}");
    CorpusBuild b = build(std::string("with-") + file);
    for (const bool force : {false, true}) {
      b.force = force;
      const ErrorParts parts = error_parts([&] { build_corpus(real_files(), pool, b); });
      EXPECT_EQ(parts.code, ErrorCode::usage);
      EXPECT_EQ(parts.what, "the folder holds a model, not a corpus");
    }
  }
  CorpusBuild tales = build("a");
  tales.out = kTales;
  EXPECT_EQ(error_parts([&] { build_corpus(real_files(), pool, tales); }).what, "a corpus cannot be called tales");
  EXPECT_FALSE(std::filesystem::exists(kTales));
}

TEST_F(CorpusFolder, OddStoriesAreCounted) {
  std::string text;
  for (size_t i = 0; i < 60; i++) text += tale(0, i) + "\n<|endoftext|>\n";
  folder_.write("text", text + "\x01\n<|endoftext|>\n \n<|endoftext|>\nbad \xFF byte\n");
  write_text("valid", 20, 9);
  ThreadPool pool(1);
  CorpusBuild b = build("a");
  b.training.vocab = 450;
  b.valid_texts = {folder_.path("valid")};
  const CorpusBuildResult r = build_corpus(real_files(), pool, b);
  EXPECT_EQ(r.train.stories, 61u);
  EXPECT_EQ(r.train.counts.empty, 2u);  // spaces, and a character that is dropped
  EXPECT_EQ(r.train.counts.replaced, 1u);
  EXPECT_EQ(r.valid.stories, 20u);
  EXPECT_EQ(r.train.unknown, 0u);
  EXPECT_GT(r.train.p95, r.train.median);
}

TEST_F(CorpusFolder, FilesThatDoNotBelongTogetherAreRefused) {
  write_text("text", 200);
  ThreadPool pool(1);
  build_corpus(real_files(), pool, build("a"));
  CorpusBuild other = build("b");
  other.training.vocab = 450;
  build_corpus(real_files(), pool, other);
  folder_.write("b/tokenizer.model", read_file(folder_.path("a/tokenizer.model")));
  const ErrorParts parts = error_parts([&] { load_text_data(folder_.path("b")); });
  EXPECT_EQ(parts.code, ErrorCode::bad_file);
  EXPECT_EQ(parts.what, "the corpus was made with another tokenizer");
  std::filesystem::remove(folder_.path("a/valid.bin"));
  EXPECT_EQ(error_parts([&] { load_text_data(folder_.path("a")); }).where, folder_.path("a") + " (no valid.bin)");
}

TEST(TextData, MistakesNameTheCommand) {
  const TempFolder folder;
  EXPECT_EQ(error_parts([&] { load_text_data(folder.path()); }).hint, "`tokenize(TEXT, out=" + folder.path() + ")`");
  EXPECT_EQ(error_parts([] { load_text_data("talez"); }).code, ErrorCode::usage);
  EXPECT_EQ(error_parts([&] { load_text_data(folder.path("none")); }).what, "no such folder");
  folder.write("s.txt", "x");
  EXPECT_EQ(error_parts([&] { load_text_data(folder.path("s.txt")); }).hint,
            "`tokenize(" + folder.path("s.txt") + ", out=DIR)`, then `data=DIR`");
  EXPECT_TRUE(is_text_data("tales"));
  EXPECT_FALSE(is_text_data(folder.path()));
  EXPECT_FALSE(has_corpus_files("tales"));  // a word, not a folder
}

TEST(TextRows, BeginAndEndAndAreCut) {
  const std::vector<std::vector<TokenId>> stories = {{5}, {6, 7, 8}, {1, 2, 3, 4, 5}, {9, 9}};
  const Corpus corpus = Corpus::parse(corpus_bytes(stories, 10, std::string(64, '0')));
  TextRows rows(0, 4);
  const uint32_t order[] = {2, 0, 1, 2};
  const std::span<const TokenRow> batch = rows.fill(corpus, order);
  const auto list = [](std::span<const TokenId> s) { return std::vector<TokenId>(s.begin(), s.end()); };
  using Ids = std::vector<TokenId>;
  ASSERT_EQ(batch.size(), 4u);
  EXPECT_EQ(list(batch[0].input), (Ids{0, 1, 2, 3}));   // cut
  EXPECT_EQ(list(batch[0].target), (Ids{1, 2, 3, 4}));  // no end: the story goes on
  EXPECT_EQ(list(batch[1].input), (Ids{0, 5}));
  EXPECT_EQ(list(batch[1].target), (Ids{5, 0}));
  EXPECT_EQ(list(batch[2].input), (Ids{0, 6, 7, 8}));  // just fits
  EXPECT_EQ(list(batch[2].target), (Ids{6, 7, 8, 0}));
  EXPECT_EQ(rows.tokens(), 14u);
  // The same buffer again: nothing moves.
  const TokenId* at = batch[0].input.data();
  EXPECT_EQ(rows.fill(corpus, std::span(order).first(2))[0].input.data(), at);
  EXPECT_EQ(rows.fill(corpus, order)[0].input.data(), at);
}

// The real stories, where they are: GLINT_STORIES names the folder.
TEST_F(CorpusFolder, RealStories) {
  const char* stories = std::getenv("GLINT_STORIES");
  if (!stories) GTEST_SKIP() << "GLINT_STORIES is not set";
  ThreadPool pool(2);
  CorpusBuild b = build("real");
  b.texts = {std::string(stories) + "/train.txt.xz"};
  b.valid_texts = {std::string(stories) + "/valid.txt.xz"};
  b.training.vocab = 4096;
  const CorpusBuildResult r = build_corpus(real_files(), pool, b);
  EXPECT_EQ(r.train.stories, 11203u);
  EXPECT_EQ(r.valid.stories, 491u);
  EXPECT_EQ(r.train.unknown, 0u);
  EXPECT_GT(static_cast<double>(r.train.counts.bytes) / static_cast<double>(r.train.tokens), 3.8);
}

}  // namespace
}  // namespace glint
