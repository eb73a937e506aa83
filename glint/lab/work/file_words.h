// Names of units, tokens and directions as parts of file names, and names as words of a command.
#pragma once

#include <string>

namespace glint {

// Letters a to z, digits, - and _ only, at most 60 characters. Different texts give different words, also
// where a file system does not tell upper from lower case: a text that the word does not spell gets the start
// of its SHA-256 behind it.
//
//   "3"               3
//   "·happy - ·sad"   _happy-minus-_sad      (· begins a word, as glint prints tokens)
//   "Ankle boot"      ankle-boot-1f2e3d4c
//   "a/b", ".."       a-b-..., unit-...
std::string file_word(const std::string& text);

// As a shell reads it back: in quotes where it has to be.
std::string shell_word(const std::string& text);

}  // namespace glint
