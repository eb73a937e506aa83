// Even and odd parts of a layer. A quadratic form is even in its input, so no form without a linear part can
// be more of a layer than the layer's even part e = (f(x) + f(-x)) / 2; the rest, o = (f(x) - f(-x)) / 2, is
// odd. Layers with an odd gate (identity, SQS) are even; with ReLU, GELU or SiLU the even part is exactly the
// form of the weights.
#pragma once

#include <vector>

#include "glint/spectra/forms.h"

namespace glint {

// Whether the layer is its even part: its gate is odd.
bool is_even(const GluLayerView& layer);

// Outputs [n, units] at the mirror images -x of the inputs x [n, d]. A layer with biases reads (x, 1), whose
// mirror image is (-x, -1).
Matrix<double> mirrored_outputs(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x);

// Var(e) / (Var(e) + E[o^2]) over inputs and their mirror images; 1 for outputs that are constant and even.
// What bounds an even reading there: on the inputs alone even and odd parts may go together, and a form that
// was fitted can use that.
struct EvenShare {
  double all = 1;            // of the sums over units
  std::vector<double> unit;  // [units]
};
EvenShare even_share(ConstMatrixView<double> outputs, ConstMatrixView<double> mirrored);
// The same of a layer: 1, without a look at the inputs, where the gate is odd.
EvenShare even_share(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x);

}  // namespace glint
