#include "glint/tokens/split_pattern.h"

#include "glint/tokens/unicode.h"

namespace glint {
namespace {

using Class = CharacterClass;

struct PatternText {
  SplitPattern pattern;
  std::string_view text;
};
#define GLINT_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define GLINT_SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GLINT_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define GLINT_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define GLINT_CASED(end)                                       \
  "[^\\r\\n\\p{L}\\p{N}]?" GLINT_UPPER "*" GLINT_LOWER "+" end \
  "|"                                                          \
  "[^\\r\\n\\p{L}\\p{N}]?" GLINT_UPPER "+" GLINT_LOWER "*" end
constexpr PatternText kPatternTexts[] = {
    {SplitPattern::gpt2, "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    {SplitPattern::gpt2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    {SplitPattern::llama3, GLINT_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                                              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" GLINT_SPACES},
    {SplitPattern::qwen2, GLINT_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                                             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" GLINT_SPACES},
    {SplitPattern::marks, GLINT_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                                             "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" GLINT_SPACES},
    {SplitPattern::gpt4o,
     GLINT_CASED(GLINT_CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" GLINT_SPACES},
    {SplitPattern::tekken, GLINT_CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" GLINT_SPACES},
};
#undef GLINT_CONTRACTIONS
#undef GLINT_SPACES
#undef GLINT_UPPER
#undef GLINT_LOWER
#undef GLINT_CASED

struct Character {
  char32_t c = 0;
  Class kind = Class::other;
  size_t end = 0;  // the byte behind it
  bool there = false;
  bool letter() const { return there && is_letter(kind); }
  bool number() const { return there && is_number(kind); }
  bool space() const { return there && is_white_space(c); }
  bool line_end() const { return there && (c == '\r' || c == '\n'); }
  bool upper() const { return there && (is_letter(kind) || kind == Class::mark) && kind != Class::lower; }
  bool lower() const {
    return there && (is_letter(kind) || kind == Class::mark) && kind != Class::upper && kind != Class::title;
  }
  bool letter_or_mark() const { return letter() || (there && kind == Class::mark); }
};

class WordMatcher {
 public:
  WordMatcher(SplitPattern pattern, std::string_view text) : pattern_(pattern), text_(text) {}

  size_t match(size_t at) const {
    const Character first = look(at);
    if (first.c < 0x80 && first.c == '\'' && !cased())
      if (const size_t end = contraction(at)) return end;
    if (const size_t end = letters(at, first)) return end;
    if (const size_t end = numbers(at, first)) return end;
    if (const size_t end = others(at, first)) return end;
    return spaces(at);
  }

 private:
  bool cased() const { return pattern_ == SplitPattern::gpt4o || pattern_ == SplitPattern::tekken; }

  Character look(size_t at) const {
    Character x;
    if (at >= text_.size()) return x;
    size_t length = 0;
    x.c = character_at(text_, at, length);
    x.kind = character_class(x.c);
    x.end = at + length;
    x.there = true;
    return x;
  }
  size_t run(size_t at, auto&& belongs) const {
    for (Character x = look(at); belongs(x); x = look(at)) at = x.end;
    return at;
  }

  // 's 't 're 've 'm 'll 'd; without regard to case but in GPT-2, where the long s counts as s.
  size_t contraction(size_t at) const {
    const Character mark = look(at);
    if (mark.c != '\'') return 0;
    const auto letter = [&](const Character& x) -> char32_t {
      if (pattern_ == SplitPattern::gpt2) return x.c;
      return x.c == 0x17F ? U's' : x.c >= 'A' && x.c <= 'Z' ? x.c + ('a' - 'A') : x.c;
    };
    const Character one = look(mark.end);
    if (!one.there) return 0;
    const char32_t a = letter(one);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return one.end;
    const Character two = look(one.end);
    if (!two.there) return 0;
    const char32_t b = letter(two);
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? two.end : 0;
  }

  size_t letters(size_t at, const Character& first) const {
    switch (pattern_) {
      case SplitPattern::gpt2:
        return after_space(at, first, [](const Character& x) { return x.letter(); });
      case SplitPattern::llama3:
      case SplitPattern::qwen2:
        return after_prefix(at, first, [](const Character& x) { return x.letter(); });
      case SplitPattern::marks:
        return after_prefix(at, first, [](const Character& x) { return x.letter_or_mark(); });
      case SplitPattern::gpt4o:
      case SplitPattern::tekken:
        break;
    }
    size_t end = 0;
    for (const bool small_end : {true, false})
      for (const bool prefix : {true, false}) {
        if (prefix && !may_precede(first)) continue;
        const size_t begin = prefix ? first.end : at;
        end = small_end ? upper_then_lower(begin) : some_upper(begin);
        if (end == 0) continue;
        const size_t more = pattern_ == SplitPattern::gpt4o ? contraction(end) : 0;
        return more ? more : end;
      }
    return 0;
  }
  static bool may_precede(const Character& x) { return !x.line_end() && !x.letter() && !x.number(); }

  // " ?X+"
  size_t after_space(size_t at, const Character& first, auto&& belongs) const {
    const size_t begin = first.c == ' ' ? first.end : at;
    const size_t end = run(begin, belongs);
    return end > begin ? end : 0;
  }
  // "[^\r\n\p{L}\p{N}]?X+"
  size_t after_prefix(size_t at, const Character& first, auto&& belongs) const {
    if (may_precede(first))
      if (const size_t end = run(first.end, belongs); end > first.end) return end;
    const size_t end = run(at, belongs);
    return end > at ? end : 0;
  }
  // "U*W+": what both classes hold (Lm, Lo, M) goes to U first, and comes back when W would have nothing.
  size_t upper_then_lower(size_t at) const {
    size_t i = at, last_common = 0;  // the byte behind the last character of U that is of W as well
    for (Character x = look(i); x.upper(); x = look(i)) {
      i = x.end;
      if (x.lower()) last_common = i;
    }
    const size_t end = run(i, [](const Character& x) { return x.lower(); });
    return end > i ? end : last_common;
  }
  // "U+W*"
  size_t some_upper(size_t at) const {
    const size_t end = run(at, [](const Character& x) { return x.upper(); });
    return end > at ? run(end, [](const Character& x) { return x.lower(); }) : 0;
  }

  size_t numbers(size_t at, const Character& first) const {
    const auto number = [](const Character& x) { return x.number(); };
    if (pattern_ == SplitPattern::gpt2) return after_space(at, first, number);
    if (!first.number()) return 0;
    size_t end = first.end;
    const bool three = pattern_ == SplitPattern::llama3 || pattern_ == SplitPattern::gpt4o;
    for (int more = three ? 2 : 0; more > 0 && look(end).number(); more--) end = look(end).end;
    return end;
  }

  size_t others(size_t at, const Character& first) const {
    const bool marks = pattern_ == SplitPattern::marks;
    const size_t end = after_space(at, first, [&](const Character& x) {
      return x.there && !x.space() && !x.number() && !(marks ? x.letter_or_mark() : x.letter());
    });
    if (end == 0 || pattern_ == SplitPattern::gpt2) return end;
    return run(end, [&](const Character& x) { return x.line_end() || (cased() && x.there && x.c == '/'); });
  }

  size_t spaces(size_t at) const {
    size_t end = at, last = at, line_end = 0;  // `last`: where the last space begins
    for (Character x = look(end); x.space(); x = look(end)) {
      last = end;
      end = x.end;
      if (x.line_end()) line_end = end;
    }
    if (line_end != 0 && pattern_ != SplitPattern::gpt2) return line_end;
    if (end == text_.size() || last == at) return end;
    return last;  // the last one belongs to what follows
  }

  SplitPattern pattern_;
  std::string_view text_;
};

}  // namespace

std::optional<SplitPattern> find_split_pattern(std::string_view expression) {
  for (const PatternText& known : kPatternTexts)
    if (known.text == expression) return known.pattern;
  return std::nullopt;
}

size_t word_end(SplitPattern pattern, std::string_view text, size_t at) { return WordMatcher(pattern, text).match(at); }

}  // namespace glint
