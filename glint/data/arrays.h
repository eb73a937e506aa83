// Data sets from arrays that a program has in memory: pictures as bytes or floats, or plain vectors. And what
// every data set must be before a model is trained on it.
//
//   Dataset data = make_dataset({pixels, labels}, {test_pixels, test_labels}, {.height = 28, .width = 28});
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/data/dataset.h"

namespace glint {

template <class T>
struct Samples {
  ConstMatrixView<T> values;         // [samples, inputs]
  std::span<const uint32_t> labels;  // [samples], from 0
};

struct ArrayOptions {
  std::string name = "arrays";                // for people, and a part of what makes two runs the same
  size_t height = 0, width = 0;               // of the pictures; both 0: plain vectors, floats only
  size_t classes = 0;                         // 0: the largest training label and one more
  std::vector<std::string> class_names = {};  // empty: 0, 1, 2 ...
};

// Copies the arrays. A model reads bytes as value / 255, and floats as they are. The checksum is that of the
// contents. Error (usage) as in check().
Dataset make_dataset(const Samples<uint8_t>& train, const Samples<uint8_t>& test, const ArrayOptions& options);
Dataset make_dataset(const Samples<float>& train, const Samples<float>& test, const ArrayOptions& options = {});

// Error (usage) when a model could not be trained on the set or not be loaded again: no samples, another
// number of labels than of samples, pixels that do not fit height x width, labels outside the classes, floats
// that are not finite, a test set of another size than the training set.
void check(const Dataset& data);
// The same for one of its sets; `part` names it in errors.
void check(const ImageSet& set, const std::string& part);

// SHA-256 of pictures or vectors, labels and class names. Hex.
std::string content_checksum(const Dataset& data);

}  // namespace glint
