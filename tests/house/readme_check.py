"""Checks the Markdown files of a source tree against the tree and the program; see readme_test.sh.

- every `glint VERB ...` line of a code block in README.md: the verb and each of its --options are in the program's help;
  commands of quick verbs are run as they stand, in an empty folder, and must exit with 0
- every `make TARGET` in a code block or in backticks: the Makefile has the target
- every relative link: the file exists, and the heading if it names one
- every `folder/path` in backticks in README.md: exists
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

QUICK_VERBS = {"gates"}  # done in a second, need no data
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.M | re.S)
FOLDERS = "glint|tests|scripts|docs|bench|cmake|recipes|web"


def markdown_files(root):
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in ("build", "node_modules", "runs", "demo") and not n.startswith(".")]
        for name in files:
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def slugs(text):
    """The anchors that the headings of a page get."""
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def check_links(path, text):
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = os.path.join(os.path.dirname(path), name) if name else path
        if not os.path.exists(file):
            yield f"link to {target}: no such file"
        elif anchor and file.endswith(".md"):
            with open(file, encoding="utf-8") as f:
                if anchor not in slugs(f.read()):
                    yield f"link to {target}: no such heading"


def check_make(text, makefile):
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    code = FENCE.findall(text) + re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    for piece in code:
        for target in re.findall(r"^\s*(?:\$ )?make ([a-z][\w-]*)", piece, re.M):
            if target not in targets:
                yield f"make {target}: the Makefile has no such target"


def check_paths(text, root):
    for path in re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", FENCE.sub("", text)):
        if not os.path.exists(os.path.join(root, path)):
            yield f"{path}: does not exist"


def commands(text):
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            match = re.match(r"\s*(?:\$ )?(?:\./)?(?:build/release/)?glint(?: +(.*))?$", line)
            if match:
                yield shlex.split(match.group(1) or "", comments=True)


def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=3600)


def check_commands(text, program):
    for words in commands(text):
        shown = "glint " + " ".join(words)
        for cut in ("|", ">", "&&"):
            words = words[: words.index(cut)] if cut in words else words
        verb = [w for w in words[:1] if not w.startswith("-")]
        if verb and not re.search(rf"^\s+{re.escape(verb[0])}\b", help_of(program).stdout, re.M):
            yield f"{shown}: the program has no verb {verb[0]}"
            continue
        text_of_help = help_of(program, *verb).stdout
        for option in (w.split("=")[0] for w in words if w.startswith("--")):
            if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text_of_help):
                yield f"{shown}: no option {option} in its help"
        if verb and verb[0] in QUICK_VERBS:
            with tempfile.TemporaryDirectory() as folder:
                os.mkdir(os.path.join(folder, "demo"))
                done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=3600)
            if done.returncode != 0:
                yield f"{shown}: exit code {done.returncode}\n{done.stderr}"


def has_command_line(root):
    """False in a tree of the library alone, whose program takes no options."""
    folder = os.path.join(root, "glint", "cli")
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            if "CLI/" in f.read():
                return True
    return False


def self_test():
    """The checks can fail."""
    makefile = "good: ## x\n"
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "a.md")
        program = os.path.join(folder, "glint")
        with open(program, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\ncase \"$*\" in --help) echo '  gates  lists';; *--help) echo '--plot FILE';;\n"
                    "  'gates bad') exit 3;; esac\n")
        os.chmod(program, 0o755)
        bad = ["[x](no.md)", "[x](#no-heading)", "`make no`", "```\n$ make no\n```", "`glint/no.h`", "```\nglint no\n```",
               "```sh\nglint gates --no\n```", "```\nbuild/release/glint gates bad\n```"]
        good = ("# A heading, with 2 signs\n[x](#a-heading-with-2-signs) [y](a.md) [z](https://example.org) `make good`\n"
                "```\nglint gates --plot=a.svg  # comment\n[&](size_t) {}\nmake good\n```\n")
        for text in bad + [good]:
            with open(page, "w", encoding="utf-8") as f:
                f.write(text)
            found = [*check_links(page, text), *check_make(text, makefile), *check_paths(text, folder),
                     *check_commands(text, program)]
            if (len(found) != 1) if text != good else found:
                sys.exit(f"readme_check.py is broken: {text!r} gave {found}")


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    self_test()
    with open(os.path.join(root, "Makefile"), encoding="utf-8") as f:
        makefile = f.read()
    problems = []
    count = 0
    for path in sorted(markdown_files(root)):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        found = [*check_links(path, text), *check_make(text, makefile)]
        if os.path.relpath(path, root) == "README.md":
            found += check_paths(text, root)
            if has_command_line(root):
                found += check_commands(text, program)
                count = len(list(commands(text)))
        problems += [f"{os.path.relpath(path, root)}: {p}" for p in found]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{count} commands of the README and all links hold")


if __name__ == "__main__":
    main()
