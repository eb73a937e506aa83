#include "glint/spectra/image_reading.h"

#include <unistd.h>

#include <filesystem>

#include "fixtures.h"
#include "glint/base/error.h"
#include "glint/io/safetensors.h"
#include "glint/spectra/explanation.h"
#include "glint/spectra/spectra_file.h"

namespace glint {
namespace {

using namespace fixtures;

constexpr size_t kSide = 8, kClasses = 5, kWidth = 16;

struct Variant {
  std::string name;
  size_t layers = 1;
  bool bias = false, residual = false;
  Norm norm = Norm::none;
};
const std::vector<Variant> kVariants = {{"plain"},
                                        {"two layers", 2},
                                        {"bias", 1, true},
                                        {"residual", 2, false, true},
                                        {"norm", 2, false, false, Norm::rms},
                                        {"all", 2, true, true, Norm::rms}};

struct Reader {
  Products products{kernels(detect_cpu().best)};
  ThreadPool pool;
  Scratch scratch{pool.size()};
  const Compute compute{products, pool, scratch};
  const LinearAlgebra linalg;
  ImageModel model;
  std::unique_ptr<ImageReading> reading;

  Reader(const Variant& v, GateKind gate, size_t threads = 2) : pool(threads) {
    ClassifierConfig& c = model.config;
    c.inputs = kSide * kSide, c.classes = kClasses, c.layers = v.layers, c.d_model = kWidth;
    c.gate = {gate, {}}, c.bias = v.bias, c.residual = v.residual, c.norm = v.norm;
    model.height = model.width = kSide;
    model.class_names = {"a", "b", "c", "d", "e"};
    const ParamTable table = classifier_params(c).table;
    model.weights = Matrix<float>(1, table.floats());
    table.initialise(model.weights.span(), 5);
    for (float& w : model.weights.span()) w *= 3;  // so that no gate is in its linear part
    reading = std::make_unique<ImageReading>(model, compute, linalg);
  }
};

ImageSet random_images(size_t count) {
  ImageSet set{.pixels = Matrix<uint8_t>(count, kSide * kSide),
               .labels = {},
               .height = kSide,
               .width = kSide,
               .classes = kClasses};
  const Rng rng(3, Stream::test, 1);
  for (size_t i = 0; i < set.pixels.size(); i++)
    set.pixels.data()[i] = static_cast<uint8_t>(std::clamp(60 + 70 * rng.normal(i), 0.0, 255.0));
  for (size_t i = 0; i < count; i++) set.labels.push_back(static_cast<uint32_t>(i % kClasses));
  return set;
}

// The same images as floats.
ImageSet as_floats(const ImageSet& images) {
  ImageSet set{.pixels = {},
               .values = Matrix<float>(images.count(), images.inputs()),
               .labels = images.labels,
               .classes = images.classes};
  for (size_t i = 0; i < set.values.size(); i++)
    set.values.data()[i] = static_cast<float>(images.pixels.data()[i]) * (1.0f / 255.0f);
  return set;
}

// The model's logit in double, from the definition.
double exact_logit(const ImageReading& reading, std::span<const uint8_t> pixels, size_t c) {
  const InputMap map = reading.input_map();
  std::vector<double> x(map.matrix.rows());
  for (size_t i = 0; i < x.size(); i++)
    for (size_t p = 0; p < pixels.size(); p++) x[i] += static_cast<double>(map.matrix(i, p)) * pixels[p] / 255.0;
  const Matrix<double> head = hidden_weights(reading.head());
  return exact_output(reading.layer(0), head.view().row(c), x);
}

TEST(ImageReading, TermsOfABilinearModelAddUpToTheLogit) {
  const Reader r({"plain"}, GateKind::Identity);
  const ImageSet images = random_images(1000);
  const std::vector<UnitForm> forms = unit_forms({r.linalg, r.reading->pool(), r.reading->layer(0)},
                                                 weights_form(r.reading->layer(0)), r.reading->classes().weights);
  const Matrix<double> embed = hidden_weights(r.reading->input_map().matrix);
  double worst = 0;
  for (size_t i = 0; i < images.count(); i++) {
    std::vector<double> x(kWidth);
    for (size_t j = 0; j < kWidth; j++)
      for (size_t p = 0; p < kSide * kSide; p++) x[j] += embed(j, p) * images.pixels(i, p) / 255.0;
    double scale = 0, error = 0;
    for (size_t c = 0; c < kClasses; c++) {
      const double logit = exact_logit(*r.reading, images.pixels.view().row(i), c);
      scale = std::max(scale, std::fabs(logit));
      error = std::max(error, std::fabs(form_value(forms[c], x) - logit));
    }
    worst = std::max(worst, error / scale);
  }
  EXPECT_LT(worst, 1e-9);
}

// f32 sums of 64 and 16 terms, twice: relative to the largest logit some 1e-6.
TEST(ImageReading, LocalFormIsTheLogitOfEveryGateAndVariant) {
  for (const Variant& v : kVariants)
    for (int kind = 0; kind < kGateCount; kind++) {
      const Reader r(v, static_cast<GateKind>(kind));
      const ImageSet images = random_images(60);
      const Activations pass = r.reading->run(images.pixels, r.reading->last());
      const LocalError e = local_error(*r.reading, r.reading->classes(), pass, 60);
      EXPECT_EQ(e.inputs, 60u);
      EXPECT_GT(e.scale, 0);
      EXPECT_LT(e.largest, 3e-6 * e.scale) << v.name << " gate " << kind;
    }
}

// A model of vectors is read as one of images is; only pictures mean nothing.
TEST(ImageReading, FloatsAreReadAsBytesAre) {
  Reader r({"all", 2, true, true, Norm::rms}, GateKind::Relu);
  const ImageSet bytes = random_images(300), floats = as_floats(bytes);
  r.model.height = r.model.width = 0;
  const auto same = [](const Matrix<float>& a, const Matrix<float>& b) {
    return std::ranges::equal(a.span(), b.span());
  };
  const uint32_t some[] = {7, 3, 299};
  for (const std::span<const uint32_t> rows : {std::span<const uint32_t>(), std::span<const uint32_t>(some)}) {
    const Activations of_bytes = r.reading->run(bytes, 1, rows), of_floats = r.reading->run(floats, 1, rows);
    EXPECT_EQ(of_bytes.inputs.rows(), rows.empty() ? 300u : 3u);
    EXPECT_TRUE(same(of_bytes.inputs, of_floats.inputs) && same(of_bytes.logits, of_floats.logits));
  }
  const StoredCalibration a = r.reading->calibrate(bytes, "data"), b = r.reading->calibrate(floats, "data");
  EXPECT_EQ(a.terms[Form::calibrated][1].gain, b.terms[Form::calibrated][1].gain);
  EXPECT_EQ(a.terms[Form::calibrated][1].shift, b.terms[Form::calibrated][1].shift);
  const Reading reading =
      r.reading->read(r.reading->classes(), b.terms[Form::calibrated][1], r.reading->run(floats, 1));
  EXPECT_EQ(r.reading->pictures(1, reading.units[0].spectrum.vectors, b.terms[Form::calibrated]).cols(), kSide * kSide);
}

TEST(ImageReading, EveryFormOfTheIdentityGateIsTheModel) {
  for (const Variant& v : kVariants) {
    const Reader r(v, GateKind::Identity);
    const ImageSet images = random_images(300);
    const StoredCalibration c = r.reading->calibrate(images, "data");
    ASSERT_EQ(c.terms[Form::calibrated].size(), v.layers);
    const Activations pass = r.reading->run(images, r.reading->last());
    for (const GateTerms& line : {weights_lines(*r.reading).back(), c.terms[Form::calibrated].back()}) {
      const Reading reading = r.reading->read(r.reading->classes(), line, pass);
      EXPECT_GT(reading.fidelity.r2, 1 - 1e-9) << v.name;
      EXPECT_GT(reading.fidelity.correlation, 1 - 1e-9) << v.name;
      EXPECT_EQ(reading.fidelity.agreement, 1) << v.name;
      const TruncationCurve cut = truncation(*r.reading, reading, pass);
      EXPECT_EQ(cut.agreement.back(), 1) << v.name;  // with what flows past the layer counted
      EXPECT_EQ(cut.accuracy.back(), reading.fidelity.accuracy_model) << v.name;
    }
  }
}

TEST(ImageReading, CalibrationIsCloserToTheModelThanTheWeights) {
  const Reader r({"plain"}, GateKind::Sqs);
  const ImageSet images = random_images(2000);
  const StoredCalibration c = r.reading->calibrate(images, "data");
  const Activations pass = r.reading->run(images.pixels, 0);
  const auto r2 = [&](const GateTerms& line) { return form_fidelity(*r.reading, r.reading->classes(), line, pass).r2; };
  EXPECT_GT(r2(c.terms[Form::calibrated][0]), r2(weights_lines(*r.reading)[0]));
  EXPECT_EQ(c.model, r.reading->weights_hash());
}

TEST(ImageReading, BitsDoNotDependOnTheNumberOfThreads) {
  const ImageSet images = random_images(700);
  std::vector<double> gain;
  for (const size_t threads : {1, 2, 3, 7}) {
    const Reader r({"all", 2, true, true, Norm::rms}, GateKind::Silu, threads);
    const StoredCalibration c = r.reading->calibrate(images, "data");
    if (gain.empty()) gain = c.terms[Form::calibrated].back().gain;
    EXPECT_EQ(c.terms[Form::calibrated].back().gain, gain) << threads;
  }
}

TEST(ImageReading, PicturesOfTheFirstLayerAreTheEmbeddingSeenByTheVector) {
  const Reader r({"plain"}, GateKind::Sqs);
  const Matrix<double> v = random_matrix(2, kWidth, 77);
  const Matrix<double> pictures = r.reading->pictures(0, v, weights_lines(*r.reading));
  const InputMap map = r.reading->input_map();
  for (size_t k = 0; k < 2; k++)
    for (size_t p = 0; p < kSide * kSide; p++) {
      double sum = 0;
      for (size_t j = 0; j < kWidth; j++) sum += v(k, j) * static_cast<double>(map.matrix(j, p));
      EXPECT_NEAR(pictures(k, p), sum, 1e-12);
    }
}

TEST(Explanation, AccountsAddUpAndTheLocalOneIsTheLogit) {
  for (const Variant& v : kVariants) {
    const Reader r(v, GateKind::Relu);
    const ImageSet images = random_images(40);
    const StoredCalibration c = r.reading->calibrate(images, "data");
    const Activations pass = r.reading->run(images.pixels, r.reading->last());
    const size_t classes[] = {4, 1};
    PerForm<std::optional<GateTerms>> terms;
    terms[Form::weights] = weights_lines(*r.reading).back();
    terms[Form::calibrated] = c.terms[Form::calibrated].back();
    for (const Form kind : {Form::weights, Form::calibrated, Form::local}) {
      const std::vector<ClassExplanation> accounts = explain_classes(*r.reading, pass, 7, terms, classes, kind);
      ASSERT_EQ(accounts.size(), 2u);
      for (const ClassExplanation& a : accounts) {
        EXPECT_EQ(a.logit, pass.logits(7, a.index));
        const FormSums& local = *a.sums[Form::local];
        EXPECT_FALSE(a.sums[Form::scaled]);
        EXPECT_NEAR(local.total(), a.logit, 1e-5 * (std::fabs(local.positive) + std::fabs(local.negative) + 1))
            << v.name;
        const FormSums& sums = *a.sums[kind];
        double positive = 0, negative = 0;
        for (size_t k = 0; k < a.terms.size(); k++) {
          (a.terms[k] > 0 ? positive : negative) += a.terms[k];
          EXPECT_NEAR(a.terms[k], a.form.spectrum.values[k] * a.projections[k] * a.projections[k], 1e-12);
        }
        EXPECT_NEAR(positive, sums.positive, 1e-9);
        EXPECT_NEAR(negative, sums.negative, 1e-9);
      }
    }
  }
}

// The account of the scaled form is that of the input's own size, not of the median.
TEST(Explanation, OfTheScaledFormUsesTheSizeOfItsInput) {
  for (const Variant& v : kVariants) {
    const Reader r(v, GateKind::Sqs);
    const ImageSet images = random_images(40);
    const StoredCalibration c = r.reading->calibrate(images, "data");
    ASSERT_EQ(c.terms[Form::scaled].size(), r.reading->layers());
    const Activations pass = r.reading->run(images.pixels, r.reading->last());
    const Directions all = r.reading->classes();
    const Matrix<double> values = form_outputs(r.reading->reader(r.reading->last()), c.terms[Form::scaled].back(),
                                               all.weights, pass.inputs, all.constants);
    const size_t classes[] = {4, 1};
    PerForm<std::optional<GateTerms>> terms;
    terms[Form::scaled] = c.terms[Form::scaled].back();
    for (const size_t row : {0, 7, 31})
      for (const ClassExplanation& a : explain_classes(*r.reading, pass, row, terms, classes, Form::scaled)) {
        const FormSums& sums = *a.sums[Form::scaled];
        const double residual = pass.residual_logits.span().empty() ? 0 : pass.residual_logits(row, a.index);
        EXPECT_NEAR(sums.total(), values(row, a.index) + residual, 1e-5 * (1 + sums.positive - sums.negative))
            << v.name;
        EXPECT_EQ(sums.linear, 0);
      }
  }
}

TEST(SpectraFile, KeepsTheStrongestTermsAndWritesTheSameBytes) {
  const LinearAlgebra linalg;
  const double values[] = {5, 1, 0.1, -2, -7};
  UnitForm form{
      .spectrum = eigh(linalg, compose(values, random_orthonormal(linalg, 5, 9))), .linear = {}, .constant = 0.5};
  const UnitForm two = strongest_terms(form, 3);
  ASSERT_EQ(two.spectrum.count(), 3u);
  EXPECT_NEAR(two.spectrum.values[0], 5, 1e-12);
  EXPECT_NEAR(two.spectrum.values[1], -2, 1e-12);
  EXPECT_NEAR(two.spectrum.values[2], -7, 1e-12);
  for (size_t j = 0; j < 5; j++) EXPECT_EQ(two.spectrum.vectors(2, j), form.spectrum.vectors(4, j));
  EXPECT_EQ(strongest_terms(form, 9).spectrum.count(), 5u);

  const std::string path = testing::TempDir() + "glint-spectra-" + std::to_string(::getpid()) + ".safetensors";
  const SpectraToWrite spectra{.units = {two, two},
                               .features = random_matrix(6, 7, 8),
                               .names = {"a", "b \"c\""},
                               .form = "weights",
                               .layer = 1,
                               .model = "ff"};
  save_spectra(real_files(), path, spectra);
  const std::string once = read_file(path);
  save_spectra(real_files(), path, spectra);
  EXPECT_EQ(read_file(path), once);
  const SafetensorsFile file(path);
  const size_t shape[] = {2, 3, 5}, pictures[] = {2, 3, 7};
  EXPECT_EQ(file->at("eigenvectors", shape, Dtype::f64).bytes.size(), 2u * 3 * 5 * 8);
  EXPECT_EQ(file->at("features", pictures, Dtype::f32).bytes.size(), 2u * 3 * 7 * 4);
  EXPECT_EQ(*file->find_metadata("layer"), "2");
  EXPECT_EQ(*file->find_metadata("units"), "[\"a\",\"b \\\"c\\\"\"]");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace glint
