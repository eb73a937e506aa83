// The tables of what the paper claims without a table of its own: distinct classes, the choice of options;
// and of language models read layer by layer.
#include "glint/base/statistics.h"
#include "glint/paper/reproduction_tables.h"

namespace glint {
namespace {

std::string spread_text(const std::vector<double>& v, double scale, int decimals) {
  const MeanAndSd m = mean_and_sd(v);
  return fixed_text(scale * m.mean, decimals) +
         (v.size() > 1 ? " \xc2\xb1 " + fixed_text(scale * m.sd, decimals) : "");
}

void add_numbers(std::vector<std::string>& line, const std::vector<double>& v) {
  const MeanAndSd m = mean_and_sd(v);
  line.push_back(number_text(m.mean));
  line.push_back(v.size() > 1 ? number_text(m.sd) : "");
}

std::vector<Column> columns(const std::vector<std::string>& keys, const std::vector<std::string>& numbers) {
  std::vector<Column> all;
  for (const std::string& key : keys) all.push_back({.header = key});
  for (const std::string& number : numbers) {
    all.push_back({.header = number});
    all.push_back({.header = number + "_sd"});
  }
  return all;
}

std::string title(std::string_view data) { return std::string(data_title(data)); }

}  // namespace

ReportTable match_table(std::span<const ClassMatch> matches) {
  ReportTable t{
      .name = "classes",
      .caption =
          "Do the pictures look like their classes? The strongest eigenvector for every class as a picture "
          "(weights form), compared with the mean image of each class minus the mean of all, by |cosine|. "
          "Own class first: share of the classes for which their own mean is the most alike. Twins: pairs "
          "of classes whose pictures are alike, |cos| of .9 and more. Mean \xc2\xb1 standard deviation over "
          "n seeds.",
      .heads = {{.text = "data", .align = Align::left},
                {.text = "gate", .align = Align::left},
                {.text = "n"},
                {.text = "own class first %"},
                {.text = "|cos| with own mean"},
                {.text = "twins"}},
      .keys = 2,
      .data = Table(columns({"data", "gate", "n", "classes"}, {"matched", "cosine", "twins"}))};
  std::string data;
  for (const ClassMatch& m : matches) {
    const std::string n = std::to_string(m.matched.size());
    t.rows.push_back({{{m.data != data ? title(m.data) : ""},
                       {std::string(gate_title(m.gate))},
                       {n},
                       {spread_text(m.matched, 100, 0)},
                       {spread_text(m.cosine, 1, 2)},
                       {spread_text(m.twins, 1, 1)}},
                      m.data != data});
    data = m.data;
    std::vector<std::string> line = {m.data, m.gate, n, std::to_string(m.classes)};
    for (const std::vector<double>* v : {&m.matched, &m.cosine, &m.twins}) add_numbers(line, *v);
    t.data.add(std::move(line));
  }
  return t;
}

ReportTable choice_table(std::span<const GateChoice> choices) {
  ReportTable t{
      .name = "choices",
      .caption =
          "SQS with other options, recipe of section 4.1: loss and accuracy of the model, agreement and "
          "R\xc2\xb2 of its weights form, and the share of the classes whose strongest eigenvector is most "
          "like their own mean. Mean \xc2\xb1 standard deviation over n seeds. The paper's choice in bold.",
      .heads = {{.text = "data", .align = Align::left},
                {.text = "\xce\xbb"},
                {.text = "c"},
                {.text = "n"},
                {.text = "loss"},
                {.text = "accuracy %"},
                {.text = "agreement %"},
                {.text = "R\xc2\xb2"},
                {.text = "own class first %"}},
      .keys = 3,
      .data =
          Table(columns({"data", "lambda", "c", "n"}, {"loss", "accuracy", "agreement", "r2", "matched"}))};
  std::string data;
  for (const GateChoice& c : choices) {
    const std::string n = std::to_string(c.loss.size());
    const bool strong = c.lambda == 0.5 && c.c == 0.01;
    t.rows.push_back({{{c.data != data ? title(c.data) : ""},
                       {number_text(c.lambda), "", strong},
                       {number_text(c.c), "", strong},
                       {n},
                       {spread_text(c.loss, 1, 4)},
                       {spread_text(c.accuracy, 100, 2)},
                       {spread_text(c.agreement, 100, 1)},
                       {spread_text(c.r2, 1, 3)},
                       {spread_text(c.matched, 100, 0)}},
                      c.data != data});
    data = c.data;
    std::vector<std::string> line = {c.data, number_text(c.lambda), number_text(c.c), n};
    for (const std::vector<double>* v : {&c.loss, &c.accuracy, &c.agreement, &c.r2, &c.matched})
      add_numbers(line, *v);
    t.data.add(std::move(line));
  }
  return t;
}

ReportTable language_table(std::span<const LanguageLayer> layers) {
  ReportTable t{
      .name = "language",
      .caption =
          "What the eigenvectors of a layer explain of its output along the directions of tokens, without "
          "any linear part: median over directions and n seeds, the 95 % bootstrap interval over directions "
          "below it, and the worst of all. Tokens are drawn as often as the training stories have them. "
          "Controls: linear map, the best linear map of the layer's input; untrained, the same form of a "
          "model before the first step, against that model.",
      .heads = {{.text = "gate", .align = Align::left},
                {.text = "form", .align = Align::left},
                {.text = "layer"},
                {.text = "n"},
                {.text = "directions"},
                {.text = "R\xc2\xb2"},
                {.text = "worst R\xc2\xb2"},
                {.text = "correlation"}},
      .keys = 3,
      .data = Table({{.header = "data"},
                     {.header = "gate"},
                     {.header = "form"},
                     {.header = "layer"},
                     {.header = "n"},
                     {.header = "directions"},
                     {.header = "tokens"},
                     {.header = "r2"},
                     {.header = "r2_low"},
                     {.header = "r2_high"},
                     {.header = "r2_worst"},
                     {.header = "correlation"},
                     {.header = "correlation_low"},
                     {.header = "correlation_high"}})};
  std::string gate, form;
  const auto range = [](double low, double high) {
    return fixed_text(low, 3) + " to " + fixed_text(high, 3);
  };
  for (const LanguageLayer& l : layers) {
    const bool new_gate = l.gate != gate, new_form = new_gate || l.form != form;
    t.rows.push_back({{{new_gate ? std::string(gate_title(l.gate)) : ""},
                       {new_form ? l.form : ""},
                       {std::to_string(l.layer)},
                       {std::to_string(l.seeds)},
                       {std::to_string(l.directions)},
                       {fixed_text(l.r2, 3), range(l.r2_low, l.r2_high)},
                       {fixed_text(l.r2_worst, 3)},
                       {fixed_text(l.correlation, 3), range(l.correlation_low, l.correlation_high)}},
                      new_form});
    gate = l.gate, form = l.form;
    t.data.add({l.data, l.gate, l.form, std::to_string(l.layer), std::to_string(l.seeds),
                std::to_string(l.directions), std::to_string(l.tokens), number_text(l.r2),
                number_text(l.r2_low), number_text(l.r2_high), number_text(l.r2_worst),
                number_text(l.correlation), number_text(l.correlation_low), number_text(l.correlation_high)});
  }
  return t;
}

}  // namespace glint
