#include "glint/lab/models/generate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/data/story_file.h"
#include "glint/tokens/tokenizer.h"

namespace glint {
namespace {

// The text of one story as it grows, in whole characters.
class StoryStream {
 public:
  StoryStream(const GenerateRequest& request, const Tokenizer& tokenizer, std::vector<TokenId> ids)
      : give_(request.on_text), tokenizer_(tokenizer), ids_(std::move(ids)) {
    show(false);
  }
  void add(TokenId id) {
    ids_.push_back(id);
    show(false);
  }
  void finish() { show(true); }

 private:
  void show(bool all) {
    const std::string text = tokenizer_.decode(ids_);
    size_t end = text.size();
    // Bytes of a character that is not complete yet look like this.
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    while (!all && std::string_view(text).substr(0, end).ends_with(kReplacement)) end -= kReplacement.size();
    if (end <= shown_) return;
    give_(std::string_view(text).substr(shown_, end - shown_));
    shown_ = end;
  }
  const std::function<void(std::string_view)>& give_;
  const Tokenizer& tokenizer_;
  std::vector<TokenId> ids_;
  size_t shown_ = 0;
};

// Stories side by side: enough for the products to be quick, and as many as fit 256 MB with their keys and
// values (a config.json may ask for a context of 16384, of which 32 would take gigabytes). One runs whatever
// it takes.
constexpr size_t kSideBySide = 32, kMemory = size_t{256} << 20;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Hands stories on in the order of their numbers.
class InOrder {
 public:
  InOrder(const GenerateRequest& request, GenerateResult& result) : request_(request), result_(result) {}
  void add(GeneratedStory story) {
    waiting_.emplace(story.index, std::move(story));
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_; it = waiting_.erase(it), next_++) {
      if (request_.on_story) request_.on_story(it->second);
      if (request_.keep) result_.stories.push_back(std::move(it->second));
    }
  }

 private:
  const GenerateRequest& request_;
  GenerateResult& result_;
  std::map<uint32_t, GeneratedStory> waiting_;
  uint32_t next_ = 0;
};

using StoryTokens = std::function<void(TokenId)>;  // as they are chosen
using StoryDone = std::function<void(uint32_t index, std::span<const TokenId> added, bool ended)>;

// A run of glint writes stories side by side.
void write_side_by_side(const Engine& engine, const LanguageModel& model, const StoryPlan& plan,
                        const StoryTokens& token, const StoryDone& done, GenerateResult& r) {
  const size_t room = story_room(model.config, plan);
  const size_t fit = kMemory / Generator::slot_bytes(model.config, engine.compute().kernels(), room);
  const size_t slots = std::min(std::min(plan.count, kSideBySide) + 1, std::max<size_t>(fit, 2));
  Generator generator(model.config, engine.compute(), slots, room);
  generator.set_weights(model.weights.span());
  r.tokens = generate(
                 generator, engine.compute(), plan,
                 [&](uint32_t, TokenId id) {
                   engine.check_stop();
                   token(id);
                   return true;
                 },
                 [&](const Story& s) { done(s.index, s.ids, s.ended); })
                 .tokens;
}

// Any other model one after the other: each begins from the same prompt, of which all but the last token is
// kept.
void write_in_turn(const Engine& engine, const LanguageRun& run, const StoryPlan& plan, size_t most,
                   std::optional<TokenId> chat_end, const StoryTokens& token, const StoryDone& done,
                   GenerateResult& r) {
  std::vector<TokenId> ends = run.ends();
  if (chat_end) ends.push_back(*chat_end);
  const size_t known = run.tokenizer().size(), prompt = plan.prompt.size();
  const double start = seconds();
  FamilyPass pass(run.model(), engine.compute(), prompt + most);
  Sampler sampler(plan.sampling);
  pass.prime(std::span(plan.prompt).first(prompt - 1));
  r.prompt_seconds = seconds() - start;
  for (uint32_t index = 0; index < plan.count; index++) {
    pass.rewind(prompt - 1);
    std::vector<TokenId> ids = {plan.prompt.begin(), plan.prompt.end()};
    bool ended = false;
    while (ids.size() < prompt + most) {
      engine.check_stop();
      const std::span<float> logits = pass.feed({&ids.back(), 1});
      // Weights may have more tokens than the tokenizer: padding, which is never chosen.
      const TokenId next = sampler.choose(engine.compute().kernels(), logits.first(std::min(logits.size(), known)),
                                          index, ids.size() - prompt);
      r.tokens++;
      ended = std::ranges::find(ends, next) != ends.end();
      if (ended) break;
      ids.push_back(next);
      token(next);
    }
    done(index, std::span(ids).subspan(prompt), ended);
  }
}

}  // namespace

std::vector<TokenId> prompt_tokens(const Engine& engine, const LanguageRun& run, std::string text,
                                   const ChatTemplate* chat) {
  if (repair_utf8(text) > 0) engine.note("the prompt was not UTF-8 everywhere; such bytes count as a space");
  const Tokenizer& tokenizer = run.tokenizer();
  std::vector<TokenId> ids = chat           ? chat->prompt_tokens(text, tokenizer)
                             : text.empty() ? run.beginning()
                                            : run.tokens_of(text);
  const auto unknown = std::count(ids.begin(), ids.end(), tokenizer.unknown());
  if (unknown > 0)
    engine.note("the tokenizer does not know " + std::to_string(unknown) + " stretch" + (unknown == 1 ? "" : "es") +
                " of the prompt; the model sees a mark instead");
  if (ids.empty()) bad_argument("prompt", "the tokenizer of this model puts nothing before a text", "a prompt");
  const size_t context = run.reading().context(), marks = run.beginning().size(), most = context - 1 - marks;
  if (ids.size() > most + marks)
    bad_argument("prompt", "the prompt has " + std::to_string(ids.size() - marks) + " tokens",
                 "at most " + std::to_string(most) + ": the model sees " + std::to_string(context) + " tokens at once",
                 "a shorter prompt");
  return ids;
}

std::vector<Field> fields_of(GenerateRequest& q) {
  std::vector<Field> source = fields_of(q.source);
  std::erase_if(source, [](const Field& f) { return f.name != "run" && f.name != "tokenizer"; });
  return join(
      std::move(source),
      {Field("prompt", q.prompt, "How the story begins; - reads it from stdin"),
       Field("chat", q.chat,
             "The prompt is a message to a model that was made for chats; what is written is its answer"),
       Field("temperature", q.sampling.temperature, "Below 1 the likely words are preferred; 0: always the likeliest")
           .range(0, 1000),
       Field("top_k", q.sampling.top_k, "Only the K likeliest tokens; 0: all").range(0, kMaxVocab),
       Field("top_p", q.sampling.top_p, "Only the likeliest tokens that make up this share").range(1e-6, 1),
       Field("seed", q.sampling.seed, "The same seed gives the same stories"),
       Field("count", q.count, "Number of stories").range(1, kMostStories),
       Field("tokens", q.tokens, "The most tokens to add to the prompt; 0: until the context of the model is full")
           .range(0, 1e6)});
}

GenerateResult generate_stories(const Engine& engine, const GenerateRequest& q) {
  return generate_stories(engine, *open_language_run(engine, q.source), q);
}

GenerateResult generate_stories(const Engine& engine, const LanguageRun& run, const GenerateRequest& q) {
  check_request(q, run);
  run.model().check_numbers(engine.pool());  // before anything is written
  const Tokenizer& tokenizer = run.tokenizer();
  const bool own = !run.foreign();
  std::optional<ChatTemplate> chat;
  if (q.chat) {
    if (own || q.prompt.empty())
      throw Error({.code = ErrorCode::usage,
                   .what = own ? "a run of glint was not made for chats" : "there is no message to answer",
                   .where = own ? "chat" : "prompt",
                   .expected = own ? "a model of another program with a chat template" : "a text"});
    chat = ChatTemplate::of_model(run.model().file());
  }
  const std::vector<TokenId> prompt = prompt_tokens(engine, run, q.prompt, chat ? &*chat : nullptr);
  const StoryPlan plan{
      .prompt = prompt, .end = own ? tokenizer.end() : 0, .count = q.count, .tokens = q.tokens, .sampling = q.sampling};
  const size_t left = run.reading().context() - prompt.size();
  const size_t most = own ? most_added(run.own().config, plan) : std::min(q.tokens ? q.tokens : kUsualTokens, left);

  GenerateResult r;
  r.run = run.directory();
  r.prompt = tokenizer.decode(prompt);
  r.prompt_tokens = prompt.size() - (chat ? 0 : run.beginning().size());
  r.sampling = q.sampling;
  r.precision = own ? name(engine.precision()) : run.model().precision();
  r.threads = engine.pool().size();
  r.count = q.count;
  r.limit = most;
  r.limit_is_context = own ? q.tokens == 0 || r.limit != q.tokens : most == left;

  InOrder in_order(q, r);
  std::unique_ptr<StoryStream> stream;
  const std::vector<TokenId> shown = chat ? std::vector<TokenId>() : prompt;
  if (q.count == 1 && q.on_text) stream = std::make_unique<StoryStream>(q, tokenizer, shown);
  const auto token = [&](TokenId id) {
    if (stream) stream->add(id);
  };
  const auto done = [&](uint32_t index, std::span<const TokenId> added, bool ended) {
    r.cut += !ended;
    std::vector<TokenId> ids = shown;
    ids.insert(ids.end(), added.begin(), added.end());
    in_order.add({index, tokenizer.decode(ids), added.size(), ended});
  };
  const double start = seconds();
  if (own)
    write_side_by_side(engine, run.own(), plan, token, done, r);
  else
    write_in_turn(engine, run, plan, most, chat ? std::optional(chat->end(tokenizer)) : std::nullopt, token, done, r);
  r.seconds = seconds() - start;
  if (stream) stream->finish();
  return r;
}

OrderedJson to_json(const GenerateResult& r) {
  OrderedJson j = {{"schema", "glint-generate/1"},
                   {"run", r.run},
                   {"prompt", r.prompt},
                   {"prompt_tokens", r.prompt_tokens},
                   {"temperature", r.sampling.temperature},
                   {"top_k", r.sampling.top_k},
                   {"top_p", r.sampling.top_p},
                   {"seed", r.sampling.seed},
                   {"precision", r.precision},
                   {"threads", r.threads},
                   {"tokens", r.tokens},
                   {"seconds", r.seconds},
                   {"prompt_seconds", r.prompt_seconds},
                   {"tokens_per_second", r.tokens_per_second()}};
  j["stories"] = OrderedJson::array();
  for (const GeneratedStory& s : r.stories)
    j["stories"].push_back({{"index", s.index}, {"text", s.text}, {"tokens", s.tokens}, {"ended", s.ended}});
  return j;
}

}  // namespace glint
