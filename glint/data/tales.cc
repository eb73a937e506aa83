#include "glint/data/tales.h"

#include <map>

#include "glint/base/rng.h"
#include "glint/data/tales_words.h"

namespace glint {
namespace {

using namespace tales;

constexpr uint64_t kDrawsPerTale = 256;  // more than a tale ever needs

class Teller {
 public:
  Teller(uint64_t seed, uint64_t index) : rng_(seed, Stream::tales), draw_(index * kDrawsPerTale) {}

  std::string tell() {
    cast();
    const Plot& plot = kPlots[below(kPlots.size())];
    std::string text = sentence(kOpenings);
    for (const Beat& beat : plot) {
      const bool optional = beat[0][0] == '?';
      const bool told = !optional || below(2) == 0;
      if (told) text += " " + sentence(beat);
    }
    return text + " " + sentence(kEndings);
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(rng_.below(n, draw_++)); }
  std::string_view pick(const Words& words) { return words[below(words.size())]; }
  // One that is not `other`.
  std::string_view pick_but(const Words& words, std::string_view other) {
    const size_t first = below(words.size());
    return words[first] == other ? words[(first + 1) % words.size()] : words[first];
  }

  // Everyone and everything that the sentences may speak of.
  void cast() {
    const bool girl = below(2) == 0;
    slots_["hero"] = pick(girl ? kGirls : kBoys);
    slots_["kind"] = below(3) == 0 ? pick(kAnimals) : girl ? "girl" : "boy";
    slots_["He"] = girl ? "She" : "He";
    slots_["he"] = girl ? "she" : "he";
    slots_["him"] = girl ? "her" : "him";
    slots_["His"] = girl ? "Her" : "His";
    slots_["his"] = girl ? "her" : "his";
    slots_["friend"] = pick_but(below(2) == 0 ? kGirls : kBoys, slots_["hero"]);
    slots_["animal"] = pick_but(kAnimals, slots_["kind"]);
    slots_["animal2"] = pick_but(kAnimals, slots_["animal"]);
    slots_["kind2"] = below(2) == 0 ? "girl" : "boy";
    slots_["small"] = pick(kSmallAnimals);
    slots_["place"] = pick(kPlaces);
    slots_["place2"] = pick_but(kPlaces, slots_["place"]);
    slots_["thing"] = pick(kThings);
    slots_["food"] = pick(kFoods);
    slots_["color"] = pick(kColors);
    slots_["look"] = pick(kLooks);
    slots_["trait"] = pick(kTraits);
    slots_["trait2"] = pick_but(kTraits, slots_["trait"]);
    slots_["grown"] = pick(kGrown);
    slots_["skill"] = pick(kSkills);
    slots_["fear"] = pick(kFears);
    slots_["hiding"] = pick(kHiding);
    slots_["treasure"] = pick(kTreasures);
  }

  std::string sentence(const Beat& beat) {
    std::string_view form = pick(beat);
    if (form[0] == '?') form.remove_prefix(1);
    return filled(chosen(form));
  }
  // [x|y|z] becomes one of them.
  std::string chosen(std::string_view form) {
    std::string out;
    while (!form.empty()) {
      const size_t open = form.find('[');
      out += form.substr(0, open);
      if (open == form.npos) break;
      const size_t close = form.find(']', open);
      std::string_view choices = form.substr(open + 1, close - open - 1);
      Words words;
      for (size_t bar = choices.find('|'); bar != choices.npos; bar = choices.find('|')) {
        words.push_back(choices.substr(0, bar));
        choices.remove_prefix(bar + 1);
      }
      words.push_back(choices);
      out += pick(words);
      form.remove_prefix(close + 1);
    }
    return out;
  }
  std::string filled(std::string_view form) const {
    std::string out;
    while (!form.empty()) {
      const size_t open = form.find('{');
      out += form.substr(0, open);
      if (open == form.npos) break;
      const size_t close = form.find('}', open);
      std::string_view slot = form.substr(open + 1, close - open - 1);
      const bool article = slot.starts_with("a ") || slot.starts_with("A ");
      const char a = slot[0];
      if (article) slot.remove_prefix(2);
      const std::string_view word = slots_.find(slot)->second;
      const bool vowel = std::string_view("aeiou").find(word[0]) != word.npos || word == "honest";
      if (article) out += std::string(1, a) + (vowel ? "n " : " ");
      out += word;
      form.remove_prefix(close + 1);
    }
    return out;
  }

  Rng rng_;
  uint64_t draw_;
  std::map<std::string_view, std::string_view> slots_;
};

}  // namespace

std::string tale(uint64_t seed, uint64_t index) { return Teller(seed, index).tell(); }

}  // namespace glint
