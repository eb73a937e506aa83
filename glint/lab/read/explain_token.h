// Why a language model expects a token: its logit, or the difference of two, split into what the embedding,
// every attention and every GLU add on the direct path, and the share of a GLU by eigenvectors.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "glint/lab/models/run.h"
#include "glint/lab/read/explain.h"
#include "glint/lab/read/near_tokens.h"
#include "glint/report/logit_figure.h"
#include "glint/spectra/logit_parts.h"

namespace glint {

struct ReadToken {
  TokenId id = 0;
  std::string piece, text;  // as the tokenizer spells it; as people read it
};

struct ExpectedToken : ReadToken {
  double logit = 0, probability = 0;
  size_t place = 0;  // 1: the one that the model expects most
};

struct ExplainedVector {
  size_t rank = 0;  // 1: the largest eigenvalue
  double eigenvalue = 0, projection = 0, contribution = 0;
  NearTokens near = {};
  // The tokens on the side on which the input is.
  const std::vector<NearToken>& words() const { return projection < 0 ? near.against : near.along; }
};

struct ExplainedLayer {
  GluShare share;
  std::vector<ExplainedVector> forward, against;  // strongest first
  NearTokens linear_near = {};
  bool normed_after = false;  // a norm follows the GLU, whose size is taken as it is at this input
  // How far the form is the layer along this direction, over the tokens that readings are measured on.
  Trust trust = {};
  double linear_map_r2 = 0;
};

struct ExplainTokenResult {
  std::string run, model, linalg;
  std::string text;                // that the model has read: up to the position
  std::vector<ReadToken> tokens;   // all of the text, marks before it included
  size_t marks = 0, position = 0;  // so many tokens are marks; so many of the text were read
  ExpectedToken token;
  std::optional<ExpectedToken> against;
  std::vector<ExpectedToken> expected;  // most first
  double cap = 0;                       // of the logits; 0: none
  LogitParts parts;
  Form form = Form::weights,
       trusted = Form::weights;  // `trusted`: the form whose fidelity is given: the one shown; for local, the default
  std::string samples;           // what it is measured on
  size_t inputs = 0;             // tokens of it
  std::vector<ExplainedLayer> layers;
  std::string figure;  // the SVG that was written
};

ExplainTokenResult explain_token(const Engine& engine, const ExplainRequest& request);
ExplainTokenResult explain_token(const Engine& engine, LanguageRun& run, const ExplainRequest& request);

// "·happy" or "·happy against ·sad".
std::string asked_text(const ExplainTokenResult& result);
// "the model expects ·happy with 12.3 %".
std::string verdict_text(const ExplainTokenResult& result);
// What the sum of the parts is, and that it is the logit.
std::string check_text(const ExplainTokenResult& result);
// How far the form can be trusted, a sentence.
std::string trust_text(const ExplainTokenResult& result, const ExplainedLayer& layer);
// What the direct path leaves out or takes as it is.
std::string path_text(const ExplainTokenResult& result);
LogitFigure explanation_figure(const ExplainTokenResult& result);

// "schema": "glint-explain-token/1".
nlohmann::ordered_json to_json(const ExplainTokenResult& result);

}  // namespace glint
