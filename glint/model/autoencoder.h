// Sparse autoencoders and transcoders that other programs trained. A latent reads a vector x of width
// `inputs` through its row of the encoder, and writes its row of the decoder to a vector of width `outputs`:
//
//   z = rule(E (x - c) + b)        y = D' z + decoder_bias (+ skip x)
//
// c is the bias of the decoder where `centred`, else 0. An autoencoder gives back what it reads; a transcoder
// reads what goes into a layer and gives what comes out. Files:
//
//   SAELens          a folder with cfg.json and sae_weights.safetensors: W_enc [d_in, d_sae], W_dec [d_sae,
//                    d_out], b_enc, b_dec, threshold
//   circuit-tracer   one .safetensors file: the same names, W_enc [d_sae, d_in], W_skip [d_out, d_in]
//   bilinear models  a folder with config.json and model.safetensors, or that file: w_enc.weight [f, d],
//                    w_dec.weight [d, f], b_dec (the code of Pearce et al.)
//
// Which way a matrix lies is told by its shape, so one with as many latents as inputs is refused.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/base/threads.h"

namespace glint {

enum class LatentRule {
  relu,
  jump,   // what is above the threshold
  top,    // the `k` largest of all latents, others 0
  gated,  // relu(exp(scale) a + b) where a + gate_bias > 0, a = E (x - c)
};

// Where an autoencoder reads, as far as its file says.
enum class LatentPlace {
  unknown,
  glu_input,   // after the norm
  glu_output,  // what the layer adds to the stream
  stream,      // the residual stream itself
};

struct Autoencoder {
  std::string where = {};
  std::string format = {};        // "SAELens", "circuit-tracer", "bilinear"
  std::string architecture = {};  // as the file says: "jumprelu"; "" where it does not
  std::string hook = {};          // where it reads, as the file says; ""
  LatentPlace place = LatentPlace::unknown;
  size_t layer = 0;  // of the hook, from 1 on; 0: not known
  bool transcoder = false;

  Matrix<float> encoder = {}, decoder = {};         // [latents, inputs], [latents, outputs]
  std::vector<float> bias = {}, decoder_bias = {};  // [latents], [outputs]
  Matrix<float> skip = {};                          // [outputs, inputs], or empty
  bool centred = false;
  LatentRule rule = LatentRule::relu;
  std::vector<float> threshold = {};              // jump
  size_t k = 0;                                   // top
  bool floor = true;                              // what is below 0 is 0
  std::vector<float> scale = {}, gate_bias = {};  // gated
  double divisor = 1;                             // of x, before anything else
  std::string unscaled = {};  // "": else why activations are not known: the input is normed in a way of its own

  size_t latents() const { return encoder.rows(); }
  size_t inputs() const { return encoder.cols(); }
  size_t outputs() const { return decoder.cols(); }
};

// A folder or a file. Error (bad_file) with file, tensor and rule for what is none of these, for numbers that
// are not finite, and for rules that glint does not know.
Autoencoder read_autoencoder(const std::string& path);

// The activations [n, chosen] of some latents for inputs x [n, inputs]. Error (usage) where `unscaled`.
Matrix<float> latent_activations(ThreadPool& pool, const Autoencoder& sae, ConstMatrixView<float> x,
                                 std::span<const size_t> chosen);

}  // namespace glint
