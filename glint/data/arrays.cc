#include "glint/data/arrays.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/limits.h"
#include "glint/base/sha256.h"

namespace glint {
namespace {

std::string size_text(size_t height, size_t width) { return std::to_string(height) + " x " + std::to_string(width); }

void check_shape(const ImageSet& set, const std::string& part) {
  if (set.inputs() > kMaxInputs)
    bad_argument(part, "a sample has " + std::to_string(set.inputs()) + " numbers",
                 "at most " + std::to_string(kMaxInputs));
  const bool bytes = !set.floats();
  if (!bytes && set.pixels.size() != 0) bad_argument(part, "the set has bytes and floats", "either pixels or values");
  if (!bytes && set.height == 0 && set.width == 0) return;
  // By division: the product may not fit.
  if (set.height == 0 || set.inputs() % set.height != 0 || set.inputs() / set.height != set.width)
    bad_argument(
        part,
        std::to_string(set.inputs()) + " numbers per sample do not fit pictures of " + size_text(set.height, set.width),
        "height x width numbers per sample",
        bytes ? "give height and width" : "give height and width, or neither for plain vectors");
}

void check_labels(const ImageSet& set, size_t samples, const std::string& part) {
  if (set.labels.size() != samples)
    bad_argument(part + ".labels",
                 std::to_string(set.labels.size()) + " labels for " + std::to_string(samples) + " samples",
                 "one label per sample");
  for (size_t i = 0; i < samples; i++)
    if (set.labels[i] >= set.classes)
      bad_argument(part + ".labels",
                   "the label of sample " + std::to_string(i) + " is " + std::to_string(set.labels[i]),
                   "0 to " + std::to_string(set.classes - 1));
}

void check_finite(const ImageSet& set, const std::string& part) {
  const ConstMatrixView<float> v = set.values;
  for (size_t i = 0; i < v.rows(); i++)
    for (size_t j = 0; j < v.cols(); j++)
      if (!std::isfinite(v(i, j)))
        throw Error({.code = ErrorCode::numeric,
                     .what = "a sample holds " + std::to_string(v(i, j)),
                     .where = part + ", sample " + std::to_string(i) + ", number " + std::to_string(j),
                     .expected = "finite numbers"});
}

template <class T>
Matrix<T> copy_of(ConstMatrixView<T> from) {
  Matrix<T> to(from.rows(), from.cols());
  for (size_t i = 0; i < from.rows(); i++) std::ranges::copy(from.row(i), to.view().row_ptr(i));
  return to;
}

template <class T>
ImageSet set_of(const Samples<T>& samples, const ArrayOptions& o, size_t classes) {
  ImageSet set;
  if constexpr (std::is_same_v<T, float>)
    set.values = copy_of(samples.values);
  else
    set.pixels = copy_of(samples.values);
  set.labels.assign(samples.labels.begin(), samples.labels.end());
  set.height = o.height, set.width = o.width, set.classes = classes;
  return set;
}

template <class T>
Dataset dataset_of(const Samples<T>& train, const Samples<T>& test, const ArrayOptions& o) {
  size_t classes = o.classes;
  if (classes == 0 && !train.labels.empty()) classes = size_t{1} + *std::ranges::max_element(train.labels);
  Dataset data;
  data.name = o.name;
  data.origin = kFromMemory;
  data.train = set_of(train, o, classes);
  data.test = set_of(test, o, classes);
  data.class_names = o.class_names;
  if (data.class_names.empty() && classes <= kMaxClasses)
    for (size_t i = 0; i < classes; i++) data.class_names.push_back(std::to_string(i));
  check(data);
  data.checksum = content_checksum(data);
  return data;
}

}  // namespace

Dataset make_dataset(const Samples<uint8_t>& train, const Samples<uint8_t>& test, const ArrayOptions& options) {
  return dataset_of(train, test, options);
}

Dataset make_dataset(const Samples<float>& train, const Samples<float>& test, const ArrayOptions& options) {
  return dataset_of(train, test, options);
}

void check(const ImageSet& set, const std::string& part) {
  const size_t samples = set.pixels.rows() + set.values.rows();
  if (samples == 0 || set.inputs() == 0) bad_argument(part, "there are no samples", "at least one, of one number");
  check_shape(set, part);
  if (set.classes < 2 || set.classes > kMaxClasses)
    bad_argument("classes", "there are " + std::to_string(set.classes) + " classes",
                 "2 to " + std::to_string(kMaxClasses));
  check_labels(set, samples, part);
  check_finite(set, part);
}

void check(const Dataset& data) {
  const ImageSet &train = data.train, &test = data.test;
  check(train, "train");
  check(test, "test");
  if (test.inputs() != train.inputs() || test.height != train.height || test.width != train.width)
    bad_argument("test",
                 "test samples have another size than training samples: " + std::to_string(test.inputs()) +
                     " numbers, " + size_text(test.height, test.width),
                 std::to_string(train.inputs()) + " numbers, " + size_text(train.height, train.width));
  if (test.classes != train.classes)
    bad_argument("test", "the test set has " + std::to_string(test.classes) + " classes",
                 std::to_string(train.classes) + " as the training set");
  if (data.class_names.size() != train.classes)
    bad_argument(
        "class_names",
        std::to_string(data.class_names.size()) + " class names for " + std::to_string(train.classes) + " classes",
        "one name per class");
}

std::string content_checksum(const Dataset& data) {
  Sha256 hash;
  // Every part has its length before it, so that no two sets make the same bytes.
  std::string head = "glint-arrays 1\n" + size_text(data.train.height, data.train.width) + "\n";
  for (const std::string& name : data.class_names) head += std::to_string(name.size()) + " " + name + "\n";
  hash.update(as_bytes(head));
  for (const ImageSet* set : {&data.train, &data.test}) {
    const std::string size = (set->floats() ? "floats " : "bytes ") + size_text(set->count(), set->inputs()) + " of " +
                             std::to_string(set->classes) + "\n";
    hash.update(as_bytes(size));
    hash.update(std::as_bytes(set->pixels.span()));
    hash.update(std::as_bytes(set->values.span()));
    hash.update(std::as_bytes(std::span(set->labels)));
  }
  return hex(hash.finish());
}

}  // namespace glint
