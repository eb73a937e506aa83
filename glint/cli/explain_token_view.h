// An explained token as text for the terminal.
#pragma once

#include "glint/lab/read/explain_token.h"

namespace glint::cli {

std::string explain_token_text(const ExplainTokenResult& result, size_t columns);

}  // namespace glint::cli
