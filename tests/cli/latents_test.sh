# glint spectrum along latents of sparse autoencoders, pairs of input latents, eigenvectors of later layers; what is refused.
glint=$1
source "$2/tests/cli/check.sh"
golden=$2/tests/golden
tiny=$golden/families/tiny/tiny.bin
cd "$work" || exit 1
for i in $(seq 40); do printf 'the cat sat a dog<|endoftext|>so the dog sat<|endoftext|>'; done >text.txt

# An autoencoder of width 8, as SAELens writes it.
python3 - "$golden" "$work" <<'P' || exit 1
import json, pathlib, random, struct, sys
random.seed(4)
for name, hook in (("sae_out", "blocks.0.hook_mlp_out"), ("sae_in", "blocks.0.ln2.hook_normalized")):
    folder = pathlib.Path(sys.argv[2], name)
    folder.mkdir()
    shapes = {"W_enc": [8, 20], "W_dec": [20, 8], "b_enc": [20], "b_dec": [8]}
    header, data = {}, b""
    for key, shape in shapes.items():
        n = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = struct.pack(f"<{n}f", *(random.gauss(0, 1) for _ in range(n)))
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    (folder / "sae_weights.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "cfg.json").write_text(json.dumps({"architecture": "standard", "d_in": 8, "d_sae": 20, "metadata": {"hook_name": hook}}))
P

run spectrum "$tiny" --layer 1 --text text.txt --sae sae_out --latent 17,3 --inputs sae_in --pairs 5 --no-figures --json
expect_code 0
expect_json "[u['name'] for u in j['units']] == ['latent 17', 'latent 3'] and all(len(u['pairs']) == 5 for u in j['units'])"
expect_json "all(0 <= u['activation']['active'] <= 1 and abs(u['activation']['two_correlation']) <= 1 for u in j['units'])"
expect_json "'SAELens' in j['autoencoder']['text'] and j['input_autoencoder']['latents']"
COLUMNS=80 "$glint" spectrum "$tiny" --layer 1 --text text.txt --sae sae_out --latent 17 --inputs sae_in --no-figures --quiet >"$work/narrow" ||
  fail "glint spectrum --sae"
[ "$(LC_ALL=C.UTF-8 wc -L <"$work/narrow")" -le 80 ] || fail "wider than 80 columns: $(cat "$work/narrow")"
for word in "input latents" "its activation goes with" "latent 17"; do grep -q "$word" "$work/narrow" || fail "no '$word': $(cat "$work/narrow")"; done

run spectrum "$tiny" --layer 1 --text text.txt --scan --sae sae_out --json --threads 1
expect_code 0
cp "$work/out" "$work/one"
expect_json "len(j['latents']) == 20 and j['latents'] == sorted(j['latents'], key=lambda l: l['participation_rank'])"
expect_json "all('activation' in l for l in j['latents'])"
run spectrum "$tiny" --layer 1 --text text.txt --scan --sae sae_out --json --threads 2
cmp -s "$work/out" "$work/one" || fail "the scan depends on the number of threads"
[ -s tiny-reading/scan-latents-layer-1.csv ] || fail "no CSV: $(ls tiny-reading)"

for eigenvector in +1 -1 +2,-1; do
  run spectrum "$tiny" --layer 1 --token cat --from-layer 2 --eigenvector "$eigenvector" --no-figures --json
  expect_code 0
  expect_json "j['units'][0]['name'].startswith('·cat layer 2 v')"
done
refused "no layer after" spectrum "$tiny" --layer 2 --token cat --from-layer 2
refused "not a number" spectrum "$tiny" --layer 1 --sae sae_out --latent x
refused "which latents" spectrum "$tiny" --layer 1 --sae sae_out
refused "--scan" spectrum "$tiny" --scan --sae sae_out --latent 3
run spectrum "$tiny" --layer 1 --sae "$golden/autoencoders/standard" --latent 0
expect_code 3
expect_err "6 wide"
run spectrum "$tiny" --layer 1 --sae "$work" --latent 0
expect_code 3
expect_err "no sparse autoencoder"
finish
