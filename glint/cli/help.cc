#include "glint/cli/help.h"
#include "glint/base/version.h"

#include <algorithm>
#include <utility>

#include "glint/base/text.h"

namespace glint::cli {
namespace {

constexpr std::pair<Group, const char*> kGroups[] = {{Group::prepare, "Prepare data"},
                                                     {Group::train, "Train and run models"},
                                                     {Group::read, "Read the weights"},
                                                     {Group::paper, "Gates and the paper"},
                                                     {Group::tools, "Tools"}};

using Entries = std::vector<std::pair<std::string, std::string>>;

// Two columns: names on the left, wrapped text on the right; a name too wide for its column has its own line.
std::string two_columns(const Entries& entries, size_t columns) {
  constexpr size_t kWidestName = 26;
  size_t left = 0;
  for (const auto& [name, text] : entries)
    if (display_width(name) <= kWidestName) left = std::max(left, display_width(name));
  std::string out;
  for (const auto& [name, text] : entries) {
    const std::vector<std::string> lines = wrap(text, columns - left - 4);
    const bool own_line = display_width(name) > left;
    if (own_line) out += "  " + name + "\n";
    for (size_t i = 0; i < lines.size(); i++)
      out += "  " + pad(i == 0 && !own_line ? name : "", left, Align::left) + "  " + lines[i] + "\n";
  }
  return out;
}

std::string paragraph(const std::string& text, size_t columns) {
  std::string out;
  for (const std::string& line : wrap(text, columns)) out += line + "\n";
  return out;
}

std::string option_name(const OptionText& o) {
  std::string name = joined(o.flags, ", ");
  if (o.takes_value) name += (name.empty() ? "" : " ") + o.value.placeholder;
  return name;
}

std::string option_text(const OptionText& o) {
  std::string text = o.option->description();
  if (!o.option->default_text().empty()) text += " (default: " + o.option->default_text() + ")";
  if (o.option->is_required() && !o.flags.empty()) text += " (required)";
  return text;
}

// Markdown's code marks go, and of a link the text stays.
std::string without_marks(const std::string& markdown) {
  std::string out;
  for (size_t i = 0; i < markdown.size(); i++) {
    if (markdown[i] == '`' || markdown[i] == '[') continue;
    const size_t close = markdown.compare(i, 2, "](") == 0 ? markdown.find(')', i) : markdown.npos;
    if (close != markdown.npos)
      i = close;
    else
      out += markdown[i];
  }
  return out;
}

}  // namespace

size_t help_width(const Terminal& terminal) {
  return terminal.interactive ? std::clamp<size_t>(terminal.width(), 60, 100) : 80;
}

std::string overview_text(const Program& program, size_t columns) {
  std::string out =
      "glint trains gated networks (GLUs) and reads their weights.\n\n"
      "Usage: glint VERB [OPTIONS]\n";
  size_t left = 0;  // one width of names for all groups
  for (const auto& verb : program.verbs()) left = std::max(left, display_width(verb->description().name));
  for (const auto& [group, title] : kGroups) {
    Entries entries;
    for (const auto& verb : program.verbs())
      if (verb->description().group == group)
        entries.emplace_back(pad(verb->description().name, left, Align::left), verb->description().summary);
    if (!entries.empty()) out += std::string("\n") + title + ":\n" + two_columns(entries, columns);
  }
  out += "\n" + paragraph(
                    "glint VERB --help shows the options of a verb, with examples. glint help words explains "
                    "the words that glint uses, glint help reading what its tables and pictures show. "
                    "glint --version shows the version and what it found of this "
                    "processor.",
                    columns);
  return out;
}

std::string verb_help(const Verb& verb, size_t columns) {
  const VerbText& text = verb.description();
  std::string usage = "Usage: glint " + text.name;
  Entries arguments, own, shared;
  for (const OptionText& o : verb.options()) {
    if (o.flags.empty())
      usage += o.option->is_required() ? " " + o.value.placeholder : " [" + o.value.placeholder + "]";
    (o.flags.empty() ? arguments : o.shared ? shared : own).emplace_back(option_name(o), option_text(o));
  }
  shared.emplace_back("-h, --help", "Show this help");
  std::string out = paragraph("glint " + text.name + ": " + text.summary, columns) + "\n" + usage + " [OPTIONS]\n";
  if (!text.details.empty()) out += "\n" + paragraph(text.details, columns);
  if (!arguments.empty()) out += "\nArguments:\n" + two_columns(arguments, columns);
  if (!own.empty()) out += "\nOptions:\n" + two_columns(own, columns);
  out += "\nShared options:\n" + two_columns(shared, columns);
  out += "\nExamples:\n";
  for (const Example& e : text.examples) out += "  " + e.command + "\n      " + e.what + "\n";
  return out;
}

std::string page_text(std::string_view name, size_t columns) {
  std::string out;
  Entries entries;
  const auto flush = [&] {
    if (!entries.empty()) out += two_columns(entries, columns) + "\n";
    entries.clear();
  };
  for (const BuiltInPage& page : built_in_pages()) {
    if (page.name != name) continue;
    for (size_t at = 0; at < page.text.size();) {
      const size_t end = std::min(page.text.find('\n', at), page.text.size());
      const std::string line(page.text.substr(at, end - at));
      at = end + 1;
      const size_t mark = line.find("**: ");
      if (line.starts_with("- **") && mark != line.npos) {
        entries.emplace_back(line.substr(4, mark - 4), without_marks(line.substr(mark + 4)));
      } else if (!line.empty() && !line.starts_with("# ")) {
        flush();
        out += line.starts_with("## ") ? without_marks(line.substr(3)) + "\n"
                                       : paragraph(without_marks(line), columns) + "\n";
      }
    }
  }
  flush();
  if (!out.empty()) out.pop_back();  // the empty line behind the last part
  return out;
}

std::string version_text(const CpuInfo& cpu, Isa isa) {
#if defined(__clang__)
  const std::string compiler = std::string("clang ") + __clang_version__;
#else
  const std::string compiler = std::string("g++ ") + __VERSION__;
#endif
  std::string out = "glint " + std::string(kVersion) + "\n";
  out += "compiler:  " + compiler + "\n";
  out += "processor: " + describe(cpu) + "\n";
  out += "kernels:   " + std::string(name(isa)) + "\n";
  out += "bf16 unit: " + std::string(name(best_bf16(cpu))) + "\n";
  return out;
}

}  // namespace glint::cli
