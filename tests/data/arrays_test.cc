// Data sets from arrays: what is in them, what is refused, and that other contents have another checksum.
#include "glint/data/arrays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "glint/base/cpu.h"
#include "glint/base/error.h"
#include "glint/base/limits.h"
#include "glint/kernels/kernels.h"

namespace glint {
namespace {

// Arrays that make a good set, to be spoilt.
struct Arrays {
  Matrix<uint8_t> bytes{4, 6}, test_bytes{2, 6};
  Matrix<float> floats{4, 6}, test_floats{2, 6};
  std::vector<uint32_t> labels = {0, 1, 2, 1}, test_labels = {2, 0};
  ArrayOptions options{.name = "mine", .height = 2, .width = 3};

  Arrays() {
    for (size_t i = 0; i < bytes.size(); i++) {
      bytes.data()[i] = static_cast<uint8_t>(7 * i);
      floats.data()[i] = 0.5f * static_cast<float>(i) - 3;
    }
  }
  Dataset of_bytes() const { return make_dataset(Samples<uint8_t>{bytes, labels}, {test_bytes, test_labels}, options); }
  Dataset of_floats() const {
    return make_dataset(Samples<float>{floats, labels}, {test_floats, test_labels}, options);
  }
};

TEST(Arrays, BytesAreReadAsPixels) {
  const Arrays a;
  const Dataset data = a.of_bytes();
  EXPECT_EQ(data.name, "mine");
  EXPECT_EQ(data.train.count(), 4u);
  EXPECT_EQ(data.test.count(), 2u);
  EXPECT_EQ(data.train.inputs(), 6u);
  EXPECT_EQ(data.train.classes, 3u);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_FALSE(data.train.floats());
  float row[6];
  write_sample(kernels(Isa::baseline), data.train, 1, row);
  for (size_t i = 0; i < 6; i++) EXPECT_FLOAT_EQ(row[i], static_cast<float>(7 * (6 + i)) / 255);
}

TEST(Arrays, FloatsAreReadAsTheyAre) {
  Arrays a;
  for (const bool pictures : {true, false}) {
    if (!pictures) a.options.height = a.options.width = 0;
    const Dataset data = a.of_floats();
    EXPECT_TRUE(data.train.floats());
    EXPECT_EQ(data.train.inputs(), 6u);
    EXPECT_EQ(data.train.height, pictures ? 2u : 0u);
    float row[6];
    write_sample(kernels(Isa::baseline), data.train, 1, row);
    for (size_t i = 0; i < 6; i++) EXPECT_EQ(row[i], a.floats(1, i));
  }
}

TEST(Arrays, AViewMayHaveGapsBetweenItsRows) {
  const Arrays a;
  Matrix<float> wide(4, 9);
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 6; j++) wide(i, j) = a.floats(i, j);
  const Dataset data =
      make_dataset({std::as_const(wide).view().col_range(0, 6), a.labels}, {a.test_floats, a.test_labels}, a.options);
  EXPECT_EQ(data.checksum, a.of_floats().checksum);
}

TEST(Arrays, ManyClasses) {
  Arrays a;
  a.labels[3] = static_cast<uint32_t>(kMaxClasses - 1);
  EXPECT_EQ(a.of_bytes().train.classes, kMaxClasses);
  a.labels[3] = static_cast<uint32_t>(kMaxClasses);
  EXPECT_THROW(a.of_bytes(), Error);
}

TEST(Arrays, WhatDoesNotFitIsRefused) {
  const auto refused = [](const std::function<void(Arrays&)>& spoil, const std::string& where,
                          ErrorCode code = ErrorCode::usage) {
    for (const bool floats : {false, true}) {
      Arrays a;
      spoil(a);
      try {
        floats ? a.of_floats() : a.of_bytes();
        ADD_FAILURE() << where << " was taken";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        EXPECT_NE(e.parts().where.find(where), std::string::npos) << e.what();
      }
    }
  };
  refused([](Arrays& a) { a.options.height = 3; }, "train");
  refused([](Arrays& a) { a.options.height = 0; }, "train");
  refused([](Arrays& a) { a.options.width = 0; }, "train");
  // 2 (2^63 + 3) is 6 in 64 bits.
  refused([](Arrays& a) { a.options.width = (size_t{1} << 63) + 3; }, "train");
  refused([](Arrays& a) { a.labels.pop_back(); }, "train.labels");
  refused([](Arrays& a) { a.labels.push_back(0); }, "train.labels");
  refused([](Arrays& a) { a.test_labels.clear(); }, "test.labels");
  refused([](Arrays& a) { a.test_labels[1] = 3; }, "test.labels");
  refused([](Arrays& a) { a.options.classes = 2; }, "train.labels");
  refused([](Arrays& a) { a.labels = {0, 0, 0, 0}; }, "classes");
  refused([](Arrays& a) { a.options.classes = kMaxClasses + 1; }, "classes");
  refused([](Arrays& a) { a.options.class_names = {"a", "b"}; }, "class_names");
  refused([](Arrays& a) { a.test_bytes = {2, 5}, a.test_floats = {2, 5}; }, "test");
  refused([](Arrays& a) { a.bytes = {0, 6}, a.floats = {0, 6}, a.labels.clear(); }, "train");
  refused([](Arrays& a) { a.test_bytes = {0, 6}, a.test_floats = {0, 6}, a.test_labels.clear(); }, "test");
  refused([](Arrays& a) { a.bytes = {4, 0}, a.floats = {4, 0}; }, "train");
  refused(
      [](Arrays& a) {
        const size_t inputs = kMaxInputs + 2;
        a.options.height = 2, a.options.width = inputs / 2;
        a.bytes = {4, inputs}, a.floats = {4, inputs};
      },
      "train");
  // Bytes are pictures: they need a size. Floats may be vectors.
  Arrays a;
  a.options.height = a.options.width = 0;
  EXPECT_THROW(a.of_bytes(), Error);
  a.of_floats();
  // Vectors of another width in the test set.
  a.test_floats = {2, 5};
  EXPECT_THROW(a.of_floats(), Error);
}

TEST(Arrays, NumbersThatAreNotFiniteAreRefused) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (const bool test : {false, true}) {
      Arrays a;
      (test ? a.test_floats : a.floats)(1, 4) = bad;
      try {
        a.of_floats();
        ADD_FAILURE() << bad << " was taken";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::numeric);
        EXPECT_EQ(e.parts().where, std::string(test ? "test" : "train") + ", sample 1, number 4");
      }
    }
}

TEST(Arrays, EveryChangeOfTheContentsChangesTheChecksum) {
  const std::string bytes = Arrays().of_bytes().checksum, floats = Arrays().of_floats().checksum;
  EXPECT_EQ(bytes.size(), 64u);
  EXPECT_EQ(Arrays().of_bytes().checksum, bytes);
  EXPECT_NE(bytes, floats);
  const std::function<void(Arrays&)> changes[] = {
      [](Arrays& a) { a.bytes(3, 5)++, a.floats(3, 5) += 1e-6f; },
      [](Arrays& a) { a.test_bytes(0, 0)++, a.test_floats(0, 0) += 1e-6f; },
      [](Arrays& a) { a.labels[0] = 1; },
      [](Arrays& a) { a.test_labels[0] = 1; },
      [](Arrays& a) { std::swap(a.options.height, a.options.width); },
      [](Arrays& a) { a.options.classes = 4; },
      [](Arrays& a) {
        a.options.class_names = {"0", "1", "3"};
      },
  };
  for (const auto& change : changes) {
    Arrays a;
    change(a);
    EXPECT_NE(a.of_bytes().checksum, bytes);
    EXPECT_NE(a.of_floats().checksum, floats);
  }
}

}  // namespace
}  // namespace glint
