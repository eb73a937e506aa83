// The table of options: domains, aliases, recipes and JSON all go through it.
#include "glint/train/options.h"

#include <algorithm>

#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace model_testing;
namespace fs = std::filesystem;

const Field& spec_of(const std::vector<Field>& table, const std::string& name) {
  return *std::find_if(table.begin(), table.end(), [&](const Field& s) { return s.name == name; });
}
TrainOptions with(const std::string& name, const std::string& text) {
  TrainOptions o;
  const std::vector<Field> table = fields_of(o);
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
  for (const Field& s : fields_of(o)) {
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
    const auto text = [&](double v) { return whole ? std::to_string(static_cast<long long>(v)) : Json(v).dump(); };
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
  for (const Field& s : fields_of(o)) {
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
    for (const Field& spec : fields_of(copy)) EXPECT_EQ(json.contains(spec.name), applies(spec, o)) << spec.name;
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

struct RecipeFile {
  Folder folder;
  std::string path;
  explicit RecipeFile(const std::string& text, const std::string& name = "r.toml") : path(folder / name) {
    write_atomic(real_files(), path, text);
  }
};
ErrorParts recipe_refused(const std::string& text) {
  const RecipeFile r(text);
  TrainOptions o;
  const ErrorParts e = error_of([&] { apply_recipe(o, r.path); });
  EXPECT_EQ(e.code, ErrorCode::bad_file) << text.substr(0, 100);
  EXPECT_NE(e.where.find("r.toml, line "), std::string::npos) << e.where;
  return e;
}

TEST(Recipes, EveryOneParsesAndResolves) {
  size_t count = 0;
  for (const auto& e : fs::directory_iterator(GLINT_SOURCE_DIR "/recipes")) {
    TrainOptions o;
    const std::string name = e.path().stem().string();
    const Recipe recipe = find_recipe(name, {GLINT_SOURCE_DIR "/recipes"});
    EXPECT_EQ(recipe.where, GLINT_SOURCE_DIR "/recipes/" + e.path().filename().string());
    EXPECT_EQ(recipe.name, name);
    apply_recipe(o, recipe);
    check(o);
    EXPECT_NO_THROW(classifier_config(o, 784, 10));
    EXPECT_NE(recipe.text.find("#"), std::string::npos) << "a recipe has comments";
    // The library has it too, for those who are somewhere else.
    const Recipe built_in = find_recipe(name, {"/nowhere"});
    EXPECT_EQ(built_in.text, recipe.text);
    EXPECT_EQ(built_in.name, name);
    count++;
  }
  EXPECT_GE(count, 5u);
  EXPECT_EQ(built_in_recipes().size(), count);
  EXPECT_EQ(recipe_names({GLINT_SOURCE_DIR "/recipes"}).size(), count) << "a name twice";
}

TEST(Recipes, AFolderOfOnesOwnWins) {
  const RecipeFile own("layers = 3\n", "quick.toml");
  EXPECT_EQ(find_recipe("quick", {own.folder / ""}).text, "layers = 3\n");
  EXPECT_NE(find_recipe("quick", {own.folder / "absent"}).text, "layers = 3\n");
}

// 100 kB of `a.a.a=1` once ended in 31,000 frames of a TOML library.
TEST(Recipes, NothingInATextCanNestOrGrow) {
  const auto many = [](size_t count, const std::string& text) {
    std::string all;
    while (count-- > 0) all += text;
    return all;
  };
  recipe_refused(many(30000, "a.") + "a=1\n");
  recipe_refused("a=" + many(60000, "["));
  recipe_refused("a=" + many(15000, "{a="));
  recipe_refused("[" + many(30000, "a.") + "a]\n");
  recipe_refused(many(10000, "[[a]]\n"));
  recipe_refused(many(60000, "a") + "=1\n");
  recipe_refused(many(10000, "\"\"=1\n"));
  recipe_refused("seed=" + many(60000, "9"));
  recipe_refused("lr=1e" + many(60000, "9"));
  recipe_refused("data=\"\"\"\n" + many(60000, "x"));
  // Above 64 kB it is not even read.
  const RecipeFile large("# " + many(100000, "x") + "\n");
  TrainOptions o;
  const ErrorParts e = error_of([&] { apply_recipe(o, large.path); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_NE(e.what.find("too large"), std::string::npos) << e.what;
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

// The readable recipes are those of section 4.1 but for the norm and the shrink.
TEST(Recipes, TheReadableOnesAreThePapersWithANorm) {
  for (const std::string word : {"mnist", "fashion"}) {
    TrainOptions paper, readable;
    apply_recipe(paper, find_recipe(word + "-4.1", {GLINT_SOURCE_DIR "/recipes"}));
    apply_recipe(readable, find_recipe(word + "-readable", {GLINT_SOURCE_DIR "/recipes"}));
    EXPECT_EQ(readable.norm, "rms");
    EXPECT_EQ(readable.lambda, 0.1);
    EXPECT_EQ(readable.gate, "sqs");
    readable.norm = paper.norm, readable.lambda = paper.lambda;
    EXPECT_EQ(options_to_json(readable), options_to_json(paper));
  }
}

TEST(Recipes, UnknownKeyHasLineAndSuggestion) {
  const ErrorParts e = recipe_refused("# first\nlayers = 2\n\nlerning = 3\nbacth = 7\n");
  EXPECT_NE(e.what.find("lerning"), std::string::npos) << e.what;  // the first one
  EXPECT_NE(e.where.find("line 4"), std::string::npos) << e.where;
  const ErrorParts slip = recipe_refused("bacth = 7\n");
  EXPECT_NE(slip.expected.find("batch"), std::string::npos) << slip.expected;
  recipe_refused("d_model = 3\n");
  recipe_refused("[model]\nlayers = 3\n");
}

TEST(Recipes, WrongTypesAndDomains) {
  for (const char* text : {"layers = \"2\"", "layers = 2.5",     "layers = 2.0",     "layers = true",   "layers = -1",
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
  const RecipeFile r("gate = \"bilinear\"\nlr = 1\nbias = true\n");
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
