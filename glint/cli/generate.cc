// glint generate: stories from a trained language model.
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/lab/run.h"
#include "glint/cli/verbs.h"
#include "glint/data/story_reader.h"
#include "glint/model/sampling.h"
#include "glint/base/text.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

// Stories side by side: enough for the products to be quick, and as many as fit 256 MB with their keys and
// values (a config.json may ask for a context of 16384, of which 32 would take gigabytes). One runs whatever
// it takes.
constexpr size_t kSideBySide = 32, kMemory = size_t{256} << 20;
constexpr size_t kMaxPromptBytes = size_t{1} << 20;

struct Options {
  std::string run, prompt;
  double temperature = 0.8, top_p = 1;
  size_t top_k = 0, count = 1, tokens = 0;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string prompt_text(const Options& o) {
  std::string text = o.prompt;
  if (text == "-") {
    text.assign(kMaxPromptBytes, '\0');
    std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(std::cin.gcount()));
  }
  return text;
}

// The end piece, which begins every story, and the prompt.
std::vector<TokenId> prompt_ids(const Context& context, const LanguageRun& run, std::string text) {
  if (repair_utf8(text) > 0)
    context.say("note: the prompt was not UTF-8 everywhere; such bytes count as a space");
  std::vector<TokenId> ids = run.tokenizer.encode(text);
  const auto unknown = std::count(ids.begin(), ids.end(), run.tokenizer.unknown());
  if (unknown > 0)
    context.say("note: the tokenizer does not know " + std::to_string(unknown) + " stretch" +
                (unknown == 1 ? "" : "es") + " of the prompt; the model sees a mark instead");
  const size_t most = run.model.config.context - 2;  // the end piece before it, and one token to write
  if (ids.size() > most)
    throw Error({.code = ErrorCode::usage,
                 .what = "the prompt has " + std::to_string(ids.size()) + " tokens",
                 .where = "--prompt",
                 .expected = "at most " + std::to_string(most) + ": the model sees " +
                             std::to_string(run.model.config.context) + " tokens at once",
                 .hint = "a shorter prompt"});
  ids.insert(ids.begin(), run.tokenizer.end());
  return ids;
}

// Writes the text of one story as it grows, in whole characters.
class Stream {
 public:
  Stream(Context& context, const Tokenizer& tokenizer, std::vector<TokenId> ids)
      : context_(context), tokenizer_(tokenizer), ids_(std::move(ids)) {
    show(false);
  }
  void add(TokenId id) {
    ids_.push_back(id);
    show(false);
  }
  void finish() {
    show(true);
    context_.out << "\n";
    context_.flush_results();
  }

 private:
  void show(bool all) {
    const std::string text = tokenizer_.decode(ids_);
    size_t end = text.size();
    // Bytes of a character that is not complete yet look like this.
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    while (!all && std::string_view(text).substr(0, end).ends_with(kReplacement)) end -= kReplacement.size();
    if (end <= shown_) return;
    context_.out << text.substr(shown_, end - shown_);
    context_.flush_results();
    shown_ = end;
  }
  Context& context_;
  const Tokenizer& tokenizer_;
  std::vector<TokenId> ids_;
  size_t shown_ = 0;
};

// Stories in the order of their numbers, a line between two as in a file of stories.
class InOrder {
 public:
  InOrder(Context& context) : context_(context) {}
  void add(uint32_t index, std::string text) {
    waiting_.emplace(index, std::move(text));
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_;
         it = waiting_.erase(it), next_++)
      context_.out << (next_ > 0 ? std::string(kEndOfText) + "\n" : "") << it->second << "\n";
    context_.flush_results();
  }

 private:
  Context& context_;
  std::map<uint32_t, std::string> waiting_;
  uint32_t next_ = 0;
};

void run(Context& context, const Options& o) {
  const Engine engine = engine_of(context);
  const LanguageRun run = load_language_run(engine, o.run);
  const Tokenizer& tokenizer = run.tokenizer;
  const std::vector<TokenId> prompt = prompt_ids(context, run, prompt_text(o));
  const StoryPlan plan{
      .prompt = prompt,
      .end = tokenizer.end(),
      .count = o.count,
      .tokens = o.tokens,
      .sampling = {
          .temperature = o.temperature, .top_k = o.top_k, .top_p = o.top_p, .seed = context.shared.seed}};
  const TransformerConfig& config = run.model.config;
  const size_t room = story_room(config, plan);
  const size_t fit = kMemory / Generator::slot_bytes(config, engine.compute().kernels(), room);
  const size_t slots = std::min(std::min(o.count, kSideBySide) + 1, std::max<size_t>(fit, 2));
  Generator generator(config, engine.compute(), slots, room);
  generator.set_weights(run.model.weights.span());

  const bool json = context.shared.json;
  std::map<uint32_t, ordered_json> stories;
  InOrder in_order(context);
  std::unique_ptr<Stream> stream;
  if (o.count == 1 && !json) stream = std::make_unique<Stream>(context, tokenizer, prompt);
  size_t cut = 0;
  const auto full_text = [&](const Story& s) {
    std::vector<TokenId> ids = prompt;
    ids.insert(ids.end(), s.ids.begin(), s.ids.end());
    return tokenizer.decode(ids);
  };
  const double start = seconds();
  const GenerateCounts counts = generate(
      generator, engine.compute(), plan,
      [&](uint32_t, TokenId id) {
        if (stream) stream->add(id);
        return true;
      },
      [&](const Story& s) {
        cut += !s.ended;
        if (json)
          stories[s.index] = {
              {"index", s.index}, {"text", full_text(s)}, {"tokens", s.ids.size()}, {"ended", s.ended}};
        else if (!stream)
          in_order.add(s.index, full_text(s));
      });
  const double time = seconds() - start;
  const double rate = static_cast<double>(counts.tokens) / time;
  if (stream) stream->finish();
  if (json) {
    ordered_json j = {{"run", run.directory},
                      {"prompt", tokenizer.decode(prompt)},
                      {"prompt_tokens", prompt.size() - 1},
                      {"temperature", o.temperature},
                      {"top_k", o.top_k},
                      {"top_p", o.top_p},
                      {"seed", context.shared.seed},
                      {"precision", name(engine.precision())},
                      {"threads", engine.pool().size()},
                      {"tokens", counts.tokens},
                      {"seconds", time},
                      {"tokens_per_second", rate}};
    j["stories"] = ordered_json::array();
    for (auto& [index, story] : stories) j["stories"].push_back(std::move(story));
    context.print_json(j);
  }
  std::string message = std::to_string(counts.tokens) + " tokens in " + fixed_text(time, 2) + " s, " +
                        fixed_text(rate, 0) + " tokens/s";
  if (cut > 0) {
    // The prompt is the same for all, and so is the limit.
    const bool at_tokens = o.tokens > 0 && most_added(config, plan) == o.tokens;
    message += o.count == 1 ? "; the story was"
                            : "; " + std::to_string(cut) + " of " + std::to_string(o.count) + " stories " +
                                  (cut == 1 ? "was" : "were");
    message += at_tokens ? " cut at --tokens " + std::to_string(o.tokens)
                         : " cut at the model's context of " + std::to_string(config.context) + " tokens";
  }
  context.say(message);
}

}  // namespace

void add_generate(Program& program) {
  Verb& verb = program.add(
      {.name = "generate",
       .group = Group::train,
       .summary = "let a trained language model write stories",
       .details =
           "RUN is a directory that glint train made from text. One story appears word by word; of several "
           "each is printed when it is complete, with a line <|endoftext|> between two, which is what glint "
           "tokenize reads. A story depends on the seed and on its number alone: the first of ten is the "
           "one that a count of 1 gives.",
       .examples = {
           {"glint generate runs/tales", "a story from the beginning"},
           {"glint generate runs/tales --prompt \"once upon a time\" --temperature 0.7",
            "how the model goes on"},
           {"glint generate runs/tales --count 1000 --top-p 0.95 > new.txt", "many, for a file"},
           {"glint generate runs/tales --temperature 0 --json", "the likeliest words, for a program"}}});
  const auto o = std::make_shared<Options>();
  verb.positional("RUN", o->run, "A run directory of a language model", {.kind = Value::Kind::directory})
      ->required();
  verb.text("--prompt", o->prompt, "How the story begins; - reads it from stdin")->value_optional();
  verb.real("--temperature", o->temperature,
            "Below 1 the likely words are preferred; 0: always the likeliest", 0, 1000);
  verb.size("--top-k", o->top_k, 0, kMaxVocab, "Only the K likeliest tokens; 0: all");
  verb.real("--top-p", o->top_p, "Only the likeliest tokens that make up this share", 1e-6, 1);
  verb.size("--count", o->count, 1, 10'000'000, "Number of stories");
  verb.size("--tokens", o->tokens, 0, 1'000'000,
            "The most tokens to add to the prompt; 0: until the context of the model is full");
  verb.share_seed();
  verb.share_precision();
  verb.share_threads();
  verb.share_isa();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
