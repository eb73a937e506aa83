// A model of a family in the layout of Hugging Face, whatever file it comes from: the names of its tensors,
// what is done to them, and config.json. The other direction of family_config.h and family_model.h, for files
// of GGUF and llama2.c.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "glint/io/json.h"
#include "glint/model/family_model.h"

namespace glint {

struct HfTensor {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  const StoredTensor* from = nullptr;
  std::vector<size_t> shape;
  size_t first = 0;  // value of `from` that it begins with: that of an expert
  size_t heads = 0;  // pairs (2j, 2j + 1) of so many heads become (j, j + half); 0: none
  float add = 0;     // -1: norms that Hugging Face stores without their 1
  size_t values() const;
};

// By name. Error (bad_file) for a tensor of the file that has no place there.
std::vector<HfTensor> hf_tensors(const FamilyModel& model);
// The values of one, as float.
void widen(const HfTensor& tensor, std::span<float> out);

// config.json, such that family_config reads the same model from it. Error (bad_file) for what Hugging Face
// has no words for.
Json hf_family_config(const FamilyModel& model);

}  // namespace glint
