// Labelled images: MNIST, Fashion-MNIST, the built-in glyphs, or a folder of IDX files; where they are looked
// for, and what `glint data` shows about them. data/arrays.h makes such sets from arrays in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/matrix.h"

namespace glint {

class ThreadPool;
struct Kernels;

// Samples are bytes or floats: one of the two matrices is empty.
struct ImageSet {
  Matrix<uint8_t> pixels;                     // [count, height * width], 0 = background
  Matrix<float> values = {};                  // [count, inputs]
  std::vector<uint32_t> labels;               // each below classes
  size_t height = 0, width = 0, classes = 0;  // height and width are 0 when the samples are no pictures
  size_t count() const { return labels.size(); }
  size_t inputs() const { return pixels.cols() + values.cols(); }  // numbers per sample
  bool floats() const { return values.size() > 0; }
  bool pictures() const { return height > 0; }
  ImageSet rows(std::span<const uint32_t> some) const;  // these samples, in this order
};

// A sample as a model reads it: pixels / 255, or the floats as they are.
void write_sample(const Kernels& kernels, std::span<const uint8_t> pixels, float* out);
void write_sample(const Kernels& kernels, std::span<const float> values, float* out);
void write_sample(const Kernels& kernels, const ImageSet& set, size_t i, float* out);

// Picture `i` for people to look at: of floats 0 is black and 1 white. Empty when the samples are no
// pictures.
std::vector<uint8_t> picture_bytes(const ImageSet& set, size_t i);

struct Dataset {
  std::string name;
  ImageSet train, test;
  std::vector<std::string> class_names;
  // Hex. A set from files: SHA-256 of the lines that `sha256sum train-images-idx3-ubyte train-labels-idx1-ubyte
  // t10k-images-idx3-ubyte t10k-labels-idx1-ubyte` prints for the unpacked files. Arrays:
  // content_checksum.
  std::string checksum;
  std::string origin;  // the folder, "built in" or kFromMemory
};
inline constexpr const char* kFromMemory = "memory";

// The folders to look in, in this order: data_dir/NAME and data_dir, environment/NAME, data_home/glint/NAME,
// system/NAME. An empty one is left out.
struct DataPaths {
  std::string data_dir;     // --data-dir
  std::string environment;  // GLINT_DATA
  std::string data_home;    // XDG_DATA_HOME or HOME/.local/share
  std::string system = "/usr/share/datasets";
};
DataPaths data_paths_from_environment(const std::string& data_dir = {});
// The folders that are looked through for the set `name`.
std::vector<std::string> data_folders(const DataPaths& paths, const std::string& name);

struct DataOptions {
  DataPaths paths = {};
  uint64_t glyph_seed = 0;  // the glyphs are the same for every training seed unless this is set
  size_t glyph_train = 10000, glyph_test = 2000;
  ThreadPool* pool = nullptr;  // null: one thread
};

// `mnist`, `fashion-mnist`, `glyphs`, or a folder with the four IDX files (NAME, NAME.gz, and the variant
// with a dot, train-images.idx3-ubyte). The first two must have the published checksums. Throws Error:
// `usage` for another word, `bad_file` for a set that is not there (it lists where it looked and the command
// that gets it) or is not what it should be.
Dataset load_dataset(const std::string& name_or_dir, const DataOptions& options);

// True for what load_dataset would take: a word that it knows, or a folder with the four files.
bool is_image_data(const std::string& name_or_dir);

// The size of the four files, unpacked, with their headers.
size_t unpacked_bytes(const Dataset& data);

enum class DataState { built_in, verified, damaged, not_found };
std::string_view name(DataState state);

struct DatasetStatus {
  std::string name;
  std::string summary;  // one line for people
  DataState state = DataState::not_found;
  std::string origin;               // when found
  std::vector<std::string> looked;  // each folder, and what is missing there
  size_t train = 0, test = 0, height = 0, width = 0, classes = 0;
  size_t bytes = 0;      // unpacked
  std::string checksum;  // when it could be read
  std::string problem;   // the error message when damaged
  std::string command;   // that gets it, "" for built-in
};

// Every known set, loaded and checked. Never throws for what it finds.
std::vector<DatasetStatus> list_datasets(const DataOptions& options);

// The words that load_dataset knows.
std::vector<std::string> dataset_names();

}  // namespace glint
