// How a model that was made for chats wants a message to be put. Its chat template is a small program in the
// language of Jinja; the common ones are told by the marks in them and followed, all others are refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glint/tokens/tokenizer.h"

namespace glint {

// ChatML (SmolLM2, Qwen), Gemma's, and Llama's: with [INST] (2) and with headers (3).
enum class ChatKind { chatml, gemma, llama2, llama3 };

class ChatTemplate {
 public:
  // Error (bad_file) for a template of another kind.
  static ChatTemplate parse(std::string_view source, const std::string& where);
  // The one of a model: inside a GGUF file; beside other weights chat_template.jinja, else that of
  // tokenizer_config.json. Error (bad_file) when there is none.
  static ChatTemplate of_model(const WeightFile& file);

  ChatKind kind() const { return kind_; }
  // One message of a user, and what begins the answer, with `begin` for what begins a text where the template
  // puts that.
  std::string prompt(std::string_view message, std::string_view begin) const;
  // The same as tokens of the model; marks are its control tokens. Error (bad_file) for a mark that it does not
  // have.
  std::vector<TokenId> prompt_tokens(std::string_view message, const Tokenizer& tokenizer) const;
  // The token that ends an answer.
  TokenId end(const Tokenizer& tokenizer) const;

 private:
  struct Part {
    std::string text;
    bool mark = false;
  };
  std::vector<Part> parts(std::string_view message) const;  // after the beginning of the text
  TokenId token(const std::string& mark, const Tokenizer& tokenizer) const;

  ChatKind kind_ = ChatKind::chatml;
  std::string where_, system_;  // what the template says to the model before the message; "": nothing
  bool begins_ = false, trims_ = false;
};

}  // namespace glint
