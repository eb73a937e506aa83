#include "glint/cli/verb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/range.h"
#include "glint/cli/ranks.h"

namespace glint::cli {
namespace {

// A verb with every kind of option.
struct Sample {
  Verb verb{{.name = "sample"}};
  bool fast = false, figures = true;
  std::string name = "a", input;
  std::vector<std::string> words;
  size_t count = 3;
  std::optional<size_t> layer;
  double rate = 0.5, share = 1;
  std::vector<double> at;

  Sample() {
    verb.add({Field("fast", fast, ""), Field("figures", figures, "Write no figures"), Field("name", name, ""),
              Field("count", count, "").range(1, 100), Field("layer_number", layer, "").range(1, 9),
              Field("rate", rate, "").range(0, 1), Field("share", share, "").range(kAboveZero, 1000),
              Field("at", at, ""), Field("words", words, ""), Field("token", Prefixed{&words, "token:"}, ""),
              Field("input", input, "").argument("INPUT")});
    verb.share({"seed", "precision"});
    verb.share_engine();
  }
  Sample& parse(std::vector<std::string> arguments) {
    verb.parse(std::move(arguments));
    return *this;
  }
};

ErrorParts failure(std::vector<std::string> arguments) {
  try {
    Sample().parse(arguments);
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), 2);
    return e.parts();
  }
  ADD_FAILURE() << "accepted: " << arguments.back();
  return {};
}

TEST(Verb, ReadsEveryKindOfOption) {
  Sample s;
  s.parse({"--fast", "--name", "b c", "--no-figures", "--count", "5", "--rate=0.25", "--at", "-1, +2,-.5e1",
           "--layer-number", "9", "--words", "x", "--token", "happy, sad", "--words", "y", "file"});
  EXPECT_TRUE(s.fast);
  EXPECT_FALSE(s.figures);
  EXPECT_EQ(s.words, (std::vector<std::string>{"x", "y", "token:happy, sad"}));
  EXPECT_EQ(s.name, "b c");
  EXPECT_EQ(s.count, 5u);
  EXPECT_EQ(s.layer, 9u);
  EXPECT_EQ(s.rate, 0.25);
  EXPECT_EQ(s.at, (std::vector<double>{-1, 2, -5}));
  EXPECT_EQ(s.input, "file");
}

TEST(Verb, ReadsTheSharedOptions) {
  Sample s;
  s.parse({"--seed", "18446744073709551615", "--threads", "2", "--precision", "bf16", "--json", "--quiet", "--isa",
           "v3", "--linalg", "eigen"});
  const SharedOptions& o = s.verb.shared();
  EXPECT_EQ(o.seed, 18446744073709551615u);
  EXPECT_EQ(o.threads, 2u);
  EXPECT_EQ(o.precision, "bf16");
  EXPECT_TRUE(o.json && o.quiet);
  EXPECT_EQ(o.isa, "v3");
  EXPECT_EQ(o.linalg, "eigen");
}

TEST(Verb, NothingGivenLeavesTheDefaults) {
  Sample s;
  s.parse({});
  EXPECT_EQ(s.name, "a");
  EXPECT_EQ(s.count, 3u);
  EXPECT_FALSE(s.layer);
  EXPECT_EQ(s.verb.shared().precision, "f32");
  EXPECT_EQ(s.verb.shared().linalg, "auto");
  EXPECT_EQ(Verb({.name = "other"}).shared().linalg, "") << "a verb that does not share it";
  EXPECT_FALSE(s.fast);
}

TEST(Verb, AValueMayLookLikeAFlag) {
  EXPECT_EQ(Sample().parse({"--name", "-strange"}).name, "-strange");
  EXPECT_EQ(Sample().parse({"--name=--strange"}).name, "--strange");
  EXPECT_EQ(Sample().parse({"--name", "a=b"}).name, "a=b");
  EXPECT_EQ(Sample().parse({"--", "--fast"}).input, "--fast");
  EXPECT_EQ(failure({"--name", "--fast"}).what, "the option needs a value");
}

TEST(Verb, NumbersOutsideTheirRangeNameIt) {
  EXPECT_EQ(failure({"--layer-number", "0"}).where, "--layer-number");
  EXPECT_EQ(failure({"--count", "0"}).expected, "a whole number from 1 to 100");
  EXPECT_EQ(failure({"--rate", "1.5"}).expected, "a number from 0 to 1");
  EXPECT_EQ(failure({"--threads", "0"}).where, "--threads");
  EXPECT_EQ(failure({"--share", "0"}).expected, "a number above 0, at most 1000");
  for (const char* word : {"1.5", "x", "1e2", "0x10", "5 ", "99999999999999999999", "-1"})
    EXPECT_EQ(failure({"--seed", word}).expected, "a whole number") << word;
  for (const char* word : {"", "nan", "inf", "1e999", "1,5", "--"}) failure({"--rate", word});
}

TEST(Verb, SlipsNameTheNearestWord) {
  EXPECT_EQ(failure({"--thread", "2"}).expected, "did you mean --threads?");
  EXPECT_EQ(failure({"--qiuet"}).expected, "did you mean --quiet?");
  EXPECT_EQ(failure({"--precision", "bf61"}).expected, "did you mean bf16?");
  EXPECT_EQ(failure({"--isa", "v44"}).expected, "did you mean v4?");
  EXPECT_EQ(failure({"one", "two"}).what, "unexpected argument 'two'");
  EXPECT_EQ(failure({"--name", "a", "--name=b"}).what, "the option is given twice");
}

TEST(Verb, OptionsThatWereRenamedNameTheNewOne) {
  try {
    Verb({.name = "compare"}).parse({"--top", "3"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().expected, "--show K");
  }
}

TEST(Verb, WhatIsRequiredIsAskedFor) {
  Verb verb({.name = "sample"});
  std::string data;
  verb.add(Field("data", data, "the folder of the data").directory().required());
  try {
    verb.parse({});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().what, "--data is missing");
    EXPECT_EQ(e.parts().expected, "the folder of the data");
    EXPECT_EQ(e.exit_code(), 2);
  }
}

// nlohmann-json would write null for it.
TEST(Context, ResultsInJsonHaveNoNumberThatIsNotFinite) {
  std::ostringstream out, err;
  const CpuInfo cpu = detect_cpu();
  Ranks ranks;
  const Context context{.out = out,
                        .err = err,
                        .terminal = {},
                        .files = real_files(),
                        .cpu = cpu,
                        .isa = cpu.best,
                        .shared = {},
                        .ranks = ranks,
                        .flush_results = {}};
  nlohmann::ordered_json result;
  result["rows"] = nlohmann::ordered_json::array({1.5, nullptr});
  result["rows"].push_back({{"loss", 1e308}});
  context.print_json(result);
  EXPECT_NE(out.str().find("null"), std::string::npos);
  out.str("");
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    result["rows"][2]["loss"] = bad;
    try {
      context.print_json(result);
      ADD_FAILURE() << "accepted: " << bad;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::numeric);
      EXPECT_EQ(e.parts().where, "rows[2].loss");
    }
  }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace glint::cli
