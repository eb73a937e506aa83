# What readings of a model of another program leave in the current folder, where nobody says --out: nothing that they do not
# name, as text and as JSON, and nothing at all when they refuse.
glint=$1
source "$2/tests/cli/check.sh"
tiny=$2/tests/golden/families/tiny/tiny.bin
mkdir "$work/here"
cd "$work/here" || exit 1

# Files that were written and not named: a name stands for its .png and .csv, a folder for what is in it.
unnamed() {
  find . -type f | while read -r file; do
    stem=$(basename "${file%.*}")
    grep -qF -e "$stem." "$work/words" || grep -qE -e "$(dirname "${file#./}")( |\"|$)" "$work/words" || echo "$file"
  done
}

# reads VERB ARGUMENTS...
reads() {
  for as in "" --json; do
    run "$@" --tokens 100 $as
    expect_code 0
    [ -n "$(find . -type f)" ] || fail "$command_line: no files"
    tr -d '\n' <"$work/out" | sed 's/ \+/ /g' >"$work/words"
    cat "$work/out" >>"$work/words"
    [ -z "$(unnamed)" ] || fail "$command_line: $(unnamed) was not named: $(cat "$work/out")"
    rm -rf "$work/here"/*
  done
}
reads spectrum "$tiny" --token a
reads spectrum "$tiny" --token a --no-figures
reads spectrum "$tiny" --scan
reads spectrum "$tiny" --all-layers --token a
reads explain "$tiny" --prompt "a cat"
reads compare "$tiny" "$tiny" --token a
reads page "$tiny" --token a --layers 1

run neurons "$tiny"
expect_out "tiny-reading/neurons.csv"
rm -rf tiny-reading
refused "no layer 9" neurons "$tiny" --layer 9
refused "zzz" spectrum "$tiny" --token zzz
refused "no layer 9" explain "$tiny" --prompt "a cat" --layer 9
[ -z "$(ls)" ] || fail "refused verbs left $(ls)"

# With --out nothing is left here.
run spectrum "$tiny" --token a --tokens 100 --out "$work/there"
expect_out "$work/there/spectra-a-calibrated-layer-2.safetensors"
[ -z "$(ls)" ] || fail "with --out there is still $(ls)"
finish
