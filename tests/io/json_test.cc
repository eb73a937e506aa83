#include "glint/io/json.h"

#include "glint/io/json_cursor.h"
#include "io_testing.h"

namespace glint {
namespace {

std::string json_refusal(const std::string& text) {
  return complaint([&] { parse_json(text, "r.json"); });
}

TEST(Json, ParsesEveryKindOfValue) {
  const Json j = parse_json(
      " {\"a\": [1, -2, 0.5, 1e3, true, false, null], \"s\": \"\\u00e9\\ud83d\\ude00\\n\\/\", \"o\": {}} ", "x");
  EXPECT_EQ(j.dump(), "{\"a\":[1,-2,0.5,1000.0,true,false,null],\"o\":{},\"s\":\"\u00e9\U0001f600\\n/\"}");
  EXPECT_TRUE(j["a"][0].is_number_unsigned());
  EXPECT_EQ(parse_json("18446744073709551615", "x").get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(parse_json("-9223372036854775808", "x").get<int64_t>(), INT64_MIN);
  EXPECT_TRUE(parse_json("18446744073709551616", "x").is_number_float());
  EXPECT_EQ(parse_json("0.1", "x").get<double>(), 0.1);
}

// Whatever a tree prints as, it parses to the same tree.
TEST(Json, AgreesWithItsOwnOutput) {
  Json j;
  for (int i = 0; i < 200; i++) {
    j[std::to_string(i * 7919 % 211)] = {i, -i * 0.1, std::string(static_cast<size_t>(i % 5), '"'), nullptr};
    j["nested"] = {{"x", j["nested"].size()}, {"control", std::string(1, static_cast<char>(i % 32))}};
    EXPECT_EQ(parse_json(j.dump(), "x"), j);
    EXPECT_EQ(parse_json(j.dump(2), "x"), j);
  }
}

TEST(Json, RefusesWhatIsNotJson) {
  EXPECT_EQ(json_refusal(""), "JSON ends too early @ r.json, byte 0 ! a value");
  EXPECT_EQ(json_refusal("{\"a\":1,\"b\":2,\"a\":3}"), "duplicate key 'a' @ r.json, byte 13 ! each key once");
  EXPECT_EQ(json_refusal("[{\"a\":1,\"\\u0061\":3}]"), "duplicate key 'a' @ r.json, byte 8 ! each key once");
  EXPECT_EQ(json_refusal("{\"a\":1} x"), "unexpected 'x' in JSON @ r.json, byte 8 ! the end of the JSON text");
  EXPECT_EQ(json_refusal("{a:1}"), "unexpected 'a' in JSON @ r.json, byte 1 ! a key in quotes");
  EXPECT_EQ(json_refusal("{\"a\" 1}"), "unexpected '1' in JSON @ r.json, byte 5 ! ':' after a key");
  EXPECT_EQ(json_refusal("{\"a\":1,}"), "unexpected '}' in JSON @ r.json, byte 7 ! a key in quotes");
  EXPECT_EQ(json_refusal("[1 2]"), "unexpected '2' in JSON @ r.json, byte 3 ! ',' or ']'");
  EXPECT_EQ(json_refusal("[1,]"), "unexpected ']' in JSON @ r.json, byte 3 ! a value");
  EXPECT_EQ(json_refusal("[1"), "JSON ends too early @ r.json, byte 2 ! ',' or ']'");
  EXPECT_EQ(json_refusal("01"), "unexpected '1' in JSON @ r.json, byte 1 ! a number without leading zeros");
  EXPECT_EQ(json_refusal("1."), "JSON ends too early @ r.json, byte 2 ! a digit");
  EXPECT_EQ(json_refusal("-"), "JSON ends too early @ r.json, byte 1 ! a digit");
  EXPECT_EQ(json_refusal("+1"), "unexpected '+' in JSON @ r.json, byte 0 ! a value");
  EXPECT_EQ(json_refusal("NaN"), "unexpected 'N' in JSON @ r.json, byte 0 ! a value");
  EXPECT_EQ(json_refusal("tru"), "unexpected 't' in JSON @ r.json, byte 0 ! true");
  EXPECT_EQ(json_refusal("1e999"),
            "'1e999' is outside the range of a double @ r.json, byte 0 ! a number that a double can hold");
  EXPECT_EQ(json_refusal("\"a"), "string without an end @ r.json, byte 0 ! a closing quote");
  EXPECT_EQ(json_refusal("\"a\\"), "string without an end @ r.json, byte 0 ! a closing quote");
  EXPECT_EQ(json_refusal("\"a\nb\""), "control byte in a string @ r.json, byte 2 ! an escape such as \\n");
  EXPECT_EQ(json_refusal("\"\\x\""),
            "unexpected 'x' in JSON @ r.json, byte 2 ! one of \" \\ / b f n r t u after a backslash");
  EXPECT_EQ(json_refusal("\"\\u12g4\""), "unexpected 'g' in JSON @ r.json, byte 5 ! four hexadecimal digits after \\u");
  EXPECT_EQ(json_refusal("\"\\ud800\""),
            "half of a surrogate pair in a string @ r.json, byte 1 ! \\uDC00 to \\uDFFF next");
  EXPECT_EQ(json_refusal("\"\\ud800\\u0041\""),
            "half of a surrogate pair in a string @ r.json, byte 1 ! \\uDC00 to \\uDFFF next");
  EXPECT_EQ(json_refusal("\"\\udc00\""),
            "half of a surrogate pair in a string @ r.json, byte 1 ! \\uD800 to \\uDBFF before it");
  for (const char* bad : {"\"\x80\"", "\"\xc0\xaf\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                          "\"\xf0\x80\x80\x80\"", "\"\xe2\x82\""})
    EXPECT_EQ(json_refusal(bad), "text is not UTF-8 @ r.json, byte 1 ! UTF-8");
}

TEST(Json, BoundsDepthAndMemory) {
  EXPECT_EQ(json_refusal(std::string(64, '[') + std::string(64, ']')), "(no complaint)");
  EXPECT_EQ(json_refusal(std::string(65, '[') + std::string(65, ']')),
            "JSON is nested too deeply @ r.json, byte 64 ! less nesting");
  EXPECT_EQ(json_refusal(std::string(1000000, '[')), "JSON is nested too deeply @ r.json, byte 64 ! less nesting");
  std::string many = "[{}";
  for (size_t i = 0; i < 1000000; i++) many += ",{}";
  EXPECT_EQ(json_refusal(many + "]").substr(0, 26), "JSON needs too much memory");
}

TEST(Json, FieldsAreTyped) {
  const Json j = parse_json(
      "{\"n\":3,\"neg\":-3,\"x\":0.5,\"s\":\"t\",\"b\":true,\"big\":18446744073709551615,\"o\":{\"w\":\"q\"},"
      "\"l\":[1]}",
      "c.json");
  const JsonFields f(j, "c.json");
  EXPECT_EQ(f.required<int64_t>("n"), 3);
  EXPECT_EQ(f.required<int64_t>("neg"), -3);
  EXPECT_EQ(f.required<uint64_t>("big"), UINT64_MAX);
  EXPECT_EQ(f.required<double>("n"), 3.0);
  EXPECT_EQ(f.required<double>("x"), 0.5);
  EXPECT_EQ(f.required<std::string>("s"), "t");
  EXPECT_TRUE(f.required<bool>("b"));
  EXPECT_EQ(f.optional<int64_t>("absent", 9), 9);
  EXPECT_EQ(f.optional<int64_t>("n", 9), 3);
  EXPECT_EQ(f.array("l").size(), 1u);
  EXPECT_EQ(f.object("o").required<std::string>("w"), "q");

  EXPECT_EQ(complaint([&] { f.required<bool>("absent"); }),
            "field 'absent' is missing @ c.json ! a file with this field");
  EXPECT_EQ(complaint([&] { f.required<bool>("n"); }), "field 'n' is an integer @ c.json ! true or false");
  EXPECT_EQ(complaint([&] { f.required<int64_t>("x"); }),
            "field 'x' is a number with a fraction @ c.json ! an integer");
  EXPECT_EQ(complaint([&] { f.required<int64_t>("big"); }),
            "field 'big' is too large @ c.json ! an integer below 2^63");
  EXPECT_EQ(complaint([&] { f.required<uint64_t>("neg"); }),
            "field 'neg' is negative @ c.json ! a non-negative integer");
  EXPECT_EQ(complaint([&] { f.required<double>("s"); }), "field 's' is a string @ c.json ! a number");
  EXPECT_EQ(complaint([&] { f.optional<std::string>("b", ""); }), "field 'b' is true or false @ c.json ! a string");
  EXPECT_EQ(complaint([&] { f.object("o").required<int64_t>("w"); }), "field 'o.w' is a string @ c.json ! an integer");
  EXPECT_EQ(complaint([&] { f.object("l"); }), "field 'l' is an array @ c.json ! an object");
  EXPECT_EQ(complaint([&] { f.array("o"); }), "field 'o' is an object @ c.json ! an array");
  EXPECT_EQ(complaint([&] {
              f.object("o").only({"wx", "v"});
            }),
            "field 'o.w' is not known @ c.json ! did you mean wx?");
  EXPECT_EQ(complaint([&] { f.object("o").only({"w"}); }), "(no complaint)");
}

TEST(JsonText, QuotesForFilesAndForPeople) {
  EXPECT_EQ(json_quote("a\"\\\n\x7f\u20ac"), "\"a\\\"\\\\\\u000a\\u007f\u20ac\"");
  EXPECT_THROW(json_quote("\xff"), Error);
  EXPECT_EQ(show("a\x1b[0m\xff\u20ac"), "'a\\x1b[0m\\xff\u20ac'");
  EXPECT_EQ(show(std::string(100, 'a')), "'" + std::string(80, 'a') + "...'");
}

}  // namespace
}  // namespace glint
