// tokenizer.json of the `tokenizers` library: BPE models. The lists (vocabulary, merges) are read as a
// stream, since a tree of them would take several times the file; the small rest is a tree. What is not known
// is refused by its name, never left out.
#include <algorithm>
#include <set>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/io/json_cursor.h"
#include "glint/tokens/bpe_tokenizer.h"
#include "glint/tokens/tokenizer_steps.h"

namespace glint {
namespace {

constexpr size_t kMaxStepBytes = size_t{1} << 22, kMaxAddedTokens = size_t{1} << 16;
constexpr size_t kMaxMerges = size_t{1} << 20;

class TokenizerJsonReader {
 public:
  TokenizerJsonReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void read() {
    std::set<std::string> seen;
    JsonCursor cursor(text_, where_);
    cursor.object([&](const std::string& key, size_t at) {
      if (!seen.insert(key).second) cursor.fail("duplicate key " + show(key), at, "each key once");
      if (seen.size() > 64) cursor.fail("too many keys", at, "a tokenizer.json");
      if (key == "model")
        model_ = slice(cursor);
      else if (key == "added_tokens")
        read_added(cursor);
      else if (key == "normalizer")
        normalizer_ = tree(cursor, key);
      else if (key == "pre_tokenizer")
        splits_ = tree(cursor, key);
      else if (key == "post_processor")
        processor_ = tree(cursor, key);
      else if (key == "decoder")
        decoder_ = tree(cursor, key);
      else
        cursor.skip();  // version, truncation, padding: nothing for a text of any length
    });
    cursor.finish();
    if (model_.second.empty()) cursor.fail("there is no 'model'", 0, "a tokenizer.json of the tokenizers library");
    read_model();
    check_added();
    read_normalizer(normalizer_, where_, parts.normalizer);
    read_splits(splits_, where_, parts.splits);
    parts.has_decoder = !decoder_.is_null();
    read_decoder(decoder_, where_, parts.decoder);
    prefix = read_prefix(processor_, where_, parts.pieces.size(), parts.added);
  }

  BpeParts parts;
  std::vector<TokenId> prefix;

 private:
  using Slice = std::pair<size_t, std::string_view>;  // where it begins, and the text

  Slice slice(JsonCursor& cursor) {
    const size_t begin = cursor.byte();
    cursor.skip();
    return {begin, text_.substr(begin, cursor.byte() - begin)};
  }
  Json tree(JsonCursor& cursor, const std::string& key) {
    const Slice s = slice(cursor);
    if (s.second.size() > kMaxStepBytes)
      cursor.fail("'" + key + "' has " + std::to_string(s.second.size()) + " bytes", s.first, "at most 4 MB");
    std::string_view text = s.second;  // up to the next token: white space and a comma may follow the value
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t'))
      text.remove_suffix(1);
    return parse_json(text, where_, s.first);
  }

  TokenId id_here(JsonCursor& cursor) {
    const size_t at = cursor.byte();
    const uint64_t id = cursor.unsigned_integer();
    if (id >= kMaxVocab) cursor.fail("the id " + std::to_string(id), at, "below " + std::to_string(kMaxVocab));
    return static_cast<TokenId>(id);
  }

  void read_added(JsonCursor& cursor) {
    cursor.array([&] {
      AddedToken token;
      const size_t begin = cursor.byte();
      bool has_id = false;
      token.normalized = true;  // the default of the library for tokens that are not special
      cursor.object([&](const std::string& key, size_t) {
        if (key == "id")
          token.id = id_here(cursor), has_id = true;
        else if (key == "content")
          token.content = cursor.string();
        else if (key == "single_word")
          token.single_word = cursor.boolean();
        else if (key == "lstrip")
          token.strip_left = cursor.boolean();
        else if (key == "rstrip")
          token.strip_right = cursor.boolean();
        else if (key == "normalized")
          token.normalized = cursor.boolean();
        else if (key == "special")
          token.special = cursor.boolean();
        else
          cursor.skip();
      });
      if (!has_id || token.content.empty()) cursor.fail("an added token is incomplete", begin, "id and content");
      if (parts.added.size() == kMaxAddedTokens)
        cursor.fail("too many added tokens", begin, "at most " + std::to_string(kMaxAddedTokens));
      parts.added.push_back(std::move(token));
    });
  }

  // Twice through the model: merges are spelled with pieces, and need not come after them.
  void read_model() {
    std::string unknown;
    size_t merges = 0;
    bool has_vocabulary = false;
    each_member([&](JsonCursor& cursor, const std::string& key, size_t at) {
      if (key == "type") {
        const std::string type = cursor.string();
        if (type != "BPE") cursor.fail("a tokenizer of the kind " + show(type), at, "BPE");
      } else if (key == "unk_token") {
        if (cursor.peek() == JsonCursor::Kind::null)
          cursor.null();
        else
          unknown = cursor.string();
      } else if (key == "dropout") {
        if (cursor.peek() == JsonCursor::Kind::null)
          cursor.null();
        else if (const std::string value(cursor.number()); value != "0" && value != "0.0")
          cursor.fail("'dropout' is " + value, at, "null or 0: a text has one encoding");
      } else if (key == "continuing_subword_prefix" || key == "end_of_word_suffix") {
        if (cursor.peek() == JsonCursor::Kind::null)
          cursor.null();
        else if (const std::string value = cursor.string(); !value.empty())
          cursor.fail("'" + key + "' is " + show(value), at, "null or empty");
      } else if (key == "fuse_unk") {
        parts.fuse_unknown = cursor.boolean();
      } else if (key == "byte_fallback") {
        parts.byte_fallback = cursor.boolean();
      } else if (key == "ignore_merges") {
        parts.ignore_merges = cursor.boolean();
      } else if (key == "vocab") {
        has_vocabulary = true;
        read_vocabulary(cursor);
      } else if (key == "merges") {
        cursor.array([&] {
          if (++merges > kMaxMerges) cursor.fail("too many merges", at, "at most " + std::to_string(kMaxMerges));
          cursor.skip();
        });
      } else {
        cursor.fail("unknown field " + show(key) + " of a BPE model", at, "a field that the library writes");
      }
    });
    if (!has_vocabulary) bad_file(where_, "the model has no 'vocab'", "a vocabulary");
    index_pieces();
    parts.merges.reserve(merges);
    each_member([&](JsonCursor& cursor, const std::string& key, size_t) {
      if (key == "merges")
        cursor.array([&] { read_merge(cursor); });
      else
        cursor.skip();
    });
    if (!unknown.empty()) {
      parts.unknown = id_of(unknown);
      if (!parts.unknown) bad_file(where_, "'unk_token' " + show(unknown) + " has no id", "a piece");
    }
  }
  void each_member(auto&& member) {
    JsonCursor cursor(model_.second, where_, model_.first);
    std::set<std::string> seen;
    cursor.object([&](const std::string& key, size_t at) {
      if (seen.size() > 64 || !seen.insert(key).second) cursor.fail("duplicate key " + show(key), at, "each key once");
      member(cursor, key, at);
    });
  }

  void read_vocabulary(JsonCursor& cursor) {
    cursor.object([&](std::string piece, size_t at) {
      const TokenId id = id_here(cursor);
      if (piece.empty()) cursor.fail("a piece is empty", at, "a text");
      if (id >= parts.pieces.size()) {
        // Not one by one, and never twice what is needed.
        if (id >= parts.pieces.capacity())
          parts.pieces.reserve(std::min<size_t>(kMaxVocab, std::max<size_t>(id + 1, parts.pieces.size() * 5 / 4)));
        parts.pieces.resize(id + 1);
      }
      if (!parts.pieces[id].empty())
        cursor.fail("the id " + std::to_string(id) + " is that of two pieces", at, "each id once");
      parts.pieces[id] = std::move(piece);
    });
  }

  void index_pieces() {
    std::vector<TokenId> ids;
    for (size_t id = 0; id < parts.pieces.size(); id++)
      if (!parts.pieces[id].empty()) ids.push_back(static_cast<TokenId>(id));
    index_ = PieceIndex(parts.pieces, std::move(ids));
    if (index_.twin())
      bad_file(where_, "the piece " + show(parts.pieces[*index_.twin()]) + " is there twice", "each piece once");
  }
  std::optional<TokenId> id_of(std::string_view piece) const { return index_.find(parts.pieces, piece); }

  // "a b" or ["a", "b"].
  void read_merge(JsonCursor& cursor) {
    const size_t at = cursor.byte();
    std::string left, right;
    if (cursor.peek() == JsonCursor::Kind::string) {
      const std::string both = cursor.string();
      const size_t space = both.find(' ');
      if (space == both.npos || both.find(' ', space + 1) != both.npos)
        cursor.fail("the merge " + show(both), at, "two pieces with a space between them");
      left = both.substr(0, space);
      right = both.substr(space + 1);
    } else {
      size_t count = 0;
      cursor.array([&] { (count++ == 0 ? left : right) = cursor.string(); });
      if (count != 2) cursor.fail("a merge of " + std::to_string(count) + " pieces", at, "two");
    }
    const auto a = id_of(left), b = id_of(right), whole = id_of(left + right);
    if (!a || !b || !whole)
      cursor.fail("the merge of " + show(left) + " and " + show(right) + " needs a piece that is not there", at,
                  "pieces of the vocabulary");
    parts.merges.push_back({*a, *b, static_cast<uint32_t>(parts.merges.size()), *whole});
  }

  void check_added() const {
    for (const AddedToken& token : parts.added)
      if (token.id < parts.pieces.size() && !parts.pieces[token.id].empty() && parts.pieces[token.id] != token.content)
        bad_file(where_, "the added token " + show(token.content) + " has the id of " + show(parts.pieces[token.id]),
                    "each id once");
  }

  std::string_view text_;
  const std::string& where_;
  Slice model_;
  Json normalizer_, splits_, processor_, decoder_;
  PieceIndex index_;
};

// The id of "eos_token": "</s>" or {"content": "</s>"}; none when the key or the piece is not there.
std::optional<TokenId> named_token(const Json& config, const char* key, const BpeTokenizer& tokenizer) {
  if (!config.contains(key)) return std::nullopt;
  const Json& value = config[key];
  if (value.is_string()) return tokenizer.find(value.get<std::string>());
  if (value.is_object() && value.contains("content") && value["content"].is_string())
    return tokenizer.find(value["content"].get<std::string>());
  return std::nullopt;
}

}  // namespace

std::shared_ptr<TokenizerModel> parse_tokenizer_json(std::string_view text, const std::string& where,
                                                     std::string_view config, const std::string& config_where) {
  TokenizerJsonReader reader(text, where);
  reader.read();
  const auto tokenizer = std::make_shared<BpeTokenizer>(std::move(reader.parts));
  tokenizer->format = TokenizerFormat::json;
  tokenizer->prefix = std::move(reader.prefix);
  if (!tokenizer->prefix.empty()) tokenizer->begin_id = tokenizer->prefix[0];
  if (!config.empty()) {
    const Json names = parse_json(config, config_where);
    if (names.is_object()) {
      if (!tokenizer->begin_id) tokenizer->begin_id = named_token(names, "bos_token", *tokenizer);
      tokenizer->end_id = named_token(names, "eos_token", *tokenizer);
    }
  }
  return tokenizer;
}

}  // namespace glint
