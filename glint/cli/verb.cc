#include "glint/cli/verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "glint/base/error.h"
#include "glint/base/range.h"
#include "glint/base/text.h"
#include "glint/cli/output.h"
#include "glint/cli/prose.h"

namespace glint::cli {
namespace {

[[noreturn]] void usage(std::string what, std::string where, std::string expected = {},
                        std::string hint = {}) {
  throw Error({.code = ErrorCode::usage,
               .what = std::move(what),
               .where = std::move(where),
               .expected = std::move(expected),
               .hint = std::move(hint)});
}

// "-n,--count" -> {"-n", "--count"}; nothing for a positional.
std::vector<std::string> split_flags(const std::string& flags) {
  std::vector<std::string> all;
  for (size_t at = 0; at < flags.size() && flags[0] == '-';) {
    const size_t comma = std::min(flags.find(',', at), flags.size());
    all.push_back(flags.substr(at, comma - at));
    at = comma + 1;
  }
  return all;
}

std::string trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return std::string(s);
}

// The whole word must be the number, in the decimal system; from_chars does not know the plus sign.
template <class T>
bool read_number(std::string_view word, T& value) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  return code == std::errc() && end == word.data() + word.size();
}

template <class T, class Target = T>
std::function<void(const std::string&)> whole_number(std::string flags, Target& target, T low, T high) {
  return [flags, &target, low, high](const std::string& word) {
    T value{};
    const bool number = read_number(word, value);
    if (!number || value < low || value > high) {
      const bool all = low == std::numeric_limits<T>::min() && high == std::numeric_limits<T>::max();
      usage(number ? word + " is outside the range" : "'" + word + "' is not a whole number that fits", flags,
            "a whole number" +
                (all ? std::string() : " from " + std::to_string(low) + " to " + std::to_string(high)));
    }
    target = value;
  };
}

double finite_number(const std::string& word, const std::string& flags, const std::string& expected) {
  double value = 0;
  if (!read_number(word, value) || !std::isfinite(value))
    usage("'" + word + "' is not a finite number", flags, expected);
  return value;
}

// JSON has neither infinity nor NaN. The library would write null, and nobody would notice.
void check_numbers(const nlohmann::ordered_json& value, const std::string& place) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    throw Error({.code = ErrorCode::numeric,
                 .what = "a result is not finite, and JSON has no such number",
                 .where = place,
                 .expected = "finite numbers",
                 .hint = "without --json it is printed as inf or nan"});
  if (value.is_array())
    for (size_t i = 0; i < value.size(); i++) check_numbers(value[i], place + "[" + std::to_string(i) + "]");
  if (value.is_object())
    for (const auto& [key, field] : value.items())
      check_numbers(field, place.empty() ? key : place + "." + key);
}

}  // namespace

void Context::say(std::string_view message) const {
  if (!shared.quiet) err << prose(std::string(message), message_columns(terminal)) + "\n" << std::flush;
}

void Context::print_json(const nlohmann::ordered_json& value) const {
  check_numbers(value, "");
  out << value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

Progress Context::progress(ProgressSetup setup) const {
  return Progress(err, terminal, shared.quiet, std::move(setup));
}

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::value_optional() {
  option_->expected(0, 1);
  return this;
}

bool Option::given() const { return option_->count() > 0; }
bool Option::is_required() const { return option_->get_required(); }
bool Option::value_is_optional() const { return option_->get_expected_min() == 0; }
std::string Option::name() const { return option_->get_name(); }
std::string Option::description() const { return option_->get_description(); }
std::string Option::default_text() const { return option_->get_default_str(); }

Option* Option::show_default(const std::string& text) {
  option_->default_str(text);
  return this;
}

Verb::~Verb() = default;
Verb::Verb(Verb&&) noexcept = default;

Verb::Verb(VerbText text) : text_(std::move(text)), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag();  // Program answers --help before anything can fail
}

Option* Verb::keep(CLI::Option* option, OptionText text) {
  text.option = &handles_.emplace_back(option);
  options_.push_back(std::move(text));
  return options_.back().option;
}

Option* Verb::add(const std::string& flags, std::function<void(const std::string&)> take,
                  const std::string& description, const std::string& default_text, Value value) {
  OptionText o{.flags = split_flags(flags), .value = std::move(value)};
  const std::string where = o.flags.empty() ? o.value.placeholder : o.flags.back();
  const Value& v = o.value;
  const auto checked = [take = std::move(take), where,
                        words =
                            v.only_words ? v.words : std::vector<std::string>{}](const std::string& word) {
    if (!words.empty() && std::find(words.begin(), words.end(), word) == words.end())
      usage("unknown value '" + word + "'", where, suggest(word, words));
    take(word);
  };
  CLI::Option* const option = app_->add_option_function<std::string>(flags, checked, description);
  if (!default_text.empty()) option->default_str(default_text);
  return keep(option, std::move(o));
}

Option* Verb::flag(const std::string& flags, bool& target, const std::string& description) {
  OptionText o{.flags = split_flags(flags), .takes_value = false};
  CLI::Option* const option = app_->add_flag_function(
      flags, [&target](int64_t n) { target = n > 0; }, description);
  return keep(option->disable_flag_override(), std::move(o));
}

Option* Verb::option(const std::string& flags, std::function<void(const std::string&)> take,
                     const std::string& description, const std::string& default_text, Value value) {
  return add(flags, std::move(take), description, default_text, std::move(value));
}

void Verb::switches(const std::string& name, bool default_on, const std::string& description,
                    std::function<void(const std::string&)> take) {
  for (const bool on : {true, false}) {
    OptionText o{.flags = {(on ? "--" : "--no-") + name}, .takes_value = false};
    const std::string text = on ? description : "Not --" + name;
    CLI::Option* const option = app_->add_flag_function(
        o.flags[0], [take, on](int64_t) { take(on ? "true" : "false"); },
        text + (on == default_on ? " (the default)" : ""));
    keep(option->disable_flag_override(), std::move(o));
  }
}

Option* Verb::text(const std::string& flags, std::string& target, const std::string& description,
                   Value value) {
  return add(
      flags, [&target](const std::string& word) { target = word; }, description, target, std::move(value));
}

Option* Verb::choice(const std::string& flags, std::string& target, std::vector<std::string> words,
                     const std::string& description) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : "|") + w;
  return text(flags, target, description,
              {.placeholder = all, .words = std::move(words), .only_words = true});
}

Option* Verb::file(const std::string& flags, std::string& target, const std::string& description) {
  return text(flags, target, description, {.placeholder = "FILE", .kind = Value::Kind::file});
}

Option* Verb::directory(const std::string& flags, std::string& target, const std::string& description) {
  return text(flags, target, description, {.placeholder = "DIR", .kind = Value::Kind::directory});
}

Option* Verb::integer(const std::string& flags, int64_t& target, int64_t low, int64_t high,
                      const std::string& description) {
  return add(flags, whole_number<int64_t>(flags, target, low, high), description, std::to_string(target),
             {.placeholder = "N"});
}

Option* Verb::size(const std::string& flags, size_t& target, size_t low, size_t high,
                   const std::string& description) {
  return add(flags, whole_number<size_t>(flags, target, low, high), description, std::to_string(target),
             {.placeholder = "N"});
}

Option* Verb::size(const std::string& flags, std::optional<size_t>& target, size_t low, size_t high,
                   const std::string& description) {
  return add(flags, whole_number<size_t>(flags, target, low, high), description, "", {.placeholder = "N"});
}

Option* Verb::real(const std::string& flags, double& target, const std::string& description, double low,
                   double high) {
  const auto take = [flags, &target, low, high](const std::string& word) {
    const double value = finite_number(word, flags, range_text(low, high));
    if (value < low || value > high) usage(word + " is outside the range", flags, range_text(low, high));
    target = value;
  };
  return add(flags, take, description, number_text(target), {.placeholder = "X"});
}

Option* Verb::reals(const std::string& flags, std::vector<double>& target, const std::string& description) {
  const auto take = [flags, &target](const std::string& list) {
    target.clear();
    for (size_t at = 0; at <= list.size();) {
      const size_t comma = std::min(list.find(',', at), list.size());
      target.push_back(finite_number(trimmed(std::string_view(list).substr(at, comma - at)), flags,
                                     "finite numbers with commas between them, such as -1,0,0.5"));
      at = comma + 1;
    }
  };
  std::string default_text;
  for (const double v : target) default_text += (default_text.empty() ? "" : ",") + number_text(v);
  return add(flags, take, description, default_text, {.placeholder = "X,X,..."});
}

Option* Verb::positional(const std::string& name, std::string& target, const std::string& description,
                         Value value) {
  value.placeholder = name;
  return text(name, target, description, std::move(value));
}

Option* Verb::positionals(const std::string& name, std::vector<std::string>& target,
                          const std::string& description, Value value) {
  value.placeholder = name + "...";
  return texts(name, target, description, std::move(value));
}

Option* Verb::texts(const std::string& flags, std::vector<std::string>& target,
                    const std::string& description, Value value) {
  OptionText o{.flags = split_flags(flags), .value = std::move(value), .repeats = true};
  CLI::Option* const option = app_->add_option_function<std::vector<std::string>>(
      flags, [&target](const std::vector<std::string>& words) { target = words; }, description);
  // One value per flag; what follows is an argument of its own.
  if (!o.flags.empty())
    option->type_size(1)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return keep(option, std::move(o));
}

void Verb::share_seed() {
  add("--seed", whole_number<uint64_t>("--seed", shared_.seed, 0, std::numeric_limits<uint64_t>::max()),
      "Seed of everything random; the same seed gives the same bytes", std::to_string(shared_.seed),
      {.placeholder = "N"});
  options_.back().shared = true;
}

void Verb::share_threads() {
  constexpr size_t kMost = 1024;
  add("--threads", whole_number<size_t>("--threads", shared_.threads, 1, kMost),
      "Threads to use; the results do not depend on it (default: all processors granted)", "",
      {.placeholder = "N"});
  options_.back().shared = true;
}

void Verb::share_precision() {
  choice("--precision", shared_.precision, {"f32", "bf16"}, "Precision of the matrix products");
  options_.back().shared = true;
}

void Verb::share_out(const std::string& description, Value::Kind kind) {
  text("--out", shared_.out, description,
       {.placeholder = kind == Value::Kind::directory ? "DIR" : "FILE", .kind = kind});
  options_.back().shared = true;
}

void Verb::share_json() {
  flag("--json", shared_.json, "Print the results as JSON");
  options_.back().shared = true;
}

void Verb::share_quiet() {
  flag("--quiet", shared_.quiet, "No progress and no messages; results and errors only");
  options_.back().shared = true;
}

void Verb::share_isa() {
  choice("--isa", shared_.isa, {"auto", "baseline", "v3", "v4"},
         "Instruction-set level of the kernels (default: GLINT_ISA, else auto)");
  options_.back().shared = true;
  shares_isa_ = true;
}

void Verb::share_linalg() {
  shared_.linalg = "auto";
  choice("--linalg", shared_.linalg, {"auto", "openblas", "eigen"},
         "Linear algebra of the spectra; auto: OpenBLAS where it is found");
  options_.back().shared = true;
}

const OptionText* Verb::find(std::string_view flag) const {
  for (const OptionText& o : options_)
    if (std::find(o.flags.begin(), o.flags.end(), flag) != o.flags.end()) return &o;
  return nullptr;
}

std::vector<std::string> Verb::all_flags() const {
  std::vector<std::string> all;
  for (const OptionText& o : options_) all.insert(all.end(), o.flags.begin(), o.flags.end());
  all.push_back("--help");
  return all;
}

// CLI11 would read "-1,0" as a flag and name a wrong flag without help. So flags are looked up here, and each
// value is joined to its flag, before CLI11 sees them.
void Verb::parse(std::vector<std::string> arguments) {
  const std::string help = "glint " + text_.name + " --help";
  std::vector<std::string> joined;
  std::set<const OptionText*> seen;
  for (size_t i = 0; i < arguments.size(); i++) {
    const std::string& a = arguments[i];
    if (a == "--") {
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (a.size() < 2 || a[0] != '-') {
      joined.push_back(a);
      continue;
    }
    const size_t equals = a.find('=');
    const std::string flag = a.substr(0, equals);
    const OptionText* o = find(flag);
    if (!o) usage("unknown option '" + flag + "'", "glint " + text_.name, suggest(flag, all_flags()), help);
    if (!seen.insert(o).second && o->takes_value && !o->repeats)
      usage("the option is given twice", flag, "one value", help);
    if (!o->takes_value) {
      if (equals != a.npos) usage("the option takes no value", flag, "the flag alone", help);
      joined.push_back(a);
      continue;
    }
    const bool next_is_flag =
        i + 1 < arguments.size() && (arguments[i + 1].starts_with("--") || find(arguments[i + 1]));
    std::string value;
    bool given = equals != a.npos;
    if (given)
      value = a.substr(equals + 1);
    else if (i + 1 < arguments.size() && !next_is_flag)
      value = arguments[++i], given = true;
    // An option whose value may be left out takes an empty one as none.
    if (value.empty() && given && o->option->value_is_optional()) continue;
    if (value.empty()) usage("the option needs a value", flag, o->value.placeholder, help);
    const std::string& name = o->flags.back();  // the long one, if there is one
    joined.push_back(name + (name.starts_with("--") ? "=" : "") + value);
  }
  try {
    std::reverse(joined.begin(), joined.end());
    app_->parse(joined);
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> rest = app_->remaining();
    usage("unexpected argument '" + (rest.empty() ? std::string() : rest.front()) + "'",
          "glint " + text_.name, "", help);
  } catch (const CLI::RequiredError& e) {
    for (const OptionText& o : options_) {
      if (!o.option->is_required() || o.option->given()) continue;
      const std::string name = o.flags.empty() ? o.value.placeholder : o.flags.back();
      usage(name + " is missing", "glint " + text_.name,
            o.value.words.empty() ? o.option->description() : suggest("", o.value.words), help);
    }
    usage(e.what(), "glint " + text_.name, "", help);
  } catch (const CLI::ParseError& e) {
    usage(e.what(), "glint " + text_.name, "", help);
  }
}

}  // namespace glint::cli
