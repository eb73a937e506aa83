// The tables about weights and times, about what the paper claims without a table of its own (distinct classes, the
// choice of options), and of language models read layer by layer; those about training are in reproduction_tables.cc.
#include <algorithm>
#include <cmath>
#include <limits>

#include "glint/base/statistics.h"
#include "glint/paper/columns.h"
#include "glint/paper/reproduction_tables.h"

namespace glint {
namespace {

constexpr SpreadColumn<FormTrust> kTrust[] = {
    {"agreement", &FormTrust::agreement, 1, "agreement %", 100, 2},
    {"r2", &FormTrust::r2, 2, "R\xc2\xb2"},
    {"eigenvectors_agreement", &FormTrust::eigenvectors_agreement, 5, "eigenvectors alone %", 100, 2},
    {"eigenvectors_r2", &FormTrust::eigenvectors_r2},
    {"correlation", &FormTrust::correlation},
    {"accuracy_form", &FormTrust::accuracy_form_by_seed, 8, "accuracy of form %", 100, 2},
    {"accuracy_model", &FormTrust::accuracy_model_by_seed, 9, "of model %", 100, 2},
    {"r2_centred", &FormTrust::r2_centred, 3, "centred"},
    {"r2_scaled", &FormTrust::r2_scaled, 4, "one factor"},
    {"even_share", &FormTrust::even_share, 7, "even share"},
    {"untrained_agreement", &FormTrust::untrained_agreement, 6, "untrained %", 100, 2},
    {"untrained_r2", &FormTrust::untrained_r2}};

constexpr SpreadColumn<ClassMatch> kMatch[] = {{"matched", &ClassMatch::matched, 1, "own class first %", 100, 0},
                                               {"cosine", &ClassMatch::cosine, 2, "|cos| with own mean", 1, 2},
                                               {"twins", &ClassMatch::twins, 3, "twins", 1, 1}};

constexpr SpreadColumn<GateChoice> kChoice[] = {{"loss", &GateChoice::loss, 1, "loss", 1, 4},
                                                {"accuracy", &GateChoice::accuracy, 2, "accuracy %", 100, 2},
                                                {"agreement", &GateChoice::agreement, 3, "agreement %", 100, 1},
                                                {"r2", &GateChoice::r2, 4, "R\xc2\xb2"},
                                                {"matched", &GateChoice::matched, 5, "own class first %", 100, 0}};

}  // namespace

ReportTable trust_table(std::span<const FormTrust> trust) {
  const std::span<const SpreadColumn<FormTrust>> columns = kTrust;
  ReportTable t =
      spread_table("fidelity",
                   "How far the quadratic form of the weights stands for the model, on the whole test set: mean "
                   "\xc2\xb1 standard deviation over n seeds. weights: the paper's form. scaled: one gain per hidden "
                   "unit that shrinks with the size of the input. calibrated: one gain and shift per hidden unit, "
                   "measured on training images. linear map: a control, the best linear map of the layer's input "
                   "instead of a form. Agreement: share of images on which form and model decide alike. Centred: of "
                   "each image's logits less their mean, which is all that decides. One factor: after one factor for "
                   "all logits. Eigenvectors alone: agreement without the linear part that the shifts leave, which "
                   "belongs to no eigenvector. Untrained: a control, the agreement of the same form of models before "
                   "the first step. Even share: how much of the layer is even in its input, all that eigenvectors can "
                   "explain.",
                   {"data", "gate", "form", "n"}, 3, "data gate form n", columns);
  for (const FormTrust& f : trust) {
    const std::string n = std::to_string(f.agreement.size());
    add_spreads(t, 2, {{data_title(f.data)}, {gate_title(f.gate)}, {f.form}, {n}}, {f.data, f.gate, f.form, n}, f,
                columns);
  }
  return t;
}

ReportTable energy_table(std::span<const SpectrumShare> spectra) {
  ReportTable t{
      .name = "spectra",
      .caption =
          "How much of a class's quadratic form (of the weights) its strongest eigenvectors carry: "
          "share of the sum of squared eigenvalues, in the class with the lowest mean, over all "
          "classes and in the class with the highest; and the accuracy of the form with these "
          "terms alone. Untrained: the control, the same models before the first step. Mean \xc2\xb1 "
          "standard deviation over n seeds.",
      .heads =
          heads({"data", "gate", "n", "strongest", "lowest %", "mean %", "highest %", "accuracy %", "with all %"}, 2),
      .keys = 2,
      .data = data_table("data gate trained n strongest of class energy+ accuracy+ accuracy_all+")};
  for (const SpectrumShare& s : spectra) {
    if (s.energy.empty()) continue;
    const auto of_class = [&](size_t c) {
      std::vector<double> v;
      for (const std::vector<double>& seed : s.energy_by_seed) v.push_back(seed[c]);
      return v;
    };
    std::vector<double> over_classes;  // [seed]
    for (const std::vector<double>& seed : s.energy_by_seed) over_classes.push_back(mean_and_sd(seed).mean);
    const auto [low, high] = std::minmax_element(s.energy.begin(), s.energy.end());
    const std::string gate = gate_title(s.gate) + (s.trained ? "" : ", untrained");
    add_row(t, 1,
            {{data_title(s.data)},
             {gate},
             {std::to_string(s.seeds)},
             {std::to_string(s.few) + " of " + std::to_string(s.width)},
             {spread_text(of_class(static_cast<size_t>(low - s.energy.begin())), 100, 1)},
             {spread_text(over_classes, 100, 1)},
             {spread_text(of_class(static_cast<size_t>(high - s.energy.begin())), 100, 1)},
             {spread_text(s.few_accuracy_by_seed, 100, 2)},
             {spread_text(s.all_accuracy_by_seed, 100, 2)}});
    const auto add = [&](const std::string& name, const std::vector<double>& energy) {
      std::vector<std::string> line = {s.data,
                                       s.gate,
                                       s.trained ? "true" : "false",
                                       std::to_string(s.seeds),
                                       std::to_string(s.few),
                                       std::to_string(s.width),
                                       name};
      add_spread(line, energy);
      for (const std::vector<double>* accuracy : {&s.few_accuracy_by_seed, &s.all_accuracy_by_seed})
        add_spread(line, name == "all" ? *accuracy : std::vector<double>());
      t.data.add(std::move(line));
    };
    for (size_t c = 0; c < s.energy.size(); c++) add(std::to_string(c), of_class(c));
    add("all", over_classes);
  }
  return t;
}

ReportTable similarity_table(std::span<const SimilarityCurve> curves) {
  ReportTable t{.name = "similarity",
                .caption =
                    "Cosine similarity of the eigenvectors of SQS and of bilinear models of the same seed: "
                    "means over classes and both signs, then mean \xc2\xb1 standard deviation over n pairs, "
                    "one per seed (the bands of the figures show the spread over classes and signs too). "
                    "Least: the lowest mean of all ranks. The control compares bilinear models of different "
                    "seeds.",
                .heads = heads({"data", "form", "space", "matched", "n", "first", "fifth", "least"}, 4),
                .keys = 4,
                .data = data_table("data form space measure pairs rank mean sd pair_sd min control "
                                   "control_pairs control_pair_sd")};
  for (const char* head : {"n", "first"}) t.heads.push_back({.text = head, .group = "control"});
  for (const SimilarityCurve& s : curves) {
    if (s.mean.empty()) continue;
    const auto at = [](const std::vector<double>& mean, const std::vector<double>& sd, size_t n, size_t i) {
      if (i >= mean.size()) return std::string("\xe2\x80\x93");
      return fixed_text(mean[i], 3) + (n > 1 && i < sd.size() ? " \xc2\xb1 " + fixed_text(sd[i], 3) : "");
    };
    const auto least = static_cast<size_t>(std::min_element(s.mean.begin(), s.mean.end()) - s.mean.begin());
    add_row(t, 1,
            {{data_title(s.data)},
             {s.form},
             {s.space},
             {s.measure},
             {std::to_string(s.pairs)},
             {at(s.mean, s.pair_sd, s.pairs, 0)},
             {at(s.mean, s.pair_sd, s.pairs, 4)},
             {at(s.mean, s.pair_sd, s.pairs, least)},
             {std::to_string(s.control_pairs)},
             {at(s.control, s.control_sd, s.control_pairs, 0)}});
    const auto between = [](const std::vector<double>& sd, size_t n, size_t r) {
      return n > 1 && r < sd.size() ? number_text(sd[r]) : std::string();
    };
    for (size_t r = 0; r < s.mean.size(); r++)
      t.data.add({s.data, s.form, s.space, s.measure, std::to_string(s.pairs), std::to_string(r + 1),
                  number_text(s.mean[r]), number_text(s.sd[r]), between(s.pair_sd, s.pairs, r), number_text(s.min[r]),
                  r < s.control.size() ? number_text(s.control[r]) : "", std::to_string(s.control_pairs),
                  between(s.control_sd, s.control_pairs, r)});
  }
  return t;
}

namespace {

const TimedGate* find(std::span<const TimedGate> times, size_t batch, size_t width, std::string_view gate) {
  for (const TimedGate& t : times)
    if (t.batch == batch && t.width == width && t.gate == gate) return &t;
  return nullptr;
}

double time_of(std::span<const TimedGate> times, size_t batch, size_t width, std::string_view gate) {
  const TimedGate* t = find(times, batch, width, gate);
  return t ? t->median_ms : NAN;
}

// A gate does the products and more: so this tells of a disturbed machine.
bool below_products(std::span<const TimedGate> times, const TimedGate& t) {
  return t.median_ms < time_of(times, t.batch, t.width, "products");
}

std::string time_text(double v) { return std::isfinite(v) ? fixed_text(v, 3) : "\xe2\x80\x93"; }

double paper_time(size_t batch, size_t width, std::string_view gate) {
  for (const PaperTiming& t : paper_timing())
    if (t.batch == batch && t.width == width) return t.ms(gate);
  return NAN;
}

// In the order of the measurements.
std::vector<std::pair<size_t, size_t>> shapes_of(std::span<const TimedGate> times) {
  std::vector<std::pair<size_t, size_t>> shapes;
  for (const TimedGate& t : times)
    if (std::find(shapes.begin(), shapes.end(), std::pair{t.batch, t.width}) == shapes.end())
      shapes.emplace_back(t.batch, t.width);
  return shapes;
}

}  // namespace

ReportTable timing_table(std::span<const TimedGate> times) {
  const TimingNumbers numbers = timing_numbers(times);
  ReportTable t{.name = "timing",
                .caption =
                    "Forward + backward of a one-layer GLU in milliseconds on this machine: median of so many repeats, "
                    "below it the quartiles, then the paper's time on its GPU. Products: the bare matrix products. "
                    "Fastest gate of a shape in bold. " +
                    (numbers.below_products == 0
                         ? std::string("No gate was measured faster than the bare products that it contains.")
                         : std::to_string(numbers.below_products) + " of " + std::to_string(numbers.compared) +
                               " times are below those of the bare products that they contain (< products): a sign "
                               "that other work disturbed the machine. Differences of that size mean nothing."),
                .heads = heads({"batch", "width", "repeats", "products"}, 0),
                .keys = 2,
                .data = data_table("batch width gate repeats median_ms low_ms high_ms below_products paper_ms")};
  for (const std::string_view gate : kPaperGates) t.heads.push_back({.text = gate_title(gate)});
  t.heads.push_back({.text = "SQS / bilinear"});
  const auto cell = [&](const TimedGate* g) {
    if (!g) return Cell{"\xe2\x80\x93"};
    Cell c{time_text(g->median_ms), time_text(g->low_ms) + "\xe2\x80\x93" + time_text(g->high_ms)};
    if (const double theirs = paper_time(g->batch, g->width, g->gate); std::isfinite(theirs))
      c.note += "\npaper " + time_text(theirs);
    if (below_products(times, *g)) c.note += "\n< products";
    return c;
  };
  for (const auto& [batch, width] : shapes_of(times)) {
    double fastest = INFINITY;
    size_t fewest = std::numeric_limits<size_t>::max();
    for (const TimedGate& g : times) {
      if (g.batch != batch || g.width != width) continue;
      fewest = std::min(fewest, g.repeats);
      if (g.gate != "products") fastest = std::min(fastest, g.median_ms);
    }
    ReportTable::Row row{{{std::to_string(batch)},
                          {std::to_string(width)},
                          {std::to_string(fewest)},
                          cell(find(times, batch, width, "products"))},
                         width == 256};
    for (const std::string_view gate : kPaperGates) {
      row.cells.push_back(cell(find(times, batch, width, gate)));
      row.cells.back().strong = time_of(times, batch, width, gate) == fastest;
    }
    const double ratio = time_of(times, batch, width, "sqs") / time_of(times, batch, width, "identity");
    row.cells.push_back({time_text(ratio)});
    t.rows.push_back(std::move(row));
  }
  for (const TimedGate& g : times) {
    const double theirs = paper_time(g.batch, g.width, g.gate);
    t.data.add({std::to_string(g.batch), std::to_string(g.width), g.gate, std::to_string(g.repeats),
                number_text(g.median_ms), number_text(g.low_ms), number_text(g.high_ms),
                below_products(times, g) ? "true" : "false", std::isfinite(theirs) ? number_text(theirs) : ""});
  }
  return t;
}

TimingNumbers timing_numbers(std::span<const TimedGate> times) {
  TimingNumbers numbers;
  const auto shapes = shapes_of(times);
  numbers.shapes = shapes.size();
  for (const auto& [batch, width] : shapes) {
    const double own = time_of(times, batch, width, "sqs");
    bool fastest = true;
    for (const std::string_view gate : kPaperGates) fastest = fastest && !(time_of(times, batch, width, gate) < own);
    numbers.fastest += fastest;
  }
  for (const TimedGate& t : times) {
    numbers.compared += t.gate != "products" && find(times, t.batch, t.width, "products");
    numbers.below_products += below_products(times, t);
  }
  for (const std::string_view gate : kPaperGates) {
    if (gate == "sqs") continue;
    double logs = 0;
    for (const auto& [batch, width] : shapes)
      logs += std::log(time_of(times, batch, width, "sqs") / time_of(times, batch, width, gate));
    const double ratio = std::exp(logs / static_cast<double>(std::max<size_t>(1, shapes.size())));
    if (!shapes.empty() && std::isfinite(ratio)) numbers.over.emplace_back(gate, ratio);
  }
  return numbers;
}

ReportTable match_table(std::span<const ClassMatch> matches) {
  const std::span<const SpreadColumn<ClassMatch>> columns = kMatch;
  ReportTable t =
      spread_table("classes",
                   "Do the pictures look like their classes? The strongest eigenvector for every class as a picture "
                   "(weights form), compared with the mean image of each class minus the mean of all, by |cosine|. "
                   "Own class first: share of the classes for which their own mean is the most alike. Twins: pairs "
                   "of classes whose pictures are alike, |cos| of .9 and more. Mean \xc2\xb1 standard deviation over "
                   "n seeds.",
                   {"data", "gate", "n"}, 2, "data gate n classes", columns);
  for (const ClassMatch& m : matches) {
    const std::string n = std::to_string(m.matched.size());
    add_spreads(t, 1, {{data_title(m.data)}, {gate_title(m.gate)}, {n}}, {m.data, m.gate, n, std::to_string(m.classes)},
                m, columns);
  }
  return t;
}

ReportTable choice_table(std::span<const GateChoice> choices) {
  const std::span<const SpreadColumn<GateChoice>> columns = kChoice;
  ReportTable t =
      spread_table("choices",
                   "SQS with other options, recipe of section 4.1: loss and accuracy of the model, agreement and "
                   "R\xc2\xb2 of its weights form, and the share of the classes whose strongest eigenvector is most "
                   "like their own mean. Mean \xc2\xb1 standard deviation over n seeds. The paper's choice in bold.",
                   {"data", "\xce\xbb", "c", "n"}, 1, "data lambda c n", columns);
  t.keys = 3;
  for (const GateChoice& c : choices) {
    const std::string n = std::to_string(c.loss.size()), lambda = number_text(c.lambda), own = number_text(c.c);
    const bool strong = c.lambda == 0.5 && c.c == 0.01;
    add_spreads(t, 1, {{data_title(c.data)}, {lambda, "", strong}, {own, "", strong}, {n}}, {c.data, lambda, own, n}, c,
                columns);
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
      .heads = heads({"gate", "form", "layer", "n", "directions", "R\xc2\xb2", "worst R\xc2\xb2", "correlation"}, 2),
      .keys = 3,
      .data = data_table("data gate form layer n directions tokens r2 r2_low r2_high r2_worst correlation "
                         "correlation_low correlation_high")};
  const auto range = [](double low, double high) { return fixed_text(low, 3) + " to " + fixed_text(high, 3); };
  for (const LanguageLayer& l : layers) {
    add_row(t, 2,
            {{gate_title(l.gate)},
             {l.form},
             {std::to_string(l.layer)},
             {std::to_string(l.seeds)},
             {std::to_string(l.directions)},
             {fixed_text(l.r2, 3), range(l.r2_low, l.r2_high)},
             {fixed_text(l.r2_worst, 3)},
             {fixed_text(l.correlation, 3), range(l.correlation_low, l.correlation_high)}});
    t.data.add({l.data, l.gate, l.form, std::to_string(l.layer), std::to_string(l.seeds), std::to_string(l.directions),
                std::to_string(l.tokens), number_text(l.r2), number_text(l.r2_low), number_text(l.r2_high),
                number_text(l.r2_worst), number_text(l.correlation), number_text(l.correlation_low),
                number_text(l.correlation_high)});
  }
  return t;
}

}  // namespace glint
