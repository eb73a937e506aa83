#!/usr/bin/env bash
# Includes point only down through the layers, and never sideways between two parts of one layer. The table below
# is the rule: a folder may include itself and what its line names.
set -euo pipefail
source_dir=$2

allowed() {
  case "$1" in
    base) echo ;;
    kernels) echo base ;;
    nn) echo base kernels ;;
    io) echo base ;; # formats of files know nothing of arithmetic
    model) echo base kernels nn io ;;
    data) echo base kernels io ;;
    train) echo base kernels nn io model data ;;
    mpi) echo train ;; # the plugin: of glint it knows its own interface alone
    spectra) echo base kernels nn io model data ;;
    report) echo base kernels nn io model data ;;
    lab) echo base kernels nn io model data train spectra report ;;
    paper) echo base kernels nn io model data train spectra report lab ;;
    cli) echo base kernels nn io model data train spectra report lab paper ;;
    glint.h) echo base kernels nn io model data train spectra report lab paper ;; # all of the library
    *) return 1 ;;
  esac
}

# Prints every violation in ROOT/glint; true when there is none.
check() {
  local root=$1 bad=0 file line layer target
  while IFS=: read -r file line target; do
    layer=${file#glint/}
    layer=${layer%%/*}
    if ! allowed "$layer" >/dev/null; then
      echo "$file:$line: glint/$layer is not a layer that tests/house/layers_test.sh knows"
      bad=1
    elif [[ "$target" != "$layer" && " $(allowed "$layer") " != *" $target "* ]]; then
      echo "$file:$line: $layer includes $target; it may include: $(allowed "$layer")"
      bad=1
    fi
  done < <(cd "$root" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<](\.\./|glint/)' glint \
    --include='*.h' --include='*.cc' |
    sed -E 's/^([^:]+):([0-9]+):.*["<](glint\/([^\/">]+)|(\.\.))\/.*/\1:\2:\4\5/')
  return $bad
}

# First that it can fail: one bad tree for each kind of mistake.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
expect_caught() {
  local file=$1 include=$2
  rm -rf "$scratch/glint"
  mkdir -p "$scratch/glint/$(dirname "$file")"
  printf '#pragma once\n%s\n' "$include" >"$scratch/glint/$file"
  if check "$scratch" >"$scratch/out"; then
    echo "not caught: $include in $file"
    exit 1
  fi
  grep -q "glint/$file:2:" "$scratch/out" || { echo "the report does not name the line:"; cat "$scratch/out"; exit 1; }
}
expect_caught base/a.h '#include "glint/kernels/gates.h"'    # up
expect_caught kernels/isa/a.cc '#include "glint/nn/glu.h"'   # up, from a folder below
expect_caught nn/a.h '#include "glint/io/json.h"'            # sideways
expect_caught report/a.cc '  #  include <glint/train/loop.h>' # sideways, oddly spaced
expect_caught model/a.cc '#include "../train/loop.h"'        # relative paths hide the layer
expect_caught new_folder/a.cc '#include "glint/base/error.h"' # a folder that has no place yet

if ! check "$source_dir"; then
  echo "includes must point down: base < kernels < nn, io < model, data < train, spectra, report < lab < paper < cli"
  exit 1
fi
count=$(cd "$source_dir" && grep -rhE '#include "glint/' glint --include='*.h' --include='*.cc' | wc -l)
[[ $count -gt 10 ]] || { echo "only $count includes looked at: the search is broken"; exit 1; }
echo "$count includes point down"
