// An open language model: one that glint trained, or one of another program in any format that glint reads.
// They differ in what they bring: a run of glint has parameters, a corpus and run.json; a model of another
// program has a file that is mapped, and perhaps no tokenizer.
#pragma once

#include <map>
#include <optional>

#include "glint/base/error.h"
#include "glint/data/batches.h"
#include "glint/data/text_data.h"
#include "glint/lab/models/run.h"
#include "glint/model/language_file.h"
#include "glint/spectra/language_reading.h"

namespace glint {

// Where the results of such a model go unless it is said: "stories15M-reading", in the folder where the program
// is.
std::string reading_folder(const std::string& path);

// A model with its tokenizer.
struct LanguageFile {
  RunInfo info;
  std::shared_ptr<const LanguageModel> own;  // of a run of glint: its parameters; else null
  FamilyModel model;
  Tokenizer tokenizer = {};                // empty: there is none
  std::optional<ErrorParts> refused = {};  // why the one that lies there is not used
};

// A model of another program: Error (bad_file) for a tokenizer that was given and has another number of tokens
// than the model, or other tokens than the model's own tokenizer; one that lies there and is wrong counts as
// none (`refused`).
LanguageFile open_language_file(const RunSource& source, const Json* config = nullptr);

// A piece as people read it, "·happy" where a word begins.
std::string piece_text(const Tokenizer& tokenizer, TokenId token);

class LanguageRun : public Run {
 public:
  // For open_language_run.
  LanguageRun(const Engine& engine, const RunSource& source, std::shared_ptr<const LanguageFile> file);

  std::string results() const override { return foreign() ? reading_folder(directory()) : directory(); }
  ModelKind kind() const override { return ModelKind::language; }
  std::string text() const override;
  Json config() const override;
  GateKind gate() const override { return model().config().gate.kind; }
  const std::string& trained_on() const override;
  const LanguageReading& reading() const override { return reading_; }
  std::unique_ptr<Run> again(const Engine& engine, const RunSource& source) const override;
  const FamilyModel& model() const { return file_->model; }

  // Whether another program made it.
  bool foreign() const override { return !file_->own; }
  // The parameters of a run of glint; Error (bad_file) of another program's: `what` cannot take it.
  const LanguageModel& own(const std::string& what = "this") const;
  // A mixture of experts is not run: there is nothing to measure on, and the form is that of the weights.
  bool mixture() const { return model().mixture(); }

  bool has_tokenizer() const { return !file_->tokenizer.empty(); }
  const Tokenizer& tokenizer() const;  // Error (bad_file) where there is none
  // Says that the tokenizer that lies there is not used, where that is so.
  void note_tokenizer() const;
  // What the model reads before a text, a text with that before it, and what ends a text.
  std::vector<TokenId> beginning() const;
  std::vector<TokenId> tokens_of(const std::string& text) const;
  std::vector<TokenId> ends() const;
  // A piece as people read it, "·happy" where a word begins, "#300" where the tokenizer has none.
  std::string piece(TokenId token) const;

  // `train` calibrates, readings are measured on `valid`. `samples` says what `valid` is: "validation stories",
  // "the built-in tales", the name of a file.
  const TextData& stories();
  // The corpus that the source names, or that of the run. Error where another tokenizer made it.
  TextData corpus() const;
  std::string samples() const;
  const std::string& data_name() override { return stories().name; }
  const std::string& data_checksum() override { return stories().checksum; }
  // Makes rows of stories as the model reads them; 0: of its context.
  TextRows rows(size_t context = 0) const;
  // Of how many tokens the first stories calibrate, and of how many readings are measured on: 20,000; of a
  // model of another program 4,000, for models of more than 100 million parameters fewer, down to 500.
  size_t tokens() const;
  size_t calibration_tokens() const;
  Activations measured(size_t layer) override;
  Activations fitted(size_t layer) override;
  // The stories that readings are measured on, as rows.
  std::span<const TokenRow> measured_rows();

  // Models of other programs with more parameters have no twin: drawing it takes too long.
  static constexpr uint64_t kTwinParameters = uint64_t{1} << 30;
  bool has_untrained() const override { return !foreign() || model().parameters() <= kTwinParameters; }
  std::string untrained_text() const override;

  bool has(Form form) const override;
  std::string unmeasured() override;
  std::vector<GateTerms> lines(Form form) override;
  GateTerms line(Form form, size_t layer) override;
  CalibrationInfo calibration_info(size_t layer) override;
  // Layers that were computed so far, each of one half of the text: what the work is counted by.
  size_t layers_computed() const;

 private:
  std::unique_ptr<Run> make_untrained() override;
  StoredCalibration measure_calibration() override;
  bool own_text() const;  // read on a text or on tales, not on the corpus of a run
  // What the layer reads on the half of the text that calibrates, or that readings are measured on. Both go
  // on together where layers share their memory.
  enum Half { calibrating, measuring };
  const Matrix<float>& inputs(Half half, size_t layer);
  LayerPass& pass(Half half);
  const PerForm<GateTerms>& fitted_forms(size_t layer);

  std::shared_ptr<const LanguageFile> file_;
  LanguageReading reading_;
  std::shared_ptr<TextData> stories_;
  std::optional<TextRows> rows_;
  std::span<const TokenRow> measured_;  // in rows_
  std::optional<LayerPass> passes_[2];
  std::map<size_t, PerForm<GateTerms>> fitted_;  // of layers, where no calibration is stored
  bool twin_ = false;
};

}  // namespace glint
