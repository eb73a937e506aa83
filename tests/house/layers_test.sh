#!/usr/bin/env bash
# Includes point only down through the layers, and never sideways between two parts of one layer. The table below
# is the rule: a folder may include itself and what its line names.
set -euo pipefail
source_dir=$2

allowed() {
  local low="base kernels nn io model tokens data"
  case "$1" in
    base) echo ;;
    kernels) echo base ;;
    nn) echo base kernels ;;
    io) echo base ;; # formats of files know nothing of arithmetic
    model) echo base kernels nn io ;;
    tokens) echo base io ;;
    data) echo base kernels io tokens ;;
    train) echo "$low" ;;
    mpi) echo train ;; # the plugin: of glint it knows its own interface alone
    spectra) echo "$low" ;;
    report) echo "$low" ;;
    lab/work) echo "$low" train spectra report ;;
    lab/models) echo "$low" train spectra report lab/work ;;
    lab/read) echo "$low" train spectra report lab/work lab/models ;;
    lab/study) echo "$low" train spectra report lab/work lab/models lab/read ;;
    lab/publish) echo "$low" train spectra report lab/work lab/models lab/read ;;
    paper) echo "$low" train spectra report lab/work lab/models lab/read lab/study lab/publish ;;
    cli) echo "$low" train spectra report lab/work lab/models lab/read lab/study lab/publish paper ;;
    glint.h) echo "$low" train spectra report lab/work lab/models lab/read lab/study lab/publish paper ;; # all of the library
    *) return 1 ;;
  esac
}

# "lab/read" of "glint/lab/read/read.h": lab has rooms, every other folder is one layer.
layer_of() {
  local path=${1#glint/}
  if [[ $path == lab/*/* ]]; then
    path=${path#lab/}
    echo "lab/${path%%/*}"
  else
    echo "${path%%/*}"
  fi
}

# Prints every violation in ROOT/glint; true when there is none.
check() {
  local root=$1 bad=0 file line layer target
  while IFS=: read -r file line target; do
    layer=$(layer_of "$file")
    [[ $target == .. ]] || target=$(layer_of "$target")
    if ! allowed "$layer" >/dev/null; then
      echo "$file:$line: glint/$layer is not a layer that tests/house/layers_test.sh knows"
      bad=1
    elif [[ "$target" != "$layer" && " $(allowed "$layer") " != *" $target "* ]]; then
      echo "$file:$line: $layer includes $target; it may include: $(allowed "$layer")"
      bad=1
    fi
  done < <(cd "$root" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<](\.\./|glint/)' glint \
    --include='*.h' --include='*.cc' |
    sed -E 's/^([^:]+):([0-9]+):.*["<](glint\/[^">]+|\.\.).*/\1:\2:\3/')
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
expect_caught lab/work/a.cc '#include "glint/lab/models/run.h"'    # up, between the rooms of lab
expect_caught lab/study/a.cc '#include "glint/lab/publish/page.h"' # sideways
expect_caught lab/a.cc '#include "glint/base/error.h"'        # beside the rooms
expect_caught new_folder/a.cc '#include "glint/base/error.h"' # a folder that has no place yet

if ! check "$source_dir"; then
  echo "includes must point down: base < kernels < nn, io < model, tokens < data < train, spectra, report < lab (work < models < read < study, publish) < paper < cli"
  exit 1
fi
count=$(cd "$source_dir" && grep -rhE '#include "glint/' glint --include='*.h' --include='*.cc' | wc -l)
[[ $count -gt 10 ]] || { echo "only $count includes looked at: the search is broken"; exit 1; }
echo "$count includes point down"
