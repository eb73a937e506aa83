#!/usr/bin/env bash
# --linalg: every verb that decomposes has it, and says in its results and files what was used.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
cd "$work" || exit 1

# The metadata of a safetensors file under a key.
metadata() {
  python3 - "$1" "$2" <<'PY'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
print(json.loads(raw[8:8 + n])["__metadata__"][sys.argv[2]])
PY
}
# named JSON: the one "linalg" of the results in $work/out.
named() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["linalg"])' "$work/out"; }

run train quick --epochs 1 --seeds 0,1 --out runs --quiet
expect_code 0
cp -r runs/seed-0 other

# Both libraries in the files of one run each, and the digits that agree in spite of them.
run spectrum runs/seed-0 --no-figures --linalg eigen --json
expect_code 0
eigen=$(named)
[[ $eigen == "Eigen "[0-9]* ]] || fail "--linalg eigen computed with '$eigen'"
run spectrum other --no-figures --linalg openblas --json
expect_code 0
openblas=$(named)
[[ $openblas == "OpenBLAS "[0-9]*"("*")" ]] || fail "--linalg openblas computed with '$openblas'"
for file in calibration.safetensors spectra.safetensors; do
  [ "$(metadata "runs/seed-0/$file" linalg)" = "$eigen" ] || fail "$file does not name $eigen"
  [ "$(metadata "other/$file" linalg)" = "$openblas" ] || fail "$file does not name $openblas"
done
# The same numbers: eigenvalues of the weights alone are known to a few hundred roundings of the largest.
run spectrum runs/seed-0 --no-figures --form weights --linalg eigen --json
expect_code 0
cp "$work/out" eigen.json
run spectrum other --no-figures --form weights --linalg openblas --json
expect_code 0
python3 - eigen.json "$work/out" <<'PY' || fail "Eigen and OpenBLAS disagree"
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
for u, v in zip(a["units"], b["units"]):
    scale = max(abs(x) for x in u["eigenvalues"])
    assert all(abs(x - y) <= 1e-12 * scale for x, y in zip(u["eigenvalues"], v["eigenvalues"])), (u, v)
PY
# The default is OpenBLAS where it is there.
run spectrum other --no-figures --json
expect_code 0
[ "$(named)" = "$openblas" ] || fail "the default is '$(named)'"
# A calibration of the other one is used, with a word.
run spectrum other --no-figures --linalg eigen
expect_code 0
expect_err "the stored calibration was computed with $openblas"
run spectrum other --no-figures
expect_code 0
[ ! -s "$work/err" ] || fail "$command_line: $(cat "$work/err")"

# Every verb that has the option heeds it.
heeds() {
  run "$@" --linalg eigen --json
  expect_code 0
  [ "$(named)" = "$eigen" ] || fail "$command_line: computed with '$(named)'"
}
heeds explain runs/seed-0 --index 0
heeds compare runs/seed-0 runs/seed-1 --no-figures
heeds attack runs/seed-0 --no-figures
heeds page runs/seed-0 --out page.html
grep -qF "\"linalg\":\"$eigen\"" page.html || fail "the page does not name its linear algebra"
heeds export runs/seed-0 --npy npy
grep -qF "\"linalg\": \"$eigen\"" npy/manifest.json || fail "the manifest does not name the linear algebra"
heeds reproduce fig1 --quick --data glyphs --out paper
grep -qF "$eigen" paper/fig1/report.md || fail "the report does not name the linear algebra"
refused "did you mean eigen" spectrum runs/seed-0 --linalg eigne
finish
