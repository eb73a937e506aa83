// How alike the eigenvectors of models are, beside a control; the paper's figure 2B.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/engine.h"
#include "glint/lab/work/result_files.h"
#include "glint/spectra/model_comparison.h"

namespace glint {

struct CompareRequest {
  // Pairs: A B, C D, ...; two folders with one run per seed are paired seed by seed.
  std::vector<std::string> runs;
  RunSource source = {};     // of each; `run` is not looked at, and those that are read otherwise are not refined
  std::string control;       // "A,B": runs to compare with each other, or a folder with one run per seed
  std::string unit = "all";  // classes: 3, 3..5, or 0,2,7..9
  // Language models: which layer, from 1 on, none: the last; tokens with commas between, "": the most frequent
  // ones of the first model's text. Tokens are the same when their pieces are, whatever their numbers.
  std::optional<size_t> layer = {};
  std::string token = {};
  std::string form = "weights";  // or auto, scaled, calibrated; Run::form of each run
  bool controls = true;          // measure the controls of the fidelities
  // "pixels" (images) and "tokens" (language models): what an eigenvector is for the samples, which any two
  // models have in common. "input": what the layer reads, for models of one width. "auto": the first of them.
  std::string space = "auto";
  size_t show = 10;      // eigenvectors of each sign
  bool figures = true;   // write compare.svg and compare-matrix.svg into OUT/figures
  std::string out = {};  // "": the first run
};
std::vector<Field> fields_of(CompareRequest& request);

struct ComparedModel {
  std::string directory, gate, data;
  std::optional<uint64_t> seed;
  size_t width = 0, layers = 0;
  size_t layer = 0;                       // that is read, from 0 on
  Form form = Form::weights;              // that it is read through
  Fidelity fidelity;                      // of the form, on the test images or a text
  std::optional<Controls> controls = {};  // of that form; none when they were not asked for
};

// What the paper says (section 4.1), and what one measure gives here.
inline constexpr double kClaimTop = 0.95, kClaimFloor = 0.5;
struct SimilarityClaim {
  Measure measure;
  double top = 0, lowest_mean = 1, lowest = 1;  // top: rank 1, for subspaces the best dimension
  size_t top_rank = 1, lowest_rank = 1;
  bool top_holds() const { return top >= kClaimTop; }
  bool floor_holds() const { return lowest >= kClaimFloor; }
};

struct Comparison {
  std::string linalg;  // what computed it
  bool language = false;
  std::string form, space;  // form: "scaled", or "scaled and calibrated" where the runs differ
  std::string space_text;   // language models: what is compared, in words
  size_t top = 0;
  std::vector<ComparedModel> a, b;      // [pairs]
  std::vector<PairComparison> results;  // [pairs]
  std::vector<PairComparison> control;
  bool random_control = false;
  // The same models as functions, no eigenvectors matched: [pairs], and of the control where that is runs.
  // Empty where the models are no quadratic forms of the space: several layers, seen from the pixels.
  std::vector<FunctionalSimilarity> functional, functional_control;
  std::string control_text;  // which control it is
  std::vector<size_t> units;
  std::vector<std::string> unit_names;  // "3 Dress"
  // |cos| of the first pair, [units]: rows those of a, columns of b; the top k above 0, then the top k below,
  // the strongest first.
  std::vector<Matrix<double>> matrices;
  size_t positive_rows = 0, positive_columns = 0;  // of the first matrix
  std::vector<std::string> notes;                  // about runs that were left out and about the control
  std::string figures;                             // the folder they are in; "": none were written

  std::vector<SimilarityClaim> claims() const;
  // "sqs with identity": the gates of the two sides.
  std::string gates() const;
};

// The numbers alone: no figures, and the notes stay in the result.
Comparison compare_runs(const Engine& engine, const CompareRequest& request);
// The notes told, and the figures written when the request has a folder for them.
Comparison compare(const Engine& engine, const CompareRequest& request);
OrderedJson to_json(const Comparison& result);
// compare and compare-matrix; the stems are in the folder.
std::vector<FigureFile> draw_comparison(const Comparison& result, const std::string& folder);

std::string_view title(Measure measure);  // "rank-matched"

}  // namespace glint
