// Models of other programs: opened by their path, evaluated, continued and read. tiny/ is made by
// tests/golden/make_llama_family.py; the real models are used where they are at hand.
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "glint/base/error.h"
#include "glint/io/safetensors.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/models/generate.h"
#include "glint/lab/models/model_info.h"
#include "glint/lab/models/run.h"
#include "glint/lab/publish/export.h"
#include "glint/lab/read/neurons.h"
#include "glint/lab/read/read.h"
#include "glint/lab/work/data_words.h"
#include "glint/lab/work/train.h"
#include "glint/model/redrawn.h"
#include "glint/nn/softmax.h"
#include "glint/spectra/language_reading.h"
#include "tests/lab/real_model.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

const Engine& any_engine() {
  static const Engine engine({.threads = 1});
  return engine;
}

// With a tokenizer, or an Error.
std::unique_ptr<LanguageRun> open_model(const std::string& path, const std::string& tokenizer = {}) {
  auto run = open_language_run(any_engine(), {.run = path, .tokenizer = tokenizer});
  run->tokenizer();
  return run;
}

const std::string kFamiliesDir = GLINT_GOLDEN_DIR "/families/", kTinyFile = kFamiliesDir + "tiny/tiny.bin";

std::string written(const TempFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.path(name)) << text;
  return folder.path(name);
}

TEST(Foreign, IsToldFromRuns) {
  EXPECT_TRUE(is_foreign(kTinyFile));
  EXPECT_TRUE(is_foreign(kFamiliesDir + "qwen3"));
  EXPECT_TRUE(is_foreign(kFamiliesDir + "qwen3.gguf"));
  EXPECT_FALSE(is_foreign(kFamiliesDir));
  EXPECT_FALSE(is_foreign(kFamiliesDir + "tiny/tokenizer.bin"));
  EXPECT_FALSE(is_foreign(kFamiliesDir + "nothing"));
  const fixtures::SavedModel saved;
  EXPECT_FALSE(is_foreign(saved.folder.path()));
}

TEST(Foreign, SaysWhatItIs) {
  const Engine engine({.threads = 1});
  const ModelInfo info = model_info(engine, {.path = kTinyFile});
  EXPECT_EQ(info.family, "Llama");
  EXPECT_EQ(info.format, "llama2.c");
  EXPECT_EQ(info.layers, 2u);
  EXPECT_EQ(info.vocab, 288u);
  EXPECT_FALSE(info.tied);
  uint64_t sum = 0;
  for (const FamilyModel::Part& p : info.parts) sum += p.parameters;
  EXPECT_EQ(sum, info.parameters);
  // Embedding, head, norms, attention with one head of keys for two, GLU.
  EXPECT_EQ(info.parameters, 2u * 288 * 8 + 5 * 8 + 2 * (2 * 64 + 2 * 32 + 3 * 96));
  EXPECT_NE(info.tokenizer, "");
  EXPECT_EQ(model_info(engine, {.path = kFamiliesDir + "gemma3.gguf"}).tokenizer, "");
}

// The mean over all tokens but the first, in double from the logits themselves.
double loss_by_hand(const LanguageRun& model, const Engine& engine, const std::vector<TokenId>& ids) {
  FamilyPass pass(model.model(), engine.compute(), ids.size());
  double sum = 0;
  pass.feed_all(ids, [&](size_t first, MatrixView<float> logits) {
    for (size_t i = 0; i < logits.rows() && first + i + 1 < ids.size(); i++)
      sum += log_sum_exp<float>(logits.row(i)) - static_cast<double>(logits(i, ids[first + i + 1]));
  });
  return sum / static_cast<double>(ids.size() - 1);
}

TEST(Foreign, LossIsTheMeanOverAllTokensButTheBeginning) {
  const Engine engine({.threads = 2});
  const auto held_model = open_model(kTinyFile);
  const LanguageRun& model = *held_model;
  const std::vector<TokenId> ids = model.tokens_of("the cat sat");
  ASSERT_GE(ids.size(), 4u);
  EXPECT_EQ(ids.front(), 1u);  // the beginning, and no end
  EXPECT_NE(ids.back(), 2u);
  const TempFolder folder;
  const TextEvaluation r =
      evaluate_text(engine, {.source = RunSource{.run = kTinyFile, .text = written(folder, "a.txt", "the cat sat\n")}});
  EXPECT_EQ(r.tokens, ids.size() - 1);
  EXPECT_EQ(r.stories, 1u);
  EXPECT_NEAR(r.loss(), loss_by_hand(model, engine, ids), 1e-6);
  uint64_t counted = 0;
  for (const LossStretch& s : r.positions) counted += s.tokens;
  EXPECT_EQ(counted, r.tokens);
}

// A context of 16: every token of a longer text counts once.
TEST(Foreign, LongTextsGoThroughInWindows) {
  const Engine engine({.threads = 1});
  const auto held_model = open_model(kTinyFile);
  const LanguageRun& model = *held_model;
  std::string text;
  for (int i = 0; i < 40; i++) text += i % 2 ? "the dog " : "a cat sat ";
  const TempFolder folder;
  const TextEvaluation r =
      evaluate_text(engine, {.source = RunSource{.run = kTinyFile, .text = written(folder, "a.txt", text)}});
  EXPECT_EQ(r.tokens, model.tokens_of(text.substr(0, text.size() - 1)).size() - 1);
  EXPECT_GT(r.pieces, 2u);
  EXPECT_EQ(r.context, 16u);
}

TEST(Foreign, GreedyTextIsTheSameAtAnyNumberOfThreads) {
  const auto held_model = open_model(kTinyFile);
  const LanguageRun& model = *held_model;
  GenerateRequest request{.prompt = "the cat", .sampling = {.temperature = 0}, .tokens = 8};
  const Engine one({.threads = 1}), two({.threads = 2});
  const GenerateResult a = generate_stories(one, model, request), b = generate_stories(two, model, request);
  ASSERT_EQ(a.stories.size(), 1u);
  EXPECT_EQ(a.stories[0].text, b.stories[0].text);
  EXPECT_TRUE(a.stories[0].text.starts_with("the cat")) << a.stories[0].text;
  EXPECT_LE(a.tokens, 8u);
  // The first of several stories is the one that a count of 1 gives.
  request.sampling.temperature = 1;
  const GenerateResult single = generate_stories(one, model, request);
  request.count = 3;
  const GenerateResult several = generate_stories(one, model, request);
  ASSERT_EQ(several.stories.size(), 3u);
  EXPECT_EQ(several.stories[0].text, single.stories[0].text);
}

TEST(Foreign, WrongTokenizersAreRefused) {
  const Engine engine({.threads = 1});
  EXPECT_THROW(open_model(kFamiliesDir + "llama.bin", kFamiliesDir + "tiny/tokenizer.bin"), Error);
  EXPECT_THROW(open_model(kFamiliesDir + "qwen3"), Error);  // none at all
  EXPECT_NO_THROW(open_language_run(any_engine(), {.run = kFamiliesDir + "qwen3"}));
}

TEST(Foreign, OpensAsARun) {
  const Engine engine({.threads = 1});
  const auto opened_run = glint::open_run(engine, {.run = kTinyFile});
  glint::Run& run = *opened_run;
  EXPECT_TRUE(run.language().foreign());
  EXPECT_EQ(run.kind(), ModelKind::language);
  EXPECT_EQ(run.language().reading().vocab(), 288u);
  EXPECT_EQ(run.language().tokenizer().size(), 288u);
  EXPECT_EQ(run.forms(), (std::vector{Form::weights, Form::scaled, Form::calibrated}));
  EXPECT_EQ(run.form("auto"), Form::calibrated);
  EXPECT_EQ(run.results(), "tiny-reading");
  EXPECT_THROW(run.image(), Error);
  EXPECT_THROW(run.language().own(), Error);
  // The line of one layer is that of all.
  EXPECT_EQ(run.line(Form::calibrated, 1).gain, run.lines(Form::calibrated)[1].gain);
  EXPECT_EQ(run.line(Form::scaled, 0).gain, run.lines(Form::scaled)[0].gain);
  // Rows begin with what the tokenizer puts there and have no end; the target is what comes next.
  TextRows rows = run.language().rows();
  const std::span<const TokenRow> first = rows.fill_first(run.language().stories().valid, 1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].input[0], 1u);
  EXPECT_EQ(first[0].target[0], run.language().stories().valid.story(0)[0]);
  EXPECT_LE(first[0].input.size(), 16u);
  const auto opened_on_folder = glint::open_run(engine, {.run = kTinyFile, .data = kFamiliesDir});
  glint::Run& on_folder = *opened_on_folder;
  EXPECT_THROW(on_folder.language().stories(), Error);
}

TEST(Foreign, TokensThatCalibrateDoNotMeasure) {
  const Engine engine({.threads = 1});
  const TempFolder folder;
  const std::string one = written(folder, "one.txt", "the cat sat a dog so the dog sat");
  const auto opened_cut = glint::open_run(engine, {.run = kTinyFile, .data = one});
  glint::Run& cut = *opened_cut;
  const std::vector<TokenId> all = cut.language().tokenizer().encode("the cat sat a dog so the dog sat");
  std::vector<TokenId> both;
  for (const Corpus* c : {&cut.language().stories().train, &cut.language().stories().valid})
    for (size_t i = 0; i < c->stories(); i++)
      for (const TokenId t : c->story(i).ids()) both.push_back(t);
  EXPECT_EQ(both, all);
  const std::string two = written(folder, "two.txt", "the cat<|endoftext|>a dog<|endoftext|>the dog sat");
  const auto opened_turns = glint::open_run(engine, {.run = kTinyFile, .data = two});
  glint::Run& turns = *opened_turns;
  EXPECT_EQ(turns.language().stories().train.stories(), 2u);
  EXPECT_EQ(turns.language().stories().valid.stories(), 1u);
  EXPECT_EQ(turns.language().stories().valid.story(0).ids(), turns.language().tokenizer().encode("a dog"));
  const auto opened_empty = glint::open_run(engine, {.run = kTinyFile, .data = written(folder, "empty.txt", "the")});
  glint::Run& empty = *opened_empty;
  EXPECT_THROW(empty.language().stories(), Error);
}

// The work is counted in layers of one half of the text: the model's own, and those of its control.
TEST(Foreign, AllLayersCostOneRunThroughTheModel) {
  const TempFolder folder;
  const auto run = open_language_run(any_engine(), {.run = kTinyFile, .tokens = 200});
  ReadRequest request{.figures = false};
  request.along.directions = {"the,cat"}, request.out = folder.path("out");
  const ReadLayersResult r = read_layers(any_engine(), *run, request);
  const size_t layers = run->reading().layers();
  ASSERT_EQ(r.layers.size(), layers);
  EXPECT_EQ(run->layers_computed(), 2 * layers);
  EXPECT_EQ(run->untrained().language().layers_computed(), 2 * layers);
  // Each layer says what a reading of it alone says.
  for (size_t i = 0; i < layers; i++) {
    ReadRequest one = request;
    one.source = RunSource{.run = kTinyFile, .tokens = 200}, one.layer = i + 1, one.spectra = one.figures = false;
    const nlohmann::ordered_json alone = to_json(read(any_engine(), one));
    EXPECT_EQ(r.layers[i]["fidelity"], alone["fidelity"]);
    EXPECT_EQ(r.layers[i]["controls"], alone["controls"]);
    EXPECT_EQ(r.layers[i]["units"], alone["units"]);
  }
}

// Nothing is kept between two readings of all layers: what a file holds now is what is read.
TEST(Foreign, AllLayersReadWhatTheTextHoldsNow) {
  const TempFolder folder;
  const auto read_with = [&](const std::string& text, const std::string& out) {
    ReadRequest request{.figures = false};
    request.source.run = kTinyFile, request.source.data = written(folder, "t.txt", text);
    request.along.directions = {"the"}, request.source.tokens = 60, request.out = folder.path(out);
    return read_file(read_layers(any_engine(), request).csv);
  };
  const std::string cats = "the cat sat\n<|endoftext|>\na dog sat\n<|endoftext|>\nthe cat ran\n",
                    dogs = "a dog ran\n<|endoftext|>\nthe dog and the cat sat\n<|endoftext|>\na cat ran\n";
  const std::string first = read_with(cats, "same"), second = read_with(dogs, "same");
  EXPECT_NE(first, second);
  EXPECT_EQ(second, read_with(dogs, "other"));
  EXPECT_EQ(first, read_with(cats, "same"));
}

TEST(Foreign, AllLayersOfAnExpertAreReadFromTheirWeights) {
  const TempFolder folder;
  for (const char* file : {"mixtral", "mixtral.gguf", "qwen2_moe"}) {
    ReadRequest request{.figures = false};
    request.source = RunSource{.run = kFamiliesDir + file, .expert = "1"}, request.along.directions = {"hidden:1"};
    request.out = folder.path(file);
    const ReadLayersResult r = read_layers(any_engine(), request);
    EXPECT_TRUE(r.trust.empty()) << "nothing was measured";
    EXPECT_EQ(r.alone, "a mixture of experts is not run");
    ASSERT_EQ(r.spectra.size(), r.layers.size());
    EXPECT_EQ(r.spectra[0].largest, r.layers[0]["units"][0]["eigenvalues"].front().get<double>());
    EXPECT_NE(layers_table(r).terminal(80).find("participation rank"), std::string::npos);
    EXPECT_NE(read_file(r.csv).find("layer,largest,smallest,participation_rank"), std::string::npos);
    for (const auto& layer : r.layers) EXPECT_EQ(layer["expert"], "1") << file;
    ASSERT_FALSE(r.layers.empty());
    request.source.expert = "2";
    const ReadLayersResult other = read_layers(any_engine(), request);
    EXPECT_NE(r.layers[0]["units"], other.layers[0]["units"]) << file;
  }
}

// Every matrix redrawn with its norm, norms as they are, the same at any number of threads.
TEST(Foreign, RedrawnModelsKeepNormsAlone) {
  const FamilyModel model(open_weights(kTinyFile));
  ThreadPool one(1), two(2);
  const FamilyModel a = redrawn(model, one, 0), b = redrawn(model, two, 0);
  ASSERT_EQ(a.file().tensors().size(), model.file().tensors().size());
  for (size_t i = 0; i < a.file().tensors().size(); i++) {
    const StoredTensor &was = model.file().tensors()[i], &is = a.file().tensors()[i];
    SCOPED_TRACE(was.name);
    // The layers share the memory of one: it is drawn when it is asked for.
    if (const size_t block = was.name.find("blk."); block == 0)
      for (const FamilyModel* m : {&a, &b}) m->layer(std::stoul(was.name.substr(4)));
    ASSERT_TRUE(std::ranges::equal(is.bytes, b.file().tensors()[i].bytes));
    std::vector<float> before(was.values()), after(is.values());
    widen(was, 0, before), widen(is, 0, after);
    if (was.shape.size() == 1) {
      EXPECT_EQ(before, after);
      continue;
    }
    double norm = 0, drawn = 0, both = 0;
    for (size_t j = 0; j < before.size(); j++) {
      norm += before[j] * before[j], drawn += after[j] * after[j];
      both += before[j] * after[j];
    }
    // Of n normal numbers the sum of squares is n within 5 sqrt(2 n), and the product with others within 5
    // sqrt(n), but for one draw in a million.
    const double n = static_cast<double>(before.size());
    EXPECT_NEAR(drawn / norm, 1, 5 * std::sqrt(2 / n) + 0.01);
    EXPECT_NEAR(both / norm, 0, 5 / std::sqrt(n));
  }
}

// As large as a model of 8 billion numbers in f32, nearly all of them holes of the file: opening reads
// headers and norms alone. Time is that of the processor, which does not depend on what else the machine
// does.
TEST(Foreign, AModelOf30GigabytesOpensAtOnce) {
  const TempFolder folder;
  const std::string path = folder.path("large.bin");
  const uint64_t d = 4096, h = 14336, layers = 32, vocab = 32000, context = 2048;
  const int32_t head[] = {
      static_cast<int32_t>(d),      static_cast<int32_t>(h),      static_cast<int32_t>(layers), 32, 32,
      -static_cast<int32_t>(vocab), static_cast<int32_t>(context)};
  const uint64_t floats = 2 * vocab * d + layers * (2 * d + 4 * d * d + 3 * d * h) + d + context * d / 32;
  const uint64_t bytes = sizeof head + 4 * floats;
  EXPECT_GT(bytes, 30'000'000'000u);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(head), sizeof head);
  std::error_code failed;
  std::filesystem::resize_file(path, bytes, failed);
  if (failed) GTEST_SKIP() << "no sparse files here: " << failed.message();
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    size_t all = 0, pages = 0;
    file >> all >> pages;
    return pages * 4096;
  };
  const size_t before = resident();
  const std::clock_t start = std::clock();
  const auto held = open_language_run(any_engine(), {.run = path});
  const LanguageRun& model = *held;
  EXPECT_EQ(model.model().config().layers, layers);
  EXPECT_GT(model.model().parameters(), uint64_t{7} << 30);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.0);
  // One layer's GLU is read: three matrices of d h floats as they lie, of which these few rows are touched.
  Matrix<float> rows(4, d);
  widen_rows(model.model().layers()[5].gate, 100, rows);
  EXPECT_LT(resident(), before + (size_t{64} << 20));
}

// A GLU that reads nothing adds nothing: the same as a model whose first down-projection is 0.
TEST(Foreign, WhatAGluReadsCanBeChanged) {
  std::ifstream file(kTinyFile, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  // Floats before w2: tokens, norms, q, k, v, o, norms, w1, as in the header of llama2c.cc.
  const size_t before = 288 * 8 + 2 * 8 + 2 * 64 + 2 * 32 + 2 * 32 + 2 * 64 + 2 * 8 + 2 * 96;
  std::fill_n(bytes.begin() + 28 + 4 * before, 4 * 96, '\0');
  const TempFolder folder;
  const FamilyModel model(open_weights(kTinyFile)), without(open_weights(written(folder, "without.bin", bytes)));
  const Engine engine({.threads = 1});
  const std::vector<TokenId> tokens = {1, 270, 280, 265, 271};
  const auto logits = [&](const FamilyModel& of, const FamilyPass::Change& change) {
    FamilyPass pass(of, engine.compute(), tokens.size());
    pass.change_glu(0, change);
    const std::span<float> l = pass.feed(tokens);
    return std::vector<float>(l.begin(), l.end());
  };
  const auto nothing = [](MatrixView<float> x) {
    for (size_t i = 0; i < x.rows(); i++) std::ranges::fill(x.row(i), 0.0f);
  };
  EXPECT_EQ(logits(model, nothing), logits(without, {}));
  EXPECT_EQ(logits(model, [](MatrixView<float>) {}), logits(model, {}));
  EXPECT_NE(logits(model, {}), logits(without, {}));
}

TEST(Foreign, ATokenizerOfAnotherModelIsRefused) {
  // tiny.bin has its own tokenizer beside it: one of the same size with other pieces is not taken.
  std::ifstream file(kFamiliesDir + "tiny/tokenizer.bin", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const TempFolder folder;
  const std::string same = written(folder, "same.bin", bytes);
  EXPECT_NO_THROW(open_model(kTinyFile, same));
  // Letters of the pieces: every a becomes a q, and so on.
  const Tokenizer own = Tokenizer::read(same);
  std::string changed = bytes;
  for (size_t at = 4; at + 8 < changed.size();) {
    int32_t length = 0;
    std::memcpy(&length, changed.data() + at + 4, sizeof length);
    for (int32_t i = 0; i < length; i++)
      if (char& c = changed[at + 8 + static_cast<size_t>(i)]; c >= 'a' && c <= 'z' && changed[at + 8] != '<')
        c = static_cast<char>('a' + (c - 'a' + 7) % 26);
    at += 8 + static_cast<size_t>(length);
  }
  const std::string other = written(folder, "other.bin", changed);
  ASSERT_EQ(Tokenizer::read(other).size(), own.size());
  try {
    open_model(kTinyFile, other);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the tokenizer is that of another model"), std::string::npos) << e.what();
  }
}

// The error says which file it is, and what needs no tokenizer goes on with a note.
TEST(Foreign, AWrongTokenizerBesideAModelIsNamed) {
  const TempFolder folder;
  std::filesystem::copy(kFamiliesDir + "llama.bin", folder.path("llama.bin"));
  std::filesystem::copy(kFamiliesDir + "tiny/tokenizer.bin", folder.path("tokenizer.bin"));
  const std::string model = folder.path("llama.bin");
  try {
    open_model(model);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().where, folder.path("tokenizer.bin"));
  }
  std::vector<std::string> notes;
  const Engine engine({.threads = 1},
                      {.note = [&](const std::string& n) { notes.push_back(n); }, .progress = {}, .should_stop = {}});
  const ModelInfo info = model_info(engine, {.path = model});
  EXPECT_EQ(info.tokenizer, "");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("tokenizer.bin is not used"), std::string::npos) << notes[0];
  EXPECT_NO_THROW(neurons(engine, {.source = RunSource{.run = model}, .figures = false, .out = folder.path("out")}));
  EXPECT_NO_THROW(export_run(engine, {.source = RunSource{.run = model}, .npy = {}, .hf = folder.path("hub")}));
  EXPECT_EQ(notes.size(), 4u);  // the export also says that its folder has none
  EXPECT_THROW(glint::open_language_run(engine, {.run = model})->tokenizer(), Error);
}

TEST(Foreign, WhatIsNeitherARunNorAModelIsToldWhatModelsAre) {
  const TempFolder folder;
  const auto error = [](const std::string& path) {
    try {
      run_kind(path);
    } catch (const Error& e) {
      return e.parts();
    }
    return ErrorParts{.what = "no error"};
  };
  const std::string bytes = read_file(kTinyFile);
  const ErrorParts cut = error(written(folder, "cut.bin", bytes.substr(0, bytes.size() - 100)));
  EXPECT_NE(cut.what.find("llama2.c file of " + std::to_string(bytes.size()) + " bytes"), std::string::npos)
      << cut.what;
  EXPECT_NE(cut.expected.find(".gguf"), std::string::npos) << cut.expected;
  EXPECT_NE(error(written(folder, "a.txt", "a text of more than ten letters")).expected.find(".gguf"),
            std::string::npos);
  const ErrorParts missing = error(folder.path("nothing.gguf"));
  EXPECT_NE(missing.what.find("no such"), std::string::npos);
  EXPECT_NE(missing.expected.find(".gguf"), std::string::npos);
  std::filesystem::create_directory(folder.path("inside"));
  written(folder, "inside/model.bin", bytes);
  EXPECT_NE(error(folder.path("inside")).hint.find("inside/model.bin"), std::string::npos);
}

TEST(Foreign, AModelIsNoRecipe) {
  for (const std::string& path : {kTinyFile, kFamiliesDir + "qwen3"}) {
    try {
      training_options(path, {});
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.parts().what, "this is a model, not a recipe");
      EXPECT_EQ(e.parts().where, path);
    }
  }
}

// Hidden units of an expert are read from the weights: no text, and so no tokenizer.
TEST(Foreign, ExpertsNeedNoTokenizer) {
  const Engine engine({.threads = 1});
  ReadRequest request;
  request.source = RunSource{.run = kFamiliesDir + "mixtral", .expert = "1"}, request.along.directions = {"hidden:1"};
  request.spectra = request.figures = false;
  const ReadResult r = read(engine, request);
  ASSERT_EQ(r.directions.size(), 1u);
  ASSERT_FALSE(r.directions[0].positive.empty());
  EXPECT_TRUE(r.directions[0].positive[0].near.along.empty());
}

TEST(Foreign, MixturesSayWhatCanBeDone) {
  const Engine engine({.threads = 1});
  const std::string path = kFamiliesDir + "mixtral";
  const ModelInfo info = model_info(engine, {.path = path});
  for (const ModelInfo::Verb& v : info.verbs) EXPECT_EQ(v.can, v.verb == "spectrum" || v.verb == "export") << v.verb;
  const auto hint = [](const auto& use) {
    try {
      use();
    } catch (const Error& e) {
      return e.parts().hint;
    }
    return std::string("no error");
  };
  const std::string wanted = "`spectrum(" + path + ", expert=1, hidden=1)`";
  EXPECT_EQ(hint([&] { neurons(engine, {.source = RunSource{.run = path}}); }), wanted);
  EXPECT_EQ(hint([&] { glint::open_language_run(engine, {.run = path})->tokenizer(); }), wanted);
}

TEST(Foreign, OtherUsesAreRefusedByName) {
  try {
    run_info(kTinyFile);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("another program"), std::string::npos) << e.what();
  }
}

// The folded layer is the layer: its outputs on what it reads are what the pass adds, for every kind of norm.
TEST(LanguageReading, FoldedLayersComputeWhatTheModelComputes) {
  const Engine engine({.threads = 1});
  for (const char* name : {"llama", "gemma", "stablelm", "olmo", "phi3"}) {
    SCOPED_TRACE(name);
    const FamilyModel model(open_weights(kFamiliesDir + name));
    const LanguageReading reading(model, engine.compute(), engine.linalg());
    const std::vector<TokenId> text = {1, 7, 23, 38, 5};
    const TokenRow row{.input = text, .target = {}};
    const Matrix<float> x = reading.inputs({&row, 1}, 1, 100);
    ASSERT_EQ(x.rows(), 5u);
    const GluLayerView layer = reading.layer(1);
    const WeightRows p = reading.projection(1);
    Matrix<double> left(layer.hidden(), layer.inputs());
    Matrix<float> buffer;
    layer.left.widen(0, left, buffer);
    // The logits by hand: the stream before the last GLU is not at hand, so the change of a direction is
    // checked through the gate: l and r of the folded layer against those of the stored weights.
    const FamilyLayer& stored = model.layers()[1];
    Matrix<float> gate(stored.gate.rows, stored.gate.cols);
    widen_rows(stored.gate, 0, gate);
    for (size_t i = 0; i < x.rows(); i++) {
      for (size_t h = 0; h < layer.hidden(); h++) {
        double folded = layer.bias_left.empty() ? 0 : layer.bias_left[h], plain = 0;
        for (size_t j = 0; j < x.cols(); j++) {
          folded += left(h, j) * x(i, j);
          double u = x(i, j);
          if (!stored.before_glu.weight.empty()) u *= stored.before_glu.weight[j];
          if (!stored.before_glu.bias.empty()) u += stored.before_glu.bias[j];
          plain += static_cast<double>(gate(h, j)) * u;
        }
        EXPECT_NEAR(folded, plain, 1e-5 * (1 + std::fabs(plain)));
      }
    }
    EXPECT_EQ(p.rows(), model.config().d_model);
    // Of length sqrt(d), but for eps.
    double square = 0;
    for (const float v : x.view().row(2)) square += static_cast<double>(v) * v;
    EXPECT_NEAR(square, static_cast<double>(model.config().d_model), 1e-2);
  }
}

// Every expert of the golden mixtures against what transformers computes for it, in both formats. The golden
// x is what the GLU reads after the weights of the norm, which the reading has folded into L and R.
TEST(LanguageReading, SingleExpertsComputeWhatTransformersComputes) {
  const Engine engine({.threads = 1});
  for (const std::string name : {"mixtral", "qwen2_moe", "qwen3_moe", "qwen3_moe_mixed"})
    for (const std::string ending : {"", ".gguf"}) {
      if (!exists(kFamiliesDir + name + ending)) continue;
      SCOPED_TRACE(name + ending);
      const FamilyModel model(open_weights(kFamiliesDir + name + ending));
      const SafetensorsFile golden(kFamiliesDir + name + ".safetensors");
      const FloatMatrix x = golden->matrix("x");
      for (const TensorInfo& t : golden->tensors()) {
        if (t.name == "x") continue;
        const size_t layer = std::stoul(t.name.substr(0, t.name.find('.')));
        const std::string which = t.name.substr(t.name.find('.') + 1);
        const std::string expert = which == "own"      ? ""
                                   : which == "shared" ? which
                                                       : std::to_string(std::stoul(which) + 1);
        const LanguageReading reading(model, engine.compute(), engine.linalg(), expert);
        const GluLayerView l = reading.layer(layer);
        const WeightRows rows = reading.projection(layer);
        Matrix<double> lefts(l.hidden(), l.inputs()), rights(l.hidden(), l.inputs()), p(rows.rows(), l.hidden());
        Matrix<float> buffer;
        l.left.widen(0, lefts, buffer), l.right.widen(0, rights, buffer), rows.widen(0, p, buffer);
        const std::vector<float>& norm = model.layers()[layer].before_glu.weight;
        const FloatMatrix want = golden->matrix(t.name);
        for (size_t i = 0; i < x.view.rows(); i++) {
          std::vector<double> sum(p.rows());
          for (size_t h = 0; h < l.hidden(); h++) {
            double left = 0, right = 0;
            for (size_t j = 0; j < norm.size(); j++) {
              const double u = static_cast<double>(x.view(i, j)) / norm[j];
              left += lefts(h, j) * u, right += rights(h, j) * u;
            }
            for (size_t j = 0; j < p.rows(); j++) sum[j] += p(j, h) * left / (1 + std::exp(-left)) * right;
          }
          // Both round to f32 a few dozen times; outputs are below 100.
          for (size_t j = 0; j < p.rows(); j++)
            EXPECT_NEAR(sum[j], want.view(i, j), 1e-4 * (1 + std::fabs(sum[j]))) << t.name;
        }
      }
    }
}

TEST(LanguageReading, ExpertsAreAskedForByNumber) {
  const Engine engine({.threads = 1});
  const auto error = [&](const std::string& name, const std::string& expert, size_t layer) -> std::string {
    try {
      const FamilyModel model(open_weights(kFamiliesDir + name));
      const LanguageReading reading(model, engine.compute(), engine.linalg(), expert);
      reading.layer(layer);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  };
  const auto has = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  has(error("llama", "1", 0), "the model has no experts");
  has(error("mixtral", "", 0), "layer 1 has 3 experts");
  for (const char* wrong : {"0", "4", "-1", "one", "12345", "shared"}) has(error("mixtral", wrong, 0), "from 1 to 3");
  has(error("qwen2_moe", "7", 0), "from 1 to 3, or shared");
  has(error("qwen3_moe_mixed", "1", 1), "layer 2 has no experts");
  EXPECT_EQ(error("qwen2_moe", "shared", 0), "");
  EXPECT_EQ(error("qwen3_moe_mixed", "", 1), "");
}

TEST(LanguageReading, IsReadOnTheTalesOrOnAText) {
  const Engine engine({.threads = 1});
  const TempFolder folder;
  ReadRequest request{.source = RunSource{.run = kTinyFile}};
  request.along.directions = {"cat"}, request.layer = 1, request.out = folder.path("reading"), request.figures = false;
  const ReadResult tales = read(engine, request);
  ASSERT_EQ(tales.directions.size(), 1u);
  EXPECT_EQ(tales.form, Form::calibrated);
  EXPECT_EQ(tales.samples, "the built-in tales");
  EXPECT_GE(tales.inputs, 4000u);
  EXPECT_GE(tales.calibration_inputs, 4000u);
  EXPECT_EQ(tales.directions[0].name, "·cat");
  EXPECT_EQ(tales.directions[0].form.spectrum.values.size(), 8u);
  EXPECT_FALSE(tales.directions[0].positive.empty());
  ASSERT_EQ(tales.forms.size(), 3u);  // weights, scaled, calibrated
  EXPECT_EQ(tales.controls.untrained.size(), 3u);

  std::string text;
  for (int i = 0; i < 60; i++) text += "the cat sat a dog<|endoftext|>so the dog sat<|endoftext|>";
  request.source.data = written(folder, "stories.txt", text);
  const ReadResult measured = read(engine, request);
  EXPECT_GT(measured.inputs, 100u);
  EXPECT_LT(measured.inputs, 1000u);
  EXPECT_LE(measured.directions[0].trust->r2, 1.0);
  // A gate that is not odd has one gain per unit after a norm: nothing but eigenvectors.
  request.form = "scaled";
  const ReadResult scaled = read(engine, request);
  EXPECT_FALSE(scaled.directions[0].has_linear());
  EXPECT_EQ(scaled.directions[0].trust->r2, scaled.directions[0].trust->eigenvectors_r2);
}

using fixtures::real_model;

TEST(RealModel, Stories260KIsTheSameInBothFormats) {
  const std::string bin = real_model("stories260K.bin"), gguf = real_model("stories260K.gguf");
  if (bin.empty() || gguf.empty()) GTEST_SKIP() << "stories260K is not here: GLINT_MODELS=DIR";
  const auto held_a = open_model(bin, real_model("tok512.bin")), held_b = open_model(gguf);
  const LanguageRun &a = *held_a, &b = *held_b;
  const Engine engine({.threads = 2});
  const std::string text = "Once upon a time, there was a little girl named Lily. She loved to play.";
  EXPECT_EQ(a.tokens_of(text), b.tokens_of(text));
  const double first = loss_by_hand(a, engine, a.tokens_of(text));
  EXPECT_EQ(first, loss_by_hand(b, engine, b.tokens_of(text)));  // bit-equal weights
  const GenerateResult story =
      generate_stories(engine, a, {.prompt = "Once upon a time", .sampling = {.temperature = 0}, .tokens = 60});
  EXPECT_TRUE(
      story.stories[0].text.starts_with("Once upon a time, there was a little girl named Lily. She loved to "
                                        "play outside in the park. One day, she "
                                        "saw a big, red ball. She wanted to play with it,"))
      << story.stories[0].text;
}

TEST(RealModel, Stories15MTellsItsStory) {
  const std::string path = real_model("stories15m/stories15M.bin");
  if (path.empty()) GTEST_SKIP() << "stories15m is not here: scripts/fetch-data stories15m";
  const auto held_model = open_model(path);
  const LanguageRun& model = *held_model;
  const Engine engine({.threads = 2});
  const GenerateResult story =
      generate_stories(engine, model, {.prompt = "Once upon a time", .sampling = {.temperature = 0}, .tokens = 60});
  EXPECT_TRUE(story.stories[0].text.starts_with(
      "Once upon a time, there was a little girl named Lily. She loved to play outside in the sunshine. One "
      "day, "
      "she saw a big, red ball in the sky. It was the sun! She thought it was so pretty."))
      << story.stories[0].text;
}

}  // namespace
}  // namespace glint
