// Small texts and tokenizers for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "glint/base/error.h"
#include "glint/data/tales.h"
#include "glint/tokens/tokenizer.h"
#include "tests/data/idx_files.h"

namespace glint {

// The parts of the Error that `body` throws.
inline ErrorParts error_parts(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.parts();
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline Tokenizer train_on(const std::vector<std::string>& texts, const TokenizerOptions& options) {
  size_t next = 0;
  return Tokenizer::train(
      [&](std::string& text) {
        if (next == texts.size()) return false;
        text = texts[next++];
        return true;
      },
      options);
}

inline std::vector<std::string> some_tales(size_t count) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; i++) texts.push_back(tale(0, i));
  return texts;
}

// Trained once: 600 pieces with bytes.
inline const Tokenizer& test_tokenizer() {
  static const Tokenizer tokenizer = train_on(some_tales(200), {.vocab = 600});
  return tokenizer;
}

}  // namespace glint
