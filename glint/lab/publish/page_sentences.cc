// Sentences on the page of a model that is not packed in: after every token what the model expects, what each part
// adds to that logit, and the eigenvectors of the GLUs that add most.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/publish/page_run.h"
#include "glint/lab/read/explain_token.h"

namespace glint {
namespace {

constexpr size_t kSentenceTokens = 32, kSentenceLayers = 2, kSentenceVectors = 3, kSentenceWords = 6,
                 kSentenceExpected = 3;
constexpr const char* kUsualSentences[] = {"The capital of France is", "Once upon a time there was a little",
                                           "The doctor gave her patient the"};

double rounded(double v) { return std::isfinite(v) ? std::round(v * 1e4) / 1e4 : 0; }

std::vector<double> rounded(std::vector<double> values) {
  for (double& v : values) v = rounded(v);
  return values;
}

// The layers whose GLUs add most to what the model expects after these tokens, from 1 on.
std::vector<size_t> strongest_layers(const LanguageReading& model, std::span<const TokenId> ids) {
  const ResidualTrace trace = model.follow(ids);
  const auto top = std::ranges::max_element(trace.logits);
  const auto token = static_cast<TokenId>(top - trace.logits.begin());
  const Matrix<double> direction = model.token_directions({&token, 1});
  const LogitParts parts = logit_parts(trace, direction.span(), model.token_constant(token), *top);
  std::vector<size_t> layers(parts.glu.size());
  std::iota(layers.begin(), layers.end(), size_t{1});
  std::ranges::stable_sort(
      layers, [&](size_t a, size_t b) { return std::fabs(parts.glu[a - 1]) > std::fabs(parts.glu[b - 1]); });
  layers.resize(std::min(layers.size(), kSentenceLayers));
  return layers;
}

OrderedJson explained_json(const ExplainedLayer& e) {
  OrderedJson j = {{"layer", e.share.layer + 1},
                   {"share", rounded(e.share.share)},
                   {"quadratic", rounded(e.share.quadratic)},
                   {"linear", rounded(e.share.linear)},
                   {"constant", rounded(e.share.constant)},
                   {"rest", rounded(e.share.rest)},
                   {"r2", rounded(e.trust.r2)},
                   {"eigenvectorsR2", rounded(e.trust.eigenvectors_r2)},
                   {"linearMap", rounded(e.linear_map_r2)},
                   {"terms", OrderedJson::array()}};
  for (const auto* side : {&e.forward, &e.against})
    for (const ExplainedVector& v : *side) {
      OrderedJson words = OrderedJson::array();
      for (const NearToken& t : v.words()) words.push_back({t.text, rounded(t.cosine)});
      j["terms"].push_back({{"value", rounded(v.eigenvalue)},
                            {"projection", rounded(v.projection)},
                            {"adds", rounded(v.contribution)},
                            {"words", std::move(words)}});
    }
  return j;
}

OrderedJson position_json(const ExplainTokenResult& r) {
  OrderedJson j = {{"position", r.position},
                   {"token", r.token.text},
                   {"logit", rounded(r.parts.logit)},
                   {"embedding", rounded(r.parts.embedding)},
                   {"attention", rounded(r.parts.attention)},
                   {"glu", rounded(r.parts.glu)},
                   {"constant", rounded(r.parts.constant)},
                   {"expected", OrderedJson::array()},
                   {"layers", OrderedJson::array()}};
  for (size_t i = 0; i < std::min(kSentenceExpected, r.expected.size()); i++)
    j["expected"].push_back({r.expected[i].text, rounded(r.expected[i].probability)});
  return j;
}

}  // namespace

OrderedJson page_sentences(const Engine& engine, LanguageRun& run, const PageRequest& q) {
  struct Step {
    size_t layer, sentence, position;
  };
  std::vector<std::string> texts = q.sentences;
  if (texts.empty()) texts.assign(std::begin(kUsualSentences), std::end(kUsualSentences));
  OrderedJson out = OrderedJson::array();
  std::vector<Step> steps;
  for (const std::string& text : texts) {
    const std::vector<TokenId> ids = run.tokens_of(text);
    const size_t marks = run.beginning().size(), tokens = ids.size() - marks;
    const size_t most = std::min(kSentenceTokens, run.reading().context() - marks);
    if (tokens == 0 || tokens > most) {
      if (q.sentences.empty()) continue;  // of the usual ones those that the model can read
      throw Error({.code = ErrorCode::usage,
                   .what = "a sentence has " + std::to_string(tokens) + " tokens: " + text,
                   .where = "sentence",
                   .expected = "1 to " + std::to_string(most)});
    }
    OrderedJson words = OrderedJson::array();
    for (size_t i = marks; i < ids.size(); i++) {
      words.push_back(run.piece(ids[i]));
      for (const size_t layer : strongest_layers(run.reading(), std::span(ids).first(i + 1)))
        steps.push_back({layer, out.size(), i + 1 - marks});
      engine.check_stop();
    }
    out.push_back({{"text", text}, {"tokens", std::move(words)}, {"at", OrderedJson::array()}});
    for (size_t i = 0; i < tokens; i++) out.back()["at"].push_back(nullptr);
  }
  // Layer by layer, since what a layer reads is computed from the first one on.
  std::ranges::stable_sort(steps, {}, &Step::layer);
  for (size_t i = 0; i < steps.size(); i++) {
    engine.progress({.label = "sentences", .done = i, .total = steps.size(), .unit = "readings"});
    const Step& step = steps[i];
    ExplainRequest ask;
    ask.prompt = out[step.sentence]["text"].get<std::string>(), ask.position = step.position;
    ask.layers = std::to_string(step.layer), ask.show = kSentenceVectors, ask.near = kSentenceWords;
    ask.figures = false;
    const ExplainTokenResult r = explain_token(engine, run, ask);
    OrderedJson& at = out[step.sentence]["at"][step.position - 1];
    if (at.is_null()) at = position_json(r);
    at["layers"].push_back(explained_json(r.layers.at(0)));
  }
  return out;
}

}  // namespace glint
