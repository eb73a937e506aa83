// The explorer of a model, or of two of one kind beside each other: one HTML file in which a person sees why
// a model decides as it does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/direction.h"
#include "glint/lab/work/engine.h"

namespace glint {

struct PageRequest {
  RunSource source = {};    // the first
  std::string second = {};  // another model of the same kind; "": none
  std::string out = {};     // "": explorer.html in the run
  // Test images that the page of an image run holds, and eigenvectors of either sign that it holds for every
  // class. none: 1000 and 8, and rather fewer than a page over the limit.
  std::optional<size_t> images = {}, show = {};
  size_t limit = 5000000;  // largest size in bytes
  // Language models that are not packed in whole: those of other programs, two beside each other, and a run
  // when one of these is given. Layers from 1 on with commas between, "": six of them; directions, none: twelve
  // frequent words.
  std::string layers = {};
  Along along = {};
  std::vector<std::string> sentences = {};  // that can be looked at token by token; none: a few usual ones
};
std::vector<Field> fields_of(PageRequest& request);

struct PageFormResult {
  std::string name;                     // "weights", "scaled", "calibrated"
  Fidelity fidelity = {};               // of an image run
  std::vector<LayerTrust> layers = {};  // of a language run
};

struct PageRunResult {
  std::string name;
  std::vector<PageFormResult> forms;
  std::vector<Controls> controls = {};  // one; of a language run one per layer
};

struct PageResult {
  std::string page;  // the file
  size_t bytes = 0;
  std::string linalg = {};     // what computed the readings
  bool half = false;           // the weights are f16, because f32 would be over the limit
  double logit_deviation = 0;  // how much a logit changes at most when the weights are f16
  bool language = false;
  size_t images = 0, vectors = 0;  // of image runs
  std::vector<PageRunResult> runs;
};

// Error (usage) for a second run that does not fit the first, and for a page over the limit even with f16 and
// as few images and eigenvectors as may be. A note says when they are fewer than asked for.
PageResult write_page(const Engine& engine, const PageRequest& request);
// `run` is the first, open already.
PageResult write_page(const Engine& engine, Run& run, const PageRequest& request);
OrderedJson to_json(const PageResult& result);

}  // namespace glint
