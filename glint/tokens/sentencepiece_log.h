// What the code that calls SentencePiece shares.
#pragma once

// SentencePiece exports it, but installs no header that says so.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

namespace glint {

inline constexpr int kSentencePieceSilent = 4;  // above fatal: a library must not print
inline void silence_sentencepiece() { sentencepiece::logging::SetMinLogLevel(kSentencePieceSilent); }

inline bool is_text_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace glint
