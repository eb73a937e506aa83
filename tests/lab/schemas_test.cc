// What the library gives, against the golden JSON of every schema; tests/golden/make_schemas.py makes these and has the
// requests as command lines.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "glint/glint.h"
#include "glint/lab/models/import.h"
#include "glint/lab/models/model_info.h"
#include "glint/lab/read/neurons.h"
#include "glint/lab/read/passages.h"
#include "glint/lab/read/read_layers.h"
#include "glint/lab/work/train.h"
#include "glint/paper/reproduce.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Call = std::function<OrderedJson(const Engine&)>;

constexpr const char* kTiny = "tiny/tiny.bin";
// As in make_schemas.py: what is rounding in f32 models of one or two layers.
constexpr double kSame = 1e-5, kNothing = 1e-6;

// Where `got` is not the golden, by the path of keys that leads there; "~" stands for anything, and "~ N more" at
// the end of a list for N entries.
void compare(const OrderedJson& golden, const OrderedJson& got, const std::string& path, double tolerance,
             double floor = kNothing) {
  if (golden == "~") return;
  if (golden.is_number_float() && got.is_number_float()) {
    const double a = golden.get<double>(), b = got.get<double>();
    EXPECT_LE(std::fabs(a - b), tolerance * std::fabs(a) + floor) << path << ": " << b << ", golden " << a;
  } else if (golden.is_object() && got.is_object()) {
    std::string keys, wanted;
    for (const auto& [key, value] : got.items()) keys += key + " ";
    for (const auto& [key, value] : golden.items()) wanted += key + " ";
    ASSERT_EQ(keys, wanted) << path;
    for (const auto& [key, value] : golden.items()) compare(value, got[key], path + "." + key, tolerance);
  } else if (golden.is_array() && got.is_array()) {
    size_t count = golden.size(), more = 0;
    if (count > 0 && golden.back().is_string() && golden.back().get<std::string>().starts_with("~ "))
      count--, more = std::stoul(golden.back().get<std::string>().substr(2));
    ASSERT_EQ(got.size(), count + more) << path;
    double largest = 0;
    for (const OrderedJson& v : golden)
      if (v.is_number_float()) largest = std::max(largest, std::fabs(v.get<double>()));
    for (size_t i = 0; i < count; i++)
      compare(golden[i], got[i], path + "[" + std::to_string(i) + "]", tolerance, tolerance * largest);
  } else {
    EXPECT_EQ(got.dump(), golden.dump()) << path;
  }
}

ReadRequest reading(const std::string& run) {
  return {.source = RunSource{.run = run}, .figures = false, .out = "read"};
}

ReadRequest happy(const std::string& run, std::optional<size_t> layer = {}) {
  ReadRequest q = reading(run);
  q.along.directions = {"happy"}, q.layer = layer, q.near = 2, q.show = 1, q.source.tokens = 300;
  return q;
}

SweepRequest swept() {
  SweepRequest q;
  q.plan.recipe = "digits.toml";
  q.plan.lists = {parse_option_list("gate", "sqs,identity")};
  q.plan.seeds = {0};
  return q;
}

std::vector<float> waves(size_t count, double start) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; i++) v[i] = static_cast<float>(std::sin(static_cast<double>(i) + start));
  return v;
}

OrderedJson layer_of_arrays(const Engine& engine) {
  const std::vector<float> left = waves(20, 0), right = waves(20, 1), projection = waves(12, 2), inputs = waves(160, 3);
  const std::vector<double> direction = {1, 0, -1};
  const LayerArrays layer{.left = {left.data(), 4, 5},
                          .right = {right.data(), 4, 5},
                          .projection = {projection.data(), 3, 4},
                          .gate = {.kind = GateKind::Silu, .params = {}}};
  return to_json(read_layer(
      engine, layer,
      {.directions = {direction.data(), 1, 3}, .names = {"first - last"}, .inputs = {inputs.data(), 32, 5}}));
}

OrderedJson first_axes(const Engine& engine) {
  PassagesRequest q{.source = RunSource{.run = "tales"},
                    .texts = {"once there was a cat . the cat ran"},
                    .layer = 1,
                    .vectors = Matrix<double>(2, 8),
                    .values = {2, -0.5},
                    .count = 1,
                    .near = 2};
  q.vectors(0, 0) = q.vectors(1, 1) = 1;
  return to_json(passages(engine, q));
}

const std::vector<std::pair<const char*, Call>>& calls() {
  static const std::vector<std::pair<const char*, Call>> kCalls = {
      {"data", [](const Engine& e) { return to_json(describe_data(e, {.name = "digits"})); }},
      {"corpus", [](const Engine& e) { return to_json(describe_data(e, {.name = "corpus"})); }},
      {"train",
       [](const Engine& e) {
         return to_json(train(e, {.recipe = "digits.toml", .changes = {{"gate", "sqs"}}, .out = "sqs"}));
       }},
      {"runs",
       [](const Engine& e) {
         return to_json(list_runs(e, {.folders = {"sqs", "deep", "identity", "tales"}, .sort = "run"}));
       }},
      {"model", [](const Engine& e) { return to_json(model_info(e, {.path = "sqs"})); }},
      {"model-foreign", [](const Engine& e) { return to_json(model_info(e, {.path = kTiny})); }},
      {"evaluate-images",
       [](const Engine& e) { return to_json(evaluate_images(e, {.source = RunSource{.run = "sqs"}, .worst = 2})); }},
      {"evaluate-text",
       [](const Engine& e) { return to_json(evaluate_text(e, {.source = RunSource{.run = "tales"}})); }},
      {"evaluate-foreign",
       [](const Engine& e) {
         return to_json(evaluate_text(e, {.source = RunSource{.run = kTiny, .text = "story.txt"}}));
       }},
      {"generate",
       [](const Engine& e) {
         return to_json(generate_stories(e, *open_language_run(e, {.run = "tales"}),
                                         {.prompt = "once", .sampling = {.temperature = 0}, .tokens = 8}));
       }},
      {"generate-foreign",
       [](const Engine& e) {
         return to_json(generate_stories(e, *open_language_run(e, {.run = kTiny}),
                                         {.prompt = "the", .sampling = {.temperature = 0}, .tokens = 8}));
       }},
      {"read",
       [](const Engine& e) {
         ReadRequest q = reading("sqs");
         q.along.directions = {"1,0-2"}, q.figures = true;
         return to_json(read(e, q));
       }},
      {"read-refined",
       [](const Engine& e) {
         ReadRequest q = reading("sqs");
         q.along.directions = {"1"}, q.source.refine = true;
         return to_json(read(e, q));
       }},
      {"read-lower",
       [](const Engine& e) {
         ReadRequest q = reading("deep");
         q.layer = 1, q.along.directions = {"0"}, q.along.via = "2";
         return to_json(read(e, q));
       }},
      {"read-language", [](const Engine& e) { return to_json(read(e, happy("tales"))); }},
      {"read-passages",
       [](const Engine& e) {
         ReadRequest q = happy("tales");
         q.passages = 1;
         return to_json(read(e, q));
       }},
      {"read-activation",
       [](const Engine& e) {
         ReadRequest q = happy("tales", 1);
         q.along.directions = {"latent:2"}, q.along.sae = "latents.safetensors", q.along.sae_reads = "output";
         return to_json(read(e, q));
       }},
      {"read-latent",
       [](const Engine& e) {
         ReadRequest q = happy("tales", 1);
         q.along.directions = {"latent:2"}, q.along.sae = q.inputs = "latents.safetensors", q.pairs = 2;
         return to_json(read(e, q));
       }},
      {"read-from-layer",
       [](const Engine& e) {
         ReadRequest q = happy("tales", 1);
         q.along.from_layer = 2, q.along.eigenvector = "-1";
         return to_json(read(e, q));
       }},
      {"read-foreign",
       [](const Engine& e) {
         ReadRequest q = happy(kTiny, 1);
         q.along.directions = {"hidden:2"}, q.source.tokens = 200;
         return to_json(read(e, q));
       }},
      {"read-expert",
       [](const Engine& e) {
         ReadRequest q = happy("mixtral", 2);
         q.along.directions = {"hidden:1"}, q.source.expert = "3", q.source.tokens = 0;
         return to_json(read(e, q));
       }},
      {"scan",
       [](const Engine& e) {
         return to_json(scan(e, {.source = RunSource{.run = kTiny, .tokens = 200}, .layer = 2, .out = "read"}));
       }},
      {"scan-latents",
       [](const Engine& e) {
         return to_json(scan(e, {.source = RunSource{.run = "tales", .tokens = 300},
                                 .layer = 1,
                                 .sae = "latents.safetensors",
                                 .out = "read"}));
       }},
      {"read-layers",
       [](const Engine& e) {
         ReadRequest q = happy("tales");
         q.near = 8, q.show = 4;
         return to_json(read_layers(e, q));
       }},
      {"read-layers-image",
       [](const Engine& e) {
         ReadRequest q = reading("deep");
         q.along.directions = {"1"};
         return to_json(read_layers(e, q));
       }},
      {"explain",
       [](const Engine& e) {
         return to_json(explain(e, {.source = RunSource{.run = "sqs"}, .figures = false, .index = 3}));
       }},
      {"explain-local",
       [](const Engine& e) {
         return to_json(explain(
             e, {.source = RunSource{.run = "deep"}, .form = "local", .figures = false, .index = 5, .unit = "0,1"}));
       }},
      {"explain-token",
       [](const Engine& e) {
         return to_json(explain_token(e, {.source = RunSource{.run = "tales"},
                                          .show = 1,
                                          .figures = false,
                                          .prompt = "once",
                                          .token = "happy",
                                          .against = "friend",
                                          .layers = "all",
                                          .near = 2}));
       }},
      {"explain-foreign",
       [](const Engine& e) {
         return to_json(explain_token(
             e, {.source = RunSource{.run = kTiny}, .show = 1, .figures = false, .prompt = "the", .near = 2}));
       }},
      {"ablate",
       [](const Engine& e) {
         return to_json(
             ablate(e, {.source = RunSource{.run = "sqs"}, .along = Along{.directions = {"1,2"}}, .remove = "1,2"}));
       }},
      {"ablate-language",
       [](const Engine& e) {
         return to_json(
             ablate(e, {.source = RunSource{.run = "tales"}, .layer = 1, .along = Along{.directions = {"happy"}}}));
       }},
      {"ablate-foreign",
       [](const Engine& e) {
         return to_json(
             ablate(e, {.source = RunSource{.run = kTiny}, .layer = 1, .along = Along{.directions = {"the"}}}));
       }},
      {"attack",
       [](const Engine& e) {
         return to_json(attack(
             e, {.source = RunSource{.run = "sqs"}, .show = 2, .images = 20, .strengths = {0, 1}, .figures = false}));
       }},
      {"compare",
       [](const Engine& e) {
         return to_json(compare(e, {.runs = {"sqs", "identity"}, .control = {}, .show = 2, .figures = false}));
       }},
      {"compare-control",
       [](const Engine& e) {
         return to_json(compare(e, {.runs = {"sqs", "identity"},
                                    .control = "sqs,deep",
                                    .unit = "1",
                                    .form = "auto",
                                    .show = 2,
                                    .figures = false}));
       }},
      {"compare-language",
       [](const Engine& e) {
         return to_json(
             compare(e, {.runs = {"tales", kTiny}, .control = {}, .token = "the,t", .show = 2, .figures = false}));
       }},
      {"readability",
       [](const Engine& e) {
         return to_json(readability(e, {.runs = {"sqs", "deep"}}));
       }},
      {"readability-language",
       [](const Engine& e) {
         return to_json(readability(e, {.runs = {"tales"}, .along = Along{.directions = {"happy,friend"}}}));
       }},
      {"neurons",
       [](const Engine& e) {
         return to_json(neurons(e, {.source = RunSource{.run = "tales"}, .figures = false, .out = "read"}));
       }},
      {"page",
       [](const Engine& e) {
         return to_json(write_page(
             e, {.source = RunSource{.run = "sqs"}, .second = {}, .out = "page.html", .images = 20, .show = 2}));
       }},
      {"page-language",
       [](const Engine& e) {
         return to_json(write_page(e, {.source = RunSource{.run = "tales"}, .second = {}, .out = "page.html"}));
       }},
      {"page-readings",
       [](const Engine& e) {
         return to_json(write_page(e, {.source = RunSource{.run = "tales"},
                                       .second = {},
                                       .out = "page.html",
                                       .layers = "1",
                                       .along = Along{.directions = {"happy"}}}));
       }},
      {"export",
       [](const Engine& e) {
         return to_json(export_run(e, {.source = RunSource{.run = "sqs"}, .npy = "arrays", .hf = "folder"}));
       }},
      {"export-language",
       [](const Engine& e) {
         return to_json(
             export_run(e, {.source = RunSource{.run = "tales"}, .npy = "arrays-tales", .hf = "folder-tales"}));
       }},
      {"import",
       [](const Engine& e) {
         return to_json(import_classifier(e, {.weights = "sqs/model.safetensors",
                                              .gate = "sqs",
                                              .height = 6,
                                              .width = 6,
                                              .class_names = {"a", "b", "c", "d"},
                                              .out = "imported"}));
       }},
      {"plan", [](const Engine&) { return to_json(plan_sweep(swept().plan).jobs("sweep")); }},
      {"sweep", [](const Engine& e) { return to_json(sweep(e, swept())); }},
      {"sweep-reading", [](const Engine&) { return OrderedJson::parse(read_file("sweep/readings/sqs-seed-0.json")); }},
      {"reproduce", [](const Engine& e) { return to_json(reproduce(e, {.what = "formulas", .quick = true})); }},
      {"passages", first_axes},
      {"layer", layer_of_arrays},
  };
  return kCalls;
}

TEST(Schemas, EveryResultIsItsGolden) {
  const fs::path golden = GLINT_GOLDEN_DIR, before = fs::current_path();
  const TempFolder folder;
  const auto copy = [](const fs::path& from, const fs::path& to) {
    if (to.has_parent_path()) fs::create_directories(to.parent_path());
    fs::copy(from, to, fs::copy_options::recursive);
  };
  copy(golden / "schemas/runs", folder.path("all"));
  fs::current_path(folder.path("all"));
  for (const char* family : {"tiny", "mixtral"}) copy(golden / "families" / family, family);
  for (const char* gate : {"sqs", "identity"}) copy(gate, fs::path("sweep/runs") / gate / "seed-0");
  const Engine engine({.threads = 2});
  const auto check = [&](const std::string& name, const OrderedJson& got) {
    compare(OrderedJson::parse(read_file((golden / "schemas" / (name + ".json")).string())), got, name,
            name == "read-refined" ? 0.02 : kSame);
  };
  CorpusBuild corpus{.tales = 60, .valid_share = 0.34, .out = "corpus"};
  corpus.training.vocab = 260, corpus.training.byte_fallback = false;
  check("tokenize", to_json(tokenize(engine, corpus)));
  copy("corpus/tokenizer.model", "tales/tokenizer.model");
  std::vector<std::string> names = {"tokenize.json"};
  for (const auto& [name, call] : calls()) {
    check(name, call(engine));
    names.push_back(std::string(name) + ".json");
  }
  fs::current_path(before);
  // None is forgotten.
  std::vector<std::string> files;
  for (const fs::directory_entry& e : fs::directory_iterator(golden / "schemas"))
    if (e.is_regular_file()) files.push_back(e.path().filename().string());
  std::ranges::sort(files), std::ranges::sort(names);
  EXPECT_EQ(files, names);
}

}  // namespace
}  // namespace glint
