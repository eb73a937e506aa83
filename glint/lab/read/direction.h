// What a layer is read along, in one grammar for the program, Python and pages:
//
//   3, trouser, 3-5, 5..9, all    classes of an image model, and one against another (UnitWord)
//   happy, happy - sad, #17       tokens of a language model, and sums of them
//   hidden:12                     the product gate(l) r of a hidden unit, from 1 on
//   latent:17, latent:0..9        latents of the autoencoder `sae`, from 0 on as their programs count
//   v.npy                         a vector of the layer's output; of a language model a direction of its stream
//
// Commas stand between several of a kind. class:, token: and file: say what a word is that could be another
// thing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "glint/io/fields.h"
#include "glint/model/config_file.h"

namespace glint {

struct Along {
  // A vector that a program has in memory, as wide as the layer's output.
  struct Vector {
    std::string name = "direction";
    std::vector<double> values;
  };

  std::vector<std::string> directions = {};  // in the grammar above; none: all classes of an image model
  std::vector<Vector> vectors = {};          // beside them
  // Below the last layer of an image model classes are read through an eigenvector of each layer above, by
  // rank, from the last layer down: "1", "2,1".
  std::string via = "1";
  // A sparse autoencoder or transcoder (model/autoencoder.h). `side`: decoder, what a latent writes; encoder,
  // what it looks for. `sae_reads`: input or output of this layer, "auto": what its file says.
  std::string sae = {}, side = "decoder", sae_reads = "auto";
  // All of them are directions of a later layer, from 1 on, and the layer is read along eigenvectors of their
  // forms there: "+1" the strongest for, "-1" the strongest against, "+2,-1".
  std::optional<size_t> from_layer = {};
  std::string eigenvector = "+1";

  bool none() const { return directions.empty() && vectors.empty(); }
};

std::vector<Field> fields_of(Along& along);
// `sae` with `side` and `sae_reads`, which those are among.
std::vector<Field> autoencoder_fields(std::string& sae, std::string& side, std::string& sae_reads);

// What a word of the grammar is.
struct DirectionWord {
  enum class Kind { unit, token, file, hidden, latent } kind;
  std::string text;  // without the prefix
};
// Those of a kind of model, in the order of kinds. Error (usage) for what the other kind of model has.
std::vector<DirectionWord> direction_words(const Along& along, ModelKind kind);
// The texts of one kind among them, with commas between.
std::string words_of(const Along& along, ModelKind kind, DirectionWord::Kind wanted);

// "17", "3,8", "0..9"; "all" of those that have an end. Error (usage) with the parameter for anything else:
// "there is no latent 20".
std::vector<size_t> parse_numbers(const std::string& text, const std::string& parameter, const std::string& noun,
                                  size_t low, size_t high = SIZE_MAX);

// The words of the parameter `unit`: which outputs of a classifier to read.
//
//   3          a class, by number or by name (case does not matter)
//   3-5        class 3 against class 5: the difference of their logits
//   5..9       classes 5 to 9
//   all        every class
// and lists of these with commas.

struct UnitWord {
  size_t plus = 0;
  std::optional<size_t> minus = {};
  bool operator==(const UnitWord&) const = default;
};

// Error (usage) with the nearest class for what is none. `parameter` is for the message.
std::vector<UnitWord> parse_units(const std::string& text, const std::vector<std::string>& class_names,
                                  const std::string& parameter = "unit");
size_t parse_class(const std::string& text, const std::vector<std::string>& class_names, const std::string& parameter);

}  // namespace glint
