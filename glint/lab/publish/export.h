// A run's weights for other programs: as .npy files, or as a folder that PyTorch users expect.
#pragma once

#include <string>
#include <vector>

#include "glint/io/json.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/engine.h"

namespace glint {

struct ExportRequest {
  RunSource source = {};
  std::string npy, hf;            // folders to make
  std::string gguf;               // a file to make, of a language model in the shape of Llama
  std::string gguf_type = "f32";  // of its matrices: f32, f16, q8_0
  bool force = false;             // replace earlier exports
};
std::vector<Field> fields_of(ExportRequest& request);

struct ExportedArray {
  std::string name, file, dtype;
  std::vector<size_t> shape;
  std::string sha256;
  OrderedJson about;  // an object with what else is to be said of it: the form, the layer, what each row is
};

struct ExportResult {
  std::string run;
  std::string linalg;                 // that the export was made with
  std::string npy, hf, gguf;          // what was made; "": not asked for
  std::vector<ExportedArray> arrays;  // in `npy`
  std::vector<std::string> hf_files;  // in `hf`
  std::string loader = {};            // Python that opens `hf`, in that folder
};

// A folder appears whole or not at all; Error (usage) for one that holds anything, but with `force` an
// earlier export is replaced. Without the data of the run the gains of the gates and the fidelity are left
// out, and a note says so. Of a model of another program `npy` has the tensors as f32, and `hf` is the same
// model in the layout of Hugging Face: numbers of f32, f16 and bf16 as they are stored, quantised ones as
// f32.
ExportResult export_run(const Engine& engine, const ExportRequest& request);
ExportResult export_run(const Engine& engine, Run& run, const ExportRequest& request);
OrderedJson to_json(const ExportResult& result);
OrderedJson to_json(const ExportedArray& array);

}  // namespace glint
