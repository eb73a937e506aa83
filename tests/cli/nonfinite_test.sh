#!/usr/bin/env bash
# Weights that are no numbers, or beyond all sense: NaN, infinity and the largest float in every tensor in turn, and every
# verb that reads weights. Exit code 4 with the name of the tensor or the layer; never a crash, a hang or a number.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
families=$2/tests/golden/families
cd "$work" || exit 1
run export "$families/tiny/tiny.bin" --tokenizer "$families/tiny/tokenizer.bin" --hf tiny
expect_code 0
cp "$families/tiny/tokenizer.bin" tiny
run tokenize --tales 200 --vocab 300 --out stories --quiet
expect_code 0
python3 "$2/tests/cli/make_language_run.py" stories/tokenizer.model own 300 || fail "no run"
yes 'Once there was a cat who was happy. The cat sat and sang.<|endoftext|>' | head -40 >t.txt
cp "$2/tests/cli/nonfinite.py" .
GLINT=$glint python3 nonfinite.py || fail "see above"
finish
