// What a model is and what can be done with it: models of other programs, and glint's own runs.
#pragma once

#include <string>
#include <vector>

#include "glint/io/json.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/work/engine.h"
#include "glint/model/family_model.h"

namespace glint {

struct ModelInfoRequest {
  std::string path;
  std::string tokenizer = {};  // models of other programs: a file instead of their own tokenizer
};

struct ModelInfo {
  std::string path, format;  // "GGUF", "llama2.c", "safetensors"; "run": glint's own
  std::string family;        // "Llama"; "glint classifier", "glint transformer"
  std::string gate;
  size_t layers = 0, d_model = 0, d_hidden = 0;
  size_t heads = 0, kv_heads = 0, head_dim = 0, vocab = 0, context = 0;  // 0: the model has no such thing
  std::string rotary, norms, attention, experts;                         // in words; models of other programs
  bool tied = false;
  uint64_t parameters = 0;
  std::string precision;
  uint64_t file_bytes = 0, cache_bytes = 0;  // the second: keys and values of a whole window
  size_t window = 0;                         // tokens that glint runs it on at once
  std::vector<FamilyModel::Part> parts;
  std::string tokenizer;  // "SentencePiece, 32000 tokens"; "" none
  Json config;
  struct Verb {
    std::string verb, what;
    bool can = true;  // what does not work yet is told too
  };
  std::vector<Verb> verbs;
};

ModelInfo model_info(const Engine& engine, const ModelInfoRequest& request);
OrderedJson to_json(const ModelInfo& info);

// The configuration of a model of another program, as JSON results have it.
Json family_json(const FamilyModel& model);

}  // namespace glint
