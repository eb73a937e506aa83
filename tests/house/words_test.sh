#!/usr/bin/env bash
# The words of the project: the library names parameters and no flags, and the glossary has one entry per word, in order.
set -euo pipefail
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Strings of the library that name a --flag. Style sheets have names of that form too, and lab/work/train makes the
# commands of a plan for other machines.
flags() {
  (cd "$1" && grep -rnE '"[^"]*--[a-z]' glint/{base,kernels,nn,io,model,data,train,spectra,report,lab} --include='*.cc' --include='*.h' |
    grep -v -e 'var(--' -e '^glint/lab/work/train\.' || true)
}
mkdir -p "$work"/glint/{base,kernels,nn,io,model,data,train,spectra,report,lab}
echo 'throw Error({.where = "--d-model"});' >"$work/glint/model/a.cc"
[ "$(flags "$work" | wc -l)" -eq 1 ] || { echo "words_test.sh is broken: it does not see a flag" >&2; exit 1; }
found=$(flags "$source_dir")
if [ -n "$found" ]; then
  echo "errors of the library name parameters, not flags (see glint/cli/parameters.h):" >&2
  echo "$found" >&2
  exit 1
fi

words() { sed -n 's/^- \*\*\([^*]*\)\*\*: .*/\1/p' "$1"; }
glossary=$source_dir/docs/glossary.md
[ "$(words "$glossary" | wc -l)" -ge 30 ] || { echo "the glossary has too few entries" >&2; exit 1; }
words "$glossary" | sed 's/²//' | LC_ALL=C sort -cuf || { echo "the glossary is not in order" >&2; exit 1; }
if grep -E '^- ' "$glossary" | grep -vE '^- \*\*[^*]+\*\*: [A-Z].*\.$' >&2; then echo "an entry is not '- **word**: Sentence.'" >&2; exit 1; fi
