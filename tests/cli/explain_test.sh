# glint explain: terms that add up, pictures of one's own, and clear errors.
glint=$1
source "$2/tests/cli/check.sh"
cd "$2" || exit 1 # the recipes are there

run train quick --epochs 2 --out "$work/run" --quiet
expect_code 0

run explain "$work/run" --index 3
expect_code 0
for words in "input: test image 3 of glyphs" "model: says" "scaled" "calibrated" "local" "Over all test images" "best linear map" "untrained model" "linear"; do expect_out "$words"; done
for ending in svg csv; do [ -s "$work/run/figures/explain-3.$ending" ] || fail "no explain-3.$ending"; done
for draw in ascii blocks color; do
  run explain "$work/run" --index 3 --draw $draw --no-figures
  expect_code 0
done

# The accounts add up; the local one is the logit; the terms are the strongest of each side.
for form in auto weights scaled calibrated local; do
  run explain "$work/run" --index 11 --form $form --show 3 --json --no-figures
  expect_code 0
  expect_json "abs(sum(j['probabilities']) - 1) < 1e-12 and j['predicted'] == j['logits'].index(max(j['logits']))"
  expect_json "all(abs(c[f]['positive'] + c[f]['negative'] + c[f]['linear'] + c[f]['constant'] + c[f]['residual_logit'] - c[f]['total']) < 1e-9 for c in j['classes'] for f in ('weights', 'scaled', 'calibrated', 'local'))"
  expect_json "all(abs(c[f]['total'] + c[f]['rest'] - c['logit']) < 1e-9 for c in j['classes'] for f in ('weights', 'scaled', 'calibrated', 'local'))"
  expect_json "all(c['scaled']['linear'] == 0 for c in j['classes'])"
  expect_json "all(abs(c['local']['rest']) < 1e-5 * (1 + abs(c['local']['positive']) + abs(c['local']['negative'])) for c in j['classes'])"
  expect_json "all(abs(t['eigenvalue'] * t['projection'] ** 2 - t['contribution']) < 1e-9 * (1 + abs(t['contribution'])) for c in j['classes'] for t in c['terms'])"
  expect_json "len(j['classes'][0]['terms']) == 6 and j['classes'][0]['index'] == j['predicted']"
done
expect_json "j['schema'] == 'glint-explain/1'"
run explain "$work/run" --index 11 --unit 4,7 --json --no-figures --split train
expect_code 0
expect_json "[c['index'] for c in j['classes']] == [4, 7]"

# A bilinear model: every form is the logit.
run train quick --epochs 1 --gate identity --out "$work/bilinear" --quiet
expect_code 0
run explain "$work/bilinear" --index 5 --json --no-figures
expect_code 0
expect_json "all(abs(c[f]['rest']) < 1e-5 * (1 + abs(c[f]['positive']) + abs(c[f]['negative'])) for c in j['classes'] for f in ('weights', 'scaled', 'calibrated', 'local'))"

# A deeper model says where its pictures come from.
run train quick --epochs 1 --layers 2 --out "$work/deep" --quiet
expect_code 0
run explain "$work/deep" --index 5
expect_code 0
expect_out "walked down"

# A picture of one's own: an image of the set written as PNG is decided as that image is, also large and inverted.
python3 - "$work" <<'PY'
import struct, sys, zlib
def png(name, rows):
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    body = b"".join(b"\0" + bytes(r) for r in rows)
    open(sys.argv[1] + "/" + name, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b""))
# A one: an upright stroke, dark on bright, far from the middle.
png("one.png", [[30 if 150 <= x < 170 and 20 <= y < 180 else 245 for x in range(300)] for y in range(260)])
png("empty.png", [[250] * 40] * 40)
PY
run explain "$work/run" --image "$work/one.png" --json
expect_code 0
expect_json "'inverted' in j['prepared'] and 'cut to 160 x 20' in j['prepared'] and j['label'] is None"
expect_json "j['predicted'] == 1"
[ -s "$work/run/figures/explain-one.svg" ] || fail "no figure of the picture"
run explain "$work/run" --image "$work/one.png" --as-is --json --no-figures
expect_code 0
expect_json "j['prepared'] == 'resized from 260 x 300'"
run explain "$work/run" --image "$work/empty.png"
expect_code 3
expect_err "nothing on the picture"
echo "no picture" >"$work/bad.png"
run explain "$work/run" --image "$work/bad.png"
expect_code 3

# Without --index the first one, as the help says.
run explain "$work/run" --index 0 --json --no-figures
expect_code 0
cp "$work/out" "$work/first.json"
run explain "$work/run" --json --no-figures
expect_code 0
cmp -s "$work/out" "$work/first.json" || fail "without --index it is not image 0 that is explained"
refused "both an index and an image" explain "$work/run" --index 1 --image "$work/one.png"
refused "no test image 2000" explain "$work/run" --index 2000
refused "no class 'eleven'" explain "$work/run" --index 1 --unit eleven
refused "no logit" explain "$work/run" --index 1 --unit 3-4

finish
