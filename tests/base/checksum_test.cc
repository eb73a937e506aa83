#include "glint/base/checksum.h"

#include <gtest/gtest.h>

#include <string>

#include "glint/base/file.h"

namespace glint {
namespace {

TEST(Checksum, IsTheCrc32ThatEveryoneComputes) {
  EXPECT_EQ(checksum(as_bytes("123456789")), 0xCBF43926u);  // the check value of CRC-32
  EXPECT_EQ(checksum({}), 0u);
}

TEST(Checksum, PiecesGiveTheSumOfTheWhole) {
  std::string text(1000, '\0');
  for (size_t i = 0; i < text.size(); i++) text[i] = static_cast<char>(i * i >> 3);
  const uint32_t whole = checksum(as_bytes(text));
  for (size_t cut = 0; cut <= text.size(); cut += 37)
    EXPECT_EQ(checksum(as_bytes(text).subspan(cut), checksum(as_bytes(text).first(cut))), whole);
}

TEST(Checksum, SeesEveryFlippedBit) {
  std::string text(64, 'x');
  const uint32_t before = checksum(as_bytes(text));
  for (size_t bit = 0; bit < text.size() * 8; bit++) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(checksum(as_bytes(text)), before);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
  }
}

}  // namespace
}  // namespace glint
