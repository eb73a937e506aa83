// Tokenizers of other programs: encodings equal to those of the libraries that define them, and what is
// refused.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/io/weight_file.h"
#include "glint/tokens/piece_model.h"
#include "glint/tokens/score_tokenizer.h"
#include "glint/tokens/tokenizer.h"
#include "glint/tokens/unicode.h"
#include "tests/io/weight_files.h"

namespace glint {
namespace {

std::string unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("no " + path);
  std::string all, part(1 << 16, '\0');
  for (int n = 0; (n = gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0;)
    all.append(part, 0, static_cast<size_t>(n));
  gzclose(file);
  return all;
}

// Characters below U+0100 stand for the bytes of a file.
std::string bytes_of(const std::string& text) {
  std::string out;
  for (size_t i = 0, n = 0; i < text.size(); i += n) out += static_cast<char>(character_at(text, i, n));
  return out;
}

struct GoldenCase {
  std::string name, format, file;
  Json checks;
};
struct Golden {
  std::vector<std::string> texts;
  std::vector<GoldenCase> cases;
};

// GLINT_TOKENIZER_GOLDEN: another file of make_tokenizers.py, with more texts.
const Golden& golden_tokenizers() {
  static const Golden golden = [] {
    const char* other = std::getenv("GLINT_TOKENIZER_GOLDEN");
    const std::string path = other ? other : GLINT_GOLDEN_DIR "/tokenizers.json.gz";
    const Json tree = Json::parse(unpacked(path));
    Golden g;
    g.texts = tree["texts"].get<std::vector<std::string>>();
    for (const Json& c : tree["cases"]) g.cases.push_back({c["name"], c["format"], bytes_of(c["file"]), c["checks"]});
    return g;
  }();
  return golden;
}

class TokenizerFolder {
 public:
  TokenizerFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "glint_tok_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TokenizerFolder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

const GoldenCase& golden_case(const std::string& name) {
  for (const GoldenCase& c : golden_tokenizers().cases)
    if (c.name == name) return c;
  throw std::runtime_error("no case " + name);
}

Tokenizer golden_tokenizer(const std::string& name) {
  const GoldenCase& c = golden_case(name);
  const TokenizerFolder folder;
  return Tokenizer::read(folder.write("tokenizer." + c.format, c.file));
}

TEST(TokenizerFormats, EncodeAndDecodeAreThoseOfTheLibraries) {
  const Golden& golden = golden_tokenizers();
  ASSERT_GE(golden.cases.size(), 20u);
  ASSERT_GE(golden.texts.size(), 200u);
  for (const GoldenCase& c : golden.cases) {
    const Tokenizer t = golden_tokenizer(c.name);
    ASSERT_EQ(c.checks.size(), golden.texts.size());
    size_t compared = 0, different = 0;
    for (size_t i = 0; i < golden.texts.size(); i++) {
      if (c.checks[i].is_null()) continue;
      const std::vector<TokenId> ids = t.encode(golden.texts[i]);
      std::string bytes(reinterpret_cast<const char*>(ids.data()), 4 * ids.size());
      bytes += t.decode(ids);
      const auto sum =
          static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
      compared++;
      if (sum != c.checks[i].get<uint32_t>() && different++ < 3)
        ADD_FAILURE() << c.name << ", text " << i << ": " << golden.texts[i];
    }
    EXPECT_EQ(different, 0u) << c.name << ": of " << compared;
    EXPECT_GE(compared, golden.texts.size() * 4 / 5) << c.name;
  }
}

TEST(TokenizerFormats, EveryPieceCanBeFoundBySpelling) {
  for (const GoldenCase& c : golden_tokenizers().cases) {
    const Tokenizer t = golden_tokenizer(c.name);
    const std::optional<TokenId> time = t.find("time");
    ASSERT_TRUE(time) << c.name;
    EXPECT_EQ(t.piece(*time), std::string(kPieceSpace) + "time") << c.name;
    EXPECT_FALSE(t.find("no such piece at all")) << c.name;
    size_t found = 0;
    for (TokenId id = 0; id < t.size(); id++) {
      const std::string spelled = t.piece(id);
      EXPECT_FALSE(spelled.empty()) << c.name << " " << id;
      const std::optional<TokenId> back = t.find(spelled);
      found += back && t.piece(*back).ends_with(spelled);
    }
    EXPECT_GE(found, t.size() * 9 / 10) << c.name;  // pieces of several odd bytes have no spelling of their own
  }
}

TEST(TokenizerFormats, MarksFollowTheRuleOfTheFile) {
  const Tokenizer llama3 = golden_tokenizer("llama3");
  ASSERT_EQ(llama3.prefix().size(), 1u);
  EXPECT_EQ(llama3.piece(llama3.prefix()[0]), "<|endoftext|>");
  EXPECT_TRUE(llama3.is_control(llama3.prefix()[0]));
  EXPECT_FALSE(llama3.has_end());  // tokenizer.json does not say
  EXPECT_TRUE(golden_tokenizer("qwen2").prefix().empty());
  for (const char* name : {"sentencepiece bpe", "tokenizer.bin", "tokenizer.bin, old", "gguf llama"}) {
    const Tokenizer t = golden_tokenizer(name);
    ASSERT_EQ(t.prefix().size(), 1u) << name;
    EXPECT_EQ(t.prefix()[0], 1u) << name;
    EXPECT_EQ(t.end(), 2u) << name;
    EXPECT_EQ(t.piece(1), "<s>") << name;
    EXPECT_EQ(t.size(), golden_tokenizer("sentencepiece bpe").size()) << name;
    EXPECT_TRUE(t.byte_fallback()) << name;
  }
  // The names of marks beside tokenizer.json.
  const TokenizerFolder folder;
  const std::string path = folder.write("tokenizer.json", golden_case("qwen2").file);
  folder.write("tokenizer_config.json", R"({"eos_token":{"content":"<|im_end|>"},"bos_token":null})");
  const Tokenizer t = Tokenizer::read(path);
  ASSERT_TRUE(t.has_end());
  EXPECT_EQ(t.piece(t.end()), "<|im_end|>");
  EXPECT_FALSE(t.begin());
}

// Cut into stretches for SentencePiece, the ids are those of the whole.
TEST(TokenizerFormats, LongTextsAreCutWhereItDoesNotShow) {
  std::string text;
  for (size_t i = 0; text.size() < 150'000; i++) text += (i % 5 ? "upon a  time" : "\n little") + std::string(" ball");
  for (const char* name : {"sentencepiece bpe", "sentencepiece bpe, no dummy prefix"}) {
    const Tokenizer t = golden_tokenizer(name);
    const std::vector<TokenId> ids = t.encode(text);
    EXPECT_EQ(t.decode(ids), text) << name;
    if (name != std::string("sentencepiece bpe")) continue;
    EXPECT_EQ(ids, golden_tokenizer("tokenizer.bin").encode(text));  // which does not cut
  }
}

TEST(TokenizerFormats, TheTokenizerOfAModel) {
  const std::string shared = std::string(GLINT_SOURCE_DIR) + "/../shared/data/llama/";
  if (!exists(shared + "stories260K.gguf")) GTEST_SKIP() << "no " << shared;
  const Tokenizer inside = Tokenizer::of_model(open_weights(shared + "stories260K.gguf"));
  ASSERT_FALSE(inside.empty());
  EXPECT_EQ(inside.format(), TokenizerFormat::gguf);
  const Tokenizer apart = Tokenizer::read(shared + "tok512.bin");
  EXPECT_EQ(apart.size(), 512u);
  const std::string story = "Once upon a time, there was a little girl named Lily.\nShe liked \xF0\x9F\x98\x80!";
  EXPECT_EQ(inside.encode(story), apart.encode(story));
  EXPECT_EQ(apart.decode(apart.encode(story)), story);
  EXPECT_TRUE(Tokenizer::of_model(open_weights(shared + "stories260K.bin")).empty());
}

// The real file of the old dialect, where scripts/fetch-data put it.
TEST(TokenizerFormats, TheOldDialectOfARealFile) {
  const char* home = std::getenv("HOME");
  const std::string path = std::string(home ? home : "") + "/.local/share/glint/stories15m/tokenizer.bin";
  if (!exists(path)) GTEST_SKIP() << "no " << path;
  const Tokenizer t = Tokenizer::read(path);
  EXPECT_EQ(t.size(), 32000u);
  EXPECT_EQ(t.encode("Once upon a time"), (std::vector<TokenId>{9038, 2501, 263, 931}));
  const std::vector<TokenId> line = t.encode("1\n\u00e9");
  EXPECT_EQ(line, (std::vector<TokenId>{29871, 29896, 13, 29948}));  // not 3 + 0xE9: the later id
  EXPECT_EQ(t.decode(line), "1\n\u00e9");
  EXPECT_EQ(t.piece(13), "<0x0A>");
}

std::string complaint_about(std::string file) {
  try {
    Tokenizer::parse(std::move(file), "t");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file);
    EXPECT_NE(e.parts().where.find("t"), std::string::npos);
    return e.parts().what + " ! " + e.parts().expected;
  }
  return "(no complaint)";
}

TEST(TokenizerFormats, WhatIsNotKnownIsRefusedByName) {
  const Json good = Json::parse(golden_case("llama3").file);
  const auto says = [&](const char* pointer, const Json& value, const std::string& what) {
    Json changed = good;
    changed[Json::json_pointer(pointer)] = value;
    const std::string got = complaint_about(changed.dump());
    EXPECT_NE(got.find(what), std::string::npos) << got << "\n  instead of " << what;
  };
  EXPECT_EQ(complaint_about(good.dump()), "(no complaint)");
  says("/model/type", "Unigram", "a tokenizer of the kind 'Unigram' ! BPE");
  says("/model/type", "WordPiece", "'WordPiece'");
  says("/model/dropout", 0.1, "'dropout' is 0.1");
  says("/model/end_of_word_suffix", "</w>", "'end_of_word_suffix' is '</w>'");
  says("/model/new_thing", 1, "unknown field 'new_thing'");
  says("/model/unk_token", "nope", "'unk_token' 'nope' has no id");
  says("/normalizer", {{"type", "NFKC"}}, "names the normalizer 'NFKC', which is not supported");
  says("/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", ""}}, "regular expression");
  says("/pre_tokenizer", {{"type", "Punctuation"}}, "names the pre-tokenizer 'Punctuation'");
  says("/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\w+", "the regular expression '\\w+'");
  says("/pre_tokenizer/pretokenizers/0/behavior", "Removed", "'Removed' with a regular expression");
  says("/post_processor", {{"type", "RobertaProcessing"}}, "names the post-processor 'RobertaProcessing'");
  says("/decoder", {{"type", "WordPiece"}}, "names the decoder 'WordPiece'");
  says("/post_processor/processors/1/special_tokens/<|endoftext|>/ids/0", 424, "has the id 424");
  says("/added_tokens/0/content", "other", "the added token 'other' has the id of '<|endoftext|>'");
  says("/added_tokens/0/id", 1u << 20, "the id 1048576");
  says("/added_tokens/0/id", -1, "");
  says("/model/merges/0", {"a"}, "a merge of 1 pieces");
  says("/model/merges/0", "a b c", "the merge 'a b c'");
  says("/model/merges/0", "\u00e9\u00e8 z", "needs a piece that is not there");
  says("/model/vocab/zz", 5, "the id 5 is that of two pieces");
  says("/model/vocab/zz", 1u << 30, "the id 1073741824");
  EXPECT_NE(complaint_about("{}").find("there is no 'model'"), std::string::npos);
  EXPECT_NE(complaint_about(R"({"model":{"type":"BPE"}})").find("no 'vocab'"), std::string::npos);
  EXPECT_NE(complaint_about(R"({"model":{},"model":{}})").find("duplicate key 'model'"), std::string::npos);
}

TEST(TokenizerFormats, HostileTokenizerBin) {
  const std::string good = golden_case("tokenizer.bin").file;
  const auto with = [&](size_t at, auto value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  EXPECT_EQ(complaint_about(good), "(no complaint)");
  EXPECT_NE(complaint_about(with(0, int32_t{0})).find("the longest piece has 0 bytes"), std::string::npos);
  EXPECT_NE(complaint_about(with(8, int32_t{-1})).find("a piece of -1 bytes"), std::string::npos);
  EXPECT_NE(complaint_about(with(8, INT32_MAX)).find("a piece of 2147483647 bytes"), std::string::npos);
  EXPECT_NE(complaint_about(with(4, 0x7fc00000u)).find("a score is no number"), std::string::npos);
  EXPECT_NE(complaint_about(good.substr(0, good.size() - 1)).find("not beyond the end of the file"), std::string::npos);
  EXPECT_NE(complaint_about(good.substr(0, 200)).find("the"), std::string::npos);
  std::string swapped = good;
  swapped[swapped.find("<0x41>") + 4] = '2';
  EXPECT_NE(complaint_about(swapped).find("piece 68 is not that of byte 65"), std::string::npos);
}

// Words are encoded one by one, but not where a piece spans the space between two.
TEST(ScoreTokenizer, APieceMaySpanTwoWords) {
  ScoreParts parts;
  parts.space = "_", parts.space_first = false;
  const auto add = [&](const std::string& piece, float score, ScoreParts::Type type) {
    parts.pieces.push_back(piece), parts.scores.push_back(score), parts.types.push_back(type);
  };
  for (unsigned b = 0; b < 256; b++) {
    add("byte", 0, ScoreParts::Type::byte);
    parts.bytes[b] = static_cast<TokenId>(b);
  }
  for (const char* letter : {"a", "b", "_"}) add(letter, -100, ScoreParts::Type::normal);  // 256 to 258
  add("_b", -1, ScoreParts::Type::normal);                                                 // 259
  add("b_", -2, ScoreParts::Type::normal);                                                 // 260
  add("b_b", -3, ScoreParts::Type::normal);                                                // 261
  add("__", -4, ScoreParts::Type::user);                                                   // 262
  const ScoreTokenizer tokenizer(std::move(parts));
  const auto ids = [&](std::string_view text) {
    std::vector<TokenId> out;
    tokenizer.encode(text, out);
    return out;
  };
  EXPECT_EQ(ids("a b"), (std::vector<TokenId>{256, 259}));
  EXPECT_EQ(ids("b b"), (std::vector<TokenId>{261}));
  EXPECT_EQ(ids("b a"), (std::vector<TokenId>{260, 256}));
  EXPECT_EQ(ids("a b a b b"), (std::vector<TokenId>{256, 259, 258, 256, 259, 259}));
  EXPECT_EQ(ids("a  b"), (std::vector<TokenId>{256, 262, 257}));
}

// GGUF files have the spaces of pieces that people chose as they are, those of all others as U+2581.
TEST(TokenizerFormats, ChosenPiecesOfAGgufFileHaveSpaces) {
  constexpr uint32_t kInt = 5, kFloat = 6, kBool = 7, kText = 8, kList = 9;
  std::vector<std::string> pieces = {"<unk>", "a", "\u2581", "\u2581a", "  "};
  std::vector<int32_t> types = {2, 1, 1, 1, 4};
  for (int i = 0; i < 64; i++) pieces.push_back("other " + std::to_string(i)), types.push_back(1);
  std::string names, scores, kinds;
  for (size_t i = 0; i < pieces.size(); i++)
    names += GgufFile::text(pieces[i]), scores += raw(-static_cast<float>(i)), kinds += raw(types[i]);
  const auto list = [&](uint32_t type, const std::string& values) {
    return raw(type) + raw<uint64_t>(pieces.size()) + values;
  };
  GgufFile file;
  file.pair("tokenizer.ggml.model", kText, GgufFile::text("llama"))
      .pair("tokenizer.ggml.tokens", kList, list(kText, names))
      .pair("tokenizer.ggml.scores", kList, list(kFloat, scores))
      .pair("tokenizer.ggml.token_type", kList, list(kInt, kinds))
      .pair("tokenizer.ggml.add_space_prefix", kBool, std::string(1, '\0'));
  const Tokenizer tokenizer = Tokenizer::read(TokenizerFolder().write("chosen.gguf", file.bytes()));
  EXPECT_EQ(tokenizer.encode("a a  a   a"), (std::vector<TokenId>{1, 3, 4, 1, 4, 3}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a a  a   a")), "a a  a   a");
}

TEST(Unicode, Nfc) {
  EXPECT_EQ(nfc("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(nfc("\u212b\u2126"), "\u00c5\u03a9");
  EXPECT_EQ(nfc("a\u0323\u0307"), nfc("a\u0307\u0323"));  // marks are put in order
  EXPECT_EQ(nfc("\u1112\u1161\u11ab"), "\ud55c");         // Hangul
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");               // a composition that is not made
  EXPECT_EQ(nfc("\xff"), "\uFFFD");
  EXPECT_EQ(lossy_utf8("a\xE2\x82z\xF0\x9F\x98\xC0\x80"), "a\uFFFDz\uFFFD\uFFFD\uFFFD");
}

}  // namespace
}  // namespace glint
