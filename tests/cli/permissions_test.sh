#!/usr/bin/env bash
# What the system refuses is exit code 1 and names the file, whichever verb meets it; circles of links are exit code 3,
# or 1 where something was to be written. Neither is ever an "unexpected failure".
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
cd "$work" || exit 1
user=()
if [ "$(id -u)" -eq 0 ]; then # root may read everything
  command -v setpriv >/dev/null || exit 77
  user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
chmod 755 "$work"
"${user[@]}" "$glint" --version >/dev/null 2>&1 || exit 77 # the program lies where only root may go

idx_set data
for i in 1 2 3 4 5 6 7 8; do printf 'once upon a time there was story %s\n<|endoftext|>\n' "$i"; done >story.txt
run train --data data --d-model 12 --batch 32 --epochs 1 --out image --quiet
expect_code 0
run tokenize story.txt --vocab 300 --valid-share 0.3 --out corpus --quiet
expect_code 0
run train tales --d-model 16 --layers 1 --heads 2 --batch 64 --epochs 1 --out text --quiet
expect_code 0
printf 'lr = 0.01\n' >recipe.toml
mkdir recipes.d free && cp recipe.toml recipes.d/quick.toml
chmod -R a+rX . && chmod 777 free

# denied FILE VERB...: without permission for FILE.
denied() {
  local file=$1 mode
  shift
  mode=$(stat -c %a "$file")
  chmod 000 "$file"
  code=0
  "${user[@]}" "$glint" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  chmod "$mode" "$file"
  command_line="glint $*, without permission for $file"
  expect_code 1
  expect_no_out
  expect_err "Permission denied"
  expect_err "$file"
}
denied image/config.json eval image
denied image/model.safetensors spectrum image
denied image/metrics.jsonl page image --out free/page.html
denied image eval image
denied data train --data ./data --out free/run
denied data data ./data
denied data/train-images-idx3-ubyte train --data data --out free/run
denied corpus train --data ./corpus --out free/run
denied corpus/train.bin train --data corpus --out free/run
denied corpus/tokenizer.model tokenize story.txt --tokenizer corpus/tokenizer.model --out free/corpus
denied story.txt tokenize story.txt --out free/corpus
denied story.txt eval text --text story.txt
denied recipe.toml train ./recipe.toml --out free/run
GLINT_RECIPES=recipes.d denied recipes.d train quick --out free/run
GLINT_RECIPES=recipes.d denied recipes.d/quick.toml train quick --out free/run
# What may not be written.
mkdir closed && chmod 555 closed
for verb in "train quick --epochs 1 --out closed/run" "train quick --epochs 1 --out closed" "page image --out closed/page.html" \
  "export image --npy closed/arrays" "tokenize story.txt --vocab 300 --out closed/corpus" "explain image --index 1 --out closed/figures" \
  "gates --plot closed/gates.svg" "eval image --logits closed/logits.npy"; do
  code=0
  # shellcheck disable=SC2086
  "${user[@]}" "$glint" $verb >"$work/out" 2>"$work/err" </dev/null || code=$?
  command_line="glint $verb, a folder that may not be written to"
  expect_code 1
  expect_err "Permission denied"
  expect_err "closed"
done

# Circles of links.
ln -s loop loop
circle() {
  local expected=$1
  shift
  run "$@"
  expect_code "$expected"
  expect_no_out
  expect_err "loop"
  if grep -q "unexpected failure" "$work/err"; then fail "$command_line: $(cat "$work/err")"; fi
  [ -L loop ] || fail "$command_line removed the link"
}
circle 3 eval loop
circle 3 generate loop
circle 3 compare image loop
circle 3 explain image --image loop --out free
circle 3 eval text --text loop
circle 3 tokenize loop --out free/corpus
circle 3 tokenize story.txt --tokenizer loop --out free/corpus
circle 3 train --data ./loop --out free/run
circle 3 eval text --data ./loop
circle 3 train quick --out loop
circle 1 tokenize story.txt --vocab 300 --out loop
circle 1 explain image --index 1 --out loop
circle 2 train loop --out free/run
circle 2 export image --npy loop
finish
