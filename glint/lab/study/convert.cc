#include "glint/lab/study/convert.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/range.h"
#include "glint/base/sha256.h"
#include "glint/base/text.h"
#include "glint/data/corpus_build.h"
#include "glint/io/json.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read_layers.h"
#include "glint/lab/work/train.h"
#include "glint/model/sampling.h"
#include "glint/train/run_file.h"
#include "glint/train/start.h"

namespace glint {
namespace {

constexpr double kHeldOut = 0.04, kHeldOutOfFew = 0.2;  // of the stories
constexpr uint64_t kFew = 20000;                        // tokens
constexpr size_t kSlots = 33;                           // stories that are written side by side, and one for the prompt
// Directions of the readings, where they are tokens.
constexpr const char* kFrequent[] = {"the", "was", "to", "and", "he", "said", "her", "it"};

std::string text_folder(const ConvertRequest& q) { return q.out + "-text"; }
std::string own_text(const ConvertRequest& q) { return text_folder(q) + "/stories.txt"; }

// Stories that the model writes itself, at temperature 1: a file and, in the folder, its corpus.
void write_own_text(const Engine& engine, const TrainingStart& start, const ConvertRequest& q,
                    const std::string& path) {
  const Tokenizer& tokenizer = start.tokenizer;
  std::vector<TokenId> prompt(tokenizer.prefix().begin(), tokenizer.prefix().end());
  if (prompt.empty()) prompt = {tokenizer.end()};
  const StoryPlan plan{.prompt = prompt,
                       .end = tokenizer.end(),
                       .count = std::max<size_t>(64, q.tokens_trained),  // stopped by the tokens below
                       .tokens = start.config.context - prompt.size(),
                       .sampling = {.temperature = 1, .seed = q.seed}};
  Generator generator(start.config, engine.compute(), kSlots, story_room(start.config, plan));
  generator.set_weights(start.weights.span());
  // In the order of their numbers, so that the text does not depend on which story ends first.
  std::map<uint32_t, std::string> waiting;
  std::string text;
  uint64_t tokens = 0;
  uint32_t next = 0;
  const auto wanted = static_cast<uint64_t>(static_cast<double>(q.tokens_trained) / (1 - kHeldOut));
  generate(
      generator, engine.compute(), plan,
      [&](uint32_t, TokenId) {
        engine.check_stop();
        return tokens < wanted;
      },
      [&](Story story) {
        waiting[story.index] = tokenizer.decode(story.ids);
        for (auto at = waiting.find(next); at != waiting.end() && tokens < wanted; at = waiting.find(++next)) {
          tokens += tokenizer.encode(at->second).size() + 1;
          text += at->second + "\n" + std::string(kEndOfText) + "\n";
          waiting.erase(at);
        }
        engine.progress({.label = "write", .done = std::min(tokens, wanted), .total = wanted, .unit = "tokens"});
      });
  write_atomic(engine.files(), path, text);
}

// The folder is that of a request: another text, seed or model is not taken for it.
void claim_text(const Engine& engine, const ConvertRequest& q, const TrainingStart& start, const std::string& folder) {
  const std::string file = folder + "/made-from.txt";
  const std::string from = q.text.empty() ? "own " + std::to_string(q.seed) + " " + std::to_string(q.tokens_trained) +
                                                " " + std::to_string(start.config.context)
                                          : "text " + sha256_hex(MappedFile(q.text).bytes());
  const std::string key = start.hash + " " + from + (q.tokens_trained < kFew ? " few\n" : "\n");
  const bool known = exists(file);
  if (known && read_file(file) == key) return;
  if (exists(folder) && !(known && q.force))
    throw Error({.code = ErrorCode::usage,
                 .what = known ? "this text was made for another conversion" : "this folder is not of a conversion",
                 .where = folder,
                 .expected = "the same model, text, seed and tokens, or another `out`",
                 .hint = known ? "`force`, which makes it anew" : ""});
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  write_atomic(engine.files(), file, key);
}

// The corpus of the request: made once, and found again by a run that goes on.
std::string corpus_of(const Engine& engine, const ConvertRequest& q, const TrainingStart& start, ConvertResult& r) {
  if (!q.data.empty()) return r.text = q.data;
  if (start.tokenizer.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "the model has no tokenizer, so that there is no text to learn from",
                 .where = q.model,
                 .expected = "`data`, a corpus of its tokens"});
  const std::string folder = text_folder(q), stories = own_text(q);
  r.text = q.text.empty() ? "its own stories" : q.text;
  claim_text(engine, q, start, folder);
  if (exists(folder + "/" + kCorpusInfoFile)) return folder;
  if (q.text.empty() && !exists(stories)) write_own_text(engine, start, q, stories);
  const std::string tokenizer = folder + "/own.tokenizer";
  write_atomic(engine.files(), tokenizer, start.tokenizer.model());
  build_corpus(engine.files(), engine.pool(),
               {.texts = {q.text.empty() ? stories : q.text},
                .valid_share = q.tokens_trained < kFew ? kHeldOutOfFew : kHeldOut,
                .out = folder,
                .tokenizer = tokenizer});
  return folder;
}

double loss_of(Task& task) {
  const StepResult r = task.evaluate();
  return r.loss / static_cast<double>(r.samples);
}

// The model as it is, and with its new gate and gains, before any training.
void measure_start(const Engine& engine, TrainingData& data, const TrainingStart& start, TrainOptions options,
                   ConvertResult& r) {
  options.distil = 0;
  Matrix<float> weights(1, start.weights.size());
  const auto loss_with = [&](const TrainOptions& o) {
    const std::unique_ptr<Task> task = data.task(o, engine.compute());
    task->initialise(weights.span(), 0);
    task->set_weights(weights.span());
    return loss_of(*task);
  };
  r.loss_swapped = loss_with(options);
  options.gate = gate_info(start.config.gate.kind).text.name;
  options.c = start.config.gate.params.c, options.lambda = start.config.gate.params.lambda;
  options.p = start.config.gate.params.p;
  r.loss_original = loss_with(options);
}

// R2 and correlation of every form per layer, over some frequent tokens.
std::vector<LayerTrust> trust_of(const Engine& engine, const std::string& model, const std::string& text,
                                 const std::string& out) {
  ReadRequest q;
  q.source.run = model, q.source.text = text;
  q.controls = "linear", q.figures = false, q.out = out;
  const std::unique_ptr<LanguageRun> run = open_language_run(engine, q.source);
  for (const char* word : kFrequent)
    if (run->tokenizer().find(word)) q.along.directions.emplace_back(word);
  return read_layers(engine, *run, q).trust;
}

void measure_layers(const Engine& engine, const ConvertRequest& q, ConvertResult& r) {
  const std::string text = !q.data.empty() ? "" : !q.text.empty() ? q.text : own_text(q);  // "": the built-in tales
  const std::vector<LayerTrust> before = trust_of(engine, q.model, text, q.out + "/reading-before");
  const std::vector<LayerTrust> after = trust_of(engine, q.out, text, q.out + "/reading-after");
  for (const LayerTrust& a : after)
    for (const LayerTrust& b : before)
      if (a.layer == b.layer && a.form == b.form)
        r.layers.push_back({a.layer, a.form, b.trust.r2, a.trust.r2, b.trust.correlation, a.trust.correlation});
}

}  // namespace

std::vector<Field> fields_of(ConvertRequest& q) {
  return {
      Field("model", q.model, "The model: a run, a folder or a file of another program").argument("MODEL").required(),
      Field("gate", q.gate, "The gate that it gets").one_of(gate_names()),
      Field("c", q.c, "Shift of SQS").range(-1e6, 1e6),
      Field("lambda", q.lambda, "Shrink of SQS").range(0, 1e6),
      Field("p", q.p, "Sharpness of the shrink of SQS").range(kAboveZero, 1e3),
      Field("text", q.text,
            "A text to learn from, stories separated by <|endoftext|>; default: what the model "
            "writes itself")
          .file(),
      Field("data", q.data, "A corpus of the model's own tokens instead").directory(),
      Field("tokens_trained", q.tokens_trained, "Tokens that it learns from; a short text is gone through again")
          .range(1, 1e12),
      Field("distil", q.distil, "Share of the target that is what the original says, not the next token").range(0, 1),
      Field("lr", q.lr, "Learning rate of AdamW").range(0, 10),
      Field("batch", q.batch, "Stories per step").range(1, 1e6),
      Field("context", q.context, "The most tokens of a story").range(kMinContext, kMaxContext),
      Field("seed", q.seed, "Fixes the stories that the model writes, and their order"),
      Field("control", q.control, "Train the original on the same tokens with its own gate, too"),
      Field("readings", q.readings, "Measure no layers before and after"),
      Field("out", q.out, "The run to make").directory().required()};
}

ConvertResult convert(const Engine& engine, const ConvertRequest& q, const JobHooks& hooks) {
  check_ranges(q);
  if (q.out.empty()) throw Error({.code = ErrorCode::usage, .what = "`out` is missing", .where = "out"});
  if (!q.text.empty() && !q.data.empty())
    throw Error({.code = ErrorCode::usage, .what = "`text` and `data` exclude each other", .where = "data"});
  const TrainingStart start = open_start(q.model, q.context);
  ConvertResult r{.model = q.model, .out = q.out, .text = {}, .gate_before = {}, .gate_after = q.gate};
  r.gate_before = gate_info(start.config.gate.kind).text.name;
  const std::string corpus = corpus_of(engine, q, start, r);

  TrainingData data("");
  const std::shared_ptr<const TextData> stories = data.text(corpus);
  r.stories = stories->train.stories(), r.tokens = stories->train.tokens();
  const uint64_t batch = std::min<uint64_t>(q.batch, r.stories);
  OptionChanges changes = {{"data", corpus},
                           {"init", q.model},
                           {"gate", q.gate},
                           {"distil", number_text(q.distil)},
                           {"lr", number_text(q.lr)},
                           {"batch", std::to_string(batch)},
                           {"micro-batch", std::to_string(std::min<uint64_t>(batch, 4))},
                           {"context", std::to_string(start.config.context)},
                           {"seed", std::to_string(q.seed)},
                           {"weight-decay", "0"},
                           {"beta2", "0.95"},
                           {"clip", "1"},
                           {"schedule", "cosine-step"},
                           {"warmup", "20"},
                           {"eval-steps", "8"}};
  if (gate_info(parse_gate(q.gate)).text.has_params)
    for (const auto& [name, value] : {std::pair("c", q.c), {"lambda", q.lambda}, {"p", q.p}})
      changes.emplace_back(name, number_text(value));
  // As many stories as have the tokens, or all of them as often as it takes.
  uint64_t seen = 0;
  for (size_t i = 0; i < stories->train.stories(); i++)
    seen += text_row_tokens(stories->train.story(i).size(), start.config.context);
  const uint64_t epochs = std::max<uint64_t>(1, (q.tokens_trained + seen / 2) / seen);
  changes.emplace_back("epochs", std::to_string(epochs));
  if (epochs == 1 && seen > q.tokens_trained)
    changes.emplace_back("epoch-stories",
                         std::to_string(std::max<uint64_t>(batch, q.tokens_trained * stories->train.stories() / seen)));
  const TrainingOptions resolved = training_options("", changes);
  measure_start(engine, data, start, resolved.options, r);
  TrainingResult trained = train(engine, {.recipe = "", .changes = changes, .out = q.out, .force = q.force}, hooks);
  r.state = trained.runs[0].state;
  r.steps = trained.runs[0].steps;
  r.tokens_trained = epochs * std::min(seen, epochs == 1 ? q.tokens_trained : seen);
  r.loss_converted = trained.runs[0].last.test_loss;
  trained.check_done();
  r.curve = read_metrics(q.out);
  if (q.control) {
    OptionChanges same = changes;
    std::erase_if(same, [](const auto& c) {
      return c.first == "gate" || c.first == "c" || c.first == "lambda" || c.first == "p" || c.first == "distil";
    });
    const TrainingResult control =
        train(engine, {.recipe = "", .changes = same, .out = q.out + "-control", .force = q.force}, hooks);
    control.check_done();
    r.loss_control = control.runs[0].last.test_loss;
  }
  if (q.readings) measure_layers(engine, q, r);
  return r;
}

OrderedJson to_json(const ConvertResult& r) {
  OrderedJson j = {{"schema", "glint-convert/1"},
                   {"model", r.model},
                   {"out", r.out},
                   {"text", r.text},
                   {"gate_before", r.gate_before},
                   {"gate_after", r.gate_after},
                   {"stories", r.stories},
                   {"tokens", r.tokens},
                   {"tokens_trained", r.tokens_trained},
                   {"steps", r.steps},
                   {"loss_original", r.loss_original},
                   {"loss_swapped", r.loss_swapped},
                   {"loss_converted", r.loss_converted}};
  if (r.loss_control) j["loss_control"] = *r.loss_control;
  j["curve"] = OrderedJson::array();
  for (const Json& line : r.curve) j["curve"].push_back({{"step", line["step"]}, {"loss", line["test_loss"]}});
  j["layers"] = OrderedJson::array();
  for (const ConvertedLayer& l : r.layers)
    j["layers"].push_back({{"layer", l.layer},
                           {"form", l.form},
                           {"r2_before", number_or_null(l.r2_before)},
                           {"r2_after", number_or_null(l.r2_after)},
                           {"correlation_before", number_or_null(l.correlation_before)},
                           {"correlation_after", number_or_null(l.correlation_after)}});
  return j;
}

}  // namespace glint
