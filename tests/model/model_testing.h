// What the tests of models and training share: a computing machine of a kind, a folder that goes away.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "glint/base/cpu.h"
#include "glint/base/error.h"
#include "glint/nn/compute.h"
#include "tests/kernels/testing.h"

namespace glint::model_testing {

struct TestMachine {
  explicit TestMachine(size_t threads, Isa isa = cpu().best) : TestMachine(Products(kernels(isa)), threads) {}
  TestMachine(size_t threads, Bf16Unit unit) : TestMachine(Products(kernels(cpu().best), unit), threads) {}

  const Products products;
  ThreadPool pool;
  Scratch scratch;
  const Compute compute;

 private:
  TestMachine(Products p, size_t threads)
      : products(p), pool(threads), scratch(threads), compute{products, pool, scratch} {}
};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "glint_model_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The Error that `f` throws, and a failed test when it throws none.
template <class F>
ErrorParts error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.parts();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace glint::model_testing
