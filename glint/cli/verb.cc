#include "glint/cli/verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/cli/output.h"

namespace glint::cli {
namespace {

std::string with_dashes(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

// What a field writes as code is an option here: `from_layer` is --from-layer.
std::string as_options(const std::string& help) {
  std::string out;
  for (size_t at = 0; at < help.size();) {
    const size_t open = help.find('`', at), close = open == help.npos ? open : help.find('`', open + 1);
    if (close == help.npos) return out + help.substr(at);
    out += help.substr(at, open - at) + "--" + with_dashes(help.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return out;
}

// An option that is no longer spelled so.
struct Renamed {
  std::string_view verb, old, now;
};
constexpr Renamed kRenamed[] = {{"spectrum", "--top", "--strongest K"},   {"explain", "--top", "--show K"},
                                {"explain", "--class", "--unit CLASSES"}, {"ablate", "--top", "--remove 1..K"},
                                {"compare", "--top", "--show K"},         {"attack", "--terms", "--show K"},
                                {"page", "--vectors", "--show K"}};

bool repeats(const Field& f) {
  return std::holds_alternative<std::vector<std::string>*>(f.value) || std::holds_alternative<Prefixed>(f.value);
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
    for (const auto& [key, field] : value.items()) check_numbers(field, place.empty() ? key : place + "." + key);
}

}  // namespace

std::string placeholder_of(const Field& f) {
  if (f.is_argument) return f.placeholder;
  if (!f.choices.empty()) return joined(f.choices, "|");
  if (!f.placeholder.empty()) return f.placeholder;
  if (std::holds_alternative<double*>(f.value)) return "X";
  if (std::holds_alternative<std::vector<double>*>(f.value)) return "X,X,...";
  return std::holds_alternative<uint64_t*>(f.value) || std::holds_alternative<std::optional<uint64_t>*>(f.value)
             ? "N"
             : "TEXT";
}

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

Option* Verb::add(const Field& field) {
  const std::string help = as_options(field.help);
  if (bool* const* value = std::get_if<bool*>(&field.value)) {
    const bool on = **value;
    const std::string flag = (on ? "--no-" : "--") + with_dashes(field.name);
    CLI::Option* const option = app_->add_flag_function(
        flag, [target = *value, on](int64_t n) { *target = (n > 0) != on; }, help);
    OptionText text{.flags = {flag}, .takes_value = false};
    return keep(option->disable_flag_override(), std::move(text));
  }
  OptionText o{.value = {.placeholder = placeholder_of(field),
                         .words = field.choices.empty() ? field.suggested : field.choices,
                         .kind = field.kind},
               .shared = field.name == "out" || field.name == "seed",
               .repeats = repeats(field)};
  if (!field.is_argument) o.flags = {"--" + with_dashes(field.name)};
  const std::string name = field.is_argument ? o.value.placeholder : o.flags[0];
  const auto take = [field, name](const std::string& word) { set_field(field, word, name); };
  CLI::Option* option = nullptr;
  if (!o.repeats) {
    option = app_->add_option_function<std::string>(name, take, help);
    if (const std::string usual = field_text(field); !usual.empty()) option->default_str(usual);
  } else {
    option = app_->add_option_function<std::vector<std::string>>(
        name, [take](const std::vector<std::string>& words) { std::ranges::for_each(words, take); }, help);
    // One value per flag; what follows is an argument of its own.
    if (!field.is_argument)
      option->type_size(1)->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    else
      o.value.placeholder += "...";
  }
  if (field.is_required) option->required();
  return keep(option, std::move(o));
}

void Verb::add(const std::vector<Field>& fields) {
  std::vector<const Field*> last;
  for (const Field& f : fields)
    if (f.name == "out" || f.name == "seed")
      last.push_back(&f);
    else
      add(f);
  for (const Field* f : last) add(*f);
}

Option* Verb::at(std::string_view flag) const { return find(flag)->option; }

Option* Verb::option(const std::string& flag, std::function<void(const std::string&)> take,
                     const std::string& description, const std::string& default_text, Value value) {
  CLI::Option* const option = app_->add_option_function<std::string>(flag, take, description);
  if (!default_text.empty()) option->default_str(default_text);
  OptionText text{.flags = {flag}, .value = std::move(value)};
  return keep(option, std::move(text));
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

void Verb::share(std::initializer_list<std::string_view> names) {
  SharedOptions& o = shared_;
  const Field fields[] = {
      Field("seed", o.seed, "Seed of everything random; the same seed gives the same bytes"),
      Field("precision", o.precision, "Precision of the matrix products").one_of({"f32", "bf16"}),
      Field("linalg", o.linalg, "Linear algebra of the spectra; auto: OpenBLAS where it is found")
          .one_of({"auto", "openblas", "eigen"}),
      Field("threads", o.threads, "Threads to use; the results do not depend on it (default: all processors granted)")
          .range(1, 1024),
      Field("isa", o.isa, "Instruction-set level of the kernels (default: GLINT_ISA, else auto)")
          .one_of({"auto", "baseline", "v3", "v4"}),
      Field("json", o.json, "Print the results as JSON"),
      Field("quiet", o.quiet, "No progress and no messages; results and errors only")};
  for (const std::string_view name : names) {
    if (name == "linalg") o.linalg = "auto";
    shares_isa_ = shares_isa_ || name == "isa";
    add(*find_field(fields, name));
    options_.back().shared = true;
  }
}

void Verb::share_kernels() { share({"threads", "isa", "json", "quiet"}); }

void Verb::share_engine() { share({"threads", "isa", "linalg", "json", "quiet"}); }

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
    for (const Renamed& r : kRenamed)
      if (!o && r.verb == text_.name && r.old == flag)
        bad_argument(flag, "the option is called " + std::string(r.now) + " here", std::string(r.now), help);
    if (!o) bad_argument("glint " + text_.name, "unknown option '" + flag + "'", suggest(flag, all_flags()), help);
    if (!seen.insert(o).second && o->takes_value && !o->repeats)
      bad_argument(flag, "the option is given twice", "one value", help);
    if (!o->takes_value) {
      if (equals != a.npos) bad_argument(flag, "the option takes no value", "the flag alone", help);
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
    if (value.empty()) bad_argument(flag, "the option needs a value", o->value.placeholder, help);
    const std::string& name = o->flags.back();  // the long one, if there is one
    joined.push_back(name + (name.starts_with("--") ? "=" : "") + value);
  }
  try {
    std::reverse(joined.begin(), joined.end());
    app_->parse(joined);
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> rest = app_->remaining();
    bad_argument("glint " + text_.name, "unexpected argument '" + (rest.empty() ? std::string() : rest.front()) + "'",
                 "", help);
  } catch (const CLI::RequiredError& e) {
    for (const OptionText& o : options_) {
      if (!o.option->is_required() || o.option->given()) continue;
      const std::string name = o.flags.empty() ? o.value.placeholder : o.flags.back();
      bad_argument("glint " + text_.name, name + " is missing",
                   o.value.words.empty() ? o.option->description() : suggest("", o.value.words), help);
    }
    bad_argument("glint " + text_.name, e.what(), "", help);
  } catch (const CLI::ParseError& e) {
    bad_argument("glint " + text_.name, e.what(), "", help);
  }
}

}  // namespace glint::cli
