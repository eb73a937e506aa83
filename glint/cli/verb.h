// A verb of the program: its options, its help and what it does. To add one: write glint/cli/NAME.cc with
// `void add_NAME(Program&)` and give it a line in verbs.h; help, completion and errors take it from there.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/cpu.h"
#include "glint/base/file.h"
#include "glint/cli/progress.h"
#include "glint/cli/terminal.h"
#include "glint/io/fields.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace glint::cli {

class Ranks;  // ranks.h

// Where a verb stands in the overview.
enum class Group { prepare, train, read, paper, tools };

struct Example {
  std::string command;  // as typed, from "glint" on
  std::string what;     // what it gives, a few words
};

struct VerbText {
  std::string name;
  Group group = Group::tools;
  std::string summary = {};  // one line for the overview
  std::string details = {};  // a paragraph or two below the usage line
  std::vector<Example> examples = {};
};

// The options that mean the same on every verb. A verb registers those that it heeds.
struct SharedOptions {
  uint64_t seed = 0;
  std::optional<size_t> threads;  // none: all that the system grants
  std::string precision = "f32";
  std::string isa;
  std::string linalg;  // "": the verb does not decompose
  bool json = false;
  bool quiet = false;
};

// What a verb is given to work with.
struct Context {
  std::ostream& out;  // results; they reach stdout when the verb has ended without an error
  std::ostream& err;  // messages
  Terminal terminal;  // of stderr
  FileSystem& files;
  const CpuInfo& cpu;
  Isa isa;  // from --isa, else GLINT_ISA, else the best of this processor
  SharedOptions shared;
  Ranks& ranks;                         // the processes of the verb
  std::function<void()> flush_results;  // for verbs that give results bit by bit: sends what is in `out`
  std::vector<std::string> next = {};   // commands that make sense now: a person at a terminal is told

  void say(std::string_view message) const;  // a line on stderr; nothing with --quiet
  void print_json(const nlohmann::ordered_json& value) const;
  Progress progress(ProgressSetup setup) const;
};

// What the value of an option may be: for help, completion and errors.
struct Value {
  using Kind = Field::Kind;
  std::string placeholder = "TEXT";
  std::vector<std::string> words = {};  // for completion
  Kind kind = Kind::word;
};

std::string placeholder_of(const Field& field);  // "a|b", "N", "FILE"

// What a verb may ask of its options. CLI11 stays behind it: its header is most of the build time of a file.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option* value_optional();  // an empty text is the same as none
  bool given() const;        // after parsing
  bool is_required() const;
  bool value_is_optional() const;
  std::string name() const;  // "--count"
  std::string description() const;
  std::string default_text() const;
  Option* show_default(const std::string& text);  // in help; the value stays what it is

 private:
  friend class Verb;
  CLI::Option* option_;
};

struct OptionText {
  Option* option = nullptr;
  std::vector<std::string> flags = {};  // "--count"; empty for an argument
  Value value = {};
  bool takes_value = true;
  bool shared = false;
  bool repeats = false;  // may be given more than once
};

class Verb {
 public:
  explicit Verb(VerbText text);
  ~Verb();
  Verb(Verb&&) noexcept;

  // An option, as a field says it: "from_layer" is --from-layer, an argument has no flag. A switch that is on
  // by default is the option --no-NAME. The value when the option is added is the default that help shows; what
  // the help of a field writes as code is an option here. The verb owns what is returned.
  Option* add(const Field& field);
  // All fields of a request. `out` and `seed` are shown among the options that all verbs share.
  void add(const std::vector<Field>& fields);
  // For tables of options kept elsewhere: `take` is given the text; help shows `default_text`.
  Option* option(const std::string& flag, std::function<void(const std::string&)> take, const std::string& description,
                 const std::string& default_text, Value value);
  // --name and --no-name; `take` is given "true" or "false".
  void switches(const std::string& name, bool default_on, const std::string& description,
                std::function<void(const std::string&)> take);
  Option* at(std::string_view flag) const;  // one that was added

  // Options that mean the same on every verb, by the names of SharedOptions.
  void share(std::initializer_list<std::string_view> names);
  void share_kernels();  // what every verb that computes has, and the same with --linalg
  void share_engine();

  void run(std::function<void(Context&)> body) { body_ = std::move(body); }
  void operator()(Context& context) const { body_(context); }

  // Reads the arguments after the verb; Error (usage) for what is wrong, with the nearest valid word.
  void parse(std::vector<std::string> arguments);

  const VerbText& description() const { return text_; }
  const std::vector<OptionText>& options() const { return options_; }
  const SharedOptions& shared() const { return shared_; }
  bool shares_isa() const { return shares_isa_; }

 private:
  Option* keep(CLI::Option* option, OptionText text);
  const OptionText* find(std::string_view flag) const;
  std::vector<std::string> all_flags() const;

  VerbText text_;
  std::unique_ptr<CLI::App> app_;
  std::vector<OptionText> options_;
  std::deque<Option> handles_;  // in one place for ever: verbs keep pointers to them
  SharedOptions shared_;
  bool shares_isa_ = false;
  std::function<void(Context&)> body_;
};

}  // namespace glint::cli
