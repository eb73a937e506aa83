#include "glint/tokens/chat_template.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/io/weight_file.h"
#include "glint/tokens/piece_text.h"

namespace glint {
namespace {

constexpr size_t kMaxTemplateFile = size_t{4} << 20;
constexpr const char* kKnownTemplates =
    "ChatML (<|im_start|>), Gemma's (<start_of_turn>) or Llama's ([INST] with <<SYS>>, <|start_header_id|>)";

// By a mark that no other kind has, in this order.
struct ChatMarks {
  ChatKind kind;
  const char *mark, *end;
};
constexpr ChatMarks kChatMarks[] = {{ChatKind::chatml, "<|im_start|>", "<|im_end|>"},
                                    {ChatKind::gemma, "<start_of_turn>", "<end_of_turn>"},
                                    {ChatKind::llama3, "<|start_header_id|>", "<|eot_id|>"},
                                    {ChatKind::llama2, "<<SYS>>", "</s>"}};

const ChatMarks& marks_of(ChatKind kind) { return *std::ranges::find(kChatMarks, kind, &ChatMarks::kind); }

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// What a template of another kind marks turns with: its first text that looks like a mark, "<|user|>".
std::string first_mark(std::string_view source) {
  for (size_t at = 0; (at = source.find_first_of("<[", at)) != source.npos; at++) {
    const size_t end = source.find_first_of("<>[]'\" \n{}", at + 1);
    if (end == source.npos) break;
    if (source[end] == (source[at] == '<' ? '>' : ']') && (source[at] == '<' || std::isupper(source[at + 1])))
      return std::string(source.substr(at, end + 1 - at));
  }
  return "";
}

// The text between `before` and `after` where both stand in one literal of the template.
std::optional<std::string> between(std::string_view source, std::string_view before, std::string_view after) {
  for (size_t at = 0; (at = source.find(before, at)) != source.npos; at++) {
    const std::string_view rest = source.substr(at + before.size());
    const std::string_view text = rest.substr(0, rest.find(after));
    if (text.size() < rest.size() && !text.empty() && text.find_first_of("'\"{}") == text.npos)
      return std::string(text);
  }
  return std::nullopt;
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n\v\f");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\v\f") + 1 - first));
}

[[noreturn]] void refuse_template(const std::string& what, const std::string& where) {
  throw Error({.code = ErrorCode::bad_file,
               .what = what,
               .where = where,
               .expected = kKnownTemplates,
               .hint = "without `chat` the prompt is read as it is"});
}

// Of tokenizer_config.json: one template, or several with names, of which one is "default".
std::string template_of_config(const Json& config) {
  const auto at = config.find("chat_template");
  if (at == config.end()) return "";
  if (at->is_string()) return at->get<std::string>();
  if (at->is_array())
    for (const Json& one : *at)
      if (one.is_object() && one.value("name", Json()) == "default" && one.contains("template") &&
          one["template"].is_string())
        return one["template"].get<std::string>();
  return "";
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view source, const std::string& where) {
  ChatTemplate t;
  t.where_ = where;
  const auto* found = std::ranges::find_if(kChatMarks, [&](const ChatMarks& m) { return has(source, m.mark); });
  if (found == std::end(kChatMarks)) {
    const std::string mark = first_mark(source);
    refuse_template("a chat template " +
                        (mark.empty() ? std::string("without marks") : "with the mark '" + mark + "'") +
                        " is not one that glint knows",
                    where);
  }
  t.kind_ = found->kind;
  t.begins_ = has(source, "bos_token");
  t.trims_ = has(source, "trim") || has(source, ".strip()");
  // Line feeds are written out, or as an escape.
  const std::string lines = replaced(source, "\\n", "\n");
  if (t.kind_ == ChatKind::chatml) {
    if (has(source, "strftime_now")) refuse_template("a chat template that tells the date is not followed", where);
    t.system_ = between(lines, "<|im_start|>system\n", "<|im_end|>").value_or("");
  }
  // Llama 3.1 and 3.2 begin with two dates, the second one a default.
  if (t.kind_ == ChatKind::llama3)
    if (const auto known = between(lines, "Cutting Knowledge Date: ", "\n")) {
      const size_t at = lines.find("date_string = \"");
      const auto today = at == lines.npos ? std::nullopt : between(std::string_view(lines).substr(at), "\"", "\"");
      if (!today) refuse_template("a chat template of Llama without a default for `date_string`", where);
      t.system_ = "Cutting Knowledge Date: " + *known + "\nToday Date: " + *today + "\n\n";
    }
  return t;
}

ChatTemplate ChatTemplate::of_model(const WeightFile& file) {
  std::string source, where = file.where();
  if (file.format() == WeightFormat::gguf) {
    const Json& metadata = file.metadata();
    const auto at = metadata.find("tokenizer.chat_template");
    if (at != metadata.end() && at->is_string()) source = at->get<std::string>();
  } else {
    const std::filesystem::path path(file.where());
    const std::filesystem::path folder = std::filesystem::is_directory(path) ? path : path.parent_path();
    const std::string alone = (folder / "chat_template.jinja").string();
    const std::string config = (folder / "tokenizer_config.json").string();
    if (exists(alone))
      source = read_file(where = alone, kMaxTemplateFile);
    else if (exists(config))
      source = template_of_config(parse_json(read_file(where = config, kMaxTemplateFile), config));
  }
  if (source.empty())
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the model has no chat template: it was not made for chats",
                 .where = where,
                 .expected = kKnownTemplates,
                 .hint = "without `chat` it goes on with the prompt"});
  return parse(source, where);
}

std::vector<ChatTemplate::Part> ChatTemplate::parts(std::string_view message) const {
  const std::string text = trims_ ? trimmed(message) : std::string(message);
  std::vector<Part> out;
  const auto turn = [&](const char* open, const std::string& role, const char* close, const std::string& said,
                        const char* end, const char* after) {
    out.push_back({open, true});
    out.push_back({role, false});
    if (*close) out.push_back({close, true});
    if (out.back().mark)
      out.push_back({said, false});
    else
      out.back().text += said;
    if (!*end) return;
    out.push_back({end, true});
    if (*after) out.push_back({after, false});
  };
  const char* end = marks_of(kind_).end;
  switch (kind_) {
    case ChatKind::chatml:
      if (!system_.empty()) turn("<|im_start|>", "system\n", "", system_, end, "\n");
      turn("<|im_start|>", "user\n", "", text, end, "\n");
      turn("<|im_start|>", "assistant\n", "", "", "", "");
      break;
    case ChatKind::gemma:
      turn("<start_of_turn>", "user\n", "", text, end, "\n");
      turn("<start_of_turn>", "model\n", "", "", "", "");
      break;
    case ChatKind::llama3: {
      constexpr const char *kOpen = "<|start_header_id|>", *kClose = "<|end_header_id|>";
      if (!system_.empty()) turn(kOpen, "system", kClose, "\n\n" + system_, end, "");
      turn(kOpen, "user", kClose, "\n\n" + text, end, "");
      turn(kOpen, "assistant", kClose, "\n\n", "", "");
      break;
    }
    case ChatKind::llama2:
      out.push_back({"[INST] " + text + " [/INST]", false});
      break;
  }
  return out;
}

std::string ChatTemplate::prompt(std::string_view message, std::string_view begin) const {
  std::string all(begins_ ? begin : "");
  for (const Part& part : parts(message)) all += part.text;
  return all;
}

TokenId ChatTemplate::token(const std::string& mark, const Tokenizer& tokenizer) const {
  const auto id = tokenizer.find(mark);
  if (id && tokenizer.piece(*id) == mark) return *id;
  throw Error({.code = ErrorCode::bad_file,
               .what = "the tokenizer does not have the mark " + mark + " of the chat template",
               .where = where_,
               .expected = "the tokenizer and the template of the same model"});
}

std::vector<TokenId> ChatTemplate::prompt_tokens(std::string_view message, const Tokenizer& tokenizer) const {
  std::vector<TokenId> ids;
  if (begins_ && tokenizer.begin()) ids.push_back(*tokenizer.begin());
  for (const Part& part : parts(message)) {
    if (part.mark) {
      ids.push_back(token(part.text, tokenizer));
      continue;
    }
    const std::vector<TokenId> some = tokenizer.encode(part.text);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  return ids;
}

TokenId ChatTemplate::end(const Tokenizer& tokenizer) const {
  return kind_ == ChatKind::llama2 ? tokenizer.end() : token(marks_of(kind_).end, tokenizer);
}

}  // namespace glint
