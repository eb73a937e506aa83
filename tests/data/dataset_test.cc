#include "glint/data/dataset.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/base/threads.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

ErrorParts dataset_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.parts();
  }
  ADD_FAILURE() << "no error";
  return {};
}

// Four small files that make a set: 6 train and 4 test images of 2 x 3, 3 classes.
std::map<std::string, std::string> small_set() {
  return {{"train-images-idx3-ubyte", image_file(6, 2, 3)},
          {"train-labels-idx1-ubyte", label_file(6, 3)},
          {"t10k-images-idx3-ubyte", image_file(4, 2, 3)},
          {"t10k-labels-idx1-ubyte", label_file(4, 3)}};
}

void write_set(const TempFolder& folder, const std::string& below, const std::map<std::string, std::string>& files) {
  for (const auto& [name, content] : files) folder.write(below + name, content);
}

// Looks in one folder only, so that what this machine has does not matter.
DataOptions only(const std::string& data_dir) {
  DataOptions options;
  options.paths.data_dir = data_dir;
  options.paths.system = "";
  return options;
}

TEST(Dataset, FolderOfPlainFiles) {
  const TempFolder folder;
  write_set(folder, "", small_set());
  const Dataset data = load_dataset(folder.path(), {});
  EXPECT_EQ(data.train.count(), 6u);
  EXPECT_EQ(data.test.count(), 4u);
  EXPECT_EQ(data.train.height, 2u);
  EXPECT_EQ(data.train.width, 3u);
  EXPECT_EQ(data.train.classes, 3u);
  EXPECT_EQ(data.test.classes, 3u);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(data.origin, folder.path());
}

// The checksum is of the content: packing, spelling and threads do not change it, a pixel does.
TEST(Dataset, ChecksumIsOfTheContent) {
  std::string lines;
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
    lines += sha256_hex(as_bytes(small_set()[name])) + "  " + name + "\n";
  const std::string expected = sha256_hex(as_bytes(lines));

  const TempFolder folder;
  write_set(folder, "plain/", small_set());
  for (const auto& [name, content] : small_set()) {
    std::string dotted = name;
    dotted[dotted.rfind("-idx")] = '.';
    folder.write("packed/" + name + ".gz", gzip(content));
    folder.write("dotted/" + dotted, content);
    folder.write("both/" + dotted + ".gz", gzip(content));
  }
  ThreadPool pool(2);
  DataOptions threaded;
  threaded.pool = &pool;
  for (const char* kind : {"plain", "packed", "dotted", "both"}) {
    EXPECT_EQ(load_dataset(folder.path(kind), {}).checksum, expected) << kind;
    EXPECT_EQ(load_dataset(folder.path(kind), threaded).checksum, expected) << kind;
  }
  auto changed = small_set();
  changed["t10k-images-idx3-ubyte"].back() ^= 1;
  write_set(folder, "changed/", changed);
  EXPECT_NE(load_dataset(folder.path("changed"), {}).checksum, expected);
}

TEST(Dataset, FilesMustFitEachOther) {
  const struct {
    const char* file;
    std::string content;
    const char* what;
  } cases[] = {
      {"train-labels-idx1-ubyte", label_file(5, 3), "5 labels for 6 images"},
      {"t10k-labels-idx1-ubyte", label_file(3, 3), "3 labels for 4 images"},
      {"t10k-images-idx3-ubyte", image_file(4, 3, 2), "test images are 3 x 2"},
      {"t10k-labels-idx1-ubyte", label_file(4, 4), "test label is 3"},
  };
  for (const auto& c : cases) {
    const TempFolder folder;
    auto files = small_set();
    files[c.file] = c.content;
    write_set(folder, "", files);
    const ErrorParts parts = dataset_error([&] { load_dataset(folder.path(), {}); });
    EXPECT_EQ(parts.code, ErrorCode::bad_file);
    EXPECT_EQ(parts.what, c.what);
    EXPECT_EQ(parts.where.find(folder.path(c.file) + ", byte "), 0u) << parts.where;
  }
}

TEST(Dataset, FolderThatIsNoSet) {
  const TempFolder folder;
  auto files = small_set();
  files.erase("t10k-labels-idx1-ubyte");
  write_set(folder, "", files);
  const ErrorParts parts = dataset_error([&] { load_dataset(folder.path(), {}); });
  EXPECT_EQ(parts.code, ErrorCode::bad_file);
  EXPECT_EQ(parts.where, folder.path() + " (no t10k-labels-idx1-ubyte)");
  EXPECT_EQ(dataset_error([&] { load_dataset(folder.path("none"), {}); }).what, "no such folder");
}

TEST(Dataset, UnknownNameGetsASuggestion) {
  const ErrorParts parts = dataset_error([] { load_dataset("minst", {}); });
  EXPECT_EQ(parts.code, ErrorCode::usage);
  EXPECT_EQ(parts.hint, "did you mean mnist?");
}

TEST(Dataset, MissingSetSaysWhereItLookedAndWhatToRun) {
  const TempFolder folder;
  DataOptions options;
  options.paths.data_dir = folder.path("a");
  options.paths.environment = folder.path("b");
  options.paths.data_home = folder.path("c");
  options.paths.system = folder.path("d");
  folder.write("b/mnist/t10k-labels-idx1-ubyte.gz", "x");
  const ErrorParts parts = dataset_error([&] { load_dataset("mnist", options); });
  EXPECT_EQ(parts.code, ErrorCode::bad_file);
  EXPECT_EQ(parts.hint, "scripts/fetch-data mnist");
  size_t at = 0;  // the folders are named in the order of the search
  for (const char* place : {"a/mnist (no such folder)", "a (no such folder)", "b/mnist (no train-images",
                            "c/glint/mnist (no such folder)", "d/mnist (no such folder)"}) {
    at = parts.where.find(folder.path(place), at);
    EXPECT_NE(at, std::string::npos) << place << " in " << parts.where;
  }
}

TEST(Dataset, FirstFolderOfTheSearchWins) {
  const TempFolder folder;
  DataOptions options;
  options.paths.system = "";
  options.paths.environment = folder.path("b");
  options.paths.data_home = folder.path("c");
  write_set(folder, "c/glint/mnist/", small_set());
  const auto origin = [&] { return list_datasets(options)[0].origin; };
  EXPECT_EQ(origin(), folder.path("c/glint/mnist"));
  write_set(folder, "b/mnist/", small_set());
  EXPECT_EQ(origin(), folder.path("b/mnist"));
  options.paths.data_dir = folder.path("a");
  write_set(folder, "a/", small_set());
  EXPECT_EQ(origin(), folder.path("a"));
  write_set(folder, "a/mnist/", small_set());
  EXPECT_EQ(origin(), folder.path("a/mnist"));
}

// Files that are sound but not the published ones.
TEST(Dataset, KnownNameNeedsTheKnownChecksum) {
  const TempFolder folder;
  write_set(folder, "mnist/", small_set());
  const ErrorParts parts = dataset_error([&] { load_dataset("mnist", only(folder.path())); });
  EXPECT_EQ(parts.code, ErrorCode::bad_file);
  EXPECT_EQ(parts.where, folder.path("mnist/train-images-idx3-ubyte"));
  EXPECT_NE(parts.what.find(sha256_hex(as_bytes(small_set()["train-images-idx3-ubyte"]))), std::string::npos);
  EXPECT_EQ(parts.expected, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db");

  const std::vector<DatasetStatus> list = list_datasets(only(folder.path()));
  EXPECT_EQ(list[0].state, DataState::damaged);
  EXPECT_NE(list[0].problem.find("SHA-256"), std::string::npos);
}

TEST(Dataset, ListWithoutFiles) {
  const TempFolder folder;
  const std::vector<DatasetStatus> list = list_datasets(only(folder.path("none")));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].name, "mnist");
  EXPECT_EQ(list[1].name, "fashion-mnist");
  EXPECT_EQ(list[1].state, DataState::not_found);
  EXPECT_EQ(list[1].command, "scripts/fetch-data fashion-mnist");
  EXPECT_EQ(list[1].looked.size(), 2u);
  EXPECT_EQ(list[2].state, DataState::built_in);
  EXPECT_EQ(list[2].train, 10000u);
  EXPECT_EQ(list[2].bytes, 12000u * 785 + 2 * (16 + 8));
}

// The built-in set has the checksum that it would have as files.
TEST(Dataset, GlyphsEqualTheirFiles) {
  DataOptions options;
  options.glyph_train = 300;
  options.glyph_test = 100;
  const Dataset glyphs = load_dataset("glyphs", options);
  EXPECT_EQ(glyphs.train.count(), 300u);
  EXPECT_EQ(glyphs.class_names.size(), 10u);
  const TempFolder folder;
  for (const auto& [set, name] : {std::pair(&glyphs.train, "train"), std::pair(&glyphs.test, "t10k")}) {
    const auto text = [](const auto& s) { return std::string(s.begin(), s.end()); };
    folder.write(std::string(name) + "-images-idx3-ubyte",
                 idx_image_header(set->count(), 28, 28) + text(set->pixels.span()));
    folder.write(std::string(name) + "-labels-idx1-ubyte", idx_label_header(set->count()) + text(set->labels));
  }
  const Dataset files = load_dataset(folder.path(), {});
  EXPECT_EQ(files.checksum, glyphs.checksum);
  EXPECT_EQ(files.train.labels, glyphs.train.labels);

  options.glyph_seed = 1;
  EXPECT_NE(load_dataset("glyphs", options).checksum, glyphs.checksum);
  options.glyph_train = 0;
  EXPECT_EQ(dataset_error([&] { load_dataset("glyphs", options); }).code, ErrorCode::usage);
}

TEST(Dataset, PathsComeFromTheEnvironment) {
  const auto old = [](const char* key) {
    const char* value = std::getenv(key);
    return std::string(value ? value : "");
  };
  const std::string home = old("HOME"), xdg = old("XDG_DATA_HOME"), data = old("GLINT_DATA");
  setenv("HOME", "/h", 1);
  setenv("GLINT_DATA", "/g", 1);
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(data_paths_from_environment("/d").data_dir, "/d");
  EXPECT_EQ(data_paths_from_environment().environment, "/g");
  EXPECT_EQ(data_paths_from_environment().data_home, "/h/.local/share");
  setenv("XDG_DATA_HOME", "/x", 1);
  EXPECT_EQ(data_paths_from_environment().data_home, "/x");
  setenv("HOME", home.c_str(), 1);
  setenv("XDG_DATA_HOME", xdg.c_str(), 1);
  setenv("GLINT_DATA", data.c_str(), 1);
}

// The real files, where this machine has them.
TEST(Dataset, RealSets) {
  DataOptions options;
  options.paths = data_paths_from_environment();
  size_t found = 0;
  for (const DatasetStatus& status : list_datasets(options)) {
    if (status.state == DataState::not_found || status.state == DataState::built_in) continue;
    found++;
    EXPECT_EQ(status.state, DataState::verified) << status.problem;
    const Dataset data = load_dataset(status.name, options);
    EXPECT_EQ(data.train.count(), 60000u);
    EXPECT_EQ(data.test.count(), 10000u);
    EXPECT_EQ(data.train.height * data.train.width, 784u);
    EXPECT_EQ(data.class_names.size(), 10u);
    std::vector<int> count(10);
    for (const uint32_t label : data.train.labels) count[label]++;
    if (status.name == "fashion-mnist") {
      EXPECT_EQ(data.class_names[9], "Ankle boot");
      EXPECT_EQ(data.train.labels[0], 9);  // the first image is an ankle boot
      EXPECT_EQ(count, std::vector<int>(10, 6000));
    } else {
      EXPECT_EQ(data.train.labels[0], 5);
      EXPECT_EQ(count[1], 6742);
    }
  }
  if (found == 0) GTEST_SKIP() << "neither MNIST nor Fashion-MNIST is here; scripts/fetch-data gets them";
}

}  // namespace
}  // namespace glint
