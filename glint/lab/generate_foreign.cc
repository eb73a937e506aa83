// Text from models of other programs.
#include <algorithm>
#include <chrono>

#include "glint/base/error.h"
#include "glint/data/story_reader.h"
#include "glint/lab/generate.h"
#include "glint/lab/story_stream.h"

namespace glint {
namespace {

std::vector<TokenId> foreign_prompt(const Engine& engine, const ForeignModel& m, std::string text) {
  if (repair_utf8(text) > 0) engine.note("the prompt was not UTF-8 everywhere; such bytes count as a space");
  std::vector<TokenId> ids =
      text.empty() ? std::vector<TokenId>(m.tokenizer.prefix().begin(), m.tokenizer.prefix().end())
                   : m.tokens(text);
  const size_t most = m.window() - 1;
  if (ids.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "the tokenizer of this model puts nothing before a text",
                 .where = "prompt",
                 .expected = "a prompt"});
  if (ids.size() > most)
    throw Error({.code = ErrorCode::usage,
                 .what = "the prompt has " + std::to_string(ids.size()) + " tokens",
                 .where = "prompt",
                 .expected = "at most " + std::to_string(most),
                 .hint = "a shorter prompt"});
  return ids;
}

}  // namespace

GenerateResult generate_stories(const Engine& engine, const ForeignModel& m, const GenerateRequest& q) {
  check_count(q);
  const std::vector<TokenId> prompt = foreign_prompt(engine, m, q.prompt);
  const std::vector<TokenId> ends = m.ends();
  const size_t left = m.window() - prompt.size(), most = std::min(q.tokens ? q.tokens : kUsualTokens, left);
  FamilyPass pass(m.model, engine.compute(), prompt.size() + most);
  Sampler sampler(q.sampling);

  GenerateResult r;
  r.run = m.path;
  r.prompt = m.tokenizer.decode(prompt);
  r.prompt_tokens = prompt.size() - m.tokenizer.prefix().size();
  r.sampling = q.sampling;
  r.precision = m.model.precision();
  r.threads = engine.pool().size();
  r.count = q.count;
  r.limit = most, r.limit_is_context = most == left;

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  // Stories follow each other: each begins from the same prompt, of which all but the last token is kept.
  pass.prime(std::span(prompt).first(prompt.size() - 1));
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  r.prompt_seconds = seconds();
  for (uint32_t index = 0; index < q.count; index++) {
    pass.rewind(prompt.size() - 1);
    std::unique_ptr<StoryStream> stream;
    if (q.count == 1 && q.on_text) stream = std::make_unique<StoryStream>(q, m.tokenizer, prompt);
    std::vector<TokenId> ids = prompt;
    bool ended = false;
    while (ids.size() < prompt.size() + most) {
      engine.check_stop();
      const std::span<float> logits = pass.feed({&ids.back(), 1});
      // Weights may have more tokens than the tokenizer: padding, which is never chosen.
      const std::span<float> known = logits.first(std::min(logits.size(), m.tokenizer.size()));
      const TokenId next =
          sampler.choose(engine.compute().kernels(), known, index, ids.size() - prompt.size());
      r.tokens++;
      ended = std::ranges::find(ends, next) != ends.end();
      if (ended) break;
      ids.push_back(next);
      if (stream) stream->add(next);
    }
    if (stream) stream->finish();
    r.cut += !ended;
    GeneratedStory story{index, m.tokenizer.decode(ids), ids.size() - prompt.size(), ended};
    if (q.on_story) q.on_story(story);
    if (q.keep) r.stories.push_back(std::move(story));
  }
  r.seconds = seconds();
  return r;
}

}  // namespace glint
