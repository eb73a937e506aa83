// A language model of a family, opened from a file of any format that glint reads. The weights stay where
// they are, mapped and as they are stored; norms and biases, a few numbers, are floats in memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/io/weight_file.h"
#include "glint/model/family_config.h"
#include "glint/model/stored_product.h"

namespace glint {

// Weight and bias [d]; both empty: there is no such norm, or one without them.
struct NormWeights {
  bool used = false;
  std::vector<float> weight, bias;
};

struct StoredGlu {
  StoredMatrix gate, up, down;  // L, R, P
  bool empty() const { return gate.empty(); }
};

// In a mixture of experts the GLU is empty, except in layers without experts.
struct FamilyLayer : StoredGlu {
  NormWeights before_attention, after_attention, before_glu, after_glu;
  StoredMatrix q, k, v, o;
  std::vector<float> q_norm, k_norm;  // empty: none
  std::vector<StoredGlu> experts;
  StoredGlu shared;  // the expert of all tokens
  StoredMatrix router;
};

class FamilyModel {
 public:
  // Error (bad_file) for what is no model of a known family, lacks a tensor or has one of another shape.
  explicit FamilyModel(WeightFile file);
  FamilyModel(WeightFile file, FamilyConfig config);
  // `layers` point into the file's list of tensors.
  FamilyModel(const FamilyModel&) = delete;
  FamilyModel& operator=(const FamilyModel&) = delete;
  FamilyModel(FamilyModel&&) = default;

  const WeightFile& file() const { return file_; }
  // What names the weights where somebody has hashed all of them; else "".
  const std::string& hash() const { return hash_; }
  void set_hash(std::string hash) { hash_ = std::move(hash); }
  const FamilyConfig& config() const { return config_; }
  size_t vocab() const { return embedding_.rows; }
  // The tokens that it is run on at once: its context, at most kLongest, which bounds the memory.
  static constexpr size_t kLongest = 4096;
  size_t window() const { return std::min(longest_text(config_), kLongest); }
  bool tied() const { return tied_; }  // the head is the embedding
  bool mixture() const { return config_.experts > 0; }
  const StoredMatrix& embedding() const { return embedding_; }
  const StoredMatrix& head() const { return head_; }
  const NormWeights& final_norm() const { return final_norm_; }
  const std::vector<FamilyLayer>& layers() const { return layers_; }
  // One of them, whose numbers are to be read.
  const FamilyLayer& layer(size_t i) const {
    if (prepare_) prepare_(i);
    return layers_[i];
  }
  // For models whose layers share their memory (redrawn.h): called before the numbers of a layer are read,
  // which are then valid until those of another are. Not for several threads.
  void set_prepare(std::function<void(size_t)> prepare) { prepare_ = std::move(prepare); }

  // Error (numeric) with the name of a tensor that has a weight which is no number, or beyond kLargestWeight.
  // A tensor is looked at when it is first used, and once. The first: of all tensors.
  void check_numbers(ThreadPool& pool) const;
  void check_numbers(const StoredMatrix& matrix, ThreadPool& pool) const;

  // What the parts take, in parameters and in bytes of the file.
  struct Part {
    std::string name;  // embedding, attention, GLU, experts, head, norms and biases
    uint64_t parameters = 0, bytes = 0;
  };
  std::vector<Part> parts() const;
  uint64_t parameters() const;
  // "BF16", or "Q4_K with F32, Q6_K" where there are several: the one with most values first.
  std::string precision() const;
  // "silu, 6 layers, width 288 and 768, 32000 tokens, 15191712 parameters".
  std::string text() const;

 private:
  WeightFile file_;
  FamilyConfig config_;
  StoredMatrix embedding_, head_;
  NormWeights final_norm_;
  std::vector<FamilyLayer> layers_;
  bool tied_ = false;
  mutable std::unique_ptr<std::atomic<bool>[]> checked_;  // of the file's tensors
  std::function<void(size_t)> prepare_;
  std::string hash_;
};

}  // namespace glint
