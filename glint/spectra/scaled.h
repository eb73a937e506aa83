// The scaled form of a layer: purely quadratic and even in the input, and near the model all the same. The
// gain of a hidden unit shrinks with the size s of the layer's input as its gate shrinks on average:
//
//   gate(l) ~ gain_h(s) l,   gain_h(s) = a_h / (1 + (lambda m_h s)^p)^(1/p)
//   m_h = E[(l r)^2 |l|] / (E[(l r)^2] E[s])
//
// lambda and p are those of the gate, so that slope = lambda m and power = p in a GateTerms. s is the length
// of the layer's input. Behind a norm that is always the same, and there is one gain per unit, without a
// slope; only there can a gate that is not odd be read so.
//
//   a  of the outputs of a classifier: one linear least-squares solve for all units together, on logits
//      centred per sample over the classes, with a ridge towards the gains of the single units
//      of other layers: the gains of the single units, E[r^2 gate(l) l f] / E[r^2 l^2 f^2] with f = gain(s)/a
//
// The identity is gain 1; nothing is fitted.
#pragma once

#include "glint/spectra/forms.h"

namespace glint {

// Whether a layer has this form: its gate is odd, or its input comes from a norm.
bool has_scaled_form(const GluLayerView& layer);
// Error (usage) where it has none.
void check_scaled_form(const GluLayerView& layer);

// x [n, d]: inputs of the layer. weights [classes, h] of the logits, or empty. A unit that the data never
// move has slope 0 and gain 1. The solve needs kSamplesPerUnit samples for every unit, and at most
// kJointUnits units; otherwise the gains are those of the single units. Error (usage) where the layer has no
// such form.
inline constexpr size_t kSamplesPerUnit = 10;
GateTerms scaled_form(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x);

// Its parts. Whether there are samples enough to fit the units together; the gains for the slopes that a line
// has; and hidden weights without what all classes have in common, since a change of all logits decides
// nothing.
bool fits_together(const GluLayerView& layer, size_t samples);
std::vector<double> fitted_gains(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                                 const GateTerms& line);
Matrix<double> centred_over_classes(ConstMatrixView<double> weights);

}  // namespace glint
