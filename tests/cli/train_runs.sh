# Shared by the tests of `glint train`: a small data set as IDX files, and what two runs have in common.
# `source` it after check.sh.

be32() { printf "\\x$(printf %02x $(($1 >> 24 & 255)))\\x$(printf %02x $(($1 >> 16 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 & 255)))"; }

# idx_set FOLDER: 640 training and 64 test images of 8 x 8. The pixels are bytes of the program, the labels count up:
# nothing to be learnt, but the same for every run of a test.
idx_set() {
  mkdir -p "$1"
  local prefix count
  for prefix in train:640 t10k:64; do
    count=${prefix#*:}
    prefix=${prefix%:*}
    { printf '\0\0\x08\x03'; be32 "$count"; be32 8; be32 8; tail -c +100001 "$glint" | head -c $((count * 64)); } \
      >"$1/$prefix-images-idx3-ubyte"
    { printf '\0\0\x08\x01'; be32 "$count"; for ((i = 0; i < count; i += 10)); do printf '\0\1\2\3\4\5\6\7\x08\x09'; done | head -c "$count"; } \
      >"$1/$prefix-labels-idx1-ubyte"
  done
}

# same_run A B: the weights, the description and the metrics but for times and checksums are the same bytes.
same_run() {
  local name
  for name in model.safetensors config.json; do
    cmp -s "$1/$name" "$2/$name" || fail "$name differs between $1 and $2"
  done
  for name in "$1" "$2"; do sed 's/"seconds":[^,}]*//; s/"sha256":"[0-9a-f]*"//' "$name/metrics.jsonl" >"$work/$(basename "$name").metrics"; done
  cmp -s "$work/$(basename "$1").metrics" "$work/$(basename "$2").metrics" || fail "metrics differ between $1 and $2"
}

# Step of the newest checkpoint; 0 without any.
newest_step() {
  local name
  name=$(find "$1/checkpoints" -name 'step-*.safetensors' 2>/dev/null | sort | tail -1)
  name=${name##*/step-}
  name=${name%.safetensors}
  echo $((10#${name:-0}))
}

# wait_for SECONDS COMMAND...: until it succeeds, which takes about SECONDS on an idle machine at most. The limit is
# far longer: a busy machine is no failure.
wait_for() {
  local end=$((SECONDS + 60 * $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { fail "waited in vain for: $*"; return 1; }
    sleep 0.02
  done
}
