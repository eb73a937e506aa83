#include "glint/cli/program.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <thread>

#include "glint/base/error.h"
#include "glint/cli/help.h"
#include "glint/cli/output.h"
#include "glint/cli/parameters.h"
#include "glint/cli/ranks.h"

namespace glint::cli {
namespace {

// Moves what is in the buffer to stdout; a full disk or a closed pipe is an error like any other.
void flush_to_stdout(std::ostringstream& buffer) {
  errno = 0;
  std::cout << buffer.str() << std::flush;
  if (!std::cout)
    throw Error(
        {.what = std::string("cannot write the results: ") + std::strerror(errno ? errno : EIO), .where = "stdout"});
  buffer.str("");
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Whether one of the flags stands before "--".
bool has_flag(const std::vector<std::string>& arguments, std::initializer_list<std::string_view> flags) {
  for (const std::string& a : arguments) {
    if (a == "--") return false;
    if (std::find(flags.begin(), flags.end(), a) != flags.end()) return true;
  }
  return false;
}

// While it lives, a stream writes ASCII alone if the locale asks for that. On a terminal without any locale
// too: nothing says that it knows UTF-8. In a pipe characters without an ASCII form stay as they are: they
// are data.
class PlainStream {
 public:
  PlainStream(std::ostream& stream, int descriptor)
      : stream_(stream),
        terminal_(detect_terminal(descriptor).interactive),
        original_(stream.rdbuf()),
        ascii_(*original_, terminal_) {
    if (wants_ascii(terminal_)) stream_.rdbuf(&ascii_);
  }
  ~PlainStream() { stream_.rdbuf(original_); }
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

 private:
  std::ostream& stream_;
  bool terminal_;
  std::streambuf* original_;
  AsciiBuffer ascii_;
};

}  // namespace

Verb& Program::add(VerbText text) {
  verbs_.push_back(std::make_unique<Verb>(std::move(text)));
  return *verbs_.back();
}

void Program::dispatch(const std::vector<std::string>& arguments, std::ostringstream& out, Ranks& ranks) {
  const size_t columns = help_width(detect_terminal(1));
  std::vector<std::string> rest = arguments;
  if (rest.size() == 2 && rest[0] == "help" && (rest[1] == "words" || rest[1] == "reading")) {
    out << page_text(rest[1] == "words" ? "glossary" : "reading", columns);
    return;
  }
  if (!rest.empty() && rest[0] == "help") {  // "help VERB" is "VERB --help"
    rest.erase(rest.begin());
    rest.push_back("--help");
  }
  if (rest.empty() || rest[0] == "-h" || rest[0] == "--help") {
    out << overview_text(*this, columns);
    return;
  }
  if (rest[0] == "--version") {
    const CpuInfo cpu = detect_cpu();
    out << version_text(cpu, parse_isa(environment("GLINT_ISA"), cpu));
    return;
  }
  if (rest[0].starts_with("-"))
    bad_argument("glint", "unknown option '" + rest[0] + "'", suggest(rest[0], {"--help", "--version"}),
                 "glint --help; the options of a verb come after its name");

  Verb* verb = nullptr;
  std::vector<std::string> names;
  for (const std::unique_ptr<Verb>& v : verbs_) {
    names.push_back(v->description().name);
    if (names.back() == rest[0]) verb = v.get();
  }
  if (!verb)
    bad_argument("glint", "unknown verb '" + rest[0] + "'", suggest(rest[0], names), "glint --help lists the verbs");
  rest.erase(rest.begin());
  if (has_flag(rest, {"-h", "--help"})) {
    out << verb_help(*verb, columns);
    return;
  }

  verb->parse(rest);
  const CpuInfo cpu = detect_cpu();
  Isa isa = cpu.best;
  if (verb->shares_isa())
    isa = parse_isa(verb->shared().isa.empty() ? environment("GLINT_ISA") : verb->shared().isa, cpu);
  Context context{.out = out,
                  .err = std::cerr,
                  .terminal = detect_terminal(2),
                  .files = real_files(),
                  .cpu = cpu,
                  .isa = isa,
                  .shared = verb->shared(),
                  .ranks = ranks,
                  .flush_results = [&out] { flush_to_stdout(out); }};
  (*verb)(context);
  if (!ranks.speaks() && ranks.started()) out.str("");
  if (context.shared.json || context.shared.quiet || !detect_terminal(1).interactive) return;
  for (size_t i = 0; i < context.next.size(); i++) out << (i ? "       " : "\nnext:  ") << context.next[i] << "\n";
}

int Program::run(const std::vector<std::string>& arguments) {
  ErrorParts parts;
  const PlainStream messages(std::cerr, 2);
  std::optional<PlainStream> results;
  if (!has_flag(arguments, {"--json"})) results.emplace(std::cout, 1);  // JSON is UTF-8 everywhere
  Ranks ranks;
  try {
    std::ostringstream out;
    dispatch(arguments, out, ranks);
    flush_to_stdout(out);
    return 0;
  } catch (const Error& e) {
    CommandWords words = command_words(*this);
    words.given = {arguments.begin(), arguments.end()};
    parts = as_typed(e.parts(), words);
  } catch (const std::filesystem::filesystem_error& e) {
    parts.what = e.code().message();
    parts.where = e.path1().string();
  } catch (const std::bad_alloc&) {
    parts.what = "out of memory";
    parts.hint = "a smaller batch or model, or fewer threads";
  } catch (const std::exception& e) {
    parts.what = std::string("unexpected failure: ") + e.what();
  } catch (...) {
    parts.what = "unexpected failure";
  }
  const int code = static_cast<int>(parts.code);
  if (!ranks.speaks()) {
    if (!ranks.started()) {  // the same happens at rank 0, which says it, if mpirun does not end it before
      std::this_thread::sleep_for(std::chrono::seconds(3));
      return code;
    }
    ranks.report(parts);                // printed there with the rank, and all are ended
  }
  std::cerr << error_text(parts, detect_terminal(2).color) << std::flush;
  ranks.end(code);
  return code;
}

}  // namespace glint::cli
