#include "glint/base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "glint/base/file.h"
#include "glint/base/rng.h"

namespace glint {
namespace {

std::string digest(std::string_view message, Sha256::Unit unit) {
  Sha256 hash(unit);
  hash.update(as_bytes(message));
  return hex(hash.finish());
}

class Sha256Test : public testing::TestWithParam<Sha256::Unit> {};

INSTANTIATE_TEST_SUITE_P(Units, Sha256Test, testing::Values(Sha256::Unit::automatic, Sha256::Unit::portable));

// The examples of FIPS 180-4 and of the NIST test vectors (SHA256ShortMsg, and the million letters a).
TEST_P(Sha256Test, KnownVectors) {
  const struct {
    std::string message, digest;
  } cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopq"
       "rst"
       "nopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& c : cases) EXPECT_EQ(digest(c.message, GetParam()), c.digest) << c.message.substr(0, 60);
}

// A message cut anywhere hashes as the whole one: borders of blocks, of the padding, empty pieces.
TEST_P(Sha256Test, PiecesGiveTheSameDigest) {
  const Rng rng(1, Stream::test);
  std::string message(300, '\0');
  for (size_t i = 0; i < message.size(); i++) message[i] = static_cast<char>(rng.bits(i));
  for (size_t length = 0; length <= message.size(); length++) {
    const std::string whole = digest(message.substr(0, length), Sha256::Unit::portable);
    Sha256 hash(GetParam());
    size_t at = 0;
    for (uint64_t draw = 0; at < length; draw++) {
      const size_t take = std::min<size_t>(length - at, rng.below(90, 1000 * length + draw));
      hash.update(as_bytes(std::string_view(message).substr(at, take)));
      at += take;
    }
    EXPECT_EQ(hex(hash.finish()), whole) << "length " << length;
  }
}

TEST_P(Sha256Test, FinishStartsANewMessage) {
  Sha256 hash(GetParam());
  hash.update(as_bytes("first"));
  hash.finish();
  hash.update(as_bytes("abc"));
  EXPECT_EQ(hex(hash.finish()), digest("abc", GetParam()));
}

}  // namespace
}  // namespace glint
