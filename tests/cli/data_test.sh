# glint data: the list, one set, missing and damaged sets, and the sheet.
glint=$1
source "$2/tests/cli/check.sh"

# Nothing but what the test puts there.
export XDG_DATA_HOME=$work/home
unset GLINT_DATA
run data
expect_code 0
for part in mnist fashion-mnist glyphs tinystories tales "built in" "scripts/fetch-data mnist" \
  "scripts/fetch-data tinystories" "$work/home/glint/mnist (no such folder)"; do expect_out "$part"; done
widest=$(sed '/^$/,$d' "$work/out" | awk '{ if (length($0) > n) n = length($0) } END { print n }')
[ "$widest" -le 80 ] || fail "the table has $widest columns"

run data --json
expect_code 0
expect_json "list(j) == ['schema', 'datasets'] and j['schema'] == 'glint-data/1'"
expect_json "[d['name'] for d in j['datasets']] == ['mnist', 'fashion-mnist', 'glyphs', 'tinystories', 'tales']"
expect_json "(j['datasets'][4]['train']['stories'], j['datasets'][4]['valid']['stories'], j['datasets'][4]['vocab']) == (2000, 200, 512)"
expect_json "j['datasets'][0]['state'] == 'not found' and j['datasets'][0]['command'] == 'scripts/fetch-data mnist'"
expect_json "len(j['datasets'][0]['looked']) >= 1 and j['datasets'][0]['train'] == 0"
expect_json "(j['datasets'][2]['train'], j['datasets'][2]['test'], j['datasets'][2]['height']) == (10000, 2000, 28)"
expect_json "j['datasets'][2]['bytes'] == 12000 * 785 + 48 and len(j['datasets'][2]['checksum']) == 64"
expect_json "j['datasets'][3]['kind'] == 'text' and j['datasets'][3]['state'] == 'not found'"

# The text set is there when both of its files are.
mkdir -p "$work/sets/tinystories"
printf 'one\n<|endoftext|>\n' >"$work/sets/tinystories/TinyStories-train.txt"
run data --json --data-dir "$work/sets"
expect_json "j['datasets'][3]['state'] == 'not found' and '(no TinyStories-valid.txt)' in j['datasets'][3]['looked'][0]"
run data tinystories --data-dir "$work/sets"
expect_code 3
expect_no_out
expect_err "scripts/fetch-data tinystories"
printf 'two\n' >"$work/sets/tinystories/TinyStories-valid.txt"
run data --json --data-dir "$work/sets"
expect_json "j['datasets'][3]['state'] == 'found' and j['datasets'][3]['bytes'] == 22"
run data tinystories --data-dir "$work/sets"
expect_code 0
expect_out "TinyStories-valid.txt"

# The built-in tales, and what glint tokenize made; damage is noticed.
run data tales
expect_code 0
expect_out "tales: 2000 train and 200 validation stories, vocabulary of 512 pieces"
expect_out "built in"
run tokenize --tales 100 --vocab 300 --out "$work/corpus" --json --quiet
expect_code 0
cp "$work/out" "$work/made.json"
run data "$work/corpus"
expect_code 0
expect_out "98 train and 2 validation stories, vocabulary of 300 pieces"
expect_out "verified"
run data "$work/corpus" --json
expect_json "list(j)[0] == 'schema' and j['schema'] == 'glint-data/1'"
expect_json "j['train']['tokens'] == json.load(open('$work/made.json'))['train']['tokens'] and j['kind'] == 'corpus'"
mv "$work/corpus/corpus.json" "$work/corpus.json"
run data "$work/corpus"
expect_out "corpus.json is missing"
run tokenize --tales 110 --vocab 300 --out "$work/another" --quiet
cp "$work/another/corpus.json" "$work/corpus/corpus.json"
run data "$work/corpus"
expect_out "that of another corpus"
# Without its checksum it is damaged.
sed '/"sha256": .*,$/{/^  "/d}' "$work/corpus.json" >"$work/corpus/corpus.json"
run data "$work/corpus"
expect_code 3
expect_err "not what its checksum says"
cp "$work/corpus.json" "$work/corpus/corpus.json"
python3 -c "
import sys
with open(sys.argv[1], 'r+b') as f:
    f.seek(64)
    byte = f.read(1)[0]
    f.seek(64)
    f.write(bytes([byte ^ 1]))
" "$work/corpus/train.bin"
run data "$work/corpus"
expect_code 3
expect_no_out
expect_err "train.bin"
run data "$work/sets/tinystories/TinyStories-train.txt"
expect_code 3
expect_err "glint tokenize"

# One set; the counts of the classes add up.
run data glyphs
expect_code 0
expect_out "10000 train and 2000 test images of 28 x 28"
if grep -q "first train image" "$work/out"; then fail "pictures without a terminal"; fi
run data glyphs --draw ascii
expect_out "first train image"
if LC_ALL=C grep -q '[^ -~]' "$work/out"; then fail "--draw ascii is not ASCII"; fi
run data glyphs --json --sheet "$work/glyphs.png" --per-class 3
expect_code 0
expect_json "sum(c['train'] for c in j['classes']) == 10000 and sum(c['test'] for c in j['classes']) == 2000"
expect_json "[c['name'] for c in j['classes']] == [str(i) for i in range(10)] and j['sheet'].endswith('glyphs.png')"
# Width and height stand in bytes 16 to 23: 10 rows and 3 columns of 56 + 6 pixels.
python3 -c "
import struct, sys
width, height = struct.unpack('>II', open(sys.argv[1], 'rb').read()[16:24])
assert height == 10 * 62 + 6 and 3 * 62 + 6 < width < 4 * 62, (width, height)
" "$work/glyphs.png" || fail "the sheet has another size"

# A folder of one's own, a known set with other content, and a broken one.
python3 - "$work" <<'PYTHON'
import os, struct, sys
def write(folder, labels, side=4):
    os.makedirs(folder, exist_ok=True)
    for part in ("train", "t10k"):
        with open(f"{folder}/{part}-images-idx3-ubyte", "wb") as f:
            f.write(struct.pack(">IIII", 0x803, len(labels), side, side) + bytes(len(labels) * side * side))
        with open(f"{folder}/{part}-labels-idx1-ubyte", "wb") as f:
            f.write(struct.pack(">II", 0x801, len(labels)) + bytes(labels))
write(sys.argv[1] + "/own", [0, 1, 2, 2])
write(sys.argv[1] + "/sets/mnist", [0, 1, 2, 2])
write(sys.argv[1] + "/broken", [0, 1])
os.truncate(sys.argv[1] + "/broken/train-images-idx3-ubyte", 20)
PYTHON
run data "$work/own" --json
expect_code 0
expect_json "[c['train'] for c in j['classes']] == [1, 1, 2] and 'no published' in j['state'] and j['height'] == 4"
run data --data-dir "$work/sets"
expect_code 0
expect_out "damaged"
expect_out "get it anew with scripts/fetch-data mnist"
run data mnist --data-dir "$work/sets"
expect_code 3
expect_no_out
expect_err "SHA-256"
run data "$work/broken"
expect_code 3
expect_err "train-images-idx3-ubyte"
if [ ! -d /usr/share/datasets/mnist ]; then
  run data mnist
  expect_code 3
  expect_no_out
  expect_err "is not on this machine"
  expect_err "scripts/fetch-data mnist"
fi
if [ -d /usr/share/datasets/fashion-mnist ]; then
  run data fashion-mnist
  expect_code 0
  expect_out "verified"
  expect_out "Ankle boot"
fi

refused "did you mean glyphs?" data glyfs
refused "did you mean tales?" data talez
refused "are no images" data tales --sheet x.png
refused "--sheet needs a data set" data --sheet x.png
refused "ends in .png" data glyphs --sheet x.jpg
refused "are no images" data tinystories --sheet x.png --data-dir "$work/sets"
run data glyphs --sheet "$work/new/x.png"
expect_code 0
[ -s "$work/new/x.png" ] || fail "the folder of the sheet was not made"
finish
