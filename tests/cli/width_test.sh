#!/usr/bin/env bash
# No line of a result or of a message is wider than a terminal of 80 columns, whatever the verb.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
export COLUMNS=80

# Lines of a file with more than 80 characters; awk may count bytes.
wide() { LC_ALL=C.UTF-8 grep -E '.{81}' "$1"; }

# fits ARGUMENTS...: the verb succeeds, and neither its results nor its messages are wider.
fits() {
  run "$@"
  expect_code 0
  local line
  line=$(cat "$work/out" "$work/err" | wide - | head -1)
  [ -z "$line" ] || fail "$command_line: $(printf %s "$line" | LC_ALL=C.UTF-8 wc -m) columns: $line"
}

# The test can fail.
printf '%081d\n' 0 >"$work/wide"
[ -n "$(wide "$work/wide")" ] || fail "81 columns are not noticed"
printf '%079d±\n' 0 >"$work/fits"
[ -z "$(wide "$work/fits")" ] || fail "bytes are counted instead of characters"

# Short names: a path that is longer than a line cannot be broken.
cd "$work" || exit 1
fits train quick --epochs 1 --out a
fits train quick --epochs 1 --gate relu --seeds 0..1 --out many
fits spectrum a
fits spectrum a --unit 3-5 --form weights --draw ascii
fits explain a --index 3
fits explain a --index 3 --form local --draw ascii
fits eval a
fits compare a many/seed-0
fits gates
fits bench --help
fits data
fits data glyphs
fits page a
fits export a --npy npy
fits attack a --unit 0,1 --images 100
fits explain a
fits ablate a
fits runs a many
fits runs a
fits sweep quick --epochs 1 --gate sqs --lambda 0.125 --c 0.125,0.25 --d-model 24 --seeds 0..0 --out sweep
fits compare a many/seed-0 --form weights
fits reproduce formulas --out paper
fits reproduce choice --quick --data glyphs --seeds 1 --out paper
fits train tales --epochs 1 --d-model 32 --layers 1 --heads 2 --out t
fits eval t
fits spectrum t --token happy
fits spectrum t --scan
fits spectrum t --token happy --passages 2
fits explain t --prompt "once upon a time" --layer all
fits explain t --prompt "once upon a time" --token happy --against sad --form local
tiny=$2/tests/golden/families/tiny
cp "$tiny"/tiny.bin "$tiny"/tokenizer.bin .
printf 'the cat sat<|endoftext|>a dog sat' >a-text-with-a-name-that-is-long-but-not-as-long-as-a-line.txt
fits eval tiny.bin --text a-text-with-a-name-that-is-long-but-not-as-long-as-a-line.txt
fits export tiny.bin --hf hub
fits model tiny.bin
# A log keeps each message on one line, unless it is asked otherwise.
env -u COLUMNS "$glint" compare a many/seed-0 2>log >/dev/null
[ -n "$(wide log)" ] || fail "a message in a log is broken: $(cat log)"
finish
