#include "glint/lab/read/direction.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"

namespace glint {
namespace {

using Kind = DirectionWord::Kind;

struct KindName {
  Kind kind;
  std::string_view prefix, field;  // the short form that makes it
};
constexpr KindName kKindNames[] = {{Kind::unit, "class:", "unit"},
                                   {Kind::token, "token:", "token"},
                                   {Kind::file, "file:", "direction"},
                                   {Kind::hidden, "hidden:", "hidden"},
                                   {Kind::latent, "latent:", "latent"}};

DirectionWord direction_word(const std::string& text, ModelKind model) {
  for (const KindName& k : kKindNames) {
    if (!text.starts_with(k.prefix)) continue;
    if (text.size() == k.prefix.size())
      bad_argument(std::string(k.field), "nothing stands after " + text,
                   "a direction: 3-5, happy, \"happy - sad\", hidden:12, latent:17 or v.npy");
    return {k.kind, text.substr(k.prefix.size())};
  }
  if (text.ends_with(".npy")) return {Kind::file, text};
  return {model == ModelKind::language ? Kind::token : Kind::unit, text};
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// A name goes before a number: there are sets whose classes are numbers from 1 on.
std::optional<size_t> find_class(const std::string& text, const std::vector<std::string>& names) {
  const std::string word = lower(trimmed(text));
  for (size_t c = 0; c < names.size(); c++)
    if (lower(names[c]) == word) return c;
  if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos) return {};
  const size_t number = std::stoul(word);
  return number < names.size() ? std::optional(number) : std::nullopt;
}

[[noreturn]] void unknown(const std::string& word, const std::vector<std::string>& names,
                          const std::string& parameter) {
  std::vector<std::string> lowered;
  for (const std::string& n : names) lowered.push_back(lower(n));
  const std::string near = nearest(lower(word), lowered);
  std::string classes = "a class from 0 to " + std::to_string(names.size() - 1);
  if (const auto number = find_class("0", names); number && names[0] != "0")
    classes += ", or its name (" + names.front() + " ... " + names.back() + ")";
  bad_argument(parameter, "no class '" + word + "'", classes, near.empty() ? "" : "did you mean " + near + "?");
}

// All ways to cut at `mark` are tried, since a name may hold it too: "t-shirt/top-shirt".
std::optional<std::pair<size_t, size_t>> find_pair(const std::string& word, const std::string& mark,
                                                   const std::vector<std::string>& names) {
  for (size_t at = word.find(mark); at != std::string::npos; at = word.find(mark, at + 1)) {
    const auto a = find_class(word.substr(0, at), names), b = find_class(word.substr(at + mark.size()), names);
    if (a && b) return std::pair(*a, *b);
  }
  return {};
}

[[noreturn]] void wrong(const std::string& what, const std::string& parameter) {
  bad_argument(parameter, what, "classes such as 3, a range 5..9, a difference 3-5, lists with commas, or all");
}

}  // namespace

std::vector<Field> autoencoder_fields(std::string& sae, std::string& side, std::string& sae_reads) {
  return {Field("sae", sae,
                "Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), whose latents "
                "are outputs")
              .directory()
              .language(),
          Field("side", side, "Of a latent: what it writes, or what it looks for")
              .one_of({"decoder", "encoder"})
              .language(),
          Field("sae_reads", sae_reads, "What of this layer `sae` reads; auto: what its file says")
              .one_of({"auto", "input", "output"})
              .language()};
}

std::vector<Field> fields_of(Along& a) {
  const auto short_form = [&](const char* name, const char* prefix, const char* help) {
    return Field(name, Prefixed{&a.directions, prefix}, help);
  };
  return join({short_form("unit", "class:", "Images: 3, a name, 3-5 (3 against 5), 5..9, lists with commas, or all")
                   .shown("UNITS")
                   .suggest({"all"})
                   .images(),
               Field("via", a.via, "Images, below the last layer: rank of the eigenvector above, one per layer")
                   .shown("K[,K]")
                   .images(),
               short_form("token", "token:", "Language models: tokens as outputs, with commas between")
                   .shown("WORDS")
                   .language(),
               Field("direction", a.directions,
                     "What to read along, of any kind: \"happy - sad\", 3-5, hidden:12, latent:17, or v.npy, a file "
                     "with a vector of the layer's output. May be given several times")
                   .file("WORDS|FILE"),
               short_form("hidden", "hidden:", "The product gate(l) r of one hidden unit, from 1 on").shown("N"),
               short_form("latent", "latent:", "Latents of `sae`, from 0 on: 17, 3,8 or 0..9").shown("N").language(),
               Field("from_layer", a.from_layer,
                     "Language models: the outputs are of this later layer, and `layer` is read along eigenvectors "
                     "of their forms there")
                   .range(1, 1000)
                   .language(),
               Field("eigenvector", a.eigenvector,
                     "With `from_layer`: +1 the strongest for, -1 the strongest against, or several: +1,-1")
                   .shown("K[,K]")
                   .language()},
              autoencoder_fields(a.sae, a.side, a.sae_reads));
}

std::vector<DirectionWord> direction_words(const Along& along, ModelKind model) {
  std::vector<DirectionWord> words;
  for (const std::string& text : along.directions) words.push_back(direction_word(text, model));
  const bool language = model == ModelKind::language;
  for (const DirectionWord& w : words)
    if (language ? w.kind == Kind::unit : w.kind == Kind::token || w.kind == Kind::latent)
      bad_argument(
          printable(w.text),
          "`" + std::string(std::ranges::find(kKindNames, w.kind, &KindName::kind)->field) + "` is for " +
              (language ? "image" : "language") + " models",
          language
              ? "a token, a sum of tokens as `direction=WORDS`, a hidden unit as `hidden=N`, a latent as `sae=DIR, "
                "latent=N`, or `scan`"
              : "a class as `unit=3`, or a hidden unit as `hidden=N`");
  std::ranges::stable_sort(words, {}, &DirectionWord::kind);
  return words;
}

std::string words_of(const Along& along, ModelKind model, Kind wanted) {
  std::string all;
  for (const DirectionWord& w : direction_words(along, model))
    if (w.kind == wanted) all += (all.empty() ? "" : ",") + w.text;
  return all;
}

std::vector<size_t> parse_numbers(const std::string& text, const std::string& parameter, const std::string& noun,
                                  size_t low, size_t high) {
  const bool open = high == SIZE_MAX;
  const auto fail = [&](const std::string& what) {
    bad_argument(parameter, what,
                 "numbers from " + std::to_string(low) + (open ? " on" : " to " + std::to_string(high)) +
                     ": 3, 3,8 or 2..5" + (open ? "" : ", or all"));
  };
  const auto number = [&](const std::string& word) {
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != word.npos)
      fail("not a number: '" + printable(word) + "'");
    const size_t value = std::stoul(word);
    if (value < low || value > high) fail("there is no " + noun + " " + word);
    return value;
  };
  constexpr size_t kMost = 1000000;
  std::vector<size_t> numbers;
  for (const std::string& word : split(text, ',')) {
    const size_t dots = word.find("..");
    const bool all = word == "all" && !open;
    const size_t first = all ? low : number(word.substr(0, dots)), last = all ? high
                                                                          : dots == word.npos
                                                                              ? first
                                                                              : number(word.substr(dots + 2));
    if (first > last || (open && last - first > kMost)) fail("'" + word + "' runs backwards, or far");
    for (size_t k = first; k <= last; k++) numbers.push_back(k);
  }
  return numbers;
}

size_t parse_class(const std::string& text, const std::vector<std::string>& class_names, const std::string& parameter) {
  if (const auto c = find_class(text, class_names)) return *c;
  unknown(trimmed(text), class_names, parameter);
}

std::vector<UnitWord> parse_units(const std::string& text, const std::vector<std::string>& class_names,
                                  const std::string& parameter) {
  std::vector<UnitWord> units;
  const auto add = [&](UnitWord unit) {
    if (std::find(units.begin(), units.end(), unit) == units.end()) units.push_back(unit);
  };
  for (const std::string& part : split(text, ',')) {
    const std::string word = trimmed(part);
    if (word.empty()) wrong("an empty unit in '" + text + "'", parameter);
    if (const auto c = find_class(word, class_names)) {
      add({*c});
    } else if (lower(word) == "all") {
      for (size_t k = 0; k < class_names.size(); k++) add({k});
    } else if (const auto range = find_pair(word, "..", class_names)) {
      if (range->first > range->second) wrong("the range '" + word + "' runs backwards", parameter);
      for (size_t k = range->first; k <= range->second; k++) add({k});
    } else if (const auto pair = find_pair(word, "-", class_names)) {
      if (pair->first == pair->second) wrong("'" + word + "' is a class against itself", parameter);
      add({pair->first, pair->second});
    } else {
      // Name the half that is wrong, when there is just one.
      for (const std::string mark : {"..", "-"})
        if (const size_t cut = word.find(mark); cut != std::string::npos && cut > 0) {
          parse_class(word.substr(0, cut), class_names, parameter);
          parse_class(word.substr(cut + mark.size()), class_names, parameter);
        }
      unknown(word, class_names, parameter);
    }
  }
  return units;
}

}  // namespace glint
