// The fields of a request: set from what was typed and from JSON, said in words, described, refused.
#include "glint/io/fields.h"

#include <gtest/gtest.h>

#include "glint/base/error.h"

namespace glint {
namespace {

enum class Beside { nothing, linear, all };

struct Request {
  bool figures = true;
  std::string form = "auto", unit = "all", token = {};
  double scale = 0.5;
  size_t near = 8;
  std::optional<size_t> layer = {};
  std::vector<std::string> words = {};
  std::vector<double> at = {};
  std::vector<uint64_t> seeds = {};
  Beside beside = Beside::all;
};

std::vector<Field> fields_of(Request& q) {
  return {Field("figures", q.figures, "Write no figures"),
          Field("form", q.form, "The form").one_of({"auto", "weights", "scaled"}),
          Field("unit", q.unit, "Classes").images(),
          Field("token", Prefixed{&q.words, "token:"}, "Tokens").language(),
          Field("scale", q.scale, "What is left").range(0, 1),
          Field("near", q.near, "How many tokens").range(1, 100).language(),
          Field("layer", q.layer, "Which layer").range(1, 1000),
          Field("words", q.words, "Words"),
          Field("at", q.at, "Numbers"),
          Field("seeds", q.seeds, "Seeds"),
          Field("beside", q.beside, "What is measured", {"none", "linear", "all"})};
}

ErrorParts refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    return e.parts();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Fields, AreSetFromTextAndFromJsonAlike) {
  Request a, b;
  const std::vector<std::pair<std::string, std::string>> typed = {
      {"figures", "false"}, {"form", "scaled"}, {"scale", "0.25"}, {"near", "3"},    {"layer", "2"},
      {"words", "x"},       {"token", "happy"}, {"at", "-1, 0.5"}, {"seeds", "4,5"}, {"beside", "linear"}};
  for (const auto& [name, text] : typed) set_field(*find_field(fields_of(a), name), text);
  set_fields(fields_of(b), parse_json(R"({"figures": false, "form": "scaled", "scale": 0.25, "near": 3, "layer": 2,
      "words": "x", "at": [-1, 0.5], "seeds": [4, 5], "beside": "linear", "unit": null})",
                                      "text"));
  set_field_json(*find_field(fields_of(b), "token"), "happy");
  EXPECT_EQ(fields_json(fields_of(a)), fields_json(fields_of(b)));
  EXPECT_EQ(a.words, (std::vector<std::string>{"x", "token:happy"}));
  EXPECT_EQ(a.beside, Beside::linear);
  EXPECT_EQ(b.unit, "all");
  Request c;
  copy_fields(fields_of(a), fields_of(c));
  EXPECT_EQ(fields_json(fields_of(a)), fields_json(fields_of(c)));
}

TEST(Fields, RefuseWhatIsOutsideTheirDomainByName) {
  Request q;
  const auto typed = [&](const char* name, const char* text) {
    return refused([&] { set_field(*find_field(fields_of(q), name), text, "--" + std::string(name)); });
  };
  EXPECT_EQ(typed("layer", "0").what, "`layer` cannot be '0'");
  EXPECT_EQ(typed("layer", "0").expected, "a whole number from 1 to 1000");
  EXPECT_EQ(typed("layer", "0").where, "--layer");
  EXPECT_NE(typed("form", "scald").expected.find("scaled"), std::string::npos);
  for (const char* text : {"nan", "2", "x", "", "0.5x"}) typed("scale", text);
  for (const char* text : {"1,x", "1,,2", "1e999"}) typed("at", text);
  typed("beside", "some");
  const auto json = [&](const char* text) {
    return refused([&] { set_fields(fields_of(q), parse_json(text, "text")); });
  };
  for (const char* text : {R"({"layer": 0})", R"({"layer": -1})", R"({"layer": 1.5})", R"({"layer": "1"})",
                           R"({"near": true})", R"({"form": "none"})", R"({"figures": 1})", R"({"at": ["x"]})"})
    json(text);
  EXPECT_EQ(json(R"({"lyaer": 3})").where, "lyaer");
  EXPECT_NE(json(R"({"lyaer": 3})").expected.find("layer"), std::string::npos);
  EXPECT_EQ(fields_json(fields_of(q)), [] {
    Request usual;
    return fields_json(fields_of(usual));
  }());
}

TEST(Fields, OfARequestAreCheckedAgainstTheirRangeAndTheKindOfModel) {
  EXPECT_NO_THROW(check_request(Request{.unit = "3"}, ModelTraits{}, "runs/a"));
  EXPECT_NO_THROW(check_request(Request{.near = 9}, ModelTraits{.language = true}, "runs/a"));
  const ErrorParts e = refused([] { check_request(Request{.unit = "3"}, ModelTraits{.language = true}, "runs/a"); });
  EXPECT_EQ(e.what, "`unit` is for image models");
  EXPECT_EQ(e.where, "runs/a");
  EXPECT_EQ(refused([] { check_request(Request{.near = 9}, ModelTraits{}, "r"); }).what,
            "`near` is for language models");
  EXPECT_EQ(refused([] { check_request(Request{.layer = 0}, ModelTraits{}, "r"); }).what, "`layer` cannot be '0'");
  refused([] { check_request(Request{.form = "best"}, ModelTraits{}, "r"); });
}

TEST(Fields, AreDescribed) {
  Request q;
  const OrderedJson all = describe_fields(fields_of(q));
  EXPECT_EQ(all[1], OrderedJson::parse(R"({"name": "form", "type": "text", "help": "The form", "default": "auto",
                                          "choices": ["auto", "weights", "scaled"]})"));
  EXPECT_EQ(all[6]["type"], "maybe count");
  EXPECT_TRUE(all[6]["default"].is_null());
  EXPECT_EQ(all[6]["high"], 1000.0);
  EXPECT_EQ(all[2]["for"], "images");
  EXPECT_EQ(all[10]["default"], "all");
}

}  // namespace
}  // namespace glint
