# Every verb explains itself: a line in the overview, all its options, and at least two examples.
glint=$1
source "$2/tests/cli/check.sh"

run
expect_code 0
cp "$work/out" "$work/alone"
run --help
expect_code 0
cmp -s "$work/alone" "$work/out" || fail "glint and glint --help differ"
[ "$(verbs | wc -l)" -ge 2 ] || fail "the overview lists too few verbs"

run --version
expect_code 0
for part in "glint " "compiler:" "processor:" "kernels:" "bf16 unit:"; do expect_out "$part"; done
GLINT_ISA=baseline "$glint" --version | grep -q "kernels:   baseline" || fail "--version does not heed GLINT_ISA"

for page in words reading; do
  run help $page
  expect_code 0
  expect_out "entropy rank"
  if grep -q '[*`#]\|](' "$work/out"; then fail "Markdown in glint help $page"; fi
  widest=$(LC_ALL=C.UTF-8 awk '{ if (length($0) > n) n = length($0) } END { print n }' "$work/out")
  [ "$widest" -le 80 ] || fail "glint help $page has a line of $widest columns"
done
expect_out "how strongly the image shows the pattern"

for verb in $(verbs); do
  run "$verb" --help
  expect_code 0
  expect_out "Usage: glint $verb"
  [ ! -s "$work/err" ] || fail "$verb --help writes to stderr"
  examples=$(sed -n '/^Examples:/,$p' "$work/out" | grep -cE "(^|[^a-z])glint $verb( |\$)")
  [ "$examples" -ge 2 ] || fail "$verb --help has $examples examples, expected two"
  widest=$(sed '/^Examples:/,$d' "$work/out" | awk '{ if (length($0) > n) n = length($0) } END { print n }')
  [ "$widest" -le 80 ] || fail "$verb --help has a line of $widest columns"
  grep -q "default: null" "$work/out" && fail "$verb --help has an option with the default null"
  cp "$work/out" "$work/long"
  run "$verb" -h
  cmp -s "$work/long" "$work/out" || fail "$verb -h and --help differ"
  run help "$verb"
  cmp -s "$work/long" "$work/out" || fail "help $verb and $verb --help differ"
done
finish
