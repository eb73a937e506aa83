// The tables of the reproduction and the two faces of a report.
#include <gtest/gtest.h>

#include <cmath>

#include "glint/io/json.h"
#include "glint/paper/reproduction_tables.h"
#include "glint/paper/write.h"
#include "glint/report/signed_picture.h"

namespace glint {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) n++;
  return n;
}

TaskRuns mnist() {
  TaskRuns t{.data = "mnist", .train = 60000, .test = 10000, .steps = 40, .epochs = 4};
  double loss = 0.2;
  for (const std::string_view gate : kPaperGates) {
    GateRuns g{std::string(gate), {}};
    for (uint64_t seed = 0; seed < 2; seed++) {
      RunCurve r{.seed = seed, .points = {}};
      for (size_t c = 0; c < kCheckpoints; c++) {
        r.at[c] = {10 * (c + 1), loss + 0.02 * static_cast<double>(seed), 0.9 + loss / 10};
        r.points.push_back(r.at[c]);
      }
      r.reached = {10, 20, seed == 0 ? uint64_t{30} : 0};
      g.runs.push_back(r);
    }
    t.gates.push_back(g);
    loss -= 0.02;
  }
  return t;
}

TEST(PaperValues, FifteenRowsAndSixteenShapes) {
  EXPECT_EQ(paper_table1().size(), 15u);
  EXPECT_EQ(paper_timing().size(), 16u);
  EXPECT_EQ(paper_row("mnist", "sqs")->at[3].loss, .0834);
  EXPECT_EQ(paper_row("stories", "identity")->at[0].metric, 9.5730);
  EXPECT_FALSE(paper_row("glyphs", "sqs"));
  EXPECT_TRUE(std::isnan(paper_timing()[0].ms("tanh")));
  for (const PaperRow& row : paper_table1())  // every loss falls over training
    for (size_t c = 1; c < kCheckpoints; c++) EXPECT_LT(row.at[c].loss, row.at[c - 1].loss) << row.data << row.gate;
}

TEST(Table1, MeanSpreadPaperDeviationAndBest) {
  const TaskRuns task = mnist();
  const ReportTable t = table1({&task, 1});
  ASSERT_EQ(t.rows.size(), 5u);
  const ReportTable::Row& relu = t.rows[0];
  EXPECT_EQ(relu.cells[0].text, "MNIST");
  EXPECT_EQ(relu.cells[2].text, "2");
  EXPECT_EQ(relu.cells[3].text, "0.2100 \xc2\xb1 0.0141");
  EXPECT_EQ(relu.cells[3].note, "0.2703 (-0.0603)");
  EXPECT_FALSE(relu.cells[3].strong);
  EXPECT_TRUE(relu.cells[4].strong);  // the highest accuracy
  EXPECT_TRUE(t.rows[4].cells[3].strong);
  const Json data = Json::parse(t.data.json());
  ASSERT_EQ(data.size(), 5u * kCheckpoints * 2);
  EXPECT_EQ(data[0]["n"], 2);
  EXPECT_NEAR(data[0]["deviation"].get<double>(), 0.21 - 0.2703, 1e-12);
}

TEST(Table1, NoPaperValueForOtherData) {
  TaskRuns task = mnist();
  task.data = "glyphs";
  const ReportTable t = table1({&task, 1});
  EXPECT_EQ(t.rows[0].cells[3].note, "");
  EXPECT_TRUE(Json::parse(t.data.json())[0]["paper"].is_null());
}

TEST(Table1, ANormHasRowsOfItsOwn) {
  std::vector<TaskRuns> tasks = {mnist(), mnist()};
  tasks[1].norm = "rms";
  const ReportTable t = table1(tasks);
  ASSERT_EQ(t.rows.size(), 10u);
  EXPECT_EQ(t.rows[5].cells[0].text, "MNIST, rms norm");
  EXPECT_EQ(t.rows[5].cells[3].note, "");  // the paper has no such row
  EXPECT_EQ(Json::parse(t.data.json())[40]["norm"], "rms");
}

TEST(StoryTable, ThreeQuantitiesApartBesideThePaper) {
  TaskRuns task{.data = "stories", .text = true};
  for (const char* gate : {"relu", "sqs"}) {
    GateRuns g{.gate = gate, .runs = {}};
    for (uint64_t seed = 0; seed < 2; seed++) {
      RunCurve run{.seed = seed};
      for (size_t c = 0; c < kCheckpoints; c++) {
        const double loss = (g.gate == "sqs" ? 2.0 : 2.5) - 0.1 * static_cast<double>(c);
        run.at[c] = {.step = 10 * (c + 1), .loss = loss, .metric = std::exp(loss), .train_loss = loss + 0.3};
      }
      g.runs.push_back(run);
    }
    task.gates.push_back(g);
  }
  const ReportTable t = story_table(task);
  ASSERT_EQ(t.heads.size(), 8u);
  ASSERT_EQ(t.rows.size(), 2 * kCheckpoints);
  const ReportTable::Row& last = t.rows.back();  // SQS at the end
  EXPECT_TRUE(last.cells[3].text.starts_with("2.0000"));
  EXPECT_TRUE(last.cells[4].text.starts_with("1.7000"));
  EXPECT_TRUE(last.cells[5].text.starts_with("5.47"));
  EXPECT_TRUE(last.cells[4].strong);
  EXPECT_FALSE(t.rows[3].cells[4].strong);
  EXPECT_EQ(last.cells[6].text, "1.9020");
  EXPECT_EQ(last.cells[7].text, "7.63");
  EXPECT_EQ(Json::parse(t.data.json()).size(), 2 * kCheckpoints * 3);
  task.data = "tales";  // the paper has no such row
  EXPECT_EQ(story_table(task).heads.size(), 6u);
}

TEST(StoryTable, AnInfinitePerplexityIsWritten) {
  TaskRuns task{.data = "tales", .text = true};
  for (const double loss : {1.5, 800.0}) {
    GateRuns g{.gate = loss < 2 ? "relu" : "sqs", .runs = {}};
    for (uint64_t seed = 0; seed < 2; seed++) {
      RunCurve run{.seed = seed};
      for (size_t c = 0; c < kCheckpoints; c++) {
        run.at[c] = {.step = 10 * (c + 1), .loss = loss, .metric = std::exp(loss), .train_loss = loss};
        run.points.push_back(run.at[c]);
      }
      g.runs.push_back(run);
    }
    task.gates.push_back(g);
  }
  const ReportTable t = story_table(task);
  EXPECT_TRUE(t.rows.back().cells[5].text.starts_with("inf"));
  EXPECT_NO_THROW(Json::parse(t.data.json()));
  EXPECT_NO_THROW(paired_table({&task, 1}));
  EXPECT_NO_THROW(table1({&task, 1}));
  const std::string svg = to_svg(metric_figure(task));
  EXPECT_EQ(svg.find("nan"), svg.npos);
}

TEST(PairedTable, WordsFollowTheInterval) {
  const TaskRuns task = mnist();
  const ReportTable t = paired_table({&task, 1});
  ASSERT_EQ(t.rows.size(), 4u);
  // Equal differences over both seeds: the interval is a point below 0.
  EXPECT_EQ(t.rows[0].cells[5].text, "better");
  EXPECT_EQ(t.rows[0].cells[8].text, "worse");
}

TEST(Milestones, NotAllSeedsIsSaid) {
  const TaskRuns task = mnist();
  const ReportTable t = milestone_table({&task, 1});
  EXPECT_EQ(t.heads[2].text, "n");
  EXPECT_EQ(t.rows[0].cells[2].text, "2");
  EXPECT_EQ(t.rows[0].cells[5].note, "after 20, 1 of 2 seeds");
  EXPECT_FALSE(t.rows[0].cells[5].strong);
}

TEST(Milestones, AStepIsKnownUpToTheEvaluationBefore) {
  std::vector<TaskRuns> tasks = {mnist(), mnist()};
  tasks[1].data = "fashion-mnist";
  const ReportTable t = milestone_table(tasks);
  EXPECT_NE(t.caption.find("MNIST and Fashion-MNIST 10, 20, 30, 40 (4 evaluations)"), std::string::npos) << t.caption;
  EXPECT_EQ(t.rows[0].cells[3].note, "after 0");
  EXPECT_EQ(t.rows[0].cells[4].text, "20 \xc2\xb1 0");
  EXPECT_EQ(t.rows[0].cells[4].note, "after 10");
  EXPECT_EQ(Json::parse(t.data.json())[1]["mean_step_before"], 10);
  // A long grid is cut, another one has its own words.
  std::vector<CurvePoint>& points = tasks[1].gates[0].runs[0].points;
  points.clear();
  for (uint64_t s = 1; s <= 30; s++) points.push_back({s, 1, 0.5});
  EXPECT_NE(milestone_table(tasks).caption.find("; Fashion-MNIST 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
                                                "\xe2\x80\xa6, 30 (30 evaluations)"),
            std::string::npos);
}

TEST(ReadingTables, EveryMeanHasItsSpreadOverSeeds) {
  const std::string pm = " \xc2\xb1 ";
  const FormTrust trust{.data = "mnist",
                        .gate = "sqs",
                        .form = "weights",
                        .agreement = {0.9, 0.92},
                        .r2 = {0.5, 0.6},
                        .correlation = {0.7, 0.9},
                        .accuracy_model = 0.95,
                        .accuracy_form = 0.85,
                        .accuracy_model_by_seed = {0.94, 0.96},
                        .accuracy_form_by_seed = {0.8, 0.9},
                        .eigenvectors_agreement = {0.5, 0.6},
                        .eigenvectors_r2 = {0.1, 0.2},
                        .r2_centred = {0.6, 0.8},
                        .r2_scaled = {0.7, 0.9},
                        .even_share = {0.9, 0.9},
                        .untrained_agreement = {0.8, 0.9},
                        .untrained_r2 = {0.3, 0.4}};
  const ReportTable fidelity = trust_table({&trust, 1});
  EXPECT_EQ(fidelity.rows[0].cells[6].text, "0.700" + pm + "0.141");
  EXPECT_EQ(fidelity.rows[0].cells[7].text, "0.800" + pm + "0.141");
  EXPECT_EQ(fidelity.rows[0].cells[8].text, "55.00" + pm + "7.07");
  EXPECT_EQ(fidelity.rows[0].cells[9].text, "85.00" + pm + "7.07");
  EXPECT_EQ(fidelity.rows[0].cells[10].text, "0.900" + pm + "0.000");
  EXPECT_EQ(fidelity.rows[0].cells[11].text, "85.00" + pm + "7.07");
  EXPECT_EQ(fidelity.rows[0].cells[12].text, "95.00" + pm + "1.41");
  const Json row = Json::parse(fidelity.data.json())[0];
  EXPECT_NEAR(row["correlation_sd"].get<double>(), 0.2 / std::sqrt(2), 1e-12);
  EXPECT_NEAR(row["accuracy_form"].get<double>(), 0.85, 1e-12);
  EXPECT_NEAR(row["accuracy_model_sd"].get<double>(), 0.02 / std::sqrt(2), 1e-12);

  const SpectrumShare share{.data = "mnist",
                            .gate = "sqs",
                            .few = 10,
                            .width = 256,
                            .energy = {0.6, 0.4},
                            .accuracy_few = 0.5,
                            .accuracy_all = 0.9,
                            .seeds = 2,
                            .energy_by_seed = {{0.5, 0.4}, {0.7, 0.4}},
                            .few_accuracy_by_seed = {0.4, 0.6},
                            .all_accuracy_by_seed = {0.9, 0.9}};
  const ReportTable energy = energy_table({&share, 1});
  EXPECT_EQ(energy.rows[0].cells[2].text, "2");
  EXPECT_EQ(energy.rows[0].cells[4].text, "40.0" + pm + "0.0");   // class 1
  EXPECT_EQ(energy.rows[0].cells[5].text, "50.0" + pm + "7.1");   // 45 and 55
  EXPECT_EQ(energy.rows[0].cells[6].text, "60.0" + pm + "14.1");  // class 0
  EXPECT_EQ(energy.rows[0].cells[7].text, "50.00" + pm + "14.14");
  const Json classes = Json::parse(energy.data.json());
  ASSERT_EQ(classes.size(), 3u);  // two classes, and all of them
  EXPECT_NEAR(classes[0]["energy_sd"].get<double>(), 0.2 / std::sqrt(2), 1e-12);
  EXPECT_EQ(classes[2]["class"], "all");
  EXPECT_NEAR(classes[2]["accuracy_sd"].get<double>(), 0.2 / std::sqrt(2), 1e-12);

  SimilarityCurve curve{.data = "mnist",
                        .form = "weights",
                        .space = "pixels",
                        .measure = "by rank",
                        .mean = {0.9, 0.5, 0.7},
                        .sd = {0.3, 0.3, 0.3},
                        .min = {0.1, 0.1, 0.1},
                        .control = {0.4, 0.4, 0.4},
                        .pairs = 3,
                        .pair_sd = {0.01, 0.02, 0.03},
                        .control_sd = {0, 0, 0},
                        .control_pairs = 1};
  const ReportTable similarity = similarity_table({&curve, 1});
  EXPECT_EQ(similarity.rows[0].cells[4].text, "3");
  EXPECT_EQ(similarity.rows[0].cells[5].text, "0.900" + pm + "0.010");
  EXPECT_EQ(similarity.rows[0].cells[7].text, "0.500" + pm + "0.020");
  EXPECT_EQ(similarity.rows[0].cells[9].text, "0.400");  // one pair has no spread
  EXPECT_EQ(Json::parse(similarity.data.json())[1]["pair_sd"], 0.02);
}

TEST(Timing, RatiosAreGeometricMeans) {
  std::vector<TimedGate> times;
  for (const size_t width : {256, 512})
    for (const std::string_view gate : kPaperGates)
      times.push_back({256, width, std::string(gate), gate == "sqs" ? (width == 256 ? 2.0 : 0.5) : 1.0, 0, 0, 5});
  const TimingNumbers n = timing_numbers(times);
  EXPECT_EQ(n.shapes, 2u);
  EXPECT_EQ(n.fastest, 1u);
  ASSERT_EQ(n.over.size(), 4u);
  for (const auto& [gate, ratio] : n.over) EXPECT_NEAR(ratio, 1, 1e-12) << gate;
  EXPECT_EQ(timing_table(times).rows.size(), 2u);
}

TEST(Timing, ShowsQuartilesRepeatsAndWhatCannotBe) {
  std::vector<TimedGate> times = {{256, 256, "products", 1.0, 0.9, 1.1, 7}};
  for (const std::string_view gate : kPaperGates)
    times.push_back({256, 256, std::string(gate), gate == "relu" ? 0.95 : 1.2, 0.85, 1.3, 7});
  const ReportTable t = timing_table(times);
  EXPECT_EQ(t.heads[2].text, "repeats");
  EXPECT_EQ(t.rows[0].cells[2].text, "7");
  EXPECT_EQ(t.rows[0].cells[3].note,
            "0.900\xe2\x80\x93"
            "1.100");
  EXPECT_EQ(t.rows[0].cells[4].note,
            "0.850\xe2\x80\x93"
            "1.300\npaper 0.552\n< products");
  EXPECT_NE(t.caption.find("1 of 5 times are below those of the bare products"), std::string::npos);
  const Json data = Json::parse(t.data.json());
  EXPECT_EQ(data[1]["below_products"], true);
  EXPECT_EQ(data[2]["below_products"], false);
  times[1].median_ms = 1.1;
  EXPECT_NE(timing_table(times).caption.find("No gate was measured faster"), std::string::npos);
  EXPECT_EQ(timing_numbers(times).below_products, 0u);
}

TEST(TrainingFigure, OnlyStepsThatAllSeedsHave) {
  TaskRuns task = mnist();
  task.gates.resize(1);
  task.gates[0].runs[0].points.push_back({35, 1, 1});
  std::sort(task.gates[0].runs[0].points.begin(), task.gates[0].runs[0].points.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.step < b.step; });
  const Chart chart = metric_figure(task);
  ASSERT_EQ(chart.series.size(), 1u);
  EXPECT_EQ(chart.series[0].points.size(), kCheckpoints);
}

Report small_report() {
  const TaskRuns task = mnist();
  Report r{.title = "A <report>", .lead = "With `code` and **weight**."};
  r.facts = {"one & two"};
  ReportSection s{.id = "first", .title = "First"};
  s.blocks.push_back(Notice{"quick & small"});
  s.blocks.push_back(table1({&task, 1}));
  const Chart chart = loss_figure(task);
  s.blocks.push_back(ReportFigure{.name = "loss", .caption = "The loss.", .svg = to_svg(chart), .csv = to_csv(chart)});
  s.blocks.push_back(ReportFigure{.name = "again", .caption = "Again.", .svg = to_svg(chart), .csv = to_csv(chart)});
  s.blocks.push_back(Quotation{"sqs", "once upon <a> time"});
  s.blocks.push_back(Findings{
      {.id = "x", .quote = "a | b", .place = "here", .rule = "r", .measured = "1 < 2", .verdict = Verdict::in_part}});
  r.sections.push_back(s);
  return r;
}

TEST(ReportPage, HtmlIsWholeAndEscaped) {
  const std::string html = report_html(small_report());
  EXPECT_NE(html.find("<h1>A &lt;report&gt;</h1>"), std::string::npos);
  EXPECT_NE(html.find("<code>code</code>"), std::string::npos);
  EXPECT_NE(html.find("<strong>weight</strong>"), std::string::npos);
  EXPECT_NE(html.find("once upon &lt;a&gt; time"), std::string::npos);
  EXPECT_NE(html.find("badge part\">holds in part"), std::string::npos);
  EXPECT_EQ(count(html, "<div class=\"row\">"), 1u);  // the two figures stand side by side
  for (const char* tag : {"section", "table", "div", "figure", "svg", "ol", "li", "span"})
    EXPECT_EQ(count(html, std::string("<") + tag + " ") + count(html, std::string("<") + tag + ">"),
              count(html, std::string("</") + tag + ">"))
        << tag;
  // Nothing is fetched from anywhere.
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_EQ(html.find("@import"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(ReportPage, TablesCanBeHeardAndScrolledWithKeys) {
  const std::string html = report_html(small_report());
  // Five rows with two keys each; the data set is said in every row and seen in the first.
  EXPECT_EQ(count(html, "<th scope=\"row\" class=\"left\">"), 10u);
  EXPECT_EQ(count(html, "<span class=\"unseen\">MNIST</span>"), 4u);
  EXPECT_EQ(count(html, "<th scope=\"row\" class=\"left\">MNIST</th>"), 1u);
  EXPECT_EQ(count(html, "<th scope=\"colgroup\" colspan=\"2\""), kCheckpoints);
  EXPECT_EQ(count(html, "<colgroup span=\"2\">"), kCheckpoints);
  EXPECT_EQ(html.find("<th colspan"), std::string::npos);  // a group without a name is no head
  EXPECT_EQ(count(html, "class=\"scroll\""),
            count(html, "class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\""));
  EXPECT_EQ(count(html, "class=\"scroll\""), 1u);
}

TEST(ReportPage, NotesMayHaveLines) {
  Report r{.title = "t", .lead = ""};
  ReportTable t{.name = "x", .caption = "c", .data = Table({{.header = "a"}})};
  t.heads = {{.text = "a"}, {.text = "b"}};
  t.rows.push_back({{{"1"}, {"2", "low\n< high"}}, true});
  r.sections.push_back({.id = "s", .title = "S", .blocks = {t}});
  EXPECT_NE(report_html(r).find("<td>2<small>low<br>&lt; high</small></td>"), std::string::npos);
  EXPECT_NE(report_markdown(r).find("2<br><sub>low<br>< high</sub>"), std::string::npos);
}

TEST(ReportPage, DarkShapesTakeTheColoursOfThePage) {
  for (const double t : {1.0, -1.0, 0.9, -0.9}) {  // those that figures draw words and shapes with
    const std::string rule = ".figure [fill=\"" + hex_color(diverging_color(t)) + "\"]";
    EXPECT_NE(report_style().find(rule), std::string_view::npos) << rule;
  }
}

TEST(ReportPage, MarkdownPointsToTheFiles) {
  const std::string md = report_markdown(small_report());
  EXPECT_NE(md.find("> **Note.** quick & small"), std::string::npos);
  EXPECT_NE(md.find("](figures/loss.svg)"), std::string::npos);
  EXPECT_NE(md.find("(tables/table1.csv)"), std::string::npos);
  EXPECT_NE(md.find("a \\| b"), std::string::npos);
  EXPECT_NE(md.find("<br><sub>0.2703 (-0.0603)</sub>"), std::string::npos);
  EXPECT_NE(md.find("**holds in part**"), std::string::npos);
}

}  // namespace
}  // namespace glint
