// A batch of which other processes compute the other rows, and how the parts become one gradient.
//
// A gradient is a left fold over the rows or the lanes of a batch, in their order: g = (((0 + a) + b) + ...).
// Whoever has the first rows begins it, whoever has the next goes on with the same chain of additions. So the
// bytes do not depend on how the batch is cut.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "glint/nn/compute.h"

namespace glint {

// Goes on with consecutive pieces: adds the own rows to what is there.
using FoldPieces = std::function<void(Range pieces)>;
// Calls `fold` for all pieces in order, `at_once` or fewer at a time, and leaves the whole sum in `values`.
// Pieces are ranges of `values`.
using OrderedSum =
    std::function<void(std::span<const Range> pieces, size_t at_once, std::span<float> values, const FoldPieces& fold)>;

// The rows at hand are [first, first + rows) of a batch of `total`.
struct BatchShare {
  size_t first = 0, total = 0;
  const OrderedSum& sum;
};

}  // namespace glint
