#include "glint/lab/read/passages.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/data/text_data.h"
#include "glint/lab/models/model_stories.h"
#include "glint/lab/read/read_directions.h"
#include "glint/report/signed_picture.h"

namespace glint {
namespace {

constexpr size_t kBatchTokens = 4096;  // that go through the model together, or one story

std::vector<Probe> probes_of(const GluModel& model, size_t layer, const PassagesRequest& q) {
  const GluLayerView view = model.layer(layer);
  if (q.vectors.rows() != q.values.size() || (q.vectors.rows() > 0 && q.vectors.cols() != view.width()))
    bad_argument("vectors",
                 std::to_string(q.vectors.rows()) + " vectors of " + std::to_string(q.vectors.cols()) +
                     " numbers and " + std::to_string(q.values.size()) + " eigenvalues",
                 "eigenvectors of " + std::to_string(view.width()) + " numbers, an eigenvalue each");
  std::vector<Probe> probes;
  for (size_t k = 0; k < q.values.size(); k++) {
    const std::span<const double> v = q.vectors.view().row(k);
    probes.push_back({.value = q.values[k], .vector = {v.begin(), v.end()}});
  }
  for (const size_t unit : q.hidden) {
    const Directions one = hidden_direction(model, layer, unit);
    const std::span<const double> weights = one.weights.view().row(0);
    for (const double sign : {1.0, -1.0}) probes.push_back({.weights = {weights.begin(), weights.end()}, .sign = sign});
  }
  if (probes.empty()) bad_argument("vectors", "nothing to look for", "eigenvectors or hidden units");
  return probes;
}

// All stories through the finder, some at a time.
PassageText search(const Engine& engine, LanguageRun& run, StorySource& source, uint64_t most, PassageFinder& finder) {
  const size_t window = run.reading().context();
  PassageText text{.name = source.name()};
  std::vector<Stretch> batch;
  size_t batch_tokens = 0;
  const auto flush = [&] {
    if (!batch.empty()) finder.add(batch);
    batch.clear(), batch_tokens = 0;
    engine.progress({.label = "passages", .done = source.done(), .total = source.total(), .unit = source.unit()});
    engine.check_stop();
  };
  uint64_t planned = 0;  // tokens that count, those of the batch included
  for (std::vector<TokenId> story; source.next(story);) {
    if (most > 0 && planned >= most) {
      text.whole = false;
      break;
    }
    for (const TextWindow& w : text_windows(story.size(), window)) {
      const size_t from = w.first == 0 ? std::max(w.from, source.marks()) : w.from;
      const auto first = story.begin() + static_cast<std::ptrdiff_t>(w.first);
      batch.push_back({.story = text.stories,
                       .first = w.first,
                       .tokens = {first, first + static_cast<std::ptrdiff_t>(w.count)},
                       .from = std::min(from, w.count)});
      planned += w.count - batch.back().from;
      batch_tokens += w.count;
      if (batch_tokens >= kBatchTokens) flush();
    }
    text.stories++;
  }
  flush();
  engine.progress({.label = "passages", .done = source.total(), .total = source.total(), .unit = source.unit()});
  text.tokens = finder.tokens();
  if (text.tokens == 0) bad_file(text.name, "there is no text to look in", "a few stories");
  return text;
}

// Whole, with the words of its tokens; marks are left out.
ShownPassage shown_passage(const Tokenizer& tokenizer, size_t marks, const Probe& probe, const Passage& p,
                           double largest) {
  ShownPassage out{.story = p.story + 1, .first = p.first + 1, .value = 0, .tokens = {}};
  const size_t skip = p.first < marks ? marks - static_cast<size_t>(p.first) : 0;
  const std::vector<TokenId> ids(p.tokens.begin() + static_cast<std::ptrdiff_t>(skip), p.tokens.end());
  const std::vector<std::string> words = text_of_tokens(tokenizer, ids);
  for (size_t i = 0; i < ids.size(); i++) {
    const double shown = p.shown[i + skip];
    const double strength = probe.vector.empty() ? std::fabs(shown) : std::fabs(probe.value) * shown * shown;
    out.tokens.push_back({.id = ids[i],
                          .piece = tokenizer.piece(ids[i]),
                          .text = words[i],
                          .shown = shown,
                          .strength = largest > 0 ? std::copysign(std::min(1.0, strength / largest), shown) : 0});
  }
  out.first = p.first + skip + 1 - marks;
  out.strongest = p.strongest - skip;
  const double shown = p.shown[p.strongest];
  out.value = probe.vector.empty() ? shown : probe.value * shown * shown;
  return out;
}

}  // namespace

std::vector<Field> fields_of(PassagesRequest& q) {
  return join(
      fields_of(q.source),
      {Field("texts", q.texts, "Texts to look in; default: the text of the model, or its stories"),
       Field("layer", q.layer, "Which layer, from 1 on; default: the last").range(1, 1000),
       Field("values", q.values, "Eigenvalues of the vectors"),
       Field("numbers", q.numbers, "What the vectors are called; default: 1, 2, ..."),
       Field("hidden", q.hidden, "Hidden units, from 1 on"), Field("count", q.count, "Passages of each").range(1, 1000),
       Field("near", q.near, "How many tokens stand for an eigenvector").range(0, 100),
       Field("passage_tokens", q.tokens, "How many tokens to look at; 0: all").range(0, 1e12)});
}

PassagesResult passages(const Engine& engine, const PassagesRequest& request) {
  return passages(engine, *open_language_run(engine, request.source), request);
}

PassagesResult passages(const Engine& engine, LanguageRun& run, const PassagesRequest& q) {
  const LanguageReading& model = run.reading();
  PassagesResult r{.run = run.directory(),
                   .model = run.text(),
                   .linalg = engine.linalg().description(),
                   .text = {},
                   .responses = {}};
  r.layer = asked_layer(model, q.layer), r.layers = model.layers();
  const std::vector<Probe> probes = probes_of(model, r.layer, q);
  PassageFinder finder(model, r.layer, probes, {.count = q.count});
  StorySource source(run, q.texts, q.source.text.empty() ? run.source().data : q.source.text);
  r.text = search(engine, run, source, q.tokens, finder);
  const std::vector<ProbePassages> found = finder.result();
  const std::vector<NearTokens> near = near_tokens(run, q.vectors, q.near);
  for (size_t i = 0; i < probes.size(); i++) {
    const Probe& probe = probes[i];
    Responses one{.name = {}, .eigenvector = !probe.vector.empty(), .value = probe.value};
    if (one.eigenvector) {
      one.name = "eigenvector " + std::to_string(i < q.numbers.size() ? q.numbers[i] : i + 1);
      one.near = near[i];
    } else {
      one.name = "hidden unit " + std::to_string(q.hidden[(i - q.values.size()) / 2]) +
                 (probe.sign > 0 ? ", above 0" : ", below 0");
    }
    one.mean = found[i].mean;
    const double largest = found[i].passages.empty() ? 0 : found[i].passages[0].strength;
    for (const Passage& p : found[i].passages)
      one.passages.push_back(shown_passage(run.tokenizer(), source.marks(), probe, p, largest));
    r.responses.push_back(std::move(one));
  }
  return r;
}

std::string searched_text(const PassageText& t) {
  return (t.whole ? std::to_string(t.tokens) + " tokens of "
                  : "the first " + std::to_string(t.tokens) + " tokens of ") +
         t.name + ", " + std::to_string(t.stories) + (t.stories == 1 ? " story" : " stories");
}

std::string passage_caption(const Responses& r, const ShownPassage& p) {
  const double times = r.mean > 0 ? std::fabs(p.value) / r.mean : 0;
  return signed_text(p.value) + ", " + fixed_text(times, times < 10 ? 1 : 0) + " times the mean" +
         (r.eigenvector ? p.tokens[p.strongest].shown < 0 ? ", against" : ", along" : "") + "; story " +
         std::to_string(p.story);
}

MarkedText marked(const Responses& r, const ShownPassage& p) {
  MarkedText text{.title = passage_caption(r, p), .words = {}};
  for (size_t i = 0; i < p.tokens.size(); i++)
    text.words.push_back({p.tokens[i].text, p.tokens[i].strength, i == p.strongest});
  return text;
}

}  // namespace glint
