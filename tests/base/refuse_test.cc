
#include <gtest/gtest.h>

#include <functional>

#include "glint/base/error.h"

namespace glint {
namespace {

ErrorParts parts_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.parts();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Refuse, NamesFileAndByte) {
  const ErrorParts e = parts_of([] { refuse("a.npy", 12, "bad header", "a digit", "another file"); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_EQ(e.what, "bad header");
  EXPECT_EQ(e.where, "a.npy, byte 12");
  EXPECT_EQ(e.expected, "a digit");
  EXPECT_EQ(e.hint, "another file");
}

}  // namespace
}  // namespace glint
