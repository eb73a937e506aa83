// Helpers of the io tests: hostile bytes in, the complaint out.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "glint/base/error.h"
#include "glint/base/file.h"

namespace glint {

inline std::string golden(const std::string& name) { return std::string(GLINT_GOLDEN_DIR) + "/io/" + name; }

// "WHAT @ WHERE ! EXPECTED" of the Error (bad_file) that `f` throws; anything else is a failed test.
template <class F>
std::string complaint(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file);
    return e.parts().what + " @ " + e.parts().where + " ! " + e.parts().expected;
  }
  return "(no complaint)";
}

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "glint_io_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// What is written, in memory.
class MemoryFile : public WritableFile {
 public:
  void write(std::span<const std::byte> bytes) override {
    content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void sync() override {}
  std::string content;
};

}  // namespace glint
