// Chat templates: the prompts that Jinja makes of them (tests/golden/make_chat.py), their tokens, and what is
// refused.
#include "glint/tokens/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/io/weight_file.h"

namespace glint {
namespace {

const Json& golden_chat() {
  static const Json golden = Json::parse(read_file(GLINT_GOLDEN_DIR "/chat.json", 1 << 20));
  return golden;
}

std::string refusal(const std::string& source) {
  try {
    ChatTemplate::parse(source, "here");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file);
    return e.parts().what;
  }
  return "";
}

TEST(ChatTemplate, PromptsAreThoseOfJinja) {
  for (const Json& t : golden_chat()["templates"]) {
    const ChatTemplate chat = ChatTemplate::parse(t["source"].get<std::string>(), "golden");
    for (size_t i = 0; i < golden_chat()["messages"].size(); i++)
      EXPECT_EQ(chat.prompt(golden_chat()["messages"][i].get<std::string>(), golden_chat()["begin"].get<std::string>()),
                t["prompts"][i].get<std::string>())
          << t["name"];
  }
}

TEST(ChatTemplate, OthersAreRefusedByTheirMarks) {
  for (const Json& t : golden_chat()["others"]) {
    const std::string what = refusal(t["source"].get<std::string>());
    EXPECT_NE(what.find(t["mark"].get<std::string>()), what.npos) << what;
  }
  EXPECT_NE(refusal("{{ messages }}"), "");
  EXPECT_NE(refusal("<|im_start|> strftime_now"), "");
  EXPECT_NE(refusal("<|start_header_id|> Cutting Knowledge Date: June\n"), "");
}

// Marks are tokens of their own; the text between them is encoded as any text.
TEST(ChatTemplate, MarksAreTokens) {
  const char* json = R"({"added_tokens": [{"id": 6, "content": "<|im_start|>", "special": true},
                                          {"id": 7, "content": "<|im_end|>", "special": true}],
    "model": {"type": "BPE", "vocab": {"u":0,"s":1,"e":2,"r":3,"a":4,"\n":5,"i":8,"t":9,"n":10}, "merges": []}})";
  const Tokenizer tokenizer = Tokenizer::parse(json);
  const ChatTemplate chat = ChatTemplate::parse("'<|im_start|>'", "here");
  EXPECT_EQ(chat.prompt_tokens("sea", tokenizer),
            (std::vector<TokenId>{6, 0, 1, 2, 3, 5, 1, 2, 4, 7, 5, 6, 4, 1, 1, 8, 1, 9, 4, 10, 9, 5}));
  EXPECT_EQ(chat.end(tokenizer), 7u);
  const ChatTemplate gemma = ChatTemplate::parse("<start_of_turn>", "here");
  EXPECT_THROW(gemma.prompt_tokens("sea", tokenizer), Error);
  EXPECT_THROW(gemma.end(tokenizer), Error);
}

// Of a folder: chat_template.jinja before tokenizer_config.json, whose templates may have names.
TEST(ChatTemplate, OfAFolder) {
  namespace fs = std::filesystem;
  std::string name = (fs::temp_directory_path() / "glint_chat_XXXXXX").string();
  ASSERT_TRUE(::mkdtemp(name.data()));
  const auto write = [&](const char* file, const std::string& text) { std::ofstream(name + "/" + file) << text; };
  const auto kind = [&] { return ChatTemplate::of_model(open_weights(name)).kind(); };
  fs::copy_file(GLINT_GOLDEN_DIR "/families/llama.safetensors", name + "/model.safetensors");
  fs::copy_file(GLINT_GOLDEN_DIR "/families/llama/config.json", name + "/config.json");
  EXPECT_THROW(kind(), Error);
  write("tokenizer_config.json", R"({"chat_template": "<|im_start|>"})");
  EXPECT_EQ(kind(), ChatKind::chatml);
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tools", "template": "x"}, {"name": "default", "template": "<start_of_turn>"}]})");
  EXPECT_EQ(kind(), ChatKind::gemma);
  write("chat_template.jinja", "<|start_header_id|>");
  EXPECT_EQ(kind(), ChatKind::llama3);
  fs::remove_all(name);
}

}  // namespace
}  // namespace glint
