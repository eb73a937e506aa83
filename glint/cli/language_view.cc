#include "glint/cli/language_view.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/cli/output.h"
#include "glint/cli/spectrum_view.h"
#include "glint/cli/terminal.h"
#include "glint/lab/read/read_result.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

constexpr size_t kScanRows = 20;

// In percent; a share of nothing has no sign.
std::string share_text(double share) {
  const double tenths = std::round(1000 * share);
  return fixed_text(tenths == 0 ? 0 : tenths / 10, 1);
}

// " (0.912 to 0.934)".
std::string between(const std::optional<Interval>& interval) {
  return interval ? " (" + fixed_text(interval->low, 3) + " to " + fixed_text(interval->high, 3) + ")" : "";
}

std::string warnings_text(const std::vector<std::string>& warnings) {
  std::string out;
  for (const std::string& w : warnings) out += w + "\n";
  return out;
}

std::string concentration_text(const ReadDirection& d) {
  if (!d.rank) return std::to_string(d.form.spectrum.count()) + " strongest eigenvectors";
  const auto part = [&](size_t k) { return fixed_text(100 * d.energy[std::min(k, d.energy.size()) - 1], 0) + " %"; };
  return "energy of the strongest 1, 5, 20 eigenvectors " + part(1) + ", " + part(5) + ", " + part(20) +
         "; entropy rank " + fixed_text(d.rank->entropy, 1) + ", participation rank " +
         fixed_text(d.rank->participation, 1) + " of " + std::to_string(d.form.spectrum.count());
}

// How far the activation of a latent goes with its eigenvectors.
std::string latent_text(const ReadDirection& d) {
  if (!d.latent) return "";
  const auto shown = [](double v) { return std::isfinite(v) ? fixed_text(v, 3) : std::string("-"); };
  return "active at " + share_text(d.latent->active) + " % of the tokens; its activation goes with the " +
         "strongest eigenvector r " + shown(d.latent->one) + " (where active " + shown(d.latent->one_active) +
         "), with the two strongest r " + shown(d.latent->two) + " (" + shown(d.latent->two_active) + ")\n";
}

// Which pairs of input latents make the output.
std::string pairs_text(const ReadResult& r, const ReadDirection& d) {
  if (d.pairs.empty()) return "";
  Table table(headers({}, {"weight"}, {"input latents", "tokens along the first", "tokens along the second"}));
  constexpr size_t kWords = 4;
  const auto words = [&](uint32_t latent) {
    std::vector<NearToken> near = r.text->input_latents.at(latent).along;
    near.resize(std::min(near.size(), kWords));
    return token_list(near);
  };
  for (const LatentPair& p : d.pairs)
    table.add({fixed_text(p.weight, 3), std::to_string(p.first) + " x " + std::to_string(p.second), words(p.first),
               p.first == p.second ? "" : words(p.second)});
  return "\n" + table.terminal(result_columns());
}

std::string direction_text(const ReadResult& r, const ReadDirection& d) {
  std::string out = "\n" + d.name + ": " + concentration_text(d);
  if (d.trust) out += "\nR2 " + fixed_text(d.trust->r2, 3) + between(d.trust->r2_interval);
  if (d.trust && d.has_linear())
    out += "; of the eigenvectors alone " + fixed_text(d.trust->eigenvectors_r2, 3) +
           between(d.trust->eigenvectors_r2_interval) + "; the linear part has " + share_text(d.trust->linear_share) +
           " % of the reading's variance";
  Table table(headers({}, {"eigenvalue"}, {"tokens along it", "tokens against it"}));
  for (const auto* side : {&d.positive, &d.negative})
    for (const ShownVector& v : *side)
      table.add({fixed_text(v.value, 3), token_list(v.near.along), token_list(v.near.against)});
  if (d.has_linear()) table.add({"linear part", token_list(d.linear_near.along), token_list(d.linear_near.against)});
  return out + "\n" + table.terminal(result_columns()) + latent_text(d) + pairs_text(r, d);
}

std::string fidelity_table(const ReadResult& r) {
  Table table(headers({"form"}, {"correlation", "R2", "95 %", "R2 rescaled", "R2 of the eigenvectors alone"}));
  const auto interval = [](const Fidelity& f) {
    return f.r2_interval ? fixed_text(f.r2_interval->low, 3) + " to " + fixed_text(f.r2_interval->high, 3)
                         : std::string("-");
  };
  for (const ReadForm& f : r.forms)
    table.add({name(f.form), fixed_text(f.fidelity.correlation, 4), fixed_text(f.fidelity.r2, 4), interval(f.fidelity),
               fixed_text(f.fidelity.r2_scaled, 4), fixed_text(f.fidelity.eigenvectors_r2, 4)});
  const auto control = [&](const std::string& name, const Fidelity& f) {
    table.add({name, fixed_text(f.correlation, 4), fixed_text(f.r2, 4), interval(f), fixed_text(f.r2_scaled, 4), "-"});
  };
  control("linear map", r.controls.linear);
  for (const auto& [form, f] : r.controls.untrained)
    control((r.untrained == "an untrained model" ? "untrained, " : "redrawn, ") + name(form), f);
  return table.terminal(result_columns());
}

constexpr std::string_view kIndent = "    ";
constexpr double kHalf = 0.5;

// Backgrounds from faint to full, black on them.
std::string coloured(const std::string& word, double strength, bool strongest) {
  static constexpr int kRed[] = {224, 217, 210, 203, 196}, kBlue[] = {189, 153, 117, 81, 39};
  static constexpr double kLevels[] = {0.06, 0.2, 0.4, 0.6, 0.8};
  int level = -1;
  while (level < 4 && std::fabs(strength) >= kLevels[level + 1]) level++;
  if (level < 0 && !strongest) return word;
  const int shade = std::max(level, 0), color = strength < 0 ? kBlue[shade] : kRed[shade];
  return std::string("\x1b[") + (strongest ? "1;4;" : "") + "38;5;16;48;5;" + std::to_string(color) + "m" + word +
         "\x1b[0m";
}

std::string marked_word(const std::string& word, double strength, bool strongest) {
  if (strongest) return "[" + word + "]";
  return std::fabs(strength) >= kHalf ? "*" + word + "*" : word;
}

// The words of a passage in lines, which break where a token begins with a space; a line feed of the text
// becomes a stroke.
std::string passage_lines(const ShownPassage& p, WordMarks marks, size_t columns) {
  std::string out, line(kIndent), word;
  size_t width = kIndent.size(), word_width = 0;
  const auto finish_word = [&] {
    if (word.empty()) return;
    const bool fresh = width == kIndent.size();
    if (!fresh && width + 1 + word_width > columns) {
      out += line + "\n";
      line = kIndent, width = kIndent.size();
    } else if (!fresh) {
      line += " ", width++;
    }
    line += word, width += word_width;
    word.clear(), word_width = 0;
  };
  for (size_t i = 0; i < p.tokens.size(); i++) {
    const PassageToken& t = p.tokens[i];
    std::string text;
    for (const char c : t.text) text += c == '\n' ? std::string(" / ") : std::string(1, c);
    text = printable(text);
    const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
    if (text.starts_with(' ')) finish_word();
    if (begin == text.npos) continue;
    const std::string core = text.substr(begin, end + 1 - begin);
    const bool strongest = i == p.strongest;
    const std::string shown =
        marks == WordMarks::colours ? coloured(core, t.strength, strongest) : marked_word(core, t.strength, strongest);
    word += shown;
    word_width += display_width(marks == WordMarks::colours ? core : shown);
    if (end + 1 < text.size()) finish_word();
  }
  finish_word();
  return out + line + "\n";
}

}  // namespace

std::string language_text(const ReadResult& r) {
  std::string out = "run:   " + r.run + " (" + r.model_text + ")\nlayer: " + std::to_string(r.layer + 1) + " of " +
                    std::to_string(r.layers) + (r.expert.empty() ? "" : ", expert " + r.expert);
  out += r.inputs == 0 ? "\nform:  " + name(r.form) + ", " + origin_text(r) + "\n"
                       : "; outputs of its GLU at " + std::to_string(r.inputs) + " tokens of " + r.samples + "\n";
  out += "\n" + trust_sentence(r) + "\n" + warnings_text(r.text->warnings);
  for (const ReadDirection& d : r.directions) out += direction_text(r, d);
  out +=
      "\nAn eigenvector acts through its square: it speaks for its output (against it, where the eigenvalue "
      "is negative) both along and against.\n";
  if (std::any_of(r.directions.begin(), r.directions.end(), [](const ReadDirection& d) { return d.has_linear(); }))
    out +=
        "The linear part is not squared: tokens along it speak for the output, tokens against it against the "
        "output.\n";
  if (r.inputs > 0)
    out += "\nHow far each form is the layer, and the controls:\n" + fidelity_table(r) + fidelity_notes(r) +
           "95 %: where R2 lies with other texts of this kind, by a bootstrap over texts\n";
  const TokenParts& text = *r.text;
  if (text.passage_text) {
    const WordMarks marks = detect_word_marks();
    out += "\nWhere they are strongest in " + searched_text(*text.passage_text) + ":\n" + marks_text(marks);
    for (const ReadDirection& d : r.directions) out += responses_text(d.responses, marks, result_columns());
    out += "\n";
    if (!text.passages_page.empty()) out += "passages: " + text.passages_page + "\n";
  }
  if (!text.autoencoder.empty()) {
    out += "latents: " + text.autoencoder + "\n";
    if (!text.unmeasured.empty()) out += "Their activations were not measured: " + text.unmeasured + ".\n";
  }
  if (!text.input_autoencoder.empty())
    out += "input latents: " + text.input_autoencoder +
           "; a pair adds its weight times the product of their activations, in units of decoder rows of "
           "length 1\n";
  out += "spectra: " + r.spectra + "\n";
  if (!r.figures.empty()) out += "figures: " + r.figures_folder + " (SVG, PNG, CSV)\n";
  return out;
}

namespace {

std::string strongest_text(const ScanResult& r) {
  if (r.strongest == 0) return "";
  return "\nThe layer is wide: ranks and energy are those of the " + std::to_string(r.strongest) +
         " strongest eigenvectors alone.\n";
}

std::string untrained_text(const ScanResult& r) {
  const auto found = r.controls.untrained.find(r.form);
  if (found == r.controls.untrained.end()) return "";
  return "; the same form of " + r.untrained + ": R2 " + fixed_text(found->second.r2, 3);
}

}  // namespace

std::string scan_text(const ScanResult& r) {
  const bool latents = !r.autoencoder.empty();
  const std::string words = latents ? "latents" : "tokens";
  std::vector<Column> columns = {{.header = latents ? "latent" : "token"}};
  const auto add_columns = [&](std::initializer_list<const char*> headers) {
    for (const char* header : headers) columns.push_back({.header = header, .align = Align::right});
  };
  add_columns({"participation rank", "entropy rank", "energy of the first"});
  if (!latents) add_columns({"largest", "smallest"});
  add_columns({"R2", "eigenvectors alone"});
  if (latents && r.unmeasured.empty()) add_columns({"active %", "r of one", "r of two"});
  Table table(columns);
  for (const ScannedToken& d : r.tokens) {
    if (!d.is_text || table.rows() >= kScanRows) continue;
    std::vector<std::string> cells = {latents ? d.piece : d.text, fixed_text(d.rank.participation, 2),
                                      fixed_text(d.rank.entropy, 1), fixed_text(100 * d.energy, 0) + " %"};
    if (!latents) cells.insert(cells.end(), {fixed_text(d.largest, 3), fixed_text(d.smallest, 3)});
    cells.insert(cells.end(), {fixed_text(d.trust.r2, 3), fixed_text(d.trust.eigenvectors_r2, 3)});
    if (d.latent) {
      cells.push_back(share_text(d.latent->active));
      for (const double v : {d.latent->one, d.latent->two}) cells.push_back(std::isfinite(v) ? fixed_text(v, 2) : "-");
    }
    table.add(cells);
  }
  std::string about;
  if (latents)
    about = "latents: " + r.autoencoder +
            (r.unmeasured.empty() ? "; r: how far the one and two strongest eigenvectors go with the activation"
                                  : "; activations not measured: " + r.unmeasured) +
            "\n";
  return "The " + words + " of layer " + std::to_string(r.layer + 1) + " whose spectrum is most concentrated (" +
         name(r.form) + " form), of " + std::to_string(r.tokens.size()) +
         (latents ? "" : " (bytes and marks left out)") + ":\n\n" + table.terminal(result_columns()) +
         strongest_text(r) + "\nThe form over all that the layer adds, at " + std::to_string(r.fidelity.inputs) +
         " tokens of " + r.samples + ": R2 " + fixed_text(r.fidelity.r2, 3) + between(r.fidelity.r2_interval) +
         "; of the eigenvectors alone " + fixed_text(r.fidelity.eigenvectors_r2, 3) + "; the linear part has " +
         share_text(r.fidelity.linear_share) + " % of the reading's variance; even share of the layer " +
         share_text(r.fidelity.even_share) + " %; the best linear map of the layer's input: R2 " +
         fixed_text(r.controls.linear.r2, 3) + untrained_text(r) + "\n" + warnings_text(r.warnings) + about + "all " +
         words + ": " + r.csv + "\n";
}

WordMarks detect_word_marks() {
  return detect_terminal(1).color && !wants_ascii(false) ? WordMarks::colours : WordMarks::plain;
}

std::string responses_text(const std::vector<Responses>& responses, WordMarks marks, size_t columns) {
  std::string out;
  for (const Responses& r : responses) {
    out += "\n" + r.name + (r.eigenvector ? ": eigenvalue " + typed_number(r.value) : "") + "\n";
    if (r.eigenvector) {
      out += "along:   " + token_list(r.near.along) + "\n";
      out += "against: " + token_list(r.near.against) + "\n";
    }
    for (const ShownPassage& p : r.passages)
      out += "  " + passage_caption(r, p) + "\n" + passage_lines(p, marks, columns);
    if (r.passages.empty()) out += "  0 everywhere in this text\n";
  }
  return out;
}

std::string marks_text(WordMarks marks) {
  return marks == WordMarks::colours
             ? "Red words: on the side of the tokens along the eigenvector, of a hidden unit above 0; blue: "
               "against, below 0; the stronger the colour, the stronger the response. The strongest word is "
               "underlined.\n"
             : "[word]: the strongest; *word*: at least half as strong as the strongest of all passages.\n";
}

}  // namespace glint::cli
