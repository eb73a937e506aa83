#!/usr/bin/env bash
# A model of 30 GB, as a sparse file: it opens from its header in under a second of CPU time and takes memory for what is read.
# And files of a kilobyte that claim much: each is refused, cheaply.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
cd "$work" || exit 1

cat >measure.py <<'PYTHON'
import json, os, resource, struct, subprocess, sys

def used(*command):
    """Exit code, seconds of CPU time, peak of memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024

def large(folder, layers, width, hidden, vocab):
    """A Llama in bf16 whose weights are holes."""
    shapes = {"model.embed_tokens.weight": [vocab, width], "model.norm.weight": [width], "lm_head.weight": [vocab, width]}
    for i in range(layers):
        at = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            shapes[at + norm + ".weight"] = [width]
        for name, shape in {"q": [width, width], "k": [width, width], "v": [width, width], "o": [width, width]}.items():
            shapes[at + f"self_attn.{name}_proj.weight"] = shape
        for name, shape in {"gate": [hidden, width], "up": [hidden, width], "down": [width, hidden]}.items():
            shapes[at + f"mlp.{name}_proj.weight"] = shape
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 2
        for n in shape:
            size *= n
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    os.makedirs(folder)
    with open(folder + "/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + offset)
    json.dump({"model_type": "llama", "num_hidden_layers": layers, "hidden_size": width, "intermediate_size": hidden,
               "num_attention_heads": width // 128, "vocab_size": vocab, "rms_norm_eps": 1e-5}, open(folder + "/config.json", "w"))
    return 8 + len(text) + offset

glint = sys.argv[1]
_, _, small = used(glint, "gates")
try:
    size = large("big", 40, 5120, 17920, 32000)
except OSError as error:
    print("no sparse files here:", error)
    sys.exit(77)
assert size > 30e9, size
code, seconds, peak = used(glint, "model", "big")
print(f"{size / 1e9:.1f} GB: {seconds:.2f} s, {peak:.0f} MB ({small:.0f} MB without a model)")
assert code == 0 and seconds < 1 and peak < small + 64, (code, seconds, peak, small)

# What each reader can be told in a kilobyte.
huge = 1 << 60
claims = {
    "a.safetensors": struct.pack("<Q", huge) + b"{",
    "b.safetensors": struct.pack("<Q", 900) + b'{"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}',
    "c.gguf": b"GGUF" + struct.pack("<IQQ", 3, huge, 0),
    "d.gguf": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 8, huge),
    "e.bin": struct.pack("<7i", 1 << 20, 1 << 20, 1024, 1 << 10, 1 << 10, 1 << 20, 1 << 20),
    "f.bin": struct.pack("<Ii7iB", 0x616B3432, 2, 1 << 20, 1 << 20, 1024, 8, 8, 1 << 20, 1 << 20, 1) + struct.pack("<i", 1 << 30),
}
for name, content in claims.items():
    open(name, "wb").write(content.ljust(1024, b"\0"))
    code, seconds, peak = used(glint, "model", name)
    assert code != 0 and peak < small + 64, (name, code, peak, small)
tokenizers = {
    "t.bin": struct.pack("<ifi", 1 << 30, 0.0, 1 << 30),
    "t.model": b"\x0a" + b"\xff" * 9 + b"\x7f",
    "t.json": b'{"model":{"type":"BPE","vocab":{"a":4294967295,"b":1152921504606846976},"merges":[]}}',
}
tiny = sys.argv[2] + "/tests/golden/families/tiny/tiny.bin"
for name, content in tokenizers.items():
    open(name, "wb").write(content if name.endswith("json") else content.ljust(1024, b"\0"))
    code, seconds, peak = used(glint, "model", tiny, "--tokenizer", name)
    assert code != 0 and peak < small + 64, (name, code, peak, small)
# It can fail: a file that is read whole is more than that.
assert used("/usr/bin/env", "python3", "-c", "b = bytearray(300 << 20)")[2] > small + 64
PYTHON
python3 measure.py "$glint" "$2"
code=$?
[ "$code" -eq 77 ] && exit 77
[ "$code" -eq 0 ] || fail "a large or a hostile file costs too much"
finish
