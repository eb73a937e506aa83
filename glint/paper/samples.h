// How the stories of appendix D begin: measured so, and said so in the report.
#pragma once

namespace glint {

inline constexpr const char* kSamplePrompt = "once upon a time";
inline constexpr double kSampleTemperature = 0.8;

}  // namespace glint
