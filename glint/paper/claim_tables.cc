// The tables of what the paper claims without a table of its own: distinct classes, the choice of options;
// and of language models read layer by layer.
#include "glint/paper/columns.h"
#include "glint/paper/reproduction_tables.h"

namespace glint {
namespace {

constexpr SpreadColumn<ClassMatch> kMatch[] = {{"matched", &ClassMatch::matched, 1, "own class first %", 100, 0},
                                               {"cosine", &ClassMatch::cosine, 2, "|cos| with own mean", 1, 2},
                                               {"twins", &ClassMatch::twins, 3, "twins", 1, 1}};

constexpr SpreadColumn<GateChoice> kChoice[] = {{"loss", &GateChoice::loss, 1, "loss", 1, 4},
                                                {"accuracy", &GateChoice::accuracy, 2, "accuracy %", 100, 2},
                                                {"agreement", &GateChoice::agreement, 3, "agreement %", 100, 1},
                                                {"r2", &GateChoice::r2, 4, "R\xc2\xb2"},
                                                {"matched", &GateChoice::matched, 5, "own class first %", 100, 0}};

}  // namespace

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
