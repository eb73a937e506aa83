// The regular expressions by which byte-level tokenizers cut a text into words before they merge bytes. There
// is a handful of them, written out here by hand; an expression that is not among them is not guessed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace glint {

enum class SplitPattern { gpt2, llama3, qwen2, marks, gpt4o, tekken };

// By the text of the expression, exactly as tokenizer.json has it.
std::optional<SplitPattern> find_split_pattern(std::string_view expression);

// Where the word that begins at byte `at` < text.size() ends. Words cover the text.
size_t word_end(SplitPattern pattern, std::string_view text, size_t at);

}  // namespace glint
