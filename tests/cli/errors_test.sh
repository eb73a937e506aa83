# A mistake on the command line names the nearest valid word, exits with 2 and leaves stdout empty.
glint=$1
source "$2/tests/cli/check.sh"

refused "did you mean gates?" gatse
refused "did you mean completion?" completio
refused "one of" zzzzzzzzzzzz
refused "did you mean --version?" --versoin
refused "did you mean --gate?" gates --gaet sqs
refused "did you mean --json?" gates --jsn
refused "did you mean --lambda?" gates --lamda=1
refused "did you mean sqs?" gates --gate sqd
refused "did you mean quadratic-shrink?" gates --gate quadratic-shrnk
refused "did you mean fish?" completion fihs
refused "unexpected argument 'more'" gates more
refused "needs a value" gates --gate
refused "needs a value" gates --gate --json
refused "needs a value" gates --gate=
refused "given twice" gates --gate sqs --gate relu
refused "takes no value" gates --json=yes
refused "one of bash, zsh, fish" completion

# The words are the same with --json: machines read stdout, people stderr.
refused "did you mean sqs?" gates --gate sqd --json

# No colours away from a terminal.
run gatse
if grep -q $'\x1b' "$work/err"; then fail "escape codes in a file"; fi
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then  # not every container has pseudo-terminals
  TERM=xterm script -qec "'$glint' gatse" /dev/null </dev/null >"$work/tty" 2>&1
  grep -q $'\x1b' "$work/tty" || fail "no colour on a terminal"
  TERM=xterm NO_COLOR=1 script -qec "'$glint' gatse" /dev/null </dev/null >"$work/tty" 2>&1
  if grep -q $'\x1b' "$work/tty"; then fail "NO_COLOR is ignored"; fi
fi

# Results that cannot be written are a failure, not a success.
if [ -w /dev/full ]; then
  code=0
  "$glint" gates >/dev/full 2>"$work/err" || code=$?
  command_line="glint gates >/dev/full"
  expect_code 1
  expect_err "cannot write the results"
fi

# The library names parameters, the program the options.
run gates --gate sqs --at 0 --p 0
expect_code 2
expect_err "--p = 0 is out of range"
expect_err "where:    --p"
run eval "$work/no/corpus"
if grep -q '`' "$work/err"; then fail "code marks in an error: $(cat "$work/err")"; fi

# Plain ASCII where the locale asks for it.
LC_ALL=C run eval "$work/a±b"
expect_err "a+-b"
LC_ALL=C.UTF-8 run eval "$work/a±b"
expect_err "a±b"
LC_ALL=C run help words
expect_code 0
if LC_ALL=C grep -n '[^ -~]' "$work/out" >&2; then fail "more than ASCII under LC_ALL=C"; fi
LC_ALL=C.UTF-8 run help words
expect_out "R²"

# A wrong level of instructions in the environment is named.
GLINT_ISA=v33 run --version
expect_code 2
expect_no_out
expect_err "did you mean v3?"
finish
