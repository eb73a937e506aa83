#include "glint/data/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/base/text.h"
#include "glint/base/threads.h"
#include "glint/data/glyphs.h"
#include "glint/data/idx.h"
#include "glint/kernels/kernels.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

// The order of the checksum lines, and of every table of four below.
constexpr std::array<const char*, 4> kFiles = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
constexpr size_t kTrainImages = 0, kTrainLabels = 1, kTestImages = 2, kTestLabels = 3;

struct KnownSet {
  const char* name;
  const char* summary;
  size_t classes;
  std::array<const char*, 4> sha256;  // of the unpacked files, as published
  std::array<const char*, 10> class_names;
};

constexpr KnownSet kKnown[] = {
    {"mnist",
     "handwritten digits",
     10,
     {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
      "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
      "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
      "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
     {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
    {"fashion-mnist",
     "pieces of clothing",
     10,
     {"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
      "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
      "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
      "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
     {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"}},
};
constexpr const char* kGlyphs = "glyphs";
constexpr size_t kAnyClasses = 256;  // a label is a byte

const KnownSet* find_known(const std::string& name) {
  for (const KnownSet& set : kKnown)
    if (name == set.name) return &set;
  return nullptr;
}

std::string fetch_command(const KnownSet& set) { return std::string("scripts/fetch-data ") + set.name; }

using FilePaths = std::array<std::string, 4>;

// The ways a file is spelled: NAME, NAME.gz, and both with a dot before "idx".
std::optional<std::string> find_file(const fs::path& folder, const std::string& name) {
  std::string dotted = name;
  dotted[dotted.rfind("-idx")] = '.';
  for (const std::string& base : {name, dotted})
    for (const char* ending : {"", ".gz"}) {
      const fs::path path = folder / (base + ending);
      std::error_code ignored;
      if (fs::is_regular_file(path, ignored)) return path.string();
    }
  return std::nullopt;
}

// All four files, or nothing and in `report` what is missing.
std::optional<FilePaths> find_files(const std::string& folder, std::string& report) {
  std::error_code ignored;
  report = folder;
  if (!fs::is_directory(folder, ignored)) {
    report += " (no such folder)";
    return std::nullopt;
  }
  FilePaths paths;
  std::string missing;
  for (size_t i = 0; i < kFiles.size(); i++) {
    if (const auto path = find_file(folder, kFiles[i]))
      paths[i] = *path;
    else
      missing += std::string(missing.empty() ? " (no " : ", ") + kFiles[i];
  }
  if (missing.empty()) return paths;
  report += missing + ")";
  return std::nullopt;
}

struct Search {
  std::string folder;  // "" when not found
  FilePaths files;
  std::vector<std::string> looked;
};

Search search(const DataPaths& paths, const std::string& name) {
  Search result;
  for (const std::string& folder : data_folders(paths, name)) {
    std::string report;
    const auto files = find_files(folder, report);
    result.looked.push_back(report);
    if (files) {
      result.folder = folder;
      result.files = *files;
      break;
    }
  }
  return result;
}

using FileSums = std::array<std::string, 4>;

std::string checksum_of(const FileSums& sums) {
  std::string lines;
  for (size_t i = 0; i < kFiles.size(); i++) lines += sums[i] + "  " + kFiles[i] + "\n";
  return sha256_hex(as_bytes(lines));
}

void verify(const KnownSet& known, const FilePaths& files, const FileSums& sums) {
  for (size_t i = 0; i < kFiles.size(); i++)
    if (sums[i] != known.sha256[i])
      bad_file(files[i], std::string("not the ") + known.name + " file: SHA-256 of the unpacked content is " + sums[i],
               known.sha256[i], fetch_command(known) + ", or give the folder itself as the data set");
}

void check_pair(const ImageSet& set, const std::string& images, const std::string& labels) {
  if (set.pixels.rows() != set.labels.size())
    bad_file(labels + ", byte 4",
             std::to_string(set.labels.size()) + " labels for " + std::to_string(set.pixels.rows()) + " images",
             "as many labels as there are images in " + images);
}

// Test must fit a model that was shaped for train: the same size of image, no class that train lacks.
void check_test_fits(const Dataset& data, const FilePaths& files) {
  const ImageSet &train = data.train, &test = data.test;
  if (test.height != train.height || test.width != train.width)
    bad_file(files[kTestImages] + ", byte 8",
             "test images are " + std::to_string(test.height) + " x " + std::to_string(test.width),
             std::to_string(train.height) + " x " + std::to_string(train.width) + " as in " + files[kTrainImages]);
  const auto bad =
      std::find_if(test.labels.begin(), test.labels.end(), [&](uint32_t label) { return label >= train.classes; });
  if (bad != test.labels.end())
    refuse(files[kTestLabels], 8 + static_cast<size_t>(bad - test.labels.begin()),
           "test label is " + std::to_string(*bad),
           "labels from 0 to " + std::to_string(train.classes - 1) + " as in " + files[kTrainLabels]);
}

// `known` is null for a folder, whose classes are those of its train labels.
Dataset read_folder(const std::string& folder, const FilePaths& files, const KnownSet* known, ThreadPool* pool) {
  const size_t classes = known ? known->classes : kAnyClasses;
  Dataset data;
  FileSums sums;
  const auto read = [&](size_t i, size_t) {
    ImageSet& set = i < kTestImages ? data.train : data.test;
    if (i == kTrainImages || i == kTestImages) {
      IdxImages images = read_idx_images(files[i]);
      set.pixels = std::move(images.pixels);
      set.height = images.height, set.width = images.width;
      sums[i] = images.sha256;
    } else {
      IdxLabels labels = read_idx_labels(files[i], classes);
      set.labels.assign(labels.values.begin(), labels.values.end());
      sums[i] = labels.sha256;
    }
  };
  if (pool) {
    pool->for_tiles(kFiles.size(), read);
  } else {
    for (size_t i = 0; i < kFiles.size(); i++) read(i, 0);
  }
  check_pair(data.train, files[kTrainImages], files[kTrainLabels]);
  check_pair(data.test, files[kTestImages], files[kTestLabels]);
  if (known) verify(*known, files, sums);

  const size_t seen = size_t{1} + *std::max_element(data.train.labels.begin(), data.train.labels.end());
  data.train.classes = data.test.classes = known ? known->classes : seen;
  check_test_fits(data, files);
  for (size_t i = 0; i < data.train.classes; i++)
    data.class_names.push_back(known ? known->class_names[i] : std::to_string(i));
  data.name = known ? known->name : folder;
  data.checksum = checksum_of(sums);
  data.origin = folder;
  return data;
}

std::string sum_with_header(const std::string& header, std::span<const uint8_t> elements) {
  Sha256 hash;
  hash.update(as_bytes(header));
  hash.update(std::as_bytes(elements));
  return hex(hash.finish());
}

Dataset make_glyphs(const DataOptions& options) {
  if (options.glyph_train == 0 || options.glyph_test == 0 || options.glyph_train > kGlyphTestStart ||
      options.glyph_test > kGlyphTestStart)
    throw Error({.code = ErrorCode::usage,
                 .what = "cannot draw " + std::to_string(options.glyph_train) + " train and " +
                         std::to_string(options.glyph_test) + " test glyphs",
                 .expected = "1 to 2147483648 of each"});
  Dataset data;
  data.name = kGlyphs;
  data.origin = "built in, seed " + std::to_string(options.glyph_seed);
  data.train = draw_glyphs(options.glyph_seed, 0, options.glyph_train, options.pool);
  data.test = draw_glyphs(options.glyph_seed, kGlyphTestStart, options.glyph_test, options.pool);
  for (size_t i = 0; i < data.train.classes; i++) data.class_names.push_back(std::to_string(i));
  FileSums sums;
  for (const auto& [set, first] : {std::pair(&data.train, kTrainImages), std::pair(&data.test, kTestImages)}) {
    sums[first] = sum_with_header(idx_image_header(set->count(), set->height, set->width), set->pixels.span());
    const std::vector<uint8_t> labels(set->labels.begin(), set->labels.end());  // as such a file has them
    sums[first + 1] = sum_with_header(idx_label_header(set->count()), labels);
  }
  data.checksum = checksum_of(sums);
  return data;
}

void describe(const Dataset& data, DatasetStatus& status) {
  status.origin = data.origin;
  status.train = data.train.count(), status.test = data.test.count();
  status.height = data.train.height, status.width = data.train.width;
  status.classes = data.train.classes;
  status.bytes = unpacked_bytes(data);
  status.checksum = data.checksum;
}

}  // namespace

DataPaths data_paths_from_environment(const std::string& data_dir) {
  const auto variable = [](const char* key) {
    const char* value = std::getenv(key);
    return std::string(value ? value : "");
  };
  DataPaths paths;
  paths.data_dir = data_dir;
  paths.environment = variable("GLINT_DATA");
  paths.data_home = variable("XDG_DATA_HOME");
  const std::string home = variable("HOME");
  if (paths.data_home.empty() && !home.empty()) paths.data_home = (fs::path(home) / ".local/share").string();
  return paths;
}

std::vector<std::string> data_folders(const DataPaths& paths, const std::string& name) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& base, const fs::path& below) {
    if (!base.empty()) folders.push_back((below.empty() ? fs::path(base) : fs::path(base) / below).string());
  };
  add(paths.data_dir, name);
  add(paths.data_dir, "");
  add(paths.environment, name);
  add(paths.data_home, fs::path("glint") / name);
  add(paths.system, name);
  return folders;
}

void write_sample(const Kernels& kernels, std::span<const uint8_t> pixels, float* out) {
  kernels.noisy_pixels({}, 0, pixels.size(), pixels.data(), out);
}

void write_sample(const Kernels&, std::span<const float> values, float* out) { std::ranges::copy(values, out); }

void write_sample(const Kernels& kernels, const ImageSet& set, size_t i, float* out) {
  if (set.floats())
    write_sample(kernels, set.values.view().row(i), out);
  else
    write_sample(kernels, set.pixels.view().row(i), out);
}

ImageSet ImageSet::rows(std::span<const uint32_t> some) const {
  ImageSet out{.pixels = Matrix<uint8_t>(pixels.cols() ? some.size() : 0, pixels.cols()),
               .values = Matrix<float>(values.cols() ? some.size() : 0, values.cols()),
               .labels = {},
               .height = height,
               .width = width,
               .classes = classes};
  for (size_t i = 0; i < some.size(); i++) {
    if (pixels.size()) std::ranges::copy(pixels.view().row(some[i]), out.pixels.view().row_ptr(i));
    if (values.size()) std::ranges::copy(values.view().row(some[i]), out.values.view().row_ptr(i));
    out.labels.push_back(labels[some[i]]);
  }
  return out;
}

std::vector<uint8_t> picture_bytes(const ImageSet& set, size_t i) {
  std::vector<uint8_t> bytes;
  if (!set.pictures()) return bytes;
  if (!set.floats()) {
    const std::span<const uint8_t> row = set.pixels.view().row(i);
    return {row.begin(), row.end()};
  }
  for (const float v : set.values.view().row(i))
    bytes.push_back(static_cast<uint8_t>(std::lround(255 * std::clamp(v, 0.0f, 1.0f))));
  return bytes;
}

size_t unpacked_bytes(const Dataset& data) {
  const auto bytes = [](const ImageSet& set) {
    return set.pixels.size() + set.labels.size() + idx_image_header(0, 0, 0).size() + idx_label_header(0).size();
  };
  return bytes(data.train) + bytes(data.test);
}

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const KnownSet& set : kKnown) names.emplace_back(set.name);
  names.emplace_back(kGlyphs);
  return names;
}

bool is_image_data(const std::string& name_or_dir) {
  std::string ignored;
  return name_or_dir == kGlyphs || find_known(name_or_dir) || find_files(name_or_dir, ignored);
}

Dataset load_dataset(const std::string& name_or_dir, const DataOptions& options) {
  if (name_or_dir == kGlyphs) return make_glyphs(options);
  if (const KnownSet* known = find_known(name_or_dir)) {
    const Search found = search(options.paths, name_or_dir);
    if (found.folder.empty())
      bad_file("looked in " + joined(found.looked, "; "), "data set " + name_or_dir + " is not on this machine",
               "the four IDX files, plain or .gz", fetch_command(*known));
    return read_folder(found.folder, found.files, known, options.pool);
  }
  std::error_code ignored;
  if (!fs::is_directory(name_or_dir, ignored)) {
    const bool path_like = name_or_dir.find('/') != std::string::npos;
    if (path_like) exists(name_or_dir);  // an Error of its own when the system does not tell
    throw Error({.code = path_like ? ErrorCode::bad_file : ErrorCode::usage,
                 .what = path_like ? "no such folder" : "no data set is called " + name_or_dir,
                 .where = path_like ? name_or_dir : "data",
                 .expected = "mnist, fashion-mnist, glyphs, or a folder with IDX files",
                 .hint = path_like ? "" : suggest(name_or_dir, dataset_names())});
  }
  std::string report;
  const auto files = find_files(name_or_dir, report);
  if (!files) exists(name_or_dir + "/" + kFiles[0]);  // the same
  if (!files)
    bad_file(
        report, "the folder is not a data set",
        "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, "
        "plain or .gz");
  return read_folder(name_or_dir, *files, nullptr, options.pool);
}

std::string_view name(DataState state) {
  static constexpr std::string_view kNames[] = {"built in", "verified", "damaged", "not found"};
  return kNames[static_cast<size_t>(state)];
}

std::vector<DatasetStatus> list_datasets(const DataOptions& options) {
  std::vector<DatasetStatus> list;
  for (const KnownSet& known : kKnown) {
    DatasetStatus status;
    status.name = known.name;
    status.summary = known.summary;
    status.command = fetch_command(known);
    const Search found = search(options.paths, known.name);
    status.looked = found.looked;
    if (!found.folder.empty()) {
      status.origin = found.folder;
      try {
        describe(read_folder(found.folder, found.files, &known, options.pool), status);
        status.state = DataState::verified;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::interrupted) throw;
        status.state = DataState::damaged;
        status.problem = error.what();
      }
    }
    list.push_back(std::move(status));
  }
  DatasetStatus glyphs;
  glyphs.name = kGlyphs;
  glyphs.summary = "digits drawn from strokes, no files needed";
  glyphs.state = DataState::built_in;
  describe(make_glyphs(options), glyphs);
  list.push_back(std::move(glyphs));
  return list;
}

}  // namespace glint
