// What `glint spectrum` says of a language model on a terminal.
#pragma once

#include <string>

#include "glint/lab/read/passages.h"
#include "glint/lab/read/read.h"

namespace glint::cli {

std::string language_text(const ReadResult& result);
std::string scan_text(const ScanResult& result);

// Passages as text for the terminal: words coloured by strength, or marked where there are no colours.

// How words are told apart: backgrounds of the 256 colours, or [word] for the strongest and *word* for those
// at least half as strong.
enum class WordMarks { colours, plain };
WordMarks detect_word_marks();

// One passage after the other, no line wider than `columns`.
std::string responses_text(const std::vector<Responses>& responses, WordMarks marks, size_t columns);
// What colours or marks mean.
std::string marks_text(WordMarks marks);

}  // namespace glint::cli
