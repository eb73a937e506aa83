// Model files: what was saved comes back, and every wrong file is refused as such (exit code 3).
#include "glint/model/model_file.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "glint/base/limits.h"
#include "glint/base/rng.h"
#include "glint/io/safetensors.h"
#include "tests/model/model_testing.h"

namespace glint {
namespace {

using model_testing::error_of;
using model_testing::Folder;

ImageModel sample() {
  ImageModel m;
  m.config.inputs = 6;
  m.config.classes = 3;
  m.config.layers = 2;
  m.config.d_model = 5;
  m.config.d_hidden = 4;
  m.config.bias = true;
  m.config.norm = Norm::rms;
  m.data = "test";
  m.height = 2;
  m.width = 3;
  m.class_names = {"x", "y", "z"};
  const ParamTable table = classifier_params(m.config).table;
  m.weights = Matrix<float>(1, table.floats());
  table.initialise(m.weights.span(), 3);
  return m;
}

void save(const Folder& folder, const ImageModel& m) {
  save_config(real_files(), folder.path(), m);
  save_weights(real_files(), folder / "model.safetensors", classifier_params(m.config).table, m.weights.span());
}

// The tensors of the model's file, to be spoilt and written again.
struct Tensors {
  std::vector<TensorToWrite> list;
  std::vector<std::vector<float>> data;
  explicit Tensors(const ImageModel& m) {
    const ClassifierParams p = classifier_params(m.config);
    for (const ParamSpec& s : p.table.specs()) {
      const auto part = m.weights.span().subspan(s.offset, s.size());
      data.emplace_back(part.begin(), part.end());
      list.push_back(
          {s.name, Dtype::f32, s.vector ? std::vector<size_t>{s.cols} : std::vector<size_t>{s.rows, s.cols}, {}});
    }
  }
  void write(const Folder& folder) {
    for (size_t i = 0; i < list.size(); i++) list[i].bytes = std::as_bytes(std::span<const float>(data[i]));
    write_safetensors(real_files(), folder / "model.safetensors", list);
  }
};

TEST(ModelFile, RoundTrip) {
  const Folder folder;
  const ImageModel m = sample();
  save(folder, m);
  const ImageModel back = load_image_model(folder.path());
  EXPECT_EQ(config_to_json(back.config), config_to_json(m.config));
  EXPECT_EQ(back.class_names, m.class_names);
  EXPECT_EQ(back.data, "test");
  EXPECT_TRUE(std::equal(m.weights.span().begin(), m.weights.span().end(), back.weights.span().begin(),
                         back.weights.span().end()));
}

TEST(ModelFile, AModelOfVectorsHasNoPictureSize) {
  const Folder folder;
  ImageModel m = sample();
  m.height = m.width = 0;
  save(folder, m);
  EXPECT_FALSE(read_json(folder / "config.json").contains("image"));
  const ImageModel back = load_image_model(folder.path());
  EXPECT_EQ(back.height, 0u);
  EXPECT_EQ(back.width, 0u);
  EXPECT_EQ(back.config.inputs, 6u);
}

// More classes than a byte can count.
TEST(ModelFile, ManyClasses) {
  const Folder folder;
  ImageModel m = sample();
  m.config.classes = 300;
  m.class_names.assign(300, "name");
  const ParamTable table = classifier_params(m.config).table;
  m.weights = Matrix<float>(1, table.floats());
  table.initialise(m.weights.span(), 3);
  save(folder, m);
  EXPECT_EQ(load_image_model(folder.path()).config.classes, 300u);
}

TEST(ModelFile, TensorsAreFoundByName) {
  const ImageModel m = sample();
  const ClassifierParams p = classifier_params(m.config);
  for (const ParamSpec& s : p.table.specs()) {
    const ConstMatrixView<float> found = find_tensor(m, s.name);
    EXPECT_EQ(found.rows(), s.rows) << s.name;
    EXPECT_EQ(found.cols(), s.cols) << s.name;
    EXPECT_EQ(found.data(), m.weights.data() + s.offset) << s.name;
    EXPECT_EQ(p.table.find(s.name).offset, s.offset) << s.name;
  }
  const ErrorParts e = error_of([&] { find_tensor(m, "block.1.weight"); });
  EXPECT_EQ(e.code, ErrorCode::usage);
  EXPECT_NE(e.expected.find("blocks.1.weight"), std::string::npos) << e.expected;
  // What can be read can be written.
  std::vector<float> gradients(p.table.floats());
  p.table.find(std::span(gradients), "head.bias")(0, 2) = 5;
  EXPECT_EQ(gradients[p.table.find("head.bias").offset + 2], 5);
  EXPECT_EQ(error_of([&] { p.table.find(std::span(gradients).first(8), "head.bias"); }).code, ErrorCode::usage);
}

TEST(ModelFile, SavedTwiceIsTheSameBytes) {
  const Folder a, b;
  save(a, sample());
  save(b, sample());
  for (const char* name : {"config.json", "model.safetensors"})
    EXPECT_EQ(read_file(a / name), read_file(b / name)) << name;
}

TEST(ModelFile, WrongTensors) {
  const ImageModel m = sample();
  const auto refused = [&](const auto& spoil, ErrorCode code = ErrorCode::bad_file) {
    const Folder folder;
    save(folder, m);
    Tensors t(m);
    spoil(t);
    t.write(folder);
    const ErrorParts e = error_of([&] { load_image_model(folder.path()); });
    EXPECT_EQ(e.code, code);
    EXPECT_NE(e.where.find("model.safetensors"), std::string::npos) << e.where;
    return e.what + ": " + e.where;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  for (size_t i = 0; i < Tensors(m).list.size(); i++) {
    const std::string name = Tensors(m).list[i].name;
    has(refused([&](Tensors& t) {
          t.list.erase(t.list.begin() + static_cast<std::ptrdiff_t>(i));
          t.data.erase(t.data.begin() + static_cast<std::ptrdiff_t>(i));
        }),
        name.c_str());
    has(refused([&](Tensors& t) {
          t.list[i].shape.back()++;
          t.data[i].resize(t.data[i].size() / (t.list[i].shape.back() - 1) * t.list[i].shape.back());
        }),
        name.c_str());
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::max()})
      has(refused([&](Tensors& t) { t.data[i].back() = bad; }, ErrorCode::numeric), name.c_str());
  }
  has(refused([](Tensors& t) {
        t.list.push_back({"blocks.2.weight", Dtype::f32, {2, 2}, {}});
        t.data.push_back(std::vector<float>(4));
      }),
      "blocks.2.weight");
  // The same numbers under another shape: transposed, and as a vector.
  has(refused([](Tensors& t) { std::swap(t.list[0].shape[0], t.list[0].shape[1]); }), "embed.weight");
  has(refused([](Tensors& t) { t.list[0].shape = {t.data[0].size()}; }), "embed.weight");
}

TEST(ModelFile, WrongConfig) {
  const Folder folder;
  save(folder, sample());
  const Json good = read_json(folder / "config.json");
  const auto refused = [&](const std::string& key, const Json& value) {
    Json j = good;
    if (value.is_null())
      j.erase(key);
    else
      j[key] = value;
    write_atomic(real_files(), folder / "config.json", j.dump());
    const ErrorParts e = error_of([&] { load_image_model(folder.path()); });
    EXPECT_EQ(e.code, ErrorCode::bad_file) << key << " " << value << ": " << e.what;
    EXPECT_NE(e.where.find("config.json"), std::string::npos) << key << " " << value << ": " << e.where;
  };
  for (const char* key : {"format", "inputs", "classes", "layers", "d_model", "d_hidden", "gate", "c", "lambda", "p",
                          "bias", "residual", "norm", "image", "class_names"}) {
    if (std::string(key) != "image") refused(key, nullptr);
    refused(key, Json::array({Json::object()}));
    if (std::string(key) != "c") refused(key, -1);
  }
  refused("format", "glint-transformer");
  refused("inputs", 0);
  refused("inputs", (1 << 20) + 1);
  refused("classes", 1);
  refused("classes", kMaxClasses + 1);
  refused("layers", 65);
  refused("layers", 1.5);
  refused("d_model", 16385);
  refused("gate", "sqz");
  refused("c", 1e7);
  refused("p", 0);
  refused("bias", 1);
  refused("residual", true);  // d_hidden is not d_model
  refused("norm", "layer");
  refused("image", Json{{"height", 6}});
  refused("image", Json{{"height", 3}, {"width", 3}});
  // 2 * (2^63 + 3) is 6 in 64 bits.
  refused("image", Json{{"height", 2}, {"width", (uint64_t{1} << 63) + 3}});
  refused("class_names", Json::array({"x", "y"}));
  refused("class_names", Json::array({"x", "y", 3}));
}

// In a run of glint a field that nobody knows is a slip. Other programs may have fields of their own.
TEST(ModelFile, UnknownFieldsOfARunAreRefused) {
  const Folder folder;
  save(folder, sample());
  const Json good = read_json(folder / "config.json");
  const auto with = [&](const char* key) {
    Json j = good;
    j[key] = 1;
    write_atomic(real_files(), folder / "config.json", j.dump());
  };
  with("torch_dtype");
  load_image_model(folder.path());
  write_atomic(real_files(), folder / "run.json", "{}");
  ErrorParts e = error_of([&] { load_image_model(folder.path()); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_NE(e.what.find("torch_dtype"), std::string::npos) << e.what;
  with("clas_names");
  e = error_of([&] { load_image_model(folder.path()); });
  EXPECT_EQ(e.expected, "did you mean class_names?");
  Json j = good;
  j["image"]["depth"] = 1;
  write_atomic(real_files(), folder / "config.json", j.dump());
  EXPECT_EQ(error_of([&] { load_image_model(folder.path()); }).code, ErrorCode::bad_file);
  write_atomic(real_files(), folder / "config.json", good.dump());
  load_image_model(folder.path());
}

// Only SQS has options. Those of other gates are ignored.
TEST(ModelFile, GatesWithoutOptionsNeedNone) {
  for (int kind = 0; kind < kGateCount; kind++) {
    const Folder folder;
    ImageModel m = sample();
    m.config.gate = {static_cast<GateKind>(kind), {0.25, 0.125, 2}};
    const GateText& text = gate_info(m.config.gate.kind).text;
    if (!text.glu) continue;
    save(folder, m);
    Json j = read_json(folder / "config.json");
    for (const char* key : {"c", "lambda", "p"}) EXPECT_EQ(j.contains(key), text.has_params) << text.name;
    EXPECT_EQ(load_image_model(folder.path()).config.gate.params.c, text.has_params ? 0.25 : 0.01);
    write_atomic(real_files(), folder / "run.json", "{}");
    j["c"] = 0.5, j["lambda"] = 0.5, j["p"] = 1;
    write_atomic(real_files(), folder / "config.json", j.dump());
    EXPECT_EQ(load_image_model(folder.path()).config.gate.kind, m.config.gate.kind);
  }
}

// A config that asks for 64 GB beside a small file is refused before the memory is asked for.
TEST(ModelFile, ALargeConfigAllocatesNothing) {
  const Folder folder;
  save(folder, sample());
  Json j = read_json(folder / "config.json");
  j["inputs"] = 1 << 20;
  j["d_model"] = 16384;
  j["image"] = {{"height", 1024}, {"width", 1024}};
  write_atomic(real_files(), folder / "config.json", j.dump());
  const ErrorParts e = error_of([&] { load_image_model(folder.path()); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_NE(e.what.find("embed.weight"), std::string::npos) << e.what;
}

TEST(ModelFile, AbsentAndDamaged) {
  const Folder folder;
  EXPECT_EQ(error_of([&] { load_image_model(folder / "nothing"); }).code, ErrorCode::bad_file);
  save(folder, sample());
  const std::string weights = read_file(folder / "model.safetensors"), config = read_file(folder / "config.json");
  for (size_t size = 0; size < weights.size(); size += 37) {
    write_atomic(real_files(), folder / "model.safetensors", weights.substr(0, size));
    EXPECT_EQ(error_of([&] { load_image_model(folder.path()); }).code, ErrorCode::bad_file) << size;
  }
  std::filesystem::remove(folder / "model.safetensors");
  EXPECT_EQ(error_of([&] { load_image_model(folder.path()); }).code, ErrorCode::bad_file);
  write_atomic(real_files(), folder / "model.safetensors", weights);
  for (size_t size = 0; size + 2 < config.size(); size += 11) {
    write_atomic(real_files(), folder / "config.json", config.substr(0, size));
    EXPECT_EQ(error_of([&] { load_image_model(folder.path()); }).code, ErrorCode::bad_file) << size;
  }
}

// Random damage to either file: bytes flipped, cut out, doubled. It is refused as a bad file, or it changed
// only values, and then the model is whole.
TEST(ModelFile, RandomDamage) {
  const Folder folder;
  const ImageModel m = sample();
  save(folder, m);
  for (const char* name : {"config.json", "model.safetensors"}) {
    const std::string good = read_file(folder / name);
    size_t refusals = 0;
    for (uint64_t trial = 0; trial < 1500; trial++) {
      const Rng rng(trial, Stream::test);
      std::string bad = good;
      const size_t at = rng.below(good.size(), 0), count = 1 + rng.below(9, 1);
      switch (rng.below(4, 2)) {
        case 0:
          bad[at] = static_cast<char>(bad[at] ^ (1 << rng.below(8, 3)));
          break;
        case 1:
          bad[at] = "0123456789-+.,:{}[]\"e\\ntf"[rng.below(25, 3)];
          break;
        case 2:
          bad.erase(at, count);
          break;
        default:
          bad.insert(at, good.substr(rng.below(good.size(), 3), count));
          break;
      }
      {
        std::ofstream file(folder / name, std::ios::binary | std::ios::in | std::ios::out);
        file << bad;
      }
      std::filesystem::resize_file(folder / name, bad.size());
      try {
        const ImageModel got = load_image_model(folder.path());
        for (const float w : got.weights.span()) ASSERT_TRUE(std::isfinite(w));
        ASSERT_EQ(got.class_names.size(), got.config.classes);
        ASSERT_TRUE(got.height == 0 || got.height * got.width == got.config.inputs);
      } catch (const Error& e) {
        // Weights that became no numbers are said so.
        if (e.code() != ErrorCode::numeric)
          ASSERT_EQ(e.code(), ErrorCode::bad_file) << name << ", trial " << trial << ": " << e.what();
        refusals++;
      }
    }
    EXPECT_GT(refusals, 300u) << name;
    write_atomic(real_files(), folder / name, good);
  }
}

}  // namespace
}  // namespace glint
