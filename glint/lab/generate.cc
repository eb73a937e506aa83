#include "glint/lab/generate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/data/story_reader.h"
#include "glint/lab/story_stream.h"

namespace glint {
namespace {

// Stories side by side: enough for the products to be quick, and as many as fit 256 MB with their keys and
// values (a config.json may ask for a context of 16384, of which 32 would take gigabytes). One runs whatever
// it takes.
constexpr size_t kSideBySide = 32, kMemory = size_t{256} << 20;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Hands stories on in the order of their numbers.
class InOrder {
 public:
  InOrder(const GenerateRequest& request, GenerateResult& result) : request_(request), result_(result) {}
  void add(GeneratedStory story) {
    waiting_.emplace(story.index, std::move(story));
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_;
         it = waiting_.erase(it), next_++) {
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

}  // namespace

std::vector<TokenId> prompt_tokens(const Engine& engine, const LanguageRun& run, std::string text) {
  if (repair_utf8(text) > 0) engine.note("the prompt was not UTF-8 everywhere; such bytes count as a space");
  std::vector<TokenId> ids = run.tokenizer.encode(text);
  const auto unknown = std::count(ids.begin(), ids.end(), run.tokenizer.unknown());
  if (unknown > 0)
    engine.note("the tokenizer does not know " + std::to_string(unknown) + " stretch" +
                (unknown == 1 ? "" : "es") + " of the prompt; the model sees a mark instead");
  const size_t most = run.model.config.context - 2;  // the end piece before it, and one token to write
  if (ids.size() > most)
    throw Error({.code = ErrorCode::usage,
                 .what = "the prompt has " + std::to_string(ids.size()) + " tokens",
                 .where = "prompt",
                 .expected = "at most " + std::to_string(most) + ": the model sees " +
                             std::to_string(run.model.config.context) + " tokens at once",
                 .hint = "a shorter prompt"});
  ids.insert(ids.begin(), run.tokenizer.end());
  return ids;
}

void check_count(const GenerateRequest& q) {
  if (q.count == 0 || q.count > kMostStories)
    throw Error({.code = ErrorCode::usage,
                 .what = std::to_string(q.count) + " is no number of stories",
                 .where = "count",
                 .expected = "from 1 to " + std::to_string(kMostStories)});
}

GenerateResult generate_stories(const Engine& engine, const LanguageRun& run, const GenerateRequest& q) {
  check_count(q);
  const Tokenizer& tokenizer = run.tokenizer;
  const TransformerConfig& config = run.model.config;
  const std::vector<TokenId> prompt = prompt_tokens(engine, run, q.prompt);
  const StoryPlan plan{
      .prompt = prompt, .end = tokenizer.end(), .count = q.count, .tokens = q.tokens, .sampling = q.sampling};
  const size_t room = story_room(config, plan);
  const size_t fit = kMemory / Generator::slot_bytes(config, engine.compute().kernels(), room);
  const size_t slots = std::min(std::min(q.count, kSideBySide) + 1, std::max<size_t>(fit, 2));
  Generator generator(config, engine.compute(), slots, room);
  generator.set_weights(run.model.weights.span());

  GenerateResult r;
  r.run = run.directory;
  r.prompt = tokenizer.decode(prompt);
  r.prompt_tokens = prompt.size() - 1;
  r.sampling = q.sampling;
  r.precision = name(engine.precision());
  r.threads = engine.pool().size();
  r.count = q.count;
  r.limit = most_added(config, plan);
  r.limit_is_context = q.tokens == 0 || r.limit != q.tokens;

  InOrder in_order(q, r);
  std::unique_ptr<StoryStream> stream;
  if (q.count == 1 && q.on_text) stream = std::make_unique<StoryStream>(q, tokenizer, prompt);
  const double start = seconds();
  const GenerateCounts counts = generate(
      generator, engine.compute(), plan,
      [&](uint32_t, TokenId id) {
        engine.check_stop();
        if (stream) stream->add(id);
        return true;
      },
      [&](const Story& s) {
        r.cut += !s.ended;
        std::vector<TokenId> ids = prompt;
        ids.insert(ids.end(), s.ids.begin(), s.ids.end());
        in_order.add({s.index, tokenizer.decode(ids), s.ids.size(), s.ended});
      });
  r.seconds = seconds() - start;
  r.tokens = counts.tokens;
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
