// Directions of language readings that come from elsewhere: latents of sparse autoencoders, eigenvectors of
// later layers, and pairs of input latents. Each is what the same vector from a file gives.
#include "glint/lab/read/read_latents.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/base/rng.h"
#include "glint/io/npy.h"
#include "glint/io/safetensors.h"
#include "glint/lab/read/read_directions.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

constexpr size_t kWide = 8, kMade = 20;

// A standard autoencoder in a folder of SAELens, for the layers of tiny.bin.
std::string made_autoencoder(const TempFolder& folder, const std::string& name, const std::string& hook) {
  const std::string path = folder.path(name);
  std::filesystem::create_directories(path);
  Matrix<float> enc(kWide, kMade), dec(kMade, kWide), b_enc(1, kMade), b_dec(1, kWide);
  const Rng rng(name.size(), Stream::test);
  uint64_t at = 0;
  for (Matrix<float>* m : {&enc, &dec, &b_enc, &b_dec})
    for (float& v : m->span()) v = static_cast<float>(rng.normal(at++));
  std::ranges::fill(dec.view().row(5), 0.0f);  // a dead latent
  std::vector<TensorToWrite> tensors = {tensor_to_write<float>("W_enc", enc), tensor_to_write<float>("W_dec", dec),
                                        tensor_to_write<float>("b_enc", b_enc), tensor_to_write<float>("b_dec", b_dec)};
  tensors[2].shape = {kMade}, tensors[3].shape = {kWide};
  write_safetensors(real_files(), path + "/sae_weights.safetensors", tensors);
  const Json cfg = {
      {"architecture", "standard"}, {"d_in", kWide}, {"d_sae", kMade}, {"metadata", {{"hook_name", hook}}}};
  std::ofstream(path + "/cfg.json") << cfg;
  return path;
}

struct TinyReading {
  TinyReading() {
    std::string text;
    for (int i = 0; i < 40; i++) text += "the cat sat a dog<|endoftext|>so the dog sat<|endoftext|>";
    std::ofstream(folder.path("text.txt")) << text;
    request.source.run = GLINT_GOLDEN_DIR "/families/tiny/tiny.bin";
    request.source.data = folder.path("text.txt"), request.out = folder.path("out");
    request.layer = 1, request.spectra = request.figures = false;
  }
  // The same layer and form along a vector.
  ReadResult along(std::span<const double> vector, const std::string& form) const {
    const std::string path = folder.path("vector.npy");
    write_npy<double>(real_files(), path, ConstMatrixView<double>(vector.data(), 1, vector.size()));
    ReadRequest q = request;
    q.inputs = "", q.along = Along{.directions = {path}}, q.form = form;
    return read(engine, q);
  }
  std::string error(const ReadRequest& q) const {
    try {
      read(engine, q);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
  TempFolder folder;
  Engine engine{{.threads = 2}};
  ReadRequest request;
};

void expect_same(const ReadDirection& a, const ReadDirection& b) {
  // Several directions go through one product, whose sums of 8 and 12 terms may come in another order.
  EXPECT_NEAR(a.trust->r2, b.trust->r2, 1e-12 * (1 + std::fabs(b.trust->r2)));
  const std::vector<double>&x = a.form.spectrum.values, &y = b.form.spectrum.values;
  ASSERT_EQ(x.size(), y.size());
  const double largest = std::max(std::fabs(y.front()), std::fabs(y.back()));
  for (size_t k = 0; k < x.size(); k++) EXPECT_NEAR(x[k], y[k], 1e-13 * largest);
}

TEST(ReadLatents, ALatentIsReadAsItsRow) {
  TinyReading t;
  const std::string sae = made_autoencoder(t.folder, "sae", "blocks.0.hook_mlp_out");
  const Autoencoder file = read_autoencoder(sae);
  for (const char* side : {"decoder", "encoder"}) {
    ReadRequest q = t.request;
    q.along = Along{.directions = {"latent:17,3"}, .sae = sae, .side = side}, q.form = "calibrated";
    const ReadResult r = read(t.engine, q);
    ASSERT_EQ(r.directions.size(), 2u);
    EXPECT_EQ(r.directions[0].name, "latent 17");
    const size_t latents[] = {17, 3};
    const Matrix<double> rows = latent_vectors(file, parse_side(side), latents, kWide);
    for (size_t i = 0; i < 2; i++) {
      expect_same(r.directions[i], t.along(rows.view().row(i), "calibrated").directions[0]);
      EXPECT_TRUE(r.directions[i].latent);
    }
    const auto json = to_json(r);
    EXPECT_TRUE(json["units"][0].contains("activation"));
    EXPECT_FALSE(json["autoencoder"].contains("unmeasured"));
  }
}

TEST(ReadLatents, ActivationsAreThoseOfTheLayer) {
  TinyReading t;
  const std::string sae = made_autoencoder(t.folder, "sae", "blocks.0.hook_mlp_out");
  ReadRequest q = t.request;
  q.along = Along{.directions = {"latent:all"}, .sae = sae, .side = "encoder"};
  // By hand: the layer's outputs through the encoder.
  const auto opened_run = glint::open_run(t.engine, t.request.source);
  glint::Run& run = *opened_run;
  const GluModel& model = run.reading();
  const Matrix<float> x = run.measured(0).inputs;
  const Matrix<double> y = layer_outputs(model.reader(0), hidden_weights(model.projection(0)), x);
  const Autoencoder file = read_autoencoder(sae);
  const ReadResult all = read(t.engine, q);
  ASSERT_EQ(all.directions.size(), kMade);
  size_t some = 0;
  for (size_t z = 0; z < kMade; z++) {
    size_t active = 0;
    for (size_t i = 0; i < y.rows(); i++) {
      double sum = file.bias[z];
      for (size_t j = 0; j < kWide; j++) sum += file.encoder(z, j) * (y(i, j) - file.decoder_bias[j]);
      active += sum > 0;
    }
    ASSERT_TRUE(all.directions[z].latent);
    EXPECT_NEAR(all.directions[z].latent->active, static_cast<double>(active) / static_cast<double>(y.rows()), 1e-12);
    some += active > 0 && active < y.rows();
  }
  EXPECT_GT(some, 0u);
  q.along.directions = {"latent:0..4"};
  const ReadResult known = read(t.engine, q);
  EXPECT_EQ(known.text->unmeasured, "");
  q.layer = 2;
  EXPECT_NE(read(t.engine, q).text->unmeasured.find("layer 1"), std::string::npos);
  q.along.sae_reads = "output";
  EXPECT_EQ(read(t.engine, q).text->unmeasured, "");
  q.along.sae = made_autoencoder(t.folder, "stream", "blocks.1.hook_resid_post"), q.along.sae_reads = "auto";
  const ReadResult stream = read(t.engine, q);
  EXPECT_NE(stream.text->unmeasured.find("residual stream"), std::string::npos);
  EXPECT_FALSE(stream.directions[0].latent);
}

TEST(ReadLatents, PairsAreThoseOfTheForm) {
  TinyReading t;
  const std::string sae = made_autoencoder(t.folder, "in", "blocks.0.ln2.hook_normalized");
  const Autoencoder file = read_autoencoder(sae);
  ReadRequest q = t.request;
  q.along.directions = {"cat"}, q.inputs = sae, q.pairs = 7, q.form = "weights";
  const ReadResult r = read(t.engine, q);
  const ReadDirection& d = r.directions[0];
  ASSERT_EQ(d.pairs.size(), 7u);
  for (size_t k = 0; k < d.pairs.size(); k++) {
    const LatentPair& p = d.pairs[k];
    if (k > 0) {
      EXPECT_LE(std::fabs(p.weight), std::fabs(d.pairs[k - 1].weight));
    }
    EXPECT_NE(p.first, 5u);  // the dead latent
    // From the eigenvectors: sum of value (v . a)(v . b).
    const size_t latents[] = {p.first, p.second};
    const Matrix<double> rows = latent_vectors(file, LatentSide::decoder, latents, kWide);
    double sum = 0, lengths[2] = {};
    for (size_t i = 0; i < 2; i++)
      for (const double v : rows.view().row(i)) lengths[i] += v * v;
    const Spectrum& s = d.form.spectrum;
    for (size_t e = 0; e < s.count(); e++) {
      double a = 0, b = 0;
      for (size_t j = 0; j < kWide; j++) a += s.vectors(e, j) * rows(0, j), b += s.vectors(e, j) * rows(1, j);
      sum += s.values[e] * a * b;
    }
    const double expected = (p.first == p.second ? 1 : 2) * sum / std::sqrt(lengths[0] * lengths[1]);
    EXPECT_NEAR(p.weight, expected, 1e-12 * std::fabs(s.values[0]) + 1e-12);
    EXPECT_TRUE(r.text->input_latents.contains(p.first) && r.text->input_latents.contains(p.second));
  }
  EXPECT_EQ(to_json(r)["units"][0]["pairs"].size(), 7u);
}

TEST(ReadDirections, AnEigenvectorOfALaterLayerIsADirection) {
  TinyReading t;
  ReadRequest later = t.request;
  later.along.directions = {"cat"}, later.layer = 2, later.form = "weights";
  const Spectrum s = read(t.engine, later).directions[0].form.spectrum;
  ReadRequest q = t.request;
  q.along.directions = {"cat"}, q.form = "weights", q.along.from_layer = 2, q.along.eigenvector = "+1,-1,-2";
  const ReadResult r = read(t.engine, q);
  ASSERT_EQ(r.directions.size(), 3u);
  EXPECT_EQ(r.directions[0].name, "·cat layer 2 v+1");
  EXPECT_EQ(r.directions[2].name, "·cat layer 2 v-2");
  const size_t places[] = {0, s.count() - 1, s.count() - 2};
  for (size_t i = 0; i < 3; i++)
    expect_same(r.directions[i], t.along(s.vectors.view().row(places[i]), "weights").directions[0]);
}

TEST(ReadDirections, WhatIsNotThereIsRefused) {
  TinyReading t;
  ReadRequest q = t.request;
  q.along.directions = {"cat"};
  q.along.from_layer = 0;
  EXPECT_NE(t.error(q).find("from_layer"), std::string::npos);
  q.along.from_layer = 1;
  EXPECT_NE(t.error(q).find("no layer after"), std::string::npos);
  q.along.from_layer = 2;
  for (const char* bad : {"0", "+", "one", "+1,,2", "+9", "-99999999"}) {
    q.along.eigenvector = bad;
    EXPECT_NE(t.error(q).find("eigenvector"), std::string::npos) << bad;
  }
  ReadRequest latent = t.request;
  latent.along.sae = made_autoencoder(t.folder, "sae", "");
  EXPECT_NE(t.error(latent).find("which latents"), std::string::npos);
  for (const char* bad : {"20", "-1", "3..1", "a", "1,", "5"}) {  // 5 is dead
    latent.along.directions = {std::string("latent:") + bad};
    EXPECT_NE(t.error(latent).find("latent"), std::string::npos) << bad;
  }
  latent.along.directions = {"latent:1"}, latent.along.side = "middle";
  EXPECT_NE(t.error(latent).find("side"), std::string::npos);
  ReadRequest wide = t.request;
  wide.along.sae = GLINT_GOLDEN_DIR "/autoencoders/standard", wide.along.directions = {"latent:0"};
  EXPECT_NE(t.error(wide).find("6 wide"), std::string::npos);
}

}  // namespace
}  // namespace glint
