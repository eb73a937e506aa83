#include "glint/data/idx.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

// The parts of the Error that `body` throws.
ErrorParts idx_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.parts();
  }
  ADD_FAILURE() << "no error";
  return {};
}

ErrorParts image_error(const std::string& file) {
  return idx_error([&] { parse_idx_images(as_bytes(file), "f"); });
}
ErrorParts label_error(const std::string& file, size_t classes = 256) {
  return idx_error([&] { parse_idx_labels(as_bytes(file), "f", classes); });
}

void put_be(std::string& file, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; i++) file[at + i] = static_cast<char>(value >> (24 - 8 * i));
}

TEST(Idx, ReadsImagesPlainAndPacked) {
  const std::string plain = image_file(3, 2, 5);
  for (const std::string& file : {plain, gzip(plain)}) {
    const IdxImages images = parse_idx_images(as_bytes(file));
    EXPECT_EQ(images.pixels.rows(), 3u);
    EXPECT_EQ(images.pixels.cols(), 10u);
    EXPECT_EQ(images.height, 2u);
    EXPECT_EQ(images.width, 5u);
    for (size_t i = 0; i < 30; i++) EXPECT_EQ(images.pixels.data()[i], i);
    EXPECT_EQ(images.sha256, sha256_hex(as_bytes(plain)));
  }
}

TEST(Idx, ReadsLabelsPlainAndPacked) {
  const std::string plain = label_file(7, 3);
  for (const std::string& file : {plain, gzip(plain)}) {
    const IdxLabels labels = parse_idx_labels(as_bytes(file), "f", 3);
    EXPECT_EQ(labels.values, (std::vector<uint8_t>{0, 1, 2, 0, 1, 2, 0}));
    EXPECT_EQ(labels.sha256, sha256_hex(as_bytes(plain)));
  }
}

// Each rule broken alone, in a plain and in a packed file; the message names the byte.
TEST(Idx, EveryHeaderRuleIsChecked) {
  const struct {
    size_t byte;
    char value;
    const char* what;
    const char* where;
  } cases[] = {
      {0, 1, "not an IDX file", "byte 0"},   {1, 7, "not an IDX file", "byte 1"}, {2, 9, "element type is 9", "byte 2"},
      {2, 0, "element type is 0", "byte 2"}, {3, 1, "rank is 1", "byte 3"},       {3, 4, "rank is 4", "byte 3"},
      {7, 0, "dimension is 0", "byte 4"},    {11, 0, "dimension is 0", "byte 8"}, {15, 0, "dimension is 0", "byte 12"},
  };
  for (const auto& c : cases) {
    std::string file = image_file(3, 2, 5);
    file[c.byte] = c.value;
    for (const bool packed : {false, true}) {
      const ErrorParts parts = image_error(packed ? gzip(file) : file);
      EXPECT_EQ(parts.code, ErrorCode::bad_file);
      EXPECT_EQ(parts.what.find(c.what), 0u) << parts.what;
      EXPECT_EQ(parts.where, std::string(packed ? "f (unpacked), " : "f, ") + c.where);
      EXPECT_FALSE(parts.expected.empty());
    }
  }
  std::string labels = label_file(4, 4);
  labels[3] = 3;
  EXPECT_EQ(label_error(labels).what, "rank is 3");
}

TEST(Idx, EveryShorterFileIsRefused) {
  for (const std::string& plain : {image_file(3, 2, 5), label_file(9, 9)}) {
    const auto error = plain[3] == 3 ? image_error : [](const std::string& f) { return label_error(f); };
    for (size_t length = 0; length < plain.size(); length++)
      EXPECT_EQ(error(plain.substr(0, length)).code, ErrorCode::bad_file) << length;
    const std::string packed = gzip(plain);
    for (size_t length = 0; length < packed.size(); length++)
      EXPECT_EQ(error(packed.substr(0, length)).code, ErrorCode::bad_file) << length;
  }
}

TEST(Idx, EmptyFile) {
  EXPECT_EQ(image_error("").what, "file ends too early");
  EXPECT_EQ(image_error("").where, "f, byte 0");
  EXPECT_EQ(image_error(gzip("")).where, "f (unpacked), byte 0");
}

TEST(Idx, TrailingBytesAreRefused) {
  const std::string plain = image_file(3, 2, 5);
  EXPECT_EQ(image_error(plain + "x").where, "f, byte 46");
  EXPECT_EQ(image_error(gzip(plain + "x")).where, "f (unpacked), byte 46");
  const std::string packed = gzip(plain);
  for (const std::string& tail : {std::string("x"), std::string(1, '\0'), packed}) {
    const ErrorParts parts = image_error(packed + tail);
    EXPECT_EQ(parts.where, "f, byte " + std::to_string(packed.size()));
    EXPECT_EQ(parts.expected, "one gzip member and nothing after it");
  }
}

// A changed bit in the packed data is noticed: by the format, the length or the checksum of gzip. The ten
// bytes of the gzip header carry the time and the system, and up to seven bits fill the last byte of the
// deflate data; those may change, and then the content is still what it was.
TEST(Idx, DamagedGzipIsRefused) {
  const std::string plain = image_file(3, 2, 5), packed = gzip(plain);
  size_t unnoticed = 0;
  for (size_t bit = 80; bit < 8 * packed.size(); bit++) {
    std::string file = packed;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
    try {
      EXPECT_EQ(parse_idx_images(as_bytes(file)).sha256, sha256_hex(as_bytes(plain))) << "bit " << bit;
      unnoticed++;
      EXPECT_LT(bit, 8 * (packed.size() - 8)) << "the checksum and the length of gzip have no spare bits";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_file) << "bit " << bit;
    }
  }
  EXPECT_LE(unnoticed, 7u);
}

TEST(Idx, HugeDimensionsAllocateNothing) {
  const uint32_t most = 0xffffffff;
  std::string file = image_file(3, 2, 5);
  put_be(file, 4, most);
  EXPECT_EQ(image_error(file).where, "f, byte 16");
  EXPECT_EQ(image_error(gzip(file)).where, "f (unpacked), byte 4");
  put_be(file, 8, most);
  put_be(file, 12, most);  // 2^96: past 64 bits
  for (const std::string& f : {file, gzip(file)}) EXPECT_NE(image_error(f).what.find("64 bits"), std::string::npos);
  std::string labels = label_file(4, 4);
  put_be(labels, 4, most);
  EXPECT_EQ(label_error(labels).where, "f, byte 8");
}

// A packed file may claim its own size + 63 MB and not a byte more.
TEST(Idx, PackedClaimIsBounded) {
  const size_t claim = (size_t{63} << 20) + 4096;
  const std::string file = gzip(idx_image_header(claim, 1, 1) + std::string(1 << 20, '\0'));
  ASSERT_LT(file.size(), 4096u);
  const ErrorParts parts = image_error(file);
  EXPECT_EQ(parts.where, "f (unpacked), byte 4");
  EXPECT_EQ(parts.hint, "unpack it first: gunzip f");
  // Just inside the bound it is unpacked, and found too short.
  const std::string inside = gzip(idx_image_header(size_t{63} << 20, 1, 1) + std::string(1 << 20, '\0'));
  EXPECT_EQ(image_error(inside).where, "f (unpacked), byte " + std::to_string((1 << 20) + 16));
}

// 20 MB behind a header that claims 16 bytes: unpacking stops at the first byte too many.
TEST(Idx, GzipBombIsStoppedAtTheClaim) {
  const std::string bomb = gzip(idx_image_header(4, 2, 2) + std::string(20'000'000, '\0'));
  ASSERT_LT(bomb.size(), 50'000u);
  const ErrorParts parts = image_error(bomb);
  EXPECT_EQ(parts.what, "more bytes follow the data");
  EXPECT_EQ(parts.where, "f (unpacked), byte 32");
}

TEST(Idx, LabelsOutOfRangeAreRefused) {
  const std::string file = label_file(12, 12);
  EXPECT_EQ(label_error(file, 10).where, "f, byte 18");
  EXPECT_EQ(label_error(file, 10).expected, "labels from 0 to 9");
  EXPECT_EQ(label_error(gzip(file), 10).where, "f (unpacked), byte 18");
  EXPECT_NO_THROW(parse_idx_labels(as_bytes(file), "f", 12));
}

TEST(Idx, FilesAreNamedInErrors) {
  const TempFolder folder;
  EXPECT_EQ(idx_error([&] { read_idx_images(folder.path("none")); }).where, folder.path("none"));
  folder.write("short", "ab");
  EXPECT_EQ(idx_error([&] { read_idx_labels(folder.path("short")); }).where, folder.path("short") + ", byte 2");
  EXPECT_EQ(idx_error([&] { read_idx_images(folder.path()); }).what, "not a regular file");
}

}  // namespace
}  // namespace glint
