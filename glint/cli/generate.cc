// glint generate: stories from a trained language model.
#include <iostream>
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/verbs.h"
#include "glint/data/story_file.h"
#include "glint/lab/models/generate.h"

namespace glint::cli {
namespace {

constexpr size_t kMaxPromptBytes = size_t{1} << 20;

std::string from_stdin() {
  std::string text(kMaxPromptBytes, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::cin.gcount()));
  return text;
}

// "120 tokens in 0.05 s, 2400 tokens/s, after a prompt of 5 in 0.01 s; the story was cut at --tokens 120"
std::string summary(const GenerateResult& r) {
  std::string text = std::to_string(r.tokens) + " tokens in " + fixed_text(r.writing_seconds(), 2) + " s, " +
                     fixed_text(r.tokens_per_second(), 0) + " tokens/s";
  if (r.prompt_seconds > 0 && r.prompt_tokens > 0)
    text += ", after a prompt of " + std::to_string(r.prompt_tokens) + " in " + fixed_text(r.prompt_seconds, 2) + " s";
  if (r.cut == 0) return text;
  text += r.count == 1 ? "; the story was"
                       : "; " + std::to_string(r.cut) + " of " + std::to_string(r.count) + " stories " +
                             (r.cut == 1 ? "was" : "were");
  return text + (r.limit_is_context
                     ? " cut at the model's context of " + std::to_string(r.prompt_tokens + 1 + r.limit) + " tokens"
                     : " cut at --tokens " + std::to_string(r.limit));
}

// Text goes to stdout as it comes: of one story word by word, of several each when it is complete, with a
// line between two as in a file of stories.
void run(Context& context, GenerateRequest q) {
  const Engine engine = engine_of(context);
  if (q.prompt == "-") q.prompt = from_stdin();
  q.keep = context.shared.json;
  const auto give = [&](std::string_view text) {
    context.out << text;
    context.flush_results();
  };
  if (!context.shared.json && q.count == 1) q.on_text = give;
  if (!context.shared.json && q.count > 1)
    q.on_story = [&](const GeneratedStory& s) {
      give((s.index > 0 ? std::string(kEndOfText) + "\n" : "") + s.text + "\n");
    };
  const GenerateResult r = generate_stories(engine, q);
  if (q.on_text) give("\n");
  if (context.shared.json) context.print_json(to_json(r));
  context.say(summary(r));
}

}  // namespace

void add_generate(Program& program) {
  Verb& verb = program.add(
      {.name = "generate",
       .group = Group::train,
       .summary = "let a trained language model write stories",
       .details =
           "RUN is a directory that glint train made from text, or a model of another program (glint model), "
           "which stops at its EOS or BOS token. One story appears word by word; of several "
           "each is printed when it is complete, with a line <|endoftext|> between two, which is what glint "
           "tokenize reads. A story depends on the seed and on its number alone: the first of ten is the "
           "one that a count of 1 gives. With --chat the prompt is a message, put to the model as its own chat template "
           "has it: ChatML, Gemma's or Llama's.",
       .examples = {
           {"glint generate runs/tales", "a story from the beginning"},
           {"glint generate runs/tales --prompt \"once upon a time\" --temperature 0.7", "how the model goes on"},
           {"glint generate runs/tales --count 1000 --top-p 0.95 > new.txt", "many, for a file"},
           {"glint generate runs/tales --temperature 0 --json", "the likeliest words, for a program"},
           {"glint generate stories15m/stories15M.bin --prompt \"Once upon a time\" --temperature 0",
            "a model of llama2.c"},
           {"glint generate SmolLM2-135M-Instruct.Q4_1.gguf --chat --prompt \"What is a quadratic form?\"",
            "an answer of a model that was made for chats"}}});
  const auto o = std::make_shared<GenerateRequest>();
  verb.add(fields_of(*o));
  verb.at("--prompt")->value_optional();
  verb.share({"precision"});
  verb.share_kernels();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
