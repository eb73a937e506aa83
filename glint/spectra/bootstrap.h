// How far an R2 would move with other texts of the same kind: a bootstrap over blocks of inputs. The inputs
// of a text are not independent of each other, so blocks are drawn, not inputs.
#pragma once

#include <span>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/base/tokens.h"
#include "glint/model/fidelity.h"

namespace glint {

inline constexpr size_t kBootstrapDraws = 1000;
// 95 %: the quantiles 0.025 and 0.975 of R2 over kBootstrapDraws draws, each of as many blocks as there are,
// with replacement. The draws are always the same, and the same for every form. Values [n, units] of the
// model and of a form; the lengths of the blocks add up to n.
struct R2Intervals {
  Interval all;                // all units together
  std::vector<Interval> unit;  // [units]
};
R2Intervals bootstrap_r2(ConstMatrixView<double> model, ConstMatrixView<double> form, std::span<const size_t> blocks);

// The blocks of the first rows that hold `most` tokens or more: a row each, longer ones in pieces of at most
// kBlockTokens tokens.
inline constexpr size_t kBlockTokens = 256;
std::vector<size_t> token_blocks(std::span<const TokenRow> rows, size_t most);

}  // namespace glint
