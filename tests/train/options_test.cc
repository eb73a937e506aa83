// The table of options: domains, aliases, recipes and JSON all go through it.
#include "glint/train/options.h"

#include <algorithm>

#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace testing;
namespace fs = std::filesystem;

const OptionSpec& spec_of(const std::vector<OptionSpec>& table, const std::string& name) {
  return *std::find_if(table.begin(), table.end(), [&](const OptionSpec& s) { return s.name == name; });
}
TrainOptions with(const std::string& name, const std::string& text) {
  TrainOptions o;
  const std::vector<OptionSpec> table = option_table(o);
  set_option(spec_of(table, name), text, "--" + name);
  return o;
}
ErrorParts refused(const std::string& name, const std::string& text) {
  const ErrorParts e = error_of([&] { with(name, text); });
  EXPECT_EQ(e.code, ErrorCode::usage) << name << " " << text;
  EXPECT_EQ(e.where, "--" + name);
  EXPECT_FALSE(e.expected.empty());
  return e;
}

TEST(Options, Domains) {
  TrainOptions o;
  for (const OptionSpec& s : option_table(o)) {
    if (std::holds_alternative<std::string*>(s.value)) {
      refused(s.name, "");
      if (!s.choices.empty()) refused(s.name, "nonsense");
      continue;
    }
    for (const char* text : {"", " ", "x", "1x", "--1", "nan", "inf", "1e999", "0x10", "1,5", "yes"})
      refused(s.name, text);
    if (std::holds_alternative<bool*>(s.value)) {
      refused(s.name, "1");
      EXPECT_NO_THROW(with(s.name, "true"));
      continue;
    }
    if (std::holds_alternative<uint64_t*>(s.value)) {
      refused(s.name, "-1");
      refused(s.name, "1.5");
      refused(s.name, "18446744073709551616");
    }
    if (!(s.low < s.high)) continue;
    const bool whole = std::holds_alternative<uint64_t*>(s.value);
    const auto text = [&](double v) {
      return whole ? std::to_string(static_cast<long long>(v)) : Json(v).dump();
    };
    EXPECT_NO_THROW(with(s.name, text(s.low))) << s.name;
    EXPECT_NO_THROW(with(s.name, text(s.high))) << s.name;
    refused(s.name, text(whole ? s.high + 1 : 1.01 * s.high));
    if (s.low > 0) refused(s.name, text(0));
    if (!whole) refused(s.name, text(s.low - 1e-3));
  }
}

TEST(Options, GateAliases) {
  EXPECT_EQ(with("gate", "bilinear").gate, "identity");
  EXPECT_EQ(with("gate", "swiglu").gate, "silu");
  for (const std::string& gate : gate_names()) EXPECT_EQ(with("gate", gate).gate, gate);
  EXPECT_NE(refused("gate", "relux").expected.find("relu"), std::string::npos);
}

TrainOptions all_changed() {
  TrainOptions o;
  for (const OptionSpec& s : option_table(o)) {
    if (std::string* const* text = std::get_if<std::string*>(&s.value))
      **text = s.choices.empty() ? "other" : s.choices.back();
    else if (double* const* d = std::get_if<double*>(&s.value))
      **d = s.low + 0.1234567890123456 * std::min(1.0, s.high - s.low);
    else if (uint64_t* const* u = std::get_if<uint64_t*>(&s.value))
      **u = s.low < s.high ? static_cast<uint64_t>(s.low) + 3 : ~uint64_t{0};
    else
      *std::get<bool*>(s.value) = !*std::get<bool*>(s.value);
  }
  return o;
}

TEST(Options, JsonRoundTrip) {
  for (const TrainOptions& o : {TrainOptions{}, all_changed()}) {
    const Json json = options_to_json(o);
    TrainOptions copy = o;
    for (const OptionSpec& spec : option_table(copy))
      EXPECT_EQ(json.contains(spec.name), applies(spec, o)) << spec.name;
    EXPECT_EQ(options_to_json(options_from_json(parse_json(json.dump(), "text"), "text")), json);
  }
  const Json standard = options_to_json({}), changed = options_to_json(all_changed());
  for (const auto& [key, value] : standard.items()) EXPECT_NE(changed[key], value) << key;
}

TEST(Options, TextHasItsOwnOptionsInJson) {
  TrainOptions o;
  o.text = true;
  o.heads = 8;
  const Json json = options_to_json(o);
  EXPECT_TRUE(json.contains("heads") && json.contains("context") && json.contains("micro-batch"));
  EXPECT_FALSE(json.contains("noise-std") || json.contains("norm"));
  const TrainOptions back = options_from_json(json, "text");
  EXPECT_TRUE(back.text);
  EXPECT_EQ(back.heads, 8u);
}

TEST(Options, JsonRefused) {
  const auto code = [](const Json& j) {
    const ErrorParts e = error_of([&] { options_from_json(j, "run.json"); });
    EXPECT_EQ(e.where, "run.json");
    EXPECT_EQ(e.code, ErrorCode::bad_file) << j;
    return e.what + " " + e.expected;
  };
  code(Json::array());
  code({{"lr", "0.1"}});
  code({{"layers", 1.5}});
  code({{"bias", 1}});
  code({{"gate", 3}});
  code({{"gate", "sqz"}});
  code({{"batch", 0}});
  code({{"layers", 65}});
  code({{"lr", -1}});
  code({{"noise-prob", 1.5}});
  EXPECT_NE(code({{"lrr", 0.1}}).find("lr"), std::string::npos);
}

struct Recipe {
  Folder folder;
  std::string path = folder / "r.toml";
  explicit Recipe(const std::string& text) { write_atomic(real_files(), path, text); }
};
ErrorParts recipe_refused(const std::string& text) {
  const Recipe r(text);
  TrainOptions o;
  const ErrorParts e = error_of([&] { apply_recipe(o, r.path); });
  EXPECT_EQ(e.code, ErrorCode::bad_file) << text;
  EXPECT_NE(e.where.find("r.toml, line "), std::string::npos) << e.where;
  return e;
}

TEST(Recipes, EveryOneParsesAndResolves) {
  size_t count = 0;
  for (const auto& e : fs::directory_iterator(GLINT_SOURCE_DIR "/recipes")) {
    TrainOptions o;
    const std::string path = find_recipe(e.path().stem().string(), {GLINT_SOURCE_DIR "/recipes"});
    EXPECT_EQ(path, GLINT_SOURCE_DIR "/recipes/" + e.path().filename().string());
    apply_recipe(o, path);
    check(o);
    EXPECT_NO_THROW(classifier_config(o, 784, 10));
    EXPECT_NE(read_file(path).find("#"), std::string::npos) << "a recipe has comments";
    count++;
  }
  EXPECT_GE(count, 5u);
}

// The settings that DESIGN.md gives for the paper's tables.
TEST(Recipes, ThePapersSettings) {
  for (const char* name : {"mnist-4.1", "mnist-4.2", "fashion-4.1", "fashion-4.2"}) {
    const std::string word = name;
    const bool deep = word.ends_with("4.2");
    TrainOptions o;
    apply_recipe(o, find_recipe(word, {GLINT_SOURCE_DIR "/recipes"}));
    EXPECT_EQ(o.data, word.starts_with("mnist") ? "mnist" : "fashion-mnist");
    EXPECT_EQ(o.layers, deep ? 2u : 1u);
    EXPECT_EQ(o.batch, deep ? 512u : 2048u);
    EXPECT_EQ(o.epochs, 20u);
    EXPECT_TRUE(!deep || o.d_model == 256);
    EXPECT_EQ(o.lr, 1e-3);
    EXPECT_EQ(o.weight_decay, 0.1);
    EXPECT_EQ(o.noise_std, 1.0);
    EXPECT_EQ(o.noise_prob, 0.5);
    EXPECT_EQ(o.schedule, "cosine-epoch");
    EXPECT_TRUE(o.drop_last);
    EXPECT_FALSE(o.bias || o.residual);
  }
}

TEST(Recipes, UnknownKeyHasLineAndSuggestion) {
  const ErrorParts e = recipe_refused("# first\nlayers = 2\n\nlerning = 3\nbacth = 7\n");
  EXPECT_NE(e.what.find("bacth"), std::string::npos) << e.what;  // keys come in their own order
  EXPECT_NE(e.where.find("line 5"), std::string::npos) << e.where;
  EXPECT_NE(e.expected.find("batch"), std::string::npos) << e.expected;
  recipe_refused("d_model = 3\n");
  recipe_refused("[model]\nlayers = 3\n");
}

TEST(Recipes, WrongTypesAndDomains) {
  for (const char* text :
       {"layers = \"2\"", "layers = 2.5",     "layers = 2.0",     "layers = true",   "layers = -1",
        "layers = [1]",   "layers = {a = 1}", "lr = \"0.1\"",     "lr = false",      "lr = nan",
        "lr = inf",       "lr = 1979-05-27",  "bias = 1",         "bias = \"true\"", "gate = 5",
        "data = 5",       "gate = true",      "norm = \"layer\"", "gate = \"sqz\"",  "lr = 11"}) {
    const ErrorParts e = recipe_refused(std::string("\n") + text + "\n");
    EXPECT_NE(e.where.find("line 2"), std::string::npos) << text << ": " << e.where;
    EXPECT_FALSE(e.expected.empty()) << text;
  }
  for (const char* text : {"layers", "layers = ", "layers = 1\nlayers = 2", "= 3", "\xff\xfe", "gate = 'a"})
    recipe_refused(text);
}

TEST(Recipes, OverwritesWhatItNamesOnly) {
  const Recipe r("gate = \"bilinear\"\nlr = 1\nbias = true\n");
  TrainOptions o = all_changed();
  const Json before = options_to_json(o);
  apply_recipe(o, r.path);
  Json want = before;
  want["gate"] = "identity";
  want["lr"] = 1.0;
  want["bias"] = true;
  EXPECT_EQ(options_to_json(o), want);
}

TEST(Recipes, UnknownName) {
  const ErrorParts e = error_of([] { find_recipe("qick", {GLINT_SOURCE_DIR "/recipes"}); });
  EXPECT_EQ(e.code, ErrorCode::usage);
  EXPECT_NE(e.expected.find("quick"), std::string::npos) << e.expected;
}

TEST(Options, LogSpacedSteps) {
  EXPECT_TRUE(log_spaced_steps(100, 0).empty());
  EXPECT_EQ(log_spaced_steps(100, 1), (std::vector<uint64_t>{100}));
  EXPECT_EQ(log_spaced_steps(100, 3), (std::vector<uint64_t>{1, 10, 100}));
  for (const uint64_t count : {2, 7, 50, 10000}) {
    const std::vector<uint64_t> steps = log_spaced_steps(2340, count);
    EXPECT_EQ(steps.front(), 1u);
    EXPECT_EQ(steps.back(), 2340u);
    EXPECT_LE(steps.size(), count);
    EXPECT_TRUE(std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()) == steps.end());
  }
}

}  // namespace
}  // namespace glint
