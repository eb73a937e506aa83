# glint tokenize: from text to a corpus; damaged input; the same bytes at any number of threads; Ctrl-C.
glint=$1
source "$2/tests/cli/check.sh"

# A text from the tales: the program reads back what it wrote.
run tokenize --tales 400 --vocab 400 --no-byte-fallback --out "$work/tales" --json
expect_code 0
expect_json "j['train']['stories'] == 392 and j['valid']['stories'] == 8 and j['tokenizer']['vocab'] == 400"
expect_json "j['train']['unknown_share'] == 0 and j['stories_per_second'] > 0"
for file in tokenizer.model train.bin valid.bin corpus.json; do
  [ -s "$work/tales/$file" ] || fail "no $file"
done
[ "$(ls "$work/tales" | wc -l)" = 4 ] || fail "something is left behind: $(ls "$work/tales")"
python3 - "$work/tales" <<'PY' || fail "corpus.json does not describe the files"
import hashlib, json, struct, sys
info = json.load(open(sys.argv[1] + "/corpus.json"))
model = open(sys.argv[1] + "/" + info["tokenizer"]["file"], "rb").read()
assert hashlib.sha256(model).hexdigest() == info["tokenizer"]["sha256"]
for part in ("train", "valid"):
    data = open(sys.argv[1] + "/" + info[part]["file"], "rb").read()
    assert data[:8] == b"glinttok" and data[-8:] == b"glintend" and data[16:48].hex() == info["tokenizer"]["sha256"]
    assert struct.unpack("<QQ", data[-64:-48]) == (info[part]["stories"], info[part]["tokens"])
    assert hashlib.sha256(data[:-40]).hexdigest() == data[-40:-8].hex() == info[part]["checksum"]
PY

# Whatever bit of corpus.json turns over, `glint data` says so.
run data "$work/tales"
expect_code 0
expect_out "verified"
cp -r "$work/tales" "$work/flipped"
python3 - "$glint" "$work/flipped" <<'PY' || fail "a damaged corpus.json was taken"
import subprocess, sys
path = sys.argv[2] + "/corpus.json"
whole = open(path, "rb").read()
mark = whole.index(b'"sha256"')  # the name of the checksum, too
for bit in [8 * (mark + 2), 8 * whole.index(b'"version"') + 13, *range(3, 8 * len(whole), len(whole) // 3)]:
    damaged = bytearray(whole)
    damaged[bit // 8] ^= 1 << bit % 8
    open(path, "wb").write(damaged)
    said = subprocess.run([sys.argv[1], "data", sys.argv[2]], capture_output=True, text=True)
    assert said.returncode == 3 and not said.stdout and "corpus.json" in said.stderr, (bit, said)
PY

python3 - "$work" <<'PY'
import gzip, lzma, random, sys
random.seed(1)
words = "the fox saw a little red bird near Old tree and said hello to her mother so they ran home before rain fell".split()
stories = [" ".join(random.choice(words) for _ in range(random.randint(10, 60))).capitalize() + "." for _ in range(300)]
text = "".join(s + "\n<|endoftext|>\n" for s in stories).encode()
open(sys.argv[1] + "/a.txt", "wb").write(text)
open(sys.argv[1] + "/crlf.txt", "wb").write(text.replace(b"\n", b"\r\n"))
gzip.open(sys.argv[1] + "/a.txt.gz", "wb").write(text)
lzma.open(sys.argv[1] + "/a.txt.xz", "wb").write(text)
open(sys.argv[1] + "/odd.txt", "wb").write(text + b"\n<|endoftext|>\nbad \xff byte\n")
open(sys.argv[1] + "/empty.txt", "wb").write(b"\n\n<|endoftext|>\n")
open(sys.argv[1] + "/cut.gz", "wb").write(gzip.compress(text)[:-20])
PY
vocab="--vocab 320"
# What a killed process left in the folder goes away.
mkdir "$work/one"
for name in train.bin train.bin.starts text corpus.json; do echo half >"$work/one/$name.0123456789abcdef.tmp"; done
run tokenize "$work/a.txt" $vocab --out "$work/one" --threads 1
expect_code 0
for part in "stories" "bytes per token" "stories cut at 256" "stories/s" "MB/s" "SHA-256"; do expect_out "$part"; done
[ "$(ls -A "$work/one" | wc -l)" = 4 ] || fail "something is left behind: $(ls -A "$work/one")"
for variant in "a.txt --threads 3" a.txt.gz a.txt.xz crlf.txt; do
  # shellcheck disable=SC2086
  run tokenize "$work/"$variant $vocab --out "$work/other" --force --quiet
  expect_code 0
  for file in tokenizer.model train.bin valid.bin; do
    cmp -s "$work/one/$file" "$work/other/$file" || fail "$variant gives another $file"
  done
done
"$glint" tokenize - $vocab --out "$work/stdin" --quiet <"$work/a.txt" >/dev/null || fail "stdin ended with $?"
cmp -s "$work/one/train.bin" "$work/stdin/train.bin" || fail "stdin gives another corpus"
[ "$(ls "$work/stdin" | wc -l)" = 4 ] || fail "the copy of stdin is left behind: $(ls "$work/stdin")"
run tokenize "$work/a.txt" $vocab --kind unigram --out "$work/unigram" --valid "$work/a.txt.gz" --valid "$work/a.txt.xz" --json --quiet
expect_code 0
expect_json "j['valid']['stories'] == 600 and j['train']['stories'] == 300 and j['tokenizer']['kind'] == 'unigram'"

# Another text with a tokenizer that is there.
run tokenize "$work/odd.txt" --tokenizer "$work/one/tokenizer.model" --out "$work/odd" --json
expect_code 0
expect_json "j['train']['invalid_utf8_replaced'] == 1 and j['train']['empty_skipped'] == 1 and not j['tokenizer']['trained']"
cmp -s "$work/one/tokenizer.model" "$work/odd/tokenizer.model" || fail "the tokenizer is another one"

# Bytes that are not UTF-8 count as a space: the same ids as with one, and the table says so.
printf 'the \xff fox\n<|endoftext|>\nthe fox\n<|endoftext|>\n' >"$work/bytes.txt"
printf 'the   fox\n<|endoftext|>\nthe fox\n<|endoftext|>\n' >"$work/spaces.txt"
for text in bytes spaces; do
  run tokenize "$work/$text.txt" --valid "$work/a.txt" --tokenizer "$work/one/tokenizer.model" --out "$work/as-$text"
  expect_code 0
done
cmp -s "$work/as-bytes/train.bin" "$work/as-spaces/train.bin" || fail "invalid UTF-8 is not a space"
run tokenize "$work/bytes.txt" --valid "$work/a.txt" --tokenizer "$work/one/tokenizer.model" --out "$work/as-bytes" --force
expect_out "invalid UTF-8, now spaces"

# The examples of the help that need no files, as they stand there, in an empty folder.
mkdir "$work/empty"
examples=$("$glint" tokenize --help | sed -n 's/^ *glint \(tokenize --tales [^#]*[a-z0-9]\).*$/\1/p')
[ -n "$examples" ] || fail "no example with --tales in the help"
while read -r example; do
  # shellcheck disable=SC2086
  (cd "$work/empty" && "$glint" $example --quiet >/dev/null 2>"$work/err") || fail "glint $example: $(cat "$work/err")"
done <<<"$examples"

# What is refused, and leaves nothing behind.
(cd "$work/empty" && "$glint" tokenize --tales 60 --vocab 300 --out tales >/dev/null 2>"$work/err") && fail "--out tales is taken"
grep -qF "built-in tales" "$work/err" || fail "--out tales: $(cat "$work/err")"
[ ! -e "$work/empty/tales" ] || fail "the folder tales was made"
mkdir "$work/run"
echo '{}' >"$work/run/run.json"
cp "$work/one/tokenizer.model" "$work/run"
refused "holds a model" tokenize "$work/a.txt" $vocab --out "$work/run"
refused "holds a model" tokenize "$work/a.txt" $vocab --out "$work/run" --force
for option in "--vocab 77" "--kind unigram" "--sample 3" --byte-fallback --no-byte-fallback; do
  # shellcheck disable=SC2086
  refused "${option%% *} has no effect" tokenize "$work/a.txt" --tokenizer "$work/one/tokenizer.model" $option --out "$work/x"
done
refused "--valid-share has no effect" tokenize "$work/a.txt" --valid "$work/a.txt" --valid-share 0.1 --out "$work/x"
refused "there is a corpus already" tokenize "$work/a.txt" $vocab --out "$work/one"
refused "there is no text" tokenize --out "$work/x"
refused "--out is missing" tokenize "$work/a.txt"
refused "both text files and --tales" tokenize "$work/a.txt" --tales 5 --out "$work/x"
refused "too few different words" tokenize "$work/a.txt" --vocab 60000 --out "$work/x"
refused "too few for the characters" tokenize "$work/a.txt" --vocab 100 --out "$work/x"
bad_file() {
  local expected=$1
  shift
  run "$@"
  expect_code 3
  expect_no_out
  expect_err "$expected"
}
bad_file "there are no stories" tokenize "$work/empty.txt" --out "$work/x"
bad_file "ends too early" tokenize "$work/cut.gz" --out "$work/x"
bad_file "No such file" tokenize "$work/none.txt" --out "$work/x"
bad_file "$work/none.txt" tokenize "$work/a.txt" --valid "$work/none.txt" --out "$work/x"
if grep -q "training" "$work/err"; then fail "a tokenizer was trained before a missing file was noticed"; fi
bad_file "$work/empty.txt" tokenize "$work/a.txt" --valid "$work/empty.txt" $vocab --out "$work/x"
if grep -q "valid-share" "$work/err"; then fail "--valid-share does not help an empty --valid"; fi
bad_file "$work/empty.txt" tokenize "$work/empty.txt" --tokenizer "$work/one/tokenizer.model" --out "$work/x"
if grep -q "valid-share" "$work/err"; then fail "--valid-share does not help an empty text"; fi
bad_file "not a SentencePiece model" tokenize "$work/a.txt" --tokenizer "$work/a.txt" --out "$work/x"
head -c 5000 "$work/one/tokenizer.model" >"$work/cut.model"
bad_file "SentencePiece" tokenize "$work/a.txt" --tokenizer "$work/cut.model" --out "$work/x"
[ ! -e "$work/x" ] || fail "left behind: $(ls -A "$work/x")"

# Ctrl-C: no corpus and no rests. The pipe never ends, so the program is in the middle of it.
mkfifo "$work/pipe"
"$glint" tokenize "$work/pipe" --tokenizer "$work/one/tokenizer.model" --out "$work/stopped" --quiet >/dev/null 2>"$work/err" &
pid=$!
(while cat "$work/a.txt"; do :; done 2>/dev/null >"$work/pipe") &
writer=$!
while kill -0 "$pid" 2>/dev/null; do
  sleep 0.05
  [ -n "$(ls "$work/stopped" 2>/dev/null)" ] && break
done
kill -INT "$pid"
code=0
wait "$pid" || code=$?
kill "$writer" 2>/dev/null
wait "$writer" 2>/dev/null
command_line="glint tokenize PIPE, interrupted"
expect_code 130
[ ! -e "$work/stopped" ] || fail "left behind: $(ls -A "$work/stopped")"

# The same for a pipe that nobody writes to, and for a stdin that stays silent: one signal is enough.
stops() {
  local pid=$1
  for _ in $(seq 200); do
    sleep 0.05
    [ -e "$work/stopped" ] && break
  done
  kill -INT "$pid"
  code=0
  wait "$pid" || code=$?
  command_line="glint tokenize, interrupted while it waits for $2"
  expect_code 130
  [ ! -e "$work/stopped" ] || fail "left behind: $(ls -A "$work/stopped")"
}
waiting=(tokenize --tokenizer "$work/one/tokenizer.model" --out "$work/stopped" --quiet)
timeout -k 1 60 "$glint" "${waiting[@]}" "$work/pipe" >/dev/null 2>"$work/err" &
stops $! "a pipe"
sleep 300 >"$work/pipe" &
silent=$!
timeout -k 1 60 "$glint" "${waiting[@]}" - >/dev/null 2>"$work/err" <"$work/pipe" &
stops $! "stdin"
kill "$silent" 2>/dev/null
wait "$silent" 2>/dev/null

# A device is no text, and a stream without marks ends before it has filled the disk.
bad_file "a device" tokenize /dev/zero --out "$work/x"
bad_file "a device" tokenize /dev/null --out "$work/x"
"$glint" tokenize - --out "$work/x" </dev/zero >/dev/null 2>"$work/err" && fail "/dev/zero as stdin was taken"
grep -q "a device" "$work/err" || fail "/dev/zero as stdin: $(cat "$work/err")"
(ulimit -f 65536 && cat /dev/zero | "$glint" tokenize - --out "$work/x" >/dev/null 2>"$work/err") && fail "zeros were taken"
grep -q "a story of more than" "$work/err" || fail "zeros without end: $(cat "$work/err")"
[ ! -e "$work/x" ] || fail "left behind: $(ls -A "$work/x")"

# Process substitution gives a pipe by a path, and the same corpus as the file.
run tokenize <(cat "$work/a.txt") $vocab --out "$work/substituted" --quiet
expect_code 0
cmp -s "$work/one/train.bin" "$work/substituted/train.bin" || fail "a pipe gives another corpus"
finish
