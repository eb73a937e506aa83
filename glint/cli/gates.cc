// glint gates: the formulas of the gates, their values at given points, and figure 1 of the paper.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/output.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/io/json.h"
#include "glint/kernels/gates.h"
#include "glint/report/gate_table.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

// One option of the gates that have any.
struct GateOption {
  const char* name;
  double GateParams::*member;
  const char* meaning;
};
constexpr GateOption kOptions[] = {{"c", &GateParams::c, "shift; SQS jumps by -2c at 0"},
                                   {"lambda", &GateParams::lambda, "shrink; SQS tends to 1/lambda"},
                                   {"p", &GateParams::p, "sharpness of the shrink"}};

std::string flag_of(const GateOption& o) { return std::string("--") + o.name; }

struct GatesFlags {
  std::string gate, plot;
  std::vector<double> at;
  GateParams params;                        // as given
  Option* given[std::size(kOptions)] = {};  // to tell "not given" from the default
};

// check() says what each option may be; this asks it, so that the text has one home.
std::string domain_of(const GateOption& option) {
  GateParams wrong;
  wrong.*option.member = std::numeric_limits<double>::quiet_NaN();
  try {
    check(wrong);
  } catch (const Error& e) {
    return e.parts().expected;
  }
  return "any number";
}

std::vector<const GateInfo*> all_gates() {
  std::vector<const GateInfo*> all;
  for (const GateInfo& g : gate_table()) all.push_back(&g);
  all.push_back(&plain_activation());
  return all;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const GateInfo* g : all_gates()) names.emplace_back(g->text.name);
  return names;
}

const GateInfo& find_gate(const std::string& name) {
  if (name == plain_activation().text.name) return plain_activation();
  try {
    return gate_info(parse_gate(name));
  } catch (const Error& e) {
    ErrorParts parts = e.parts();
    parts.expected = suggest(name, all_names());  // the plain activation is offered here too
    throw Error(parts);
  }
}

[[noreturn]] void usage(std::string what, std::string where, std::string expected) {
  bad_argument(std::move(where), std::move(what), std::move(expected), "glint gates --help");
}

// What was given on top of `standard`, inside its domain.
GateParams chosen_params(const GatesFlags& o, GateParams standard) {
  for (size_t i = 0; i < std::size(kOptions); i++)
    if (o.given[i]->given()) standard.*kOptions[i].member = o.params.*kOptions[i].member;
  check(standard);
  return standard;
}

ordered_json params_json(const GateParams& params) {
  ordered_json j = ordered_json::object();
  for (const GateOption& o : kOptions) j[o.name] = params.*o.member;
  return j;
}

void list(Context& context, const std::vector<const GateInfo*>& gates) {
  bool any_params = false;
  for (const GateInfo* g : gates) any_params = any_params || g->text.has_params;
  if (context.shared.json) {
    ordered_json j;
    j["gates"] = ordered_json::array();
    for (const GateInfo* g : gates) j["gates"].push_back(gate_json(*g));
    j["options"] = ordered_json::array();
    for (const GateOption& o : kOptions)
      if (any_params)
        j["options"].push_back({{"name", o.name},
                                {"flag", flag_of(o)},
                                {"default", GateParams{}.*o.member},
                                {"domain", domain_of(o)},
                                {"meaning", o.meaning}});
    j["python"] = gates_python();
    context.print_json(j);
    return;
  }
  Table formulas({{.header = "gate"},
                  {.header = "title"},
                  {.header = "value", .max_width = 23},
                  {.header = "derivative", .max_width = 26}});
  std::string with_params;
  for (const GateInfo* g : gates) {
    const GateText& t = g->text;
    formulas.add({std::string(t.name), std::string(t.title) + (t.glu ? "" : " *"), std::string(t.value),
                  std::string(t.derivative)});
    if (t.has_params) with_params += (with_params.empty() ? "" : " and ") + std::string(t.name);
  }
  context.out << formulas.terminal(result_columns());
  for (const GateInfo* g : gates)
    if (!g->text.glu) context.out << "* a plain activation, not the gate of a GLU\n";
  if (!any_params) return;
  Table options(headers({"option"}, {"default"}, {"domain", "meaning"}));
  for (const GateOption& o : kOptions)
    options.add({flag_of(o), number_text(GateParams{}.*o.member), domain_of(o), o.meaning});
  context.out << "\nOptions of " << with_params << ":\n" << options.terminal(result_columns());
}

void evaluate(Context& context, const GateInfo& gate, const GateParams& params, const std::vector<double>& at) {
  if (context.shared.json) {
    ordered_json j;
    j["gate"] = gate.text.name;
    j["params"] = gate.text.has_params ? params_json(params) : ordered_json::object();
    j["points"] = ordered_json::array();
    for (const double x : at)
      j["points"].push_back(
          {{"x", x}, {"value", gate.value(x, params)}, {"derivative", number_or_null(gate.slope(x, params))}});
    context.print_json(j);
    return;
  }
  Table table(headers({}, {"x", "value", "derivative"}));
  for (const double x : at)
    table.add({number_text(x), number_text(gate.value(x, params)), number_text(gate.slope(x, params))});
  context.out << table.terminal(result_columns());
}

void plot(Context& context, const std::string& file, const GateParams& params) {
  const std::filesystem::path svg = file;
  check_target(file, ".svg", "--plot", "the figure");
  const std::filesystem::path csv = std::filesystem::path(svg).replace_extension(".csv");
  check_target(csv.string(), ".csv", "--plot", "the data of the figure");
  const Chart chart = gate_figure(params);
  write_atomic(context.files, svg.string(), to_svg(chart));
  write_atomic(context.files, csv.string(), to_csv(chart));
  if (context.shared.json)
    context.print_json({{"figure", svg.string()}, {"data", csv.string()}, {"params", params_json(params)}});
  else
    context.out << "figure: " << svg.string() << "\ndata:   " << csv.string() << "\n";
}

void run(Context& context, const GatesFlags& o) {
  const GateOption* first_given = nullptr;
  for (size_t i = std::size(kOptions); i-- > 0;)
    if (o.given[i]->given()) first_given = &kOptions[i];

  if (!o.plot.empty()) {
    if (!o.gate.empty() || !o.at.empty())
      usage("--plot draws all the gates of the figure", "--plot", "--plot without --gate and --at");
    return plot(context, o.plot, chosen_params(o, kFigureParams));
  }
  if (o.gate.empty()) {
    if (!o.at.empty()) usage("--at needs a gate", "--at", "--gate with one of the names that glint gates lists");
    if (first_given) usage(flag_of(*first_given) + " has nothing to change", flag_of(*first_given), "--gate or --plot");
    return list(context, all_gates());
  }
  const GateInfo& gate = find_gate(o.gate);
  if (first_given && !gate.text.has_params) {
    std::string able;
    for (const GateInfo* g : all_gates())
      if (g->text.has_params) able += (able.empty() ? "" : ", ") + std::string(g->text.name);
    usage("gate " + std::string(gate.text.name) + " has no option " + flag_of(*first_given), flag_of(*first_given),
          "a gate with options: " + able);
  }
  const GateParams params = chosen_params(o, GateParams{});
  if (!o.at.empty()) return evaluate(context, gate, params, o.at);
  if (first_given) usage(flag_of(*first_given) + " has nothing to change", flag_of(*first_given), "--at or --plot");
  list(context, {&gate});
}

}  // namespace

void add_gates(Program& program) {
  Verb& verb = program.add(
      {.name = "gates",
       .group = Group::paper,
       .summary = "formulas and values of the gates, and figure 1 of the paper",
       .details = "Without options: the formulas of all gates, and the options of those that have any. With --gate "
                  "and --at: value and derivative in double precision, with all digits. In --json an infinite "
                  "derivative is null.",
       .examples = {{"glint gates", "the table of gates"},
                    {"glint gates --gate sqs --at -1,0,0.5 --json", "value and derivative at three points"},
                    {"glint gates --plot figure1.svg --c 0.25", "figure 1 with another shift, and figure1.csv"}}});
  const auto o = std::make_shared<GatesFlags>();
  verb.add(Field("gate", o->gate, "Show this gate alone; aliases: bilinear, swiglu, swish")
               .shown("NAME")
               .suggest(all_names()));
  verb.add(Field("at", o->at, "Points at which to evaluate the gate, with commas between them"));
  for (size_t i = 0; i < std::size(kOptions); i++) {
    const GateOption& g = kOptions[i];
    o->given[i] = verb.add(Field(g.name, o->params.*g.member, std::string("Gate option: ") + g.meaning));
    if (const double figure = kFigureParams.*g.member; figure != o->params.*g.member)
      o->given[i]->show_default(number_text(o->params.*g.member) + "; in the figure " + number_text(figure));
  }
  verb.add(
      Field("plot", o->plot, "Draw figure 1 of the paper into this .svg file, with its numbers in a .csv beside it")
          .file());
  verb.share({"json"});
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
