#!/usr/bin/env bash
# Little memory: every verb ends by itself, with a result or with an error and exit code 1. OpenBLAS, SentencePiece and
# the libraries that draw hang or abort when they get no memory, so at some of these sizes each of them is at its end.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
# In kB above what the program needs to start; GLINT_FULL_TESTS=1 takes more of them.
sizes="8000 32000 96000 256000 1024000"
[ "${GLINT_FULL_TESTS:-0}" = 1 ] && sizes="2000 8000 16000 24000 32000 48000 64000 96000 128000 192000 256000 384000 512000 768000 1024000"
if grep -q '^GLINT_SANITIZE:STRING=.' "$3/CMakeCache.txt"; then
  echo "skipped: sanitizers need the address space"
  exit 77
fi
cd "$work" || exit 1

# limited KILOBYTES ARGUMENTS...: as `run`, with a limit on the address space. The time only guards against hangs.
limited() {
  local kilobytes=$1
  shift
  code=0
  (
    ulimit -c 0
    ulimit -v "$kilobytes"
    exec timeout -k 10 1800 "$glint" "$@"
  ) >"$work/out" 2>"$work/err" </dev/null || code=$?
  command_line="glint $* (ulimit -v $kilobytes)"
}

# ends ARGUMENTS...: at every size; OUT in an argument is a new folder.
ends() {
  local more failed=0 worked=0
  for more in $sizes; do
    rm -rf out.d
    mkdir out.d
    limited $((base + more)) "${@//OUT/out.d}"
    case $code in
      0) worked=1 ;;
      1)
        failed=1
        expect_err "glint: error: "
        ;;
      *) fail "$command_line: exit code $code: $(cat "$work/err")" ;;
    esac
    [ "$(grep -c 'unexpected failure' "$work/err")" -eq 0 ] || fail "$command_line: $(cat "$work/err")"
  done
  [ $failed -eq 1 ] || fail "glint $*: worked with every limit: the sizes of this test are too large"
  [ $worked -eq 1 ] || fail "glint $*: failed with every limit: the sizes of this test are too small"
}

# What the program needs to start at all.
for ((base = 10000; base < 1000000; base += 1000)); do
  limited $base --version
  [ $code -ne 0 ] || break
done
[ $code -eq 0 ] || { fail "the program does not start: $(cat "$work/err")"; finish; }

run train quick --epochs 1 --out run --quiet
expect_code 0
ends train quick --epochs 1 --seeds 0..3 --threads 4 --out OUT/runs --quiet
ends tokenize --tales 2000 --vocab 512 --out OUT/corpus --quiet
ends tokenize --tales 2000 --kind unigram --vocab 512 --out OUT/corpus --quiet
cp -r run page
ends page page --threads 2 --out OUT/page.html
cp -r run read
ends spectrum read --threads 2 --out OUT/read
ends spectrum read --threads 2 --linalg eigen --no-figures --out OUT/read

# Without room for OpenBLAS it is Eigen, which is said and stored.
cp -r run small
cp -r run eigen
limited $((base + 130000)) spectrum small --threads 2 --no-figures --json
expect_code 0
expect_err "note: there is no room for OpenBLAS"
expect_out '"linalg": "Eigen '
run spectrum eigen --threads 2 --no-figures --linalg eigen
expect_code 0
for file in spectra.safetensors calibration.safetensors; do
  cmp -s "small/$file" "eigen/$file" || fail "$file with little memory is not that of --linalg eigen"
done
limited $((base + 130000)) spectrum small --threads 2 --no-figures --linalg openblas
expect_code 1
expect_err "there is no room for OpenBLAS"
finish
