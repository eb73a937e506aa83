// glint compare: how alike the eigenvectors of models are, beside a control; the paper's figure 2B.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/base/statistics.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/lab/study/compare.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct CompareFlags : CompareRequest {
  bool pairs = false;
};

std::string three(double v) { return fixed_text(v, 3); }
std::string with_sd(const Spread& s) { return three(s.mean) + " ± " + three(s.sd); }

// Of language models there are no decisions: R2 over the tokens, beside the controls.
std::string language_table(const Comparison& c) {
  Table table(headers({"models"}, {"layer", "R2", "R2 rescaled", "even share %", "linear map R2", "untrained R2"}));
  for (const std::vector<ComparedModel>* side : {&c.a, &c.b})
    for (const ComparedModel& m : *side) {
      const bool twin = m.controls && !m.controls->untrained.empty();
      table.add({m.directory + ", " + name(m.form), std::to_string(m.layer + 1) + " of " + std::to_string(m.layers),
                 three(m.fidelity.r2), three(m.fidelity.r2_scaled), fixed_text(100 * m.fidelity.even_share, 1),
                 m.controls ? three(m.controls->linear.r2) : "-",
                 twin ? three(m.controls->untrained.begin()->second.r2) : "-"});
    }
  return table.terminal(result_columns());
}

// How far the forms are their models, means over the runs of a side, each beside its controls.
std::string fidelity_table(const Comparison& c) {
  if (c.language) return language_table(c);
  Table table(headers({"models"}, {"agreement %", "R2", "R2 rescaled", "R2 centred", "even share %", "on -x %"}));
  const auto add = [&](const std::string& name, const std::vector<ComparedModel>& side, bool control,
                       const auto& fidelity) {
    const auto mean = [&](const auto& number, double factor, int decimals) {
      std::vector<double> values;
      for (const ComparedModel& m : side) values.push_back(factor * number(fidelity(m)));
      return fixed_text(mean_and_sd(values).mean, decimals);
    };
    table.add({name, mean([](const Fidelity& f) { return f.agreement; }, 100, 1),
               mean([](const Fidelity& f) { return f.r2; }, 1, 3),
               mean([](const Fidelity& f) { return f.r2_scaled; }, 1, 3),
               mean([](const Fidelity& f) { return f.r2_centred; }, 1, 3),
               control ? "" : mean([](const Fidelity& f) { return f.even_share; }, 100, 1),
               control ? "" : mean([](const Fidelity& f) { return f.mirrored->agreement; }, 100, 1)});
  };
  for (const auto& [which, side] : {std::pair("first", &c.a), std::pair("second", &c.b)}) {
    add(which + std::string(", ") + name(side->front().form), *side, false,
        [](const ComparedModel& m) -> const Fidelity& { return m.fidelity; });
    if (!side->front().controls) continue;
    add("  linear map", *side, true, [](const ComparedModel& m) -> const Fidelity& { return m.controls->linear; });
    add("  untrained", *side, true,
        [](const ComparedModel& m) -> const Fidelity& { return m.controls->untrained.begin()->second; });
  }
  return table.terminal(result_columns());
}

std::string rank_table(const Comparison& c) {
  std::vector<Column> columns = {{.header = "rank", .align = Align::right}};
  std::vector<std::vector<Spread>> own, control;
  for (const Measure m : kMeasures) {
    columns.push_back({.header = std::string(title(m)), .align = Align::right});
    columns.push_back({.header = "control", .align = Align::right});
    own.push_back(by_rank(c.results, m, Side::both));
    control.push_back(by_rank(c.control, m, Side::both));
  }
  Table table(columns);
  for (size_t r = 0; r < own[0].size(); r++) {
    std::vector<std::string> cells = {std::to_string(r + 1)};
    for (size_t m = 0; m < own.size(); m++) {
      cells.push_back(with_sd(own[m][r]));
      cells.push_back(r < control[m].size() ? three(control[m][r].mean) : "-");
    }
    table.add(cells);
  }
  return table.terminal(result_columns());
}

// For each class and sign: the first rank, and the subspace of dimension `top`.
std::string class_table(const Comparison& c, size_t top) {
  const std::string k = std::to_string(top);
  std::vector<Column> columns = {{.header = c.language ? "token" : "class"}};
  for (const char* sign : {"+", "-"})
    for (const std::string& what : {std::string("1st"), std::string("1st best"), "top " + k, std::string("control")})
      columns.push_back({.header = sign + std::string(" ") + what, .align = Align::right});
  Table table(columns);
  for (size_t u = 0; u < c.units.size(); u++) {
    std::vector<std::string> cells = {c.unit_names[u]};
    for (const Side side : {Side::positive, Side::negative}) {
      const auto cell = [&](const std::vector<PairComparison>& pairs, Measure m, size_t rank) {
        const std::vector<Spread> s = by_rank(pairs, m, side, u);
        return rank <= s.size() && rank > 0 ? three(s[rank - 1].mean) : std::string("-");
      };
      cells.push_back(cell(c.results, Measure::rank_matched, 1));
      cells.push_back(cell(c.results, Measure::best_matched, 1));
      cells.push_back(cell(c.results, Measure::subspace, top));
      cells.push_back(cell(c.control, Measure::subspace, top));
    }
    table.add(cells);
  }
  return table.terminal(result_columns());
}

std::string pair_table(const Comparison& c, size_t top) {
  Table table(headers({"pair"}, {"1st", "1st best", "top " + std::to_string(top), "lowest"}));
  for (size_t i = 0; i < c.results.size(); i++) {
    const std::span<const PairComparison> one(&c.results[i], 1);
    const std::vector<Spread> rank = by_rank(one, Measure::rank_matched, Side::both),
                              best = by_rank(one, Measure::best_matched, Side::both),
                              space = by_rank(one, Measure::subspace, Side::both);
    if (rank.empty()) continue;
    double lowest = 1;
    for (const Spread& s : best) lowest = std::min(lowest, s.min);
    table.add({c.a[i].directory + " " + c.b[i].directory, with_sd(rank[0]), with_sd(best[0]),
               with_sd(space[std::min(top, space.size()) - 1]), three(lowest)});
  }
  return table.terminal(result_columns());
}

std::string claim_table(const Comparison& c) {
  Table table(
      headers({"measured here"}, {"at the top", "lowest mean", "lowest value"}, {"above .95", "never below .5"}));
  for (const SimilarityClaim& k : c.claims())
    table.add({std::string(title(k.measure)), three(k.top) + " (" + std::to_string(k.top_rank) + ")",
               three(k.lowest_mean) + " (" + std::to_string(k.lowest_rank) + ")", three(k.lowest),
               k.top_holds() ? "yes" : "no",
               k.floor_holds()                ? "yes"
               : k.lowest_mean >= kClaimFloor ? "means only"
                                              : "no"});
  return table.terminal(result_columns());
}

// The models as functions: all classes together, then each.
std::string functional_table(const Comparison& c) {
  Table table(headers({"as functions"}, {"similarity", "control"}));
  const auto cell = [](const std::vector<FunctionalSimilarity>& pairs, std::optional<size_t> unit) {
    std::vector<double> values;
    for (const FunctionalSimilarity& f : pairs) values.push_back(unit ? f.unit[*unit] : f.all);
    const MeanAndSd m = mean_and_sd(values);
    return values.empty() ? std::string("-") : values.size() > 1 ? three(m.mean) + " ± " + three(m.sd) : three(m.mean);
  };
  table.add({c.language ? "all tokens" : "all classes", cell(c.functional, {}), cell(c.functional_control, {})});
  for (size_t u = 0; u < c.units.size(); u++)
    table.add({c.unit_names[u], cell(c.functional, u), cell(c.functional_control, u)});
  return table.terminal(result_columns());
}

std::string pair_words(const Comparison& c) {
  const size_t n = c.results.size();
  std::string text = c.gates();
  if (n == 1) return text + ": " + c.a[0].directory + ", " + c.b[0].directory;
  text += ", " + std::to_string(n) + " pairs";
  bool same = true;
  std::string seeds;
  for (size_t i = 0; i < n; i++) {
    same = same && c.a[i].seed && c.a[i].seed == c.b[i].seed;
    seeds += c.a[i].seed ? " " + std::to_string(*c.a[i].seed) : "";
  }
  return same ? text + " of the same seed:" + seeds : text;
}

void report_text(Context& context, const CompareFlags& o, const Comparison& c) {
  std::ostringstream out;
  const size_t top = std::min<size_t>(5, c.top), n = c.results.size();
  out << "models:   " << pair_words(c) << "\n"
      << "vectors:  the " << c.top << " strongest of each sign, form " << c.form
      << (o.source.refine ? " (refined)" : "") << ", compared "
      << (c.language            ? c.space_text
          : c.space == "pixels" ? std::string("as pictures")
                                : std::string("at the input of the last layer"))
      << "\n"
      << "control:  " << c.control_text << "\n\n"
      << "How far the forms are the models" << (n > 1 ? ", means over the runs" : "")
      << ", beside controls: the best linear map of the layer's input, and the same form of an untrained "
         "model."
      << (c.language ? "" : " On -x: agreement on the mirror images.") << "\n"
      << fidelity_table(c) << "\n"
      << "Similarity |cos| by rank: mean ± sd over " << c.units.size() << (c.language ? " token" : " class")
      << (c.units.size() == 1 ? ""
          : c.language        ? "s"
                              : "es")
      << ", both signs" << (n > 1 ? " and " + std::to_string(n) + " pairs" : "") << ".\n"
      << rank_table(c) << "\n"
      << "By " << (c.language ? "token" : "class")
      << " and sign (+ speaks for it, - against): first eigenvector, its best match, "
      << "the top-" << top << " subspace and the control of that" << (n > 1 ? "; means over the pairs" : "") << ".\n"
      << class_table(c, top) << "\n";
  if (!c.functional.empty())
    out << "The same models as functions, form " << c.form << ": correlation of their outputs for "
        << (c.space == "pixels"   ? "pixels"
            : c.space == "tokens" ? "sums of token embeddings with weights"
                                  : "inputs of the layer")
        << " ~ N(0, I), in closed form; no eigenvector is matched with another.\n"
        << functional_table(c) << "\n";
  if (o.pairs)
    out << "Every pair, all " << (c.language ? "tokens" : "classes") << " and signs.\n" << pair_table(c, top) << "\n";
  if (!c.language)
    out << "The paper (figure 2B): .95 for the most important eigenvectors, never below .5.\n"
        << claim_table(c) << "In brackets the rank, or the dimension of the subspace.\n";
  if (!c.figures.empty()) out << "\nfigures:  " << c.figures << "/compare.svg, compare-matrix.svg (.png, .csv)\n";
  context.out << prose(out.str(), result_columns());
}

void compare_models(Context& context, const CompareFlags& o) {
  const Comparison c = compare(engine_of(context), o);
  if (c.a.size() == 1) context.next = {"glint page " + c.a[0].directory + " " + c.b[0].directory};
  context.shared.json ? context.print_json(to_json(c)) : report_text(context, o, c);
}

}  // namespace

void add_compare(Program& program) {
  Verb& verb = program.add(
      {.name = "compare",
       .group = Group::read,
       .summary = "how alike the eigenvectors of models are",
       .details = "Cosine similarity of the eigenvectors of each class: of the same rank, of the best one-to-one "
                  "matching, and between the subspaces of the first k (mean cosine of the principal angles; "
                  "eigenvectors of nearly equal eigenvalues mix, their subspace does not). By class and sign, with "
                  "the spread over pairs.\n\n"
                  "Runs are taken in pairs, A B, C D, ...; two folders that glint train --seeds made are paired "
                  "seed by seed. Beside it stands a control: bilinear runs of different seeds, those given or those "
                  "of --control; without any, random directions. Of deeper models the eigenvectors of the last "
                  "layer are compared, as pictures through the layers below.\n\n"
                  "Language models, glint's own and those of other programs: the eigenvectors of one layer along "
                  "--token. They are compared by their products with the embeddings of all tokens that both "
                  "vocabularies have (matched by piece), which models of any width allow, or with --space input as "
                  "vectors that the layer reads.\n\n"
                  "Models of one layer, and with --space input the last layers of any, are compared as functions "
                  "too: the correlation of their outputs over normal inputs, which needs no matching.",
       .examples = {{"glint compare runs/sqs runs/bilinear --control runs/bilinear,runs/bilinear-2",
                     "two models, and two others as control"},
                    {"glint compare runs/sqs-seeds runs/bilinear-seeds --form calibrated --pairs",
                     "all seeds, the gates calibrated, every pair listed"},
                    {"glint compare runs/a runs/b --unit 3..5 --space input --json",
                     "three classes, at the input of the layer, for a program"},
                    {"glint compare stories15M.bin stories42M.bin --layer 6 --token happy,sad",
                     "two language models, the same tokens"}}});
  const auto o = std::make_shared<CompareFlags>();
  verb.add(fields_of(*o));
  verb.add(Field("pairs", o->pairs, "Also a line for every pair"));
  verb.share_engine();
  verb.run([o](Context& context) { compare_models(context, *o); });
}

}  // namespace glint::cli
