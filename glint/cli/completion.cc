// glint completion: scripts that let a shell complete verbs, options and values. They are made from what the
// verbs registered, so they cannot go stale.
#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/cli/verbs.h"

namespace glint::cli {
namespace {

// Inside single quotes, for all three shells; fish also reads the backslash there.
std::string quoted(const std::string& text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += fish ? "\\'" : "'\\''";
    else if (c == '\\' && fish)
      out += "\\\\";
    else
      out += c;
  }
  return out + "'";
}

std::vector<std::string> flags_of(const Verb& verb) {
  std::vector<std::string> all;
  for (const OptionText& o : verb.options()) all.insert(all.end(), o.flags.begin(), o.flags.end());
  all.push_back("--help");
  return all;
}

std::vector<std::string> verb_names(const Program& program) {
  std::vector<std::string> names;
  for (const auto& verb : program.verbs()) names.push_back(verb->description().name);
  return names;
}

bool names_a_path(const OptionText& o) { return o.value.kind != Value::Kind::word; }

std::string bash_script(const Program& program) {
  std::string out = R"(# bash completion of glint; to use it: source <(glint completion bash)
_glint() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} words= paths=
  COMPREPLY=()
  # Readline may cut --flag=value at the equals sign.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    words=)" + quoted(joined(verb_names(program), " ") + " help --help --version") +
                    R"(
  else
    case $verb in
      help) words=)" +
                    quoted(joined(verb_names(program), " ") + " words reading") + R"( ;;
)";
  for (const auto& verb : program.verbs()) {
    out += "      " + verb->description().name + ")\n        case $prev in\n";
    std::vector<std::string> first = flags_of(*verb), arguments;
    bool path_argument = false;
    for (const OptionText& o : verb->options()) {
      if (o.flags.empty()) {
        first.insert(first.begin(), o.value.words.begin(), o.value.words.end());
        arguments.insert(arguments.end(), o.value.words.begin(), o.value.words.end());
        path_argument = path_argument || names_a_path(o);
      } else if (o.takes_value) {
        out += "          " + joined(o.flags, "|") + ") ";
        out += names_a_path(o) ? "paths=1" : "words=" + quoted(joined(o.value.words, " "));
        out += " ;;\n";
      }
    }
    out += "          *) words=" + quoted(joined(first, " ")) +
           (path_argument ? "; [[ $cur != -* ]] && paths=1 words=" + quoted(joined(arguments, " ")) : "") +
           " ;;\n        esac ;;\n";
  }
  return out + R"(    esac
  fi
  local word
  while read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen -W "$words" -- "$cur")
  # Files where no word fits.
  if [[ $paths && ${#COMPREPLY[@]} == 0 ]]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _glint glint
)";
}

// The text between the brackets of an _arguments specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionText& o) {
  if (o.value.kind == Value::Kind::file)
    return o.value.words.empty() ? "_files" : "{compadd " + joined(o.value.words, " ") + "; _files}";
  if (o.value.kind == Value::Kind::directory) return "_files -/";
  return o.value.words.empty() ? " " : "(" + joined(o.value.words, " ") + ")";
}

std::string zsh_script(const Program& program) {
  std::string out =
      "#compdef glint\n"
      "# zsh completion of glint; to use it: glint completion zsh > _glint in a directory of $fpath\n"
      "_glint() {\n  local -a verbs\n  verbs=(\n";
  for (const auto& verb : program.verbs())
    out += "    " + quoted(verb->description().name + ":" + zsh_text(verb->description().summary)) + "\n";
  out += R"(  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    compadd -- --help --version
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
)";
  for (const auto& verb : program.verbs()) {
    out += "    " + verb->description().name + ")\n      _arguments \\\n";
    size_t place = 0;
    for (const OptionText& o : verb->options()) {
      const std::string name = zsh_text(o.value.placeholder), help = zsh_text(o.option->description());
      if (o.flags.empty())
        out += "        " + quoted((o.repeats ? "*" : std::to_string(++place)) + ":" + name + ":" + zsh_action(o)) +
               " \\\n";
      for (const std::string& flag : o.flags)
        out += "        " +
               quoted(flag + (o.takes_value ? "=" : "") + "[" + help + "]" +
                      (o.takes_value ? ":" + name + ":" + zsh_action(o) : "")) +
               " \\\n";
    }
    out += "        " + quoted("--help[Show this help]") + " ;;\n";
  }
  return out + "  esac\n}\n_glint \"$@\"\n";
}

std::string fish_script(const Program& program) {
  const auto fish = [](const std::string& text) { return quoted(text, true); };
  std::string out =
      "# fish completion of glint; to use it: glint completion fish > ~/.config/fish/completions/glint.fish\n"
      "complete -c glint -f\n"
      "complete -c glint -n __fish_use_subcommand -l help -d 'Show the verbs'\n"
      "complete -c glint -n __fish_use_subcommand -l version -d 'Show the version'\n";
  for (const auto& verb : program.verbs()) {
    const VerbText& text = verb->description();
    out += "complete -c glint -n __fish_use_subcommand -a " + text.name + " -d " + fish(text.summary) + "\n";
    const std::string here = "complete -c glint -n " + fish("__fish_seen_subcommand_from " + text.name);
    for (const OptionText& o : verb->options()) {
      std::string line = here;
      for (const std::string& flag : o.flags)
        line += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
      if (o.takes_value && !o.flags.empty()) line += names_a_path(o) ? " -r -F" : " -x";
      if (o.flags.empty() && names_a_path(o)) line += " -F";
      if (!o.value.words.empty()) line += " -a " + fish(joined(o.value.words, " "));
      out += line + " -d " + fish(o.option->description()) + "\n";
    }
    out += here + " -l help -d 'Show this help'\n";
  }
  return out;
}

}  // namespace

void add_completion(Program& program) {
  Verb& verb = program.add({.name = "completion",
                            .group = Group::tools,
                            .summary = "a script that completes verbs, options and values in your shell",
                            .details = "Prints the script; where a shell looks for it is said in its first lines.",
                            .examples = {{"source <(glint completion bash)", "completion in this bash"},
                                         {"glint completion fish > ~/.config/fish/completions/glint.fish",
                                          "completion in every fish from now on"}}});
  const auto shell = std::make_shared<std::string>();
  verb.add(Field("shell", *shell, "Which shell: bash, zsh or fish")
               .one_of({"bash", "zsh", "fish"})
               .argument("SHELL")
               .required());
  verb.run([shell, &program](Context& context) {
    context.out << (*shell == "bash"  ? bash_script(program)
                    : *shell == "zsh" ? zsh_script(program)
                                      : fish_script(program));
  });
}

}  // namespace glint::cli
