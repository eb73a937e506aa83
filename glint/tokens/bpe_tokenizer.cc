#include "glint/tokens/bpe_tokenizer.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "glint/tokens/piece_model.h"
#include "glint/tokens/unicode.h"
#include "glint/tokens/word_memory.h"

namespace glint {
namespace {

// A stretch of the text, and whether it is what was cut at.
struct Stretch {
  size_t begin, end;
  bool match;
};

std::vector<Stretch> keep_stretches(const std::vector<Stretch>& all, SplitStep::Keep keep) {
  std::vector<Stretch> out;
  const auto merged = [&out](const auto& stretches, bool backwards) {
    bool last_match = false;
    for (const Stretch& s : stretches) {
      if (s.match && !last_match && !out.empty())
        (backwards ? out.back().begin : out.back().end) = backwards ? s.begin : s.end;
      else
        out.push_back(s);
      last_match = s.match;
    }
  };
  switch (keep) {
    case SplitStep::Keep::isolated:
      return all;
    case SplitStep::Keep::removed:
      std::copy_if(all.begin(), all.end(), std::back_inserter(out), [](const Stretch& s) { return !s.match; });
      break;
    case SplitStep::Keep::contiguous:
      for (const Stretch& s : all)
        if (!out.empty() && out.back().match == s.match)
          out.back().end = s.end;
        else
          out.push_back(s);
      break;
    case SplitStep::Keep::with_previous:
      merged(all, false);
      break;
    case SplitStep::Keep::with_next:
      merged(std::vector<Stretch>(all.rbegin(), all.rend()), true);
      std::reverse(out.begin(), out.end());
      break;
  }
  return out;
}

std::vector<Stretch> stretches_at_text(std::string_view text, std::string_view mark) {
  std::vector<Stretch> out;
  size_t i = 0;
  while (i < text.size()) {
    const size_t at = std::min(mark.empty() ? text.npos : text.find(mark, i), text.size());
    if (at > i) out.push_back({i, at, false});
    if (at < text.size()) out.push_back({at, at + mark.size(), true});
    i = at + mark.size();
  }
  return out;
}

std::vector<Stretch> stretches_at_digits(std::string_view text) {
  std::vector<Stretch> out;
  size_t plain = 0;
  for (size_t i = 0, n = 0; i < text.size(); i += n) {
    if (!is_number(character_class(character_at(text, i, n)))) continue;
    if (i > plain) out.push_back({plain, i, false});
    out.push_back({i, i + n, true});
    plain = i + n;
  }
  if (text.size() > plain) out.push_back({plain, text.size(), false});
  return out;
}

std::vector<Stretch> stretches_of_words(std::string_view text, SplitPattern pattern) {
  std::vector<Stretch> out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = word_end(pattern, text, i);
    out.push_back({i, end, false});
    i = end;
  }
  return out;
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeParts parts) : parts_(std::move(parts)) {
  const size_t vocabulary = parts_.pieces.size();
  std::vector<TokenId> ids;
  for (size_t id = 0; id < vocabulary; id++)
    if (!parts_.pieces[id].empty()) ids.push_back(static_cast<TokenId>(id));
  for (const AddedToken& token : parts_.added) {
    if (token.id >= parts_.pieces.size()) parts_.pieces.resize(token.id + 1);
    if (parts_.pieces[token.id].empty()) parts_.pieces[token.id] = token.content;
  }
  index_ = PieceIndex(parts_.pieces, std::move(ids));
  std::sort(parts_.merges.begin(), parts_.merges.end(), [](const BpeMerge& a, const BpeMerge& b) {
    return std::tie(a.left, a.right, b.rank) < std::tie(b.left, b.right, a.rank);  // the last rank first
  });
  special_.resize(parts_.pieces.size());
  for (const AddedToken& token : parts_.added)
    if (token.special) special_[token.id] = true;
  for (unsigned b = 0; b < 256; b++) byte_ids_[b] = id_of(byte_name(static_cast<unsigned char>(b)));
  for (char32_t c = 0; c < short_ids_.size(); c++) {
    std::string text;
    append_utf8(text, c);
    short_ids_[c] = id_of(text);
  }
  for (const SplitStep& step : parts_.splits) byte_level_ |= step.kind == SplitStep::Kind::byte_level;
  byte_fallback = parts_.byte_fallback;
  unknown_id = parts_.unknown;
  for (const AddedToken& token : parts_.added)
    if (std::string text = token.normalized ? normalize(token.content) : token.content; text != token.content)
      normalized_texts_[token.id] = std::move(text);
  plain_ = matcher(false);
  normalized_ = matcher(true);
}

std::optional<TokenId> BpeTokenizer::id_of(std::string_view piece) const { return index_.find(parts_.pieces, piece); }

BpeTokenizer::Matcher BpeTokenizer::matcher(bool normalized) const {
  Matcher m;
  for (size_t i = 0; i < parts_.added.size(); i++) {
    const AddedToken& token = parts_.added[i];
    if (token.normalized != normalized || token.content.empty()) continue;
    std::string text = normalized ? normalize(token.content) : token.content;
    if (text.empty()) continue;
    m.first[static_cast<unsigned char>(text[0])] = true;
    m.lengths.push_back(text.size());
    m.texts.emplace_back(std::move(text), i);
  }
  std::sort(m.texts.begin(), m.texts.end());
  std::sort(m.lengths.rbegin(), m.lengths.rend());
  m.lengths.erase(std::unique(m.lengths.begin(), m.lengths.end()), m.lengths.end());
  return m;
}

std::vector<BpeTokenizer::Segment> BpeTokenizer::cut(const Matcher& m, Segment segment) const {
  std::vector<Segment> out;
  const std::string_view text = segment.text;
  size_t from = 0;  // what follows belongs to no segment yet
  const auto add = [&](size_t begin, size_t end, std::optional<TokenId> token) {
    out.push_back({std::string(text.substr(begin, end - begin)), segment.at_start && begin == 0, token});
  };
  for (size_t i = 0; i < text.size() && !m.texts.empty();) {
    if (!m.first[static_cast<unsigned char>(text[i])]) {
      i++;
      continue;
    }
    const AddedToken* found = nullptr;
    size_t length = 0;
    for (const size_t n : m.lengths) {
      if (n > text.size() - i) continue;
      const std::string_view candidate = text.substr(i, n);
      const auto at = std::lower_bound(m.texts.begin(), m.texts.end(), candidate,
                                       [](const auto& t, std::string_view c) { return t.first < c; });
      if (at == m.texts.end() || at->first != candidate) continue;
      found = &parts_.added[at->second];
      length = n;
      break;
    }
    if (!found) {
      i++;
      continue;
    }
    size_t begin = i, end = i + length;
    i = end;
    if (found->single_word) {
      size_t n = 0, last = begin;
      while (last > 0 && (static_cast<unsigned char>(text[--last]) & 0xC0) == 0x80) {
      }
      if (begin > 0 && is_word_character(character_at(text, last, n))) continue;
      if (end < text.size() && is_word_character(character_at(text, end, n))) continue;
    }
    if (found->strip_left)
      while (begin > from) {
        size_t n = 0, last = begin;
        while (last > 0 && (static_cast<unsigned char>(text[--last]) & 0xC0) == 0x80) {
        }
        if (!is_white_space(character_at(text, last, n))) break;
        begin = std::max(last, from);
      }
    if (found->strip_right)
      for (size_t n = 0; end < text.size() && is_white_space(character_at(text, end, n));) end += n;
    if (begin > from) add(from, begin, std::nullopt);
    add(std::max(begin, from), end, found->id);
    from = std::max(end, from);
  }
  if (from < text.size()) add(from, text.size(), std::nullopt);
  return out;
}

std::string BpeTokenizer::normalize(std::string text) const {
  for (const NormalizerStep& step : parts_.normalizer) switch (step.kind) {
      case NormalizerStep::Kind::nfc:
        text = nfc(text);
        break;
      case NormalizerStep::Kind::prepend:
        if (!text.empty()) text = step.to + text;
        break;
      case NormalizerStep::Kind::replace:
        text = replaced(text, step.from, step.to);
        break;
    }
  return text;
}

std::vector<BpeTokenizer::Segment> BpeTokenizer::words(Segment segment) const {
  std::vector<Segment> now = {std::move(segment)};
  for (const SplitStep& step : parts_.splits) {
    std::vector<Segment> next;
    const auto add = [&](const Segment& whole, const std::vector<Stretch>& stretches) {
      for (const Stretch& s : stretches)
        next.push_back({whole.text.substr(s.begin, s.end - s.begin), whole.at_start && s.begin == 0, {}});
    };
    for (Segment& s : now) switch (step.kind) {
        case SplitStep::Kind::pattern:
          add(s, stretches_of_words(s.text, step.pattern));
          break;
        case SplitStep::Kind::text:
          add(s, keep_stretches(stretches_at_text(s.text, step.text), step.keep));
          break;
        case SplitStep::Kind::digits:
          add(s, keep_stretches(stretches_at_digits(s.text),
                                step.one_by_one ? SplitStep::Keep::isolated : SplitStep::Keep::contiguous));
          break;
        case SplitStep::Kind::byte_level:
          if (step.prefix == SplitStep::Prefix::always && !s.text.starts_with(' ')) s.text.insert(0, 1, ' ');
          if (step.splits)
            add(s, stretches_of_words(s.text, SplitPattern::gpt2));
          else
            next.push_back(std::move(s));
          break;
        case SplitStep::Kind::metaspace: {
          s.text = replaced(s.text, " ", step.text);
          if ((step.prefix == SplitStep::Prefix::always || (step.prefix == SplitStep::Prefix::first && s.at_start)) &&
              !s.text.starts_with(step.text))
            s.text.insert(0, step.text);
          if (step.splits)
            add(s, keep_stretches(stretches_at_text(s.text, step.text), SplitStep::Keep::with_next));
          else
            next.push_back(std::move(s));
        }
      }
    if (step.kind == SplitStep::Kind::byte_level)
      for (Segment& s : next) s.text = byte_letters(s.text);
    now = std::move(next);
  }
  return now;
}

std::optional<TokenId> BpeTokenizer::character_id(char32_t c, std::string_view text) const {
  return c < short_ids_.size() ? short_ids_[c] : id_of(text);
}

// Characters without a piece become bytes where the vocabulary has those, otherwise the unknown piece;
// without one they are left out.
std::vector<MergeSymbol> BpeTokenizer::characters(std::string_view word) const {
  std::vector<MergeSymbol> symbols;
  std::optional<MergeSymbol> pending;  // of unknown characters
  const auto flush = [&] {
    if (pending) symbols.push_back(*pending);
    pending.reset();
  };
  for (size_t i = 0, n = 0; i < word.size(); i += n) {
    const char32_t c = character_at(word, i, n);
    const std::string_view text = word.substr(i, n);
    if (const auto id = character_id(c, text); id && !(c == 0xFFFD && n == 1)) {
      flush();
      symbols.push_back({*id, i, n});
      continue;
    }
    const auto byte_id = [&](char b) { return byte_ids_[static_cast<unsigned char>(b)]; };
    if (parts_.byte_fallback && std::all_of(text.begin(), text.end(), [&](char b) { return byte_id(b).has_value(); })) {
      for (size_t k = 0; k < n; k++) symbols.push_back({*byte_id(text[k]), i + k, 1});
      continue;
    }
    if (!parts_.unknown) continue;
    if (pending && parts_.fuse_unknown) {
      pending->length += n;
    } else {
      flush();
      pending = MergeSymbol{*parts_.unknown, i, n};
    }
  }
  flush();
  return symbols;
}

void BpeTokenizer::encode_word(std::string_view word, std::vector<TokenId>& ids) const {
  if (parts_.ignore_merges)
    if (const auto id = id_of(word)) {
      ids.push_back(*id);
      return;
    }
  std::vector<MergeSymbol> symbols = characters(word);
  merge_pairs(symbols, [&](const MergeSymbol& a, const MergeSymbol& b) -> std::optional<MergeRule> {
    const auto& merges = parts_.merges;
    const auto at = std::lower_bound(merges.begin(), merges.end(), std::pair(a.id, b.id),
                                     [](const BpeMerge& m, const auto& k) { return std::pair(m.left, m.right) < k; });
    if (at == merges.end() || at->left != a.id || at->right != b.id) return std::nullopt;
    return MergeRule{static_cast<double>(at->rank), at->id};
  });
  for (const MergeSymbol& s : symbols)
    if (s.length > 0) ids.push_back(s.id);
}

void BpeTokenizer::encode(std::string_view text, std::vector<TokenId>& ids) const {
  WordMemory remembered;
  for (Segment& plain : cut(plain_, {std::string(text), true, {}})) {
    if (plain.token) {
      ids.push_back(*plain.token);
      continue;
    }
    plain.text = normalize(std::move(plain.text));
    for (Segment& segment : cut(normalized_, std::move(plain))) {
      if (segment.token) {
        ids.push_back(*segment.token);
        continue;
      }
      for (const Segment& word : words(std::move(segment)))
        remembered.encode(word.text, ids, [&](std::string_view w, std::vector<TokenId>& to) { encode_word(w, to); });
    }
  }
}

}  // namespace glint
