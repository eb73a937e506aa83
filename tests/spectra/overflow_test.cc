// Readings of weights that overflow say so, instead of a share of 0 or a fidelity of 1.
#include <limits>

#include "glint/model/language_file.h"
#include "glint/spectra/attack.h"
#include "glint/spectra/explanation.h"
#include "glint/spectra/language_reading.h"
#include "glint/spectra/model_comparison.h"
#include "glint/spectra/spectra_file.h"
#include "tests/spectra/fixtures.h"
#include "tests/spectra/image_fixture.h"

namespace glint {
namespace {

using namespace fixtures;
using model_testing::error_of;
using model_testing::Folder;
using model_testing::TestMachine;

void scale(std::span<float> x, double factor) {
  constexpr double kMost = std::numeric_limits<float>::max();
  for (float& v : x) v = static_cast<float>(std::clamp(v * factor, -kMost, kMost));
}

template <class F>
void expect_overflow(F&& f, const std::string& what) {
  EXPECT_EQ(error_of(f).code, ErrorCode::numeric) << what;
}

TEST(Overflow, OfAnImageModelIsSaidByEveryReading) {
  for (const GateKind gate : {GateKind::Sqs, GateKind::Relu, GateKind::Identity})
    for (const size_t layers : {1u, 2u}) {
      OneImageModel m(3, layers, false, gate);
      ImageSet images{.pixels = Matrix<uint8_t>(40, 20),
                      .labels = std::vector<uint32_t>(40),
                      .height = 4,
                      .width = 5,
                      .classes = 3};
      for (size_t i = 0; i < images.pixels.size(); i++) images.pixels.data()[i] = static_cast<uint8_t>(i * 37 % 256);
      const size_t last = layers - 1;
      const std::vector<uint32_t> rows = {0, 1, 2};
      EXPECT_NO_THROW(m.reading.run(images.pixels, last));
      const Activations pass = m.reading.run(images.pixels, last);
      const std::vector<GateTerms> lines = weights_lines(m.reading);
      scale(m.model.weights.span(), 1e20);
      const std::string what = std::string(gate_info(gate).text.name) + ", " + std::to_string(layers);
      expect_overflow([&] { m.reading.run(images.pixels, last); }, what);
      expect_overflow([&] { m.reading.calibrate(images, ""); }, what);
      expect_overflow([&] { layer_means(m.reading, images.pixels, rows); }, what);
      expect_overflow([&] { decisions(m.reading, images.pixels, rows); }, what);
      // Inputs of another model: the pre-activations overflow here, too.
      Activations large = pass;
      scale(large.inputs.span(), 1e25);
      expect_overflow([&] { form_fidelity(m.reading, m.reading.classes(), lines[last], large); }, what);
      expect_overflow([&] { m.reading.read(m.reading.classes(), lines[last], large); }, what);
      expect_overflow([&] { mirrored_model(m.reading, m.reading.classes(), large); }, what);
    }
}

// Gains of a calibration file may be any number.
TEST(Overflow, OfAFormIsSaid) {
  OneImageModel m(3, 1, false, GateKind::Sqs);
  Matrix<uint8_t> pixels(10, 20);
  for (size_t i = 0; i < pixels.size(); i++) pixels.data()[i] = static_cast<uint8_t>(i * 37 % 256);
  const Activations pass = m.reading.run(pixels, 0);
  const size_t classes[] = {0, 1};
  const auto line = [&](double gain, double shift) {
    GateTerms l = weights_form(m.reading.layer(0));
    l.gain[2] = gain;
    l.shift.assign(l.gain.size(), 0.0);
    l.shift[3] = shift;
    return l;
  };
  EXPECT_NO_THROW(m.reading.read(m.reading.classes(), line(1e100, 1), pass));
  // The outputs are finite, their squares are not.
  expect_overflow([&] { m.reading.read(m.reading.classes(), line(1e160, 0), pass); }, "gain 1e160");
  expect_overflow([&] { form_fidelity(m.reading, m.reading.classes(), line(1e160, 0), pass); }, "gain 1e160");
  expect_overflow([&] { form_fidelity(m.reading, m.reading.classes(), line(1e308, 1e308), pass); },
                  "gain and shift 1e308");
  // Some of the numbers of the largest gains are beyond doubles.
  Activations large = pass;
  scale(large.inputs.span(), 1e10);
  PerForm<std::optional<GateTerms>> terms;
  terms[Form::calibrated] = line(1e300, 0);
  expect_overflow([&] { explain_classes(m.reading, large, 0, terms, classes, Form::calibrated); }, "account");
  expect_overflow(
      [&] {
        GateTerms l = line(1, 0);
        for (double& s : l.shift) s = 1e308;
        Directions units = m.reading.classes();
        for (double& w : units.weights.span()) w *= 1e10;
        unit_forms({m.linalg, m.machine.pool, m.reading.layer(0)}, l, units.weights);
      },
      "linear part");
}

TEST(Overflow, OfSumsAndDecompositions) {
  const LinearAlgebra linalg;
  Matrix<double> model(4, 2), form(4, 2);
  for (size_t i = 0; i < 8; i++)
    model.data()[i] = static_cast<double>(i * i % 5), form.data()[i] = 1e100 * model.data()[i];
  // Products of sums overflow where the sums do not: the correlation is still 1.
  for (double& v : model.span()) v *= 1e100;
  EXPECT_NEAR(fidelity(model, form).correlation, 1, 1e-12);
  for (double& v : form.span()) v *= 1e60;
  expect_overflow([&] { fidelity(model, form); }, "fidelity");
  Matrix<double> q(2, 2);
  q(0, 0) = q(1, 1) = q(0, 1) = q(1, 0) = 1.5e308;  // the eigenvalue is 3e308
  expect_overflow([&] { eigh(linalg, q); }, "eigenvalues");
  expect_overflow([&] { mask_of_length(std::vector<double>{1e200, 1}, 1); }, "mask");
  expect_overflow([&] { mask_of_length(std::vector<double>{std::nan(""), 1}, 1); }, "mask");
}

TEST(Overflow, PicturesThatDoNotFitAFloatAreNotStored) {
  const Folder folder;
  SpectraToWrite s{.units = std::vector<UnitForm>(1),
                   .features = Matrix<double>(1, 2),
                   .names = {"a"},
                   .form = "weights",
                   .model = "x"};
  s.units[0].spectrum = {.values = {1}, .vectors = Matrix<double>(1, 2), .groups = {0}};
  s.features(0, 1) = 1e38;
  save_spectra(real_files(), folder / "good", s);
  s.features(0, 1) = 1e39;
  expect_overflow([&] { save_spectra(real_files(), folder / "bad", s); }, "features");
  EXPECT_FALSE(std::filesystem::exists(folder / "bad"));
}

TEST(Overflow, OfALanguageModelIsSaidByEveryReading) {
  const TestMachine machine(2);
  const LinearAlgebra linalg;
  const auto own = std::make_shared<LanguageModel>();
  LanguageModel& model = *own;
  model.config = {.vocab = 30, .layers = 2, .d_model = 12, .d_hidden = 10, .heads = 2, .context = 16, .gate = {}};
  const TransformerParams params = transformer_params(model.config);
  model.weights = Matrix<float>(1, params.table.floats());
  params.table.initialise(model.weights.span(), 7);
  const std::vector<TokenId> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const TokenRow row{std::span(ids).first(8), std::span(ids).last(8)};
  const FamilyModel family = glint_model(own, "memory");
  const LanguageReading sane(family, machine.compute, linalg);
  const Matrix<float> x = sane.inputs({&row, 1}, 1, 100);
  const GateTerms line = weights_form(sane.layer(1));
  const Directions directions =
      sane.directions(1, sane.token_directions(ids), std::vector<std::string>(ids.size(), "token"));
  const Activations seen{.inputs = x, .logits = {}, .residual_logits = {}};
  EXPECT_NO_THROW(read(sane, directions, line, seen));
  EXPECT_NO_THROW(sane.layer_fidelity(1, line, x));
  EXPECT_NO_THROW(scan_directions(sane, line, sane.token_scan(1), {0, sane.vocab()}));
  const std::vector<double> direction(12, 1.0);
  const double cosine = sane.near(direction, 1).positive[0].cosine;

  // Of rows that a float cannot have the length of, the cosines are the same.
  scale(model.weights.span().subspan(params.table[params.wte].offset, params.table[params.wte].size()), 1e38);
  EXPECT_NEAR(LanguageReading(family, machine.compute, linalg).near(direction, 1).positive[0].cosine, cosine, 1e-5);

  scale(model.weights.span(), 1e10);
  const LanguageReading reading(family, machine.compute, linalg);
  expect_overflow([&] { reading.inputs({&row, 1}, 0, 100); }, "inputs");
  expect_overflow([&] { reading.calibrate({&row, 1}, ""); }, "calibrate");
  GateTerms large = line;
  for (double& g : large.gain) g = 1e300;
  expect_overflow(
      [&] {
        scan_directions(sane, {.gain = std::vector<double>(10, 1e308), .shift = {}}, sane.token_scan(1),
                        {0, sane.vocab()});
      },
      "scan");
  expect_overflow([&] { read(sane, directions, large, seen); }, "read");
  expect_overflow([&] { sane.layer_fidelity(1, large, x); }, "layer_fidelity");
}

}  // namespace
}  // namespace glint
