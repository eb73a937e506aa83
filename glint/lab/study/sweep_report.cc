#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "glint/base/text.h"
#include "glint/base/version.h"
#include "glint/io/json.h"
#include "glint/io/seal.h"
#include "glint/lab/study/sweep_parts.h"
#include "glint/lab/work/result_files.h"
#include "glint/report/chart.h"
#include "glint/report/heat_map.h"
#include "glint/report/sweep_page.h"

namespace glint {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kColors[] = {colors::kBlue,   colors::kVermilion, colors::kGreen, colors::kPurple,
                                   colors::kOrange, colors::kSky,       colors::kBlack};
constexpr Marker kMarkers[] = {Marker::circle, Marker::square, Marker::triangle, Marker::diamond};

bool number_from(const std::string& text, double& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

std::string symbol(const std::string& option) { return option == "lambda" ? "\u03bb" : option; }

// The name of a setting without one of its options.
std::string text_without(const SweepSetting& s, const std::string& option) {
  std::string out;
  for (const auto& [name, value] : s.swept)
    if (name != option) out += (out.empty() ? "" : ", ") + (name == "gate" ? value : symbol(name) + " " + value);
  return out.empty() ? s.options.gate : out;
}

std::string id_of(size_t setting) { return "setting-" + std::to_string(setting + 1); }

MeanAndSd spread(const SweptSetting& s, const std::string& key) {
  const auto found = s.spread.find(key);
  return found == s.spread.end() ? MeanAndSd{kNone, 0} : found->second;
}

// The option along which settings are joined by a line: the one of numbers with the most values, from three
// on.
std::string path_option(const SweepPlan& plan) {
  std::string best;
  size_t most = 2;
  for (const OptionList& o : plan.options) {
    double unused = 0;
    if (o.values.size() > most && std::ranges::all_of(o.values, [&](const auto& v) { return number_from(v, unused); }))
      best = o.name, most = o.values.size();
  }
  return best;
}

// Settings that differ in the path option alone, in its order.
struct Group {
  std::string name;
  std::vector<size_t> settings;
};

std::vector<Group> groups_of(const SweepResult& r, const std::string& path) {
  std::vector<Group> groups;
  for (size_t i = 0; i < r.settings.size(); i++) {
    if (r.settings[i].finished == 0) continue;
    const SweepSetting& s = r.settings[i].setting;
    const bool on_path = !path.empty() && s.value(path);
    const std::string name = on_path ? text_without(s, path) : text_without(s, "");
    auto group = std::ranges::find(groups, name, &Group::name);
    if (group == groups.end()) groups.push_back({name, {}}), group = groups.end() - 1;
    group->settings.push_back(i);
  }
  for (Group& g : groups)
    std::ranges::stable_sort(g.settings, {}, [&](size_t i) {
      double v = 0;
      const std::string* text = path.empty() ? nullptr : r.settings[i].setting.value(path);
      if (text) number_from(*text, v);
      return v;
    });
  return groups;
}

// Limits with room around the points.
void set_limits(Axis& axis, const Chart& chart, double Point::*member) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& s : chart.series)
    for (const Point& p : s.points)
      if (std::isfinite(p.*member)) low = std::min(low, p.*member), high = std::max(high, p.*member);
  if (!(low <= high)) return;
  const double room = high > low ? 0.08 * (high - low) : 0.1 * std::max(1e-3, std::fabs(low));
  axis.min = low - room, axis.max = high + room;
}

Chart pareto_chart(const SweepResult& r, bool links) {
  const SweepMeasure &loss = r.measure("test_loss"), &fidelity = r.measure(r.fidelity);
  const auto at = [&](size_t i) {
    return Point{spread(r.settings[i], loss.key).mean, fidelity.factor * spread(r.settings[i], fidelity.key).mean};
  };
  Chart chart;
  std::vector<size_t> front;
  for (size_t i = 0; i < r.settings.size(); i++)
    if (r.settings[i].front) front.push_back(i);
  std::ranges::sort(front, {}, [&](size_t i) { return at(i).x; });
  Series best{.name = "Pareto front", .points = {}, .color = "#c9c9c9", .marker = Marker::ring, .width = 7};
  for (const size_t i : front) best.points.push_back(at(i));
  chart.series.push_back(std::move(best));

  const std::string path = path_option(r.plan);
  const std::vector<Group> groups = groups_of(r, path);
  for (size_t g = 0; g < groups.size(); g++) {
    const bool line = groups[g].settings.size() > 1;
    const std::string color = kColors[g % std::size(kColors)];
    Series points{.name = groups[g].name,
                  .points = {},
                  .color = color,
                  .stroke = line ? Stroke::solid : Stroke::none,
                  .marker = kMarkers[g % std::size(kMarkers)],
                  .width = 1.6,
                  .in_legend = line};
    Series bars{.name = groups[g].name + " \u00b1 sd", .points = {}, .color = color, .width = 1, .in_legend = false};
    for (const size_t i : groups[g].settings) {
      const Point p = at(i);
      const double dx = spread(r.settings[i], loss.key).sd,
                   dy = fidelity.factor * spread(r.settings[i], fidelity.key).sd;
      points.points.push_back(p);
      const std::string* value = line ? r.settings[i].setting.value(path) : nullptr;
      points.labels.push_back(value ? symbol(path) + " " + *value : groups[g].name);
      points.links.push_back(links ? "#" + id_of(i) : "");
      for (const Point end : {Point{p.x - dx, p.y}, Point{p.x + dx, p.y}, Point{kNone, kNone}, Point{p.x, p.y - dy},
                              Point{p.x, p.y + dy}, Point{kNone, kNone}})
        bars.points.push_back(end);
    }
    if (r.plan.seeds.size() > 1) chart.series.push_back(std::move(bars));
    chart.series.push_back(std::move(points));
  }
  chart.title =
      "The price of readability: " + (r.plan.recipe.empty() ? r.plan.settings[0].options.data : r.plan.recipe);
  chart.x = {.label = loss.title + " (lower is better)"};
  chart.y = {.label = fidelity.title};
  set_limits(chart.x, chart, &Point::x);
  set_limits(chart.y, chart, &Point::y);
  chart.width = 820, chart.height = 560;
  return chart;
}

std::string pareto_csv(const SweepResult& r) {
  std::string out = "setting,test_loss,test_loss_sd," + r.fidelity + "," + r.fidelity + "_sd,front\n";
  for (const SweptSetting& s : r.settings) {
    if (s.finished == 0) continue;
    out += csv_field(s.setting.text());
    for (const std::string& key : {std::string("test_loss"), r.fidelity})
      out += "," + number_text(spread(s, key).mean) + "," + number_text(spread(s, key).sd);
    out += s.front ? ",true\n" : ",false\n";
  }
  return out;
}

// Two options that settings have together, and not one at a time.
struct OptionPair {
  std::string row, column;
  size_t cells = 0, settings = 0;
};

// The pairs with the most cells first, of equal ones that whose cells are means of fewer settings.
std::vector<OptionPair> heat_options(const SweepResult& r) {
  std::vector<OptionPair> pairs;
  for (size_t a = 0; a < r.plan.options.size(); a++)
    for (size_t b = a + 1; b < r.plan.options.size(); b++) {
      std::set<std::string> rows, columns;
      std::set<std::pair<std::string, std::string>> cells;
      const std::string &first = r.plan.options[a].name, &second = r.plan.options[b].name;
      size_t settings = 0;
      for (const SweptSetting& s : r.settings) {
        const std::string *x = s.setting.value(first), *y = s.setting.value(second);
        if (x && y) rows.insert(*x), columns.insert(*y), cells.emplace(*x, *y), settings++;
      }
      if (rows.size() < 2 || columns.size() < 2 || cells.size() <= rows.size() + columns.size() - 1) continue;
      const bool tall = rows.size() >= columns.size();
      pairs.push_back({tall ? first : second, tall ? second : first, cells.size(), settings});
    }
  std::ranges::stable_sort(pairs, [](const OptionPair& a, const OptionPair& b) {
    return std::pair(b.cells, a.settings) < std::pair(a.cells, b.settings);
  });
  return pairs;
}

Figure heat_figure(const SweepResult& r, const OptionPair& pair) {
  HeatMaps figure;
  figure.row_option = pair.row, figure.column_option = pair.column;
  const auto values_of = [&](const std::string& option) {
    for (const OptionList& o : r.plan.options)
      if (o.name == option) return o.values;
    return std::vector<std::string>();
  };
  const auto used = [&](const std::string& option, const std::string& other) {
    std::vector<std::string> values = values_of(option);
    std::erase_if(values, [&](const std::string& v) {
      return std::ranges::none_of(r.settings, [&](const SweptSetting& s) {
        return s.setting.value(other) && s.setting.value(option) && *s.setting.value(option) == v;
      });
    });
    return values;
  };
  figure.rows = used(figure.row_option, figure.column_option);
  figure.columns = used(figure.column_option, figure.row_option);
  std::vector<std::string> keys = {"test_loss", r.fidelity};
  if (!r.plan.text) keys.insert(keys.begin() + 1, "test_accuracy");
  bool means = false;
  std::set<std::string> gates;
  for (const std::string& key : keys) {
    const SweepMeasure& m = r.measure(key);
    HeatMap map{.title = key != r.fidelity ? m.head
                         : r.plan.text     ? "weights form R2"
                                           : "weights form agrees %",
                .values = Matrix<double>(figure.rows.size(), figure.columns.size()),
                .decimals = key == "test_loss" ? 3 : m.decimals,
                .lower_is_better = m.lower_is_better};
    for (size_t i = 0; i < figure.rows.size(); i++)
      for (size_t k = 0; k < figure.columns.size(); k++) {
        std::vector<double> here;
        for (const SweptSetting& s : r.settings) {
          const std::string *x = s.setting.value(figure.row_option), *y = s.setting.value(figure.column_option);
          if (!x || !y || *x != figure.rows[i] || *y != figure.columns[k] || s.finished == 0) continue;
          here.push_back(m.factor * spread(s, key).mean);
          gates.insert(s.setting.options.gate);
        }
        means = means || here.size() > 1;
        map.values(i, k) = here.empty() ? kNone : mean_and_sd(here).mean;
      }
    figure.maps.push_back(std::move(map));
  }
  figure.title = symbol(figure.row_option) + " and " + symbol(figure.column_option);
  if (gates.size() == 1 && figure.row_option != "gate" && figure.column_option != "gate")
    figure.title += ", gate " + *gates.begin();
  figure.row_option = symbol(figure.row_option), figure.column_option = symbol(figure.column_option);
  figure.note = std::string("Darker is better.") + (means ? " A cell is the mean over the other options." : "");
  return heat_maps(figure);
}

Table csv_table(const SweepResult& r) {
  std::vector<Column> columns = {{.header = "setting", .text = true}};
  for (const OptionList& o : r.plan.options) columns.push_back({.header = o.name});
  for (const char* key : {"seeds", "finished", "front", "chosen"}) columns.push_back({.header = key});
  for (const SweepMeasure& m : r.measures)
    columns.insert(columns.end(), {{.header = m.key}, {.header = m.key + "_sd"}});
  columns.push_back({.header = "runs"});
  Table table(columns);
  for (size_t i = 0; i < r.settings.size(); i++) {
    const SweptSetting& s = r.settings[i];
    std::vector<std::string> cells = {s.setting.text()};
    for (const OptionList& o : r.plan.options) cells.push_back(s.setting.value(o.name) ? *s.setting.value(o.name) : "");
    cells.insert(cells.end(), {std::to_string(s.runs.size()), std::to_string(s.finished), s.front ? "true" : "false",
                               i == r.chosen ? "true" : "false"});
    for (const SweepMeasure& m : r.measures) {
      const bool known = s.spread.contains(m.key);
      cells.push_back(known ? number_text(s.spread.at(m.key).mean) : "");
      cells.push_back(known && s.finished >= m.spread_from ? number_text(s.spread.at(m.key).sd) : "");
    }
    cells.push_back("runs/" + s.setting.folder);
    table.add(cells);
  }
  return table;
}

std::string seeds_text(const SweepResult& r) {
  const size_t n = r.plan.seeds.size();
  return std::to_string(n) + (n == 1 ? " seed" : " seeds");
}

std::string page_of(const SweepResult& r, const std::vector<std::string>& heat) {
  SweepPage page;
  page.title = "Sweep of " + (r.plan.recipe.empty() ? r.plan.settings[0].options.data : r.plan.recipe);
  page.lead = r.answer;
  page.facts = {std::to_string(r.settings.size()) + " settings", seeds_text(r),
                "data " + r.plan.settings[0].options.data.substr(r.plan.settings[0].options.data.rfind('/') + 1),
                "glint " + std::string(kVersion)};
  page.chart = to_svg(pareto_chart(r, true));
  page.heat_maps = heat;
  page.heads = {"setting"};
  for (const SweepMeasure& m : r.measures)
    if (m.in_table) page.heads.push_back(m.head);
  page.caption = "Mean ± standard deviation over " + seeds_text(r) +
                 (r.plan.text ? ". Columns with the name of a form: how much of what the layers add to the residual "
                                "stream it explains, mean over the layers."
                              : ". Columns with the name of a form: the share of the test images on which that form "
                                "decides as the model does.") +
                 " \u25c6: no other setting has a lower loss and a higher fidelity of the weights form. Bold: the one "
                 "to choose.";
  for (size_t i = 0; i < r.settings.size(); i++) {
    const SweptSetting& s = r.settings[i];
    SweepPage::Row row{.id = id_of(i), .cells = {s.setting.text()}, .front = s.front, .chosen = i == r.chosen};
    SweepPageSetting one{.id = id_of(i), .name = s.setting.text(), .facts = {}};
    for (const SweepMeasure& m : r.measures) {
      if (m.in_table) row.cells.push_back(r.shown(s, m));
      one.facts.emplace_back(m.title, r.shown(s, m));
    }
    if (s.finished < s.runs.size())
      one.facts.emplace_back(
          "diverged", std::to_string(s.runs.size() - s.finished) + " of " + std::to_string(s.runs.size()) + " runs");
    if (!s.pictures.rows.empty()) {
      FeatureGrid grid = s.pictures;
      grid.title = "Eigenvectors of the weights, first seed";
      one.pictures = feature_grid(grid).svg;
    }
    one.files = "runs/" + s.setting.folder;
    page.rows.push_back(std::move(row));
    page.settings.insert(i == r.chosen ? page.settings.begin() : page.settings.end(), std::move(one));
  }
  return sweep_html(page);
}

}  // namespace

Table sweep_table(const SweepResult& r) {
  std::vector<Column> columns = {{.header = "setting", .text = true}};
  for (const SweepMeasure& m : r.measures)
    if (m.in_table) columns.push_back({.header = m.head, .align = Align::right, .key = m.key});
  columns.insert(columns.begin() + 1, {.header = ""});
  Table table(columns);
  for (size_t i = 0; i < r.settings.size(); i++) {
    const SweptSetting& s = r.settings[i];
    std::string mark = i == r.chosen ? "chosen" : s.front ? "front" : "";
    if (s.finished < s.runs.size()) mark = std::to_string(s.runs.size() - s.finished) + " diverged";
    std::vector<std::string> cells = {s.setting.text(), mark};
    for (const SweepMeasure& m : r.measures)
      if (m.in_table) cells.push_back(r.shown(s, m));
    table.add(cells);
  }
  return table;
}

OrderedJson to_json(const SweepResult& r) {
  OrderedJson j = {{"schema", "glint-sweep/1"},
                   {"recipe", r.plan.recipe},
                   {"out", r.out},
                   {"seeds", r.plan.seeds},
                   {"options", OrderedJson::object()},
                   {"fidelity", r.fidelity},
                   {"measures", OrderedJson::array()},
                   {"settings", OrderedJson::array()}};
  for (const OptionList& o : r.plan.options) j["options"][o.name] = o.values;
  for (const SweepMeasure& m : r.measures) j["measures"].push_back({{"key", m.key}, {"title", m.title}});
  for (const SweptSetting& s : r.settings) {
    OrderedJson one = {{"name", s.setting.text()},    {"options", OrderedJson::object()}, {"front", s.front},
                       {"finished", s.finished},      {"mean", OrderedJson::object()},    {"sd", OrderedJson::object()},
                       {"runs", OrderedJson::array()}};
    for (const auto& [name, value] : s.setting.swept) one["options"][name] = value;
    for (const SweepMeasure& m : r.measures) {
      if (!s.spread.contains(m.key)) continue;
      one["mean"][m.key] = number_or_null(s.spread.at(m.key).mean);
      if (s.finished >= m.spread_from) one["sd"][m.key] = number_or_null(s.spread.at(m.key).sd);
    }
    for (const SweptRun& run : s.runs) {
      OrderedJson values = OrderedJson::object();
      for (const SweepMeasure& m : r.measures)
        if (run.values.contains(m.key)) values[m.key] = number_or_null(run.values.at(m.key));
      one["runs"].push_back(
          {{"run", run.directory}, {"seed", run.seed}, {"state", name(run.state)}, {"values", std::move(values)}});
    }
    j["settings"].push_back(std::move(one));
  }
  j["choice"] = {{"setting", r.settings[r.chosen].setting.text()},
                 {"lowest_loss", r.settings[r.lowest].setting.text()},
                 {"tolerance", r.tolerance},
                 {"answer", r.answer}};
  j["files"] = r.files;
  return j;
}

void write_sweep(const Engine& engine, SweepResult& r) {
  const std::string figures = figures_directory(r.out);
  std::vector<std::string> heat;
  std::vector<FigureFile> files = {{figures + "/pareto", {to_svg(pareto_chart(r, false)), pareto_csv(r)}}};
  for (const OptionPair& pair : heat_options(r)) {
    Figure f = heat_figure(r, pair);
    heat.push_back(f.svg);
    files.push_back(
        {figures + "/heat-maps" + (heat.size() > 1 ? "-" + std::to_string(heat.size()) : ""), std::move(f)});
  }
  write_figures(engine, files);
  r.files = {r.out + "/sweep.html", r.out + "/sweep.csv", r.out + "/sweep.json"};
  for (const FigureFile& f : files) r.files.push_back(f.stem + ".svg");
  write_atomic(engine.files(), r.out + "/sweep.html", page_of(r, heat));
  write_atomic(engine.files(), r.out + "/sweep.csv", csv_table(r).csv());
  write_atomic(engine.files(), r.out + "/sweep.json", sealed_text(Json(to_json(r)), 2) + "\n");
}

}  // namespace glint
