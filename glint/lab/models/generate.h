// Stories from a trained language model.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/io/fields.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/work/engine.h"
#include "glint/model/sampling.h"
#include "glint/tokens/chat_template.h"

namespace glint {

struct GeneratedStory {
  uint32_t index = 0;
  std::string text;    // with the prompt; of a chat the answer alone
  size_t tokens = 0;   // after the prompt
  bool ended = false;  // by the model; otherwise the room was used up
};

struct GenerateRequest {
  RunSource source = {};
  std::string prompt = {};  // how every story begins
  bool chat = false;        // the prompt is a message, and each story an answer to it
  SamplingOptions sampling = {};
  size_t count = 1;   // from 1 to kMostStories
  size_t tokens = 0;  // the most to add to the prompt; 0: until the context of the model is full
  bool keep = true;   // the stories in the result; without it they go to the callbacks alone
  // The text of the first story as it grows, in whole characters, the prompt first. Only for a count of 1.
  std::function<void(std::string_view)> on_text = {};
  // Every story when it is complete, in the order of their numbers.
  std::function<void(const GeneratedStory&)> on_story = {};
};
std::vector<Field> fields_of(GenerateRequest& request);

struct GenerateResult {
  std::string run, prompt;  // the prompt as the model reads it
  size_t prompt_tokens = 0;
  SamplingOptions sampling;
  std::string precision;
  size_t threads = 0;
  uint64_t tokens = 0;  // that were chosen, ends included
  double seconds = 0;
  double prompt_seconds = 0;            // of these, until the prompt is read; models that read it at once
  size_t count = 0, cut = 0;            // stories; those that did not end by themselves
  size_t limit = 0;                     // tokens that were added to the prompt at most
  bool limit_is_context = true;         // because the context was full; else the request said so
  std::vector<GeneratedStory> stories;  // in the order of their numbers; empty when not kept

  double writing_seconds() const { return seconds - prompt_seconds; }
  double tokens_per_second() const { return static_cast<double>(tokens) / writing_seconds(); }
};

// The tokens that the model is given for a prompt: what begins every text, then the prompt; with `chat` the prompt
// as a message in its template. A note where the
// text is not UTF-8 or has characters that the tokenizer does not know; Error (usage) when no room for another
// token is left.
std::vector<TokenId> prompt_tokens(const Engine& engine, const LanguageRun& run, std::string text,
                                   const ChatTemplate* chat = nullptr);

// A story depends on the seed and on its number alone: the first of ten is the one that a count of 1 gives. It
// ends with a token that ends a text. Error (usage) for a count out of range. A model of another program adds
// at most kUsualTokens without `tokens`.
inline constexpr size_t kMostStories = 10'000'000, kUsualTokens = 1024;
GenerateResult generate_stories(const Engine& engine, const GenerateRequest& request);
GenerateResult generate_stories(const Engine& engine, const LanguageRun& run, const GenerateRequest& request);
OrderedJson to_json(const GenerateResult& result);

}  // namespace glint
