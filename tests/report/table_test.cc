#include "glint/report/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace glint {
namespace {

TEST(Text, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("0.5 \xc2\xb1 0.1"), 9u);          // plus-minus: two bytes, one column
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);                 // a combining accent
  EXPECT_EQ(display_width("\xe6\x97\xa5\xe6\x9c\xac"), 4u);  // two wide characters
  EXPECT_EQ(display_width("\xff\xc3"), 2u);                  // not UTF-8: a column a byte
  EXPECT_EQ(display_width("\xed\xa0\x80"), 3u);              // a surrogate is not UTF-8
}

TEST(Text, FitStartNeverCutsACharacter) {
  EXPECT_EQ(fit_start("\xe6\x97\xa5\xe6\x9c\xac", 3), "\xe6\x97\xa5");
  EXPECT_EQ(fit_start("abc", 2), "ab");
  EXPECT_EQ(fit_start("abc", 9), "abc");
}

TEST(Text, WrapBreaksAtSpacesAndKeepsEveryWord) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("a incomprehensible b", 5), (std::vector<std::string>{"a", "incomprehensible", "b"}));
  EXPECT_EQ(wrap("  kept\nline", 20), (std::vector<std::string>{"  kept", "line"}));
  EXPECT_EQ(wrap("", 5), (std::vector<std::string>{""}));
}

TEST(Text, NumbersReadBackTheSame) {
  for (const double v : {-0.01, 0.49 / 1.25, 1.0 / 3, 1e300, 5e-324, std::nextafter(1.0, 2.0), -0.0}) {
    const double back = std::strtod(number_text(v).c_str(), nullptr);
    EXPECT_EQ(back, v) << number_text(v);
    EXPECT_EQ(std::signbit(back), std::signbit(v));
  }
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(number_text(-HUGE_VAL), "-inf");
}

TEST(Text, FixedTextTakesEveryNumber) {
  EXPECT_EQ(fixed_text(2.5, 2), "2.50");
  EXPECT_EQ(fixed_text(-0.125, 3), "-0.125");
  EXPECT_EQ(fixed_text(999999999999999, 1), "999999999999999.0");
  EXPECT_EQ(fixed_text(0.5, 40).size(), 42u);
  EXPECT_EQ(fixed_text(1e15, 2), "1.000e+15");
  EXPECT_EQ(fixed_text(-5.78697e29, 4), "-5.787e+29");
  EXPECT_EQ(fixed_text(std::numeric_limits<double>::max(), 40), "1.798e+308");
  EXPECT_EQ(fixed_text(HUGE_VAL, 2), "inf");
  EXPECT_EQ(fixed_text(-HUGE_VAL, 0), "-inf");
  EXPECT_EQ(fixed_text(std::nan(""), 4), "nan");
}

TEST(Text, XmlHoldsOnlyWhatXmlMayHold) {
  EXPECT_EQ(xml_escape("<a & \"b\">'"), "&lt;a &amp; &quot;b&quot;&gt;&#39;");
  EXPECT_EQ(xml_escape(std::string_view("\0\x1b\xff", 3)), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(xml_escape("\xce\xbb"), "\xce\xbb");
}

Table sample() {
  Table t({{.header = "gate"},
           {.header = "loss", .align = Align::right, .key = "final_loss"},
           {.header = "note", .align = Align::center, .text = true}});
  t.add({"sqs", "0.0844", "1.50"});
  t.add({"\xce\xbb|x", "nan", "a, \"b\""});
  t.add({"short"});
  return t;
}

TEST(Table, TerminalColumnsLineUp) {
  EXPECT_EQ(sample().terminal(),
            "gate     loss   note\n"
            "-----  ------  ------\n"
            "sqs    0.0844   1.50\n"
            "\xce\xbb|x       nan  a, \"b\"\n"
            "short\n");
}

TEST(Table, TerminalWrapsLongCells) {
  Table t({{.header = "a"}, {.header = "b", .max_width = 7}, {.header = "c"}});
  t.add({"1", "one two three", "x"});
  EXPECT_EQ(t.terminal(),
            "a  b        c\n"
            "-  -------  -\n"
            "1  one two  x\n"
            "   three\n");
}

TEST(Table, AWideTableBreaksTextBeforeItBreaksApart) {
  Table t({{.header = "what"}, {.header = "how many of them", .align = Align::right}});
  t.add({"a cell with a good many words in it", "12 345"});
  EXPECT_EQ(t.terminal(80),
            "what                                 how many of them\n"
            "-----------------------------------  ----------------\n"
            "a cell with a good many words in it            12 345\n");
  EXPECT_EQ(t.terminal(30),
            "what             how many of\n"
            "                        them\n"
            "---------------  -----------\n"
            "a cell with a         12 345\n"
            "good many words\n"
            "in it\n");
}

TEST(Table, ColumnsThatDoNotFitFollowBelowWithTheFirst) {
  Table t({{.header = "class"}, {.header = "a", .align = Align::right}, {.header = "b", .align = Align::right}});
  t.add({"coat", "0.5 \xc2\xb1 0.1", "1.5 \xc2\xb1 0.2"});
  EXPECT_EQ(t.terminal(20),
            "class          a\n"
            "-----  ---------\n"
            "coat   0.5 \xc2\xb1 0.1\n"
            "\n"
            "class          b\n"
            "-----  ---------\n"
            "coat   1.5 \xc2\xb1 0.2\n");
}

TEST(Table, EveryLineFitsWhereWordsAndNumbersDo) {
  Table t({{.header = "gate"},
           {.header = "same decision", .align = Align::right},
           {.header = "what it means"},
           {.header = "loss", .align = Align::right},
           {.header = "accuracy in percent", .align = Align::right}});
  t.add({"sqs", "98.9 %", "the gate of the paper, with a shrink and a shift", "0.0838", "97.88"});
  t.add({"identity", "100.0 %", "no gate", "0.1420", "97.86"});
  for (const size_t width : {30, 40, 60, 80, 120}) {
    const std::string text = t.terminal(width);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      EXPECT_LE(display_width(text.substr(at, end - at)), width) << text;
      at = end + 1;
    }
    for (const char* cell : {"98.9 %", "0.1420", "97.86"}) EXPECT_NE(text.find(cell), text.npos) << text;
  }
}

TEST(Table, MarkdownEscapesPipesAndMarksAlignment) {
  EXPECT_EQ(sample().markdown(),
            "| gate  |   loss |  note  |\n"
            "|-------|-------:|:------:|\n"
            "| sqs   | 0.0844 |  1.50  |\n"
            "| \xce\xbb\\|x  |    nan | a, \"b\" |\n"
            "| short |        |        |\n");
}

TEST(Table, CsvQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(sample().csv(),
            "gate,final_loss,note\n"
            "sqs,0.0844,1.50\n"
            "\xce\xbb|x,nan,\"a, \"\"b\"\"\"\n"
            "short,,\n");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(Table, JsonKeepsNumbersAsNumbers) {
  const auto rows = nlohmann::json::parse(sample().json());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["final_loss"], 0.0844);
  EXPECT_TRUE(rows[0]["note"].is_string());  // a text column
  EXPECT_TRUE(rows[1]["final_loss"].is_null());
  EXPECT_EQ(rows[1]["note"], "a, \"b\"");
  EXPECT_TRUE(rows[2]["final_loss"].is_null());
  EXPECT_EQ(rows[2]["note"], "");
}

TEST(Table, JsonTakesOnlyTheGrammarOfJsonAsNumber) {
  for (const char* number : {"0", "-1", "1.5", "1e9", "-0.5E-3", "12"}) {
    Table t({{.header = "v"}});
    t.add({number});
    EXPECT_TRUE(nlohmann::json::parse(t.json())[0]["v"].is_number()) << number;
  }
  for (const char* word : {"007", "1.", ".5", "+1", "0x10", "1e", "1 2", "-", "1.5 s"}) {
    Table t({{.header = "v"}});
    t.add({word});
    EXPECT_EQ(nlohmann::json::parse(t.json())[0]["v"], word);
  }
}

TEST(Table, JsonHasTruthValuesUnlessTheColumnIsText) {
  Table t({{.header = "v"}, {.header = "word", .text = true}});
  t.add({"true", "true"});
  t.add({"false", "false"});
  const auto rows = nlohmann::json::parse(t.json());
  EXPECT_EQ(rows[0]["v"], true);
  EXPECT_EQ(rows[1]["v"], false);
  EXPECT_EQ(rows[0]["word"], "true");
}

TEST(Table, HostileTextStaysValidJson) {
  Table t({{.header = "\"k\n"}});
  t.add({"\xff\x01\"\\"});
  EXPECT_TRUE(nlohmann::json::accept(t.json()));
  EXPECT_EQ(Table({{.header = "v"}}).json(), "[]\n");
}

}  // namespace
}  // namespace glint
