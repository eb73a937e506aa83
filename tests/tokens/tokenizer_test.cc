#include "glint/tokens/tokenizer.h"

#include <cmath>
#include <cstring>

#include "glint/base/rng.h"
#include "glint/base/sha256.h"
#include "glint/tokens/piece_model.h"
#include "tests/base/memory_limit.h"
#include "tests/data/text_files.h"

namespace glint {
namespace {

TEST(Tokenizer, DecodeOfEncodeIsTheLowerCaseText) {
  for (const TokenizerKind kind : {TokenizerKind::bpe, TokenizerKind::unigram}) {
    const Tokenizer t = train_on(some_tales(200), {.kind = kind, .vocab = 450});
    EXPECT_EQ(t.size(), 450u);
    EXPECT_EQ(t.kind(), kind);
    EXPECT_TRUE(t.byte_fallback());
    const struct {
      std::string text, expected;
    } cases[] = {
        {"Once upon a time", "once upon a time"},
        {"  two \r\n\n lines\t", "two lines"},
        {"\"Hello!\" said Lily, 1234.", "\"hello!\" said lily, 1234."},
        {"GR\xC3\x9CN \xE4\xBD\xA0 \xF0\x9F\x98\x80", "gr\xC3\xBCn \xE4\xBD\xA0 \xF0\x9F\x98\x80"},  // in no tale
        {"\xEF\xAC\x81sh", "fish"},  // the ligature fi: NFKC
        {"", ""},
        {" \n", ""},
    };
    for (const auto& c : cases) {
      const std::vector<TokenId> ids = t.encode(c.text);
      EXPECT_EQ(t.decode(ids), c.expected);
      for (const TokenId id : ids) EXPECT_NE(id, t.unknown());
    }
  }
}

TEST(Tokenizer, SameTextSameBytes) {
  for (const TokenizerKind kind : {TokenizerKind::bpe, TokenizerKind::unigram}) {
    const TokenizerOptions options{.kind = kind, .vocab = 400};
    const Tokenizer a = train_on(some_tales(150), options), b = train_on(some_tales(150), options);
    EXPECT_EQ(a.sha256(), b.sha256());
    EXPECT_EQ(a.sha256(), sha256_hex(as_bytes(a.model())));
    EXPECT_NE(a.sha256(), train_on(some_tales(151), options).sha256());
  }
}

TEST(Tokenizer, PiecesAndMarks) {
  const Tokenizer& t = test_tokenizer();
  EXPECT_EQ(t.piece(t.end()), "<|endoftext|>");
  EXPECT_TRUE(t.is_control(t.end()));
  const TokenId with_end[] = {t.encode("the fox")[0], t.end()};
  EXPECT_EQ(t.decode(with_end).find("endoftext"), std::string::npos);
  // The mark as text is text, not the end piece.
  for (const TokenId id : t.encode("<|endoftext|>")) EXPECT_NE(id, t.end());
  const auto said = t.find("said");
  ASSERT_TRUE(said);
  EXPECT_EQ(t.piece(*said), "\xE2\x96\x81said");
  EXPECT_EQ(t.encode("Said"), std::vector<TokenId>{*said});
  EXPECT_FALSE(t.find("xylophones"));
  size_t bytes = 0;
  for (size_t i = 0; i < t.size(); i++) bytes += t.is_byte(static_cast<TokenId>(i));
  EXPECT_EQ(bytes, 256u);
}

TEST(Tokenizer, WithoutBytesRareCharactersAreUnknown) {
  const Tokenizer t = train_on(some_tales(150), {.vocab = 300, .byte_fallback = false});
  const std::vector<TokenId> ids = t.encode("a \xF0\x9F\x98\x80 b");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), t.unknown()), 1);
  EXPECT_FALSE(t.byte_fallback());
}

TEST(Tokenizer, TooLargeAndTooSmallVocabularies) {
  const ErrorParts large = error_parts([] { train_on(some_tales(5), {.vocab = 30000}); });
  EXPECT_EQ(large.code, ErrorCode::usage);
  EXPECT_EQ(large.where, "`vocab=30000`");
  EXPECT_EQ(large.expected.find("at most "), 0u);
  // What the message proposes works.
  const size_t most = std::stoul(large.expected.substr(8));
  EXPECT_EQ(train_on(some_tales(5), {.vocab = most}).size(), most);
  const ErrorParts small = error_parts([] { train_on(some_tales(5), {.vocab = 100}); });
  EXPECT_EQ(small.code, ErrorCode::usage);
  const size_t least = std::stoul(small.expected.substr(9));
  EXPECT_EQ(train_on(some_tales(5), {.vocab = least}).size(), least);
  EXPECT_EQ(error_parts([] { train_on({}, {}); }).code, ErrorCode::bad_file);
  EXPECT_EQ(error_parts([] { train_on(some_tales(5), {.vocab = 70000}); }).code, ErrorCode::usage);
}

// SentencePiece ends the process at a word of 65,536 characters; \u3300 is three bytes and becomes four
// characters.
TEST(Tokenizer, EndlessWordsAreTrainedOn) {
  std::string apaato;
  while (apaato.size() < 66000) apaato += "\xE3\x8C\x80";
  for (const TokenizerKind kind : {TokenizerKind::bpe, TokenizerKind::unigram}) {
    std::vector<std::string> stories = some_tales(100);
    stories.push_back(std::string(70000, 'x') + " end");
    stories.push_back(apaato);
    EXPECT_EQ(train_on(stories, {.kind = kind, .vocab = 400}).size(), 400u);
  }
}

// SentencePiece would not survive to get no memory on its own threads.
TEST(TokenizerDeathTest, WithoutMemoryTrainingIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto try_it = [] {
    const std::vector<std::string> stories = some_tales(3000);
    limit_memory(size_t{20} << 20);
    try {
      train_on(stories, {.vocab = 512});
    } catch (const Error& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::_Exit(e.exit_code());
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(1), "no memory to train a tokenizer");
#endif
}

// Words that are remembered give what SentencePiece gives for the whole text.
TEST(TextEncoder, GivesWhatTheTokenizerGives) {
  const Tokenizer& t = test_tokenizer();
  TextEncoder encoder(t);
  std::vector<std::string> texts = some_tales(50);
  // Characters that normalization joins, drops, splits or turns into spaces, in any order.
  const std::vector<std::string> parts = {"a",
                                          "Ba",
                                          "\xCC\x88",
                                          " ",
                                          "\n",
                                          "\xC2\xA0",
                                          "\xE3\x80\x80",
                                          "\xE2\x80\x8B",
                                          "\xEF\xAC\x81",
                                          "\xE2\x96\x81",
                                          "the",
                                          ".",
                                          "\xC3\x9F",
                                          "\t",
                                          "\x01",
                                          "\xC2\xA8",
                                          "\xEF\xBD\x9E",
                                          "\xE2\x80\xA6",
                                          "<0x41>",
                                          "\xEF\xBF\xBD"};
  const Rng rng(1, Stream::test);
  for (size_t i = 0; i < 400; i++) {
    std::string text;
    for (size_t k = 0; k < 12; k++) text += parts[rng.below(parts.size(), i * 12 + k)];
    texts.push_back(text);
  }
  texts.push_back(std::string(200'000, 'x') + " end");  // longer than a stretch
  for (size_t pass = 0; pass < 2; pass++)
    for (const std::string& text : texts) {
      std::vector<TokenId> ids = {7};
      encoder.encode(text, ids);
      const std::vector<TokenId> expected = t.encode(text);
      ASSERT_EQ(std::vector<TokenId>(ids.begin() + 1, ids.end()), expected) << text;
    }
}

TEST(Tokenizer, FilesAreReadAndNamed) {
  const TempFolder folder;
  folder.write("t.model", test_tokenizer().model());
  EXPECT_EQ(Tokenizer::read(folder.path("t.model")).sha256(), test_tokenizer().sha256());
  folder.write("text", "Once upon a time");
  const ErrorParts parts = error_parts([&] { Tokenizer::read(folder.path("text")); });
  EXPECT_EQ(parts.code, ErrorCode::bad_file);
  EXPECT_EQ(parts.where.find(folder.path("text") + ", byte "), 0u);
  EXPECT_EQ(error_parts([&] { Tokenizer::read(folder.path("none")); }).code, ErrorCode::bad_file);
  EXPECT_EQ(error_parts([&] { Tokenizer::parse("", "f"); }).code, ErrorCode::bad_file);
}

// Every cut and hundreds of damaged files: an Error, or a tokenizer that works. Nothing on stderr.
TEST(Tokenizer, DamagedModelsNeverCrash) {
  const std::string& model = test_tokenizer().model();
  const std::string text = "Once upon a time \xC3\x9C\xE4\xBD\xA0\xEF\xAC\x81 \xF0\x9F\x98\x80";
  size_t refused = 0, taken = 0;
  const auto attempt = [&](std::string bytes) {
    try {
      const Tokenizer t = Tokenizer::parse(std::move(bytes), "f");
      const std::vector<TokenId> ids = t.encode(text);
      for (const TokenId id : ids) ASSERT_LT(id, t.size());
      t.decode(ids);
      taken++;
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::bad_file) << e.what();
      refused++;
    }
  };
  testing::internal::CaptureStderr();
  for (size_t length = 0; length < model.size(); length += 1 + length / 20) attempt(model.substr(0, length));
  const Rng rng(2, Stream::test);
  for (size_t i = 0; i < 400; i++) {
    std::string bytes = model;
    // Half of them in the first part, where the pieces and the start of the table of characters are.
    const size_t at = i % 2 ? rng.below(bytes.size(), 2 * i) : rng.below(std::min<size_t>(40'000, bytes.size()), 2 * i);
    bytes[at] = static_cast<char>(rng.bits(4 * (2 * i + 1)));
    attempt(std::move(bytes));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(refused, 100u);
  EXPECT_GT(taken, 20u);
}

// A model written by hand: protobuf fields as SentencePiece has them.
std::string field(unsigned number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  for (size_t n = bytes.size();; n >>= 7) {
    out += static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
    if (n <= 0x7f) return out + bytes;
  }
}
std::string number_field(unsigned number, unsigned value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string piece(const std::string& text, unsigned type, float score = -1) {
  std::string s(4, '\0');
  std::memcpy(s.data(), &score, 4);
  return field(1, field(1, text) + '\x15' + s + number_field(3, type));
}

TEST(PieceModel, EveryRuleIsChecked) {
  const std::string unknown = piece("<unk>", 2), end = piece("</s>", 3), a = piece("a", 1);
  const auto problem = [](const std::string& model) {
    return error_parts([&] { check_piece_model(as_bytes(model), "f"); }).what;
  };
  EXPECT_EQ(check_piece_model(as_bytes(unknown + end + a), "f").pieces, 3u);
  EXPECT_TRUE(check_piece_model(as_bytes(unknown + end + a), "f").by_word);
  EXPECT_FALSE(check_piece_model(as_bytes(unknown + piece("a\xE2\x96\x81"
                                                          "b",
                                                          1)),
                                 "f")
                   .by_word);
  EXPECT_FALSE(check_piece_model(as_bytes(unknown + field(3, number_field(3, 0))), "f").by_word);
  EXPECT_EQ(Tokenizer::parse(unknown + end + a).encode("a").size(), 2u);  // the space is unknown

  EXPECT_NE(problem("").find("no pieces"), std::string::npos);
  EXPECT_NE(problem(end + a).find("0 pieces stand for unknown"), std::string::npos);
  EXPECT_NE(problem(unknown + unknown).find("2 pieces stand for unknown"), std::string::npos);
  EXPECT_NE(problem(unknown + piece("", 1)).find("no text"), std::string::npos);
  EXPECT_NE(problem(unknown + piece("\xFF", 1)).find("no text"), std::string::npos);
  EXPECT_NE(problem(unknown + piece(std::string(2000, 'x'), 1)).find("no text"), std::string::npos);
  EXPECT_NE(problem(unknown + piece("b", 9)).find("unknown type 9"), std::string::npos);
  EXPECT_NE(problem(unknown + piece("b", 1, NAN)).find("no number"), std::string::npos);
  EXPECT_NE(problem(unknown + field(2, number_field(3, 3))).find("kind 3"), std::string::npos);
  EXPECT_NE(problem(unknown + '\x0b').find("unknown kind 3"), std::string::npos);  // a group
  EXPECT_NE(problem(unknown + "\x0a\x7f").find("127 bytes"), std::string::npos);
  EXPECT_NE(problem(unknown + "\x10" + std::string(11, '\xff')).find("64 bits"), std::string::npos);
  std::string many = unknown;
  for (size_t i = 0; i < kMaxPieces; i++) many += piece("a", 1);
  EXPECT_NE(problem(many).find("262144"), std::string::npos);
  EXPECT_EQ(error_parts([&] { Tokenizer::parse(unknown + a, "f"); }).what, "the tokenizer has no end piece");
  EXPECT_NE(error_parts([&] { Tokenizer::parse(unknown + end + a + a, "f"); }).what.find("SentencePiece cannot"),
            std::string::npos);  // twice the same piece

  // The table of characters.
  const auto table_problem = [&](const std::string& table) { return problem(unknown + field(3, field(2, table))); };
  const auto u32 = [](uint32_t v) {
    std::string s(4, '\0');
    std::memcpy(s.data(), &v, 4);
    return s;
  };
  const auto table = [&](std::vector<uint32_t> units, const std::string& texts) {
    std::string s = u32(static_cast<uint32_t>(units.size() * 4));
    for (const uint32_t u : units) s += u32(u);
    return s + texts;
  };
  std::vector<uint32_t> units(512);
  const std::string texts("x\0", 2);
  EXPECT_EQ(check_piece_model(as_bytes(unknown + field(3, field(2, table(units, texts)))), "f").pieces, 1u);
  EXPECT_NE(table_problem("ab").find("too short"), std::string::npos);
  EXPECT_NE(table_problem(u32(400) + "ab").find("400 bytes"), std::string::npos);
  EXPECT_NE(table_problem(table(units, "x")).find("no end"), std::string::npos);
  EXPECT_NE(table_problem(table(units, std::string("\xFF\0", 2))).find("not UTF-8"), std::string::npos);
  EXPECT_NE(table_problem(table({}, texts)).find("empty"), std::string::npos);
  units[0] = 600u << 10;
  EXPECT_NE(table_problem(table(units, texts)).find("points past its end"), std::string::npos);
  units[0] = 1u << 10 | 1u << 8;  // children and a value at 1
  units[1] = 0x80000000u | 77;
  EXPECT_NE(table_problem(table(units, texts)).find("replacement lies past"), std::string::npos);
  units[1] = 0x80000000u | 1;
  units[1 ^ 'a'] = 'a' | 900u << 10;  // a child that leads out
  EXPECT_NE(table_problem(table(units, texts)).find("points past its end"), std::string::npos);
}

}  // namespace
}  // namespace glint
