#include "glint/cli/progress.h"

#include <gtest/gtest.h>

#include <sstream>

#include "glint/base/text.h"

namespace glint::cli {
namespace {

constexpr const char* kClear = "\r\x1b[K";

// A progress with a clock and a window that the test moves.
struct Stage {
  double time = 100;
  size_t columns = 80;
  std::ostringstream err;

  Terminal terminal(bool interactive) {
    return {.interactive = interactive, .color = interactive, .width = [this] { return columns; }};
  }
  ProgressSetup setup(uint64_t total, uint64_t start = 0) {
    return {.label = "train", .total = total, .unit = "images", .start = start, .now = [this] { return time; }};
  }
  std::string last() const {
    const std::string all = err.str();
    return all.substr(all.rfind(kClear) + 4);
  }
};

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) n++;
  return n;
}

TEST(Progress, ShowsPartRateAndTimeLeft) {
  Stage s;
  Progress p(s.err, s.terminal(true), false, s.setup(10000));
  s.time += 10;
  p.update(2500, "loss 0.31");
  EXPECT_EQ(s.last(), "train  25%  [====>             ]  2500/10000 images  250/s  ETA 0:30  loss 0.31");
}

TEST(Progress, AResumedRunDoesNotCountWhatWasDoneBefore) {
  Stage s;
  Progress p(s.err, s.terminal(true), false, s.setup(1000, 500));
  s.time += 10;
  p.update(600);
  EXPECT_NE(s.last().find("10.0/s  ETA 0:40"), std::string::npos) << s.last();
}

TEST(Progress, DrawsAtMostTenTimesASecondAndAlwaysAtTheEnd) {
  Stage s;
  Progress p(s.err, s.terminal(true), false, s.setup(1000));
  for (int i = 1; i <= 999; i++) {
    s.time += 0.001;
    p.update(static_cast<uint64_t>(i));
  }
  const size_t drawn = count(s.err.str(), kClear);
  EXPECT_GE(drawn, 8u);
  EXPECT_LE(drawn, 11u);
  p.update(1000);
  EXPECT_EQ(count(s.err.str(), kClear), drawn + 1);
  EXPECT_NE(s.last().find("100%"), std::string::npos);
}

TEST(Progress, FitsEveryWindow) {
  for (size_t columns = 1; columns <= 140; columns++) {
    Stage s;
    s.columns = columns;
    Progress p(s.err, s.terminal(true), false, s.setup(1000));
    s.time += 1;
    p.update(500, "\xce\xbb 0.5");
    EXPECT_LE(display_width(s.last()), std::max<size_t>(columns, 2) - 1);
  }
}

TEST(Progress, CleansUpAndKeepsMessages) {
  Stage s;
  {
    Progress p(s.err, s.terminal(true), false, s.setup(10));
    s.time += 1;
    p.update(5);
    p.line("for logs only");
    p.message("saved");
    EXPECT_NE(s.last().find("5/10"), std::string::npos);  // the bar is back below the message
  }
  EXPECT_EQ(s.last(), "");
  EXPECT_NE(s.err.str().find(std::string(kClear) + "saved\n"), std::string::npos);
  EXPECT_EQ(s.err.str().find("for logs only"), std::string::npos);
}

TEST(Progress, WithoutATerminalOnlyTheLinesOfTheCaller) {
  Stage s;
  {
    Progress p(s.err, s.terminal(false), false, s.setup(10));
    p.update(5);
    p.line("epoch 1");
    p.message("saved");
  }
  EXPECT_EQ(s.err.str(), "epoch 1\nsaved\n");
}

TEST(Progress, QuietSaysNothing) {
  for (const bool interactive : {false, true}) {
    Stage s;
    {
      Progress p(s.err, s.terminal(interactive), true, s.setup(10));
      s.time += 1;
      p.update(10);
      p.line("epoch 1");
      p.message("saved");
    }
    EXPECT_EQ(s.err.str(), "");
  }
}

TEST(Progress, AnUnknownTotalHasNeitherBarNorTimeLeft) {
  Stage s;
  Progress p(s.err, s.terminal(true), false, s.setup(0));
  s.time += 2;
  p.update(7000);
  EXPECT_EQ(s.last(), "train  7000 images  3.50k/s");
}

TEST(Progress, TextsOfTimesAndRates) {
  EXPECT_EQ(duration_text(65), "1:05");
  EXPECT_EQ(duration_text(3725), "1:02:05");
  EXPECT_EQ(duration_text(-1), "0:00");
  EXPECT_EQ(rate_text(950), "950");
  EXPECT_EQ(rate_text(1234), "1.23k");
  EXPECT_EQ(rate_text(45.6e6), "45.6M");
  EXPECT_EQ(rate_text(0.5), "0.50");
}

TEST(ErrorText, ColorsOnlyWhenAsked) {
  const ErrorParts parts{.what = "bad", .where = "file", .expected = "good", .hint = "retry"};
  EXPECT_EQ(error_text(parts, false), "glint: error: bad\n  where:    file\n  expected: good\n  try:      retry\n");
  EXPECT_EQ(error_text({.what = "bad"}, false), "glint: error: bad\n");
  EXPECT_NE(error_text(parts, true).find("\x1b["), std::string::npos);
}

}  // namespace
}  // namespace glint::cli
