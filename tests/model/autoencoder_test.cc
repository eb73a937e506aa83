// Sparse autoencoders of other programs: what their files say is what their latents do; hostile files are
// refused. tests/golden/make_autoencoders.py wrote the files with the programs themselves.
#include "glint/model/autoencoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "glint/io/json.h"
#include "glint/io/safetensors.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

const std::string kSaes = GLINT_GOLDEN_DIR "/autoencoders/";

Matrix<float> matrix_of(const Json& rows) {
  Matrix<float> m(rows.size(), rows[0].size());
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) m(i, j) = rows[i][j].get<float>();
  return m;
}

TEST(Autoencoder, LatentsDoWhatTheirProgramsSay) {
  const Json golden = read_json(kSaes + "expected.json");
  const Matrix<float> x = matrix_of(golden["inputs"]);
  ThreadPool one(1), two(2);
  ASSERT_GE(golden["autoencoders"].size(), 12u);
  for (const auto& [name, expected] : golden["autoencoders"].items()) {
    SCOPED_TRACE(name);
    const Autoencoder sae = read_autoencoder(kSaes + name);
    EXPECT_EQ(sae.format, expected["format"].get<std::string>());
    ASSERT_EQ(sae.latents(), expected["latents"].get<size_t>());
    std::vector<size_t> all(sae.latents());
    std::iota(all.begin(), all.end(), size_t{0});
    const Matrix<float> got = latent_activations(one, sae, x, all), again = latent_activations(two, sae, x, all);
    size_t active = 0;
    for (size_t i = 0; i < x.rows(); i++)
      for (size_t z = 0; z < all.size(); z++) {
        // Sums in double of float values, rounded to float at the end: half a unit in the last place.
        const double e = expected["activations"][i][z].get<double>();
        EXPECT_NEAR(got(i, z), e, 6.1e-8 * std::fabs(e) + 1e-12) << i << " " << z;
        EXPECT_EQ(got(i, z), again(i, z));
        active += e != 0;
      }
    EXPECT_GT(active, 0u);
    EXPECT_LT(active, x.rows() * all.size());
    const size_t some[] = {7, 2};
    const Matrix<float> two_of = latent_activations(one, sae, x, some);
    for (size_t i = 0; i < x.rows(); i++) {
      EXPECT_EQ(two_of(i, 0), got(i, 7));
      EXPECT_EQ(two_of(i, 1), got(i, 2));
    }
  }
}

TEST(Autoencoder, SaysWhereItReads) {
  const Autoencoder sae = read_autoencoder(kSaes + "standard");
  EXPECT_EQ(sae.hook, "blocks.1.hook_mlp_out");
  EXPECT_EQ(sae.place, LatentPlace::glu_output);
  EXPECT_EQ(sae.layer, 2u);
  EXPECT_FALSE(sae.transcoder);
  const Autoencoder code = read_autoencoder(kSaes + "bilinear");
  EXPECT_EQ(code.place, LatentPlace::glu_output);
  EXPECT_EQ(code.layer, 3u);
  EXPECT_TRUE(read_autoencoder(kSaes + "skip_transcoder").transcoder);
  EXPECT_EQ(read_autoencoder(kSaes + "transcoder").outputs(), 8u);
  EXPECT_FALSE(read_autoencoder(kSaes + "skip_transcoder").skip.size() == 0);
}

// A copy of a golden folder that a test may spoil.
struct Spoilt {
  explicit Spoilt(const std::string& name) : path(folder.path("sae")) {
    fs::copy(kSaes + name, path, fs::copy_options::recursive);
  }
  std::string error() const {
    try {
      read_autoencoder(path);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_file) << e.what();
      return e.what();
    }
    return "";
  }
  void set(const std::string& key, const Json& value) const {
    Json cfg = read_json(path + "/cfg.json");
    cfg[key] = value;
    std::ofstream(path + "/cfg.json") << cfg;
  }
  // The tensors as floats, changed and written again.
  void weights(const std::function<void(std::map<std::string, Matrix<float>>&)>& change,
               const std::string& file = "sae_weights.safetensors") const {
    std::map<std::string, Matrix<float>> tensors;
    {
      const SafetensorsFile in(path + "/" + file);
      for (const TensorInfo& t : in->tensors()) {
        const FloatMatrix m = in->matrix(t.name, t.shape);
        Matrix<float> copy(m.view.rows(), m.view.cols());
        for (size_t r = 0; r < copy.rows(); r++) std::ranges::copy(m.view.row(r), copy.view().row_ptr(r));
        tensors.emplace(t.name, std::move(copy));
      }
    }
    change(tensors);
    std::vector<TensorToWrite> out;
    for (const auto& [name, m] : tensors) {
      out.push_back(tensor_to_write<float>(name, m));
      if (m.rows() == 1) out.back().shape = {m.cols()};
    }
    write_safetensors(real_files(), path + "/" + file, out);
  }
  TempFolder folder;
  std::string path;
};

using Tensors = std::map<std::string, Matrix<float>>;

TEST(Autoencoder, HostileFoldersAreRefused) {
  EXPECT_EQ(Spoilt("standard").error(), "");
  const auto says = [](const Spoilt& s, const std::string& word) {
    const std::string error = s.error();
    EXPECT_NE(error.find(word), error.npos) << "lacks '" << word << "': " << error;
  };
  {
    const Spoilt s("standard");
    s.set("d_sae", 11);
    says(s, "d_sae");
  }
  {
    const Spoilt s("standard");
    s.set("d_in", "six");
    says(s, "d_in");
  }
  {
    const Spoilt s("standard");
    s.set("architecture", "temporal");
    says(s, "'temporal' is not supported");
  }
  {
    const Spoilt s("standard");
    s.set("reshape_activations", "hook_z");
    says(s, "reshape_activations");
  }
  {
    const Spoilt s("topk");
    for (const int k : {0, 11, -1}) {
      s.set("k", k);
      says(s, "k");
    }
    s.set("k", 3);
    s.set("rescale_acts_by_decoder_norm", true);
    says(s, "rescale_acts_by_decoder_norm");
  }
  {
    const Spoilt s("jumprelu");
    s.weights([](Tensors& t) { t.erase("threshold"); });
    says(s, "threshold");
  }
  {
    const Spoilt s("standard");
    s.weights([](Tensors& t) { t["W_more"] = Matrix<float>(2, 2); });
    says(s, "W_more");
  }
  {
    const Spoilt s("standard");
    s.weights([](Tensors& t) { t["b_dec"] = Matrix<float>(1, 5); });
    says(s, "b_dec");
  }
  {
    const Spoilt s("standard");
    s.weights([](Tensors& t) { t["W_enc"](1, 1) = std::numeric_limits<float>::infinity(); });
    says(s, "W_enc");
  }
  {
    const Spoilt s("standard");
    s.weights([](Tensors& t) { t["W_enc"] = Matrix<float>(5, 9); });
    says(s, "W_enc");
  }
  {
    const Spoilt s("standard");  // as many latents as inputs
    s.weights([](Tensors& t) {
      t["W_enc"] = Matrix<float>(6, 6), t["W_dec"] = Matrix<float>(6, 6), t["b_enc"] = Matrix<float>(1, 6);
    });
    says(s, "which way");
  }
  {
    const Spoilt s("standard");
    fs::remove(s.path + "/cfg.json");
    EXPECT_THROW(read_autoencoder(s.path), Error);
  }
  {
    const Spoilt s("standard");
    fs::resize_file(s.path + "/sae_weights.safetensors", 100);
    says(s, "sae_weights.safetensors");
  }
  {
    const Spoilt s("bilinear");
    s.weights([](Tensors& t) { t["w_dec.weight"] = Matrix<float>(10, 6); }, "model.safetensors");
    says(s, "w_dec.weight");
  }
  {
    const Spoilt s("bilinear");
    std::ofstream(s.path + "/config.json") << R"({"k": 3, "normalize": 0})";
    says(s, "normalize");
    std::ofstream(s.path + "/config.json") << R"({"k": 3, "point": ["mlp-out"]})";
    says(s, "point");
  }
  const TempFolder folder;
  EXPECT_THROW(read_autoencoder(folder.path()), Error);
  EXPECT_THROW(read_autoencoder(folder.path("nothing")), Error);
}

// An encoder lies as its shape says, whatever wrote it.
TEST(Autoencoder, OrientationComesFromTheShape) {
  const Spoilt s("standard");
  const Autoencoder before = read_autoencoder(s.path);
  s.weights([](Tensors& t) {
    const Matrix<float> w = t["W_enc"];
    Matrix<float> turned(w.cols(), w.rows());
    for (size_t r = 0; r < w.rows(); r++)
      for (size_t c = 0; c < w.cols(); c++) turned(c, r) = w(r, c);
    t["W_enc"] = turned;
  });
  const Autoencoder after = read_autoencoder(s.path);
  EXPECT_TRUE(std::ranges::equal(before.encoder.span(), after.encoder.span()));
}

TEST(Autoencoder, ActivationsThatAreNotKnownAreRefused) {
  const Spoilt s("standard");
  s.set("normalize_activations", "layer_norm");
  const Autoencoder sae = read_autoencoder(s.path);
  ThreadPool pool(1);
  const size_t chosen[] = {0};
  EXPECT_THROW(latent_activations(pool, sae, Matrix<float>(2, 6), chosen), Error);
}

}  // namespace
}  // namespace glint
