// One token of a language model followed through its layers: the residual stream between all parts, what each
// GLU reads, and the logits that come of it.
//
//   stream_0 = embedding    stream_2i+1 = stream_2i + attention_i    stream_2i+2 = stream_2i+1 + glu_i
//   logits = H norm(stream_2n)
#pragma once

#include <algorithm>
#include <vector>

#include "glint/base/matrix.h"

namespace glint {

struct ResidualTrace {
  Matrix<float> stream;      // [2 layers + 1, d]
  Matrix<float> glu_inputs;  // [layers, d]: after the norm before the GLU, without the weights of that norm
  // [layers]: by what a norm behind the GLU multiplies, before its weights; 1 where there is none.
  std::vector<double> glu_scale;
  double last_scale = 1;      // the same of the last norm
  std::vector<float> logits;  // [vocab], before a cap

  ResidualTrace() = default;
  ResidualTrace(size_t layers, size_t d, size_t vocab)
      : stream(2 * layers + 1, d), glu_inputs(layers, d), glu_scale(layers, 1.0), logits(vocab) {}
  size_t layers() const { return glu_scale.size(); }
  void keep_stream(size_t at, const float* x) { std::copy_n(x, stream.cols(), stream.view().row_ptr(at)); }
};

}  // namespace glint
