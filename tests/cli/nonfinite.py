"""Puts NaN, infinity and the largest float into each tensor of a model in turn and runs the verbs on it. In the folder:
tiny (a model of Hugging Face), own (a model of glint), stories (its corpus), t.txt."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

BAD = {"NaN": b"\x00\x00\xc0\x7f", "infinity": b"\x00\x00\x80\x7f", "the largest float": b"\xff\xff\x7f\x7f"}
TEXT = ["--text", "t.txt", "--tokens", "100"]
VERBS = {
    "eval": ["eval", "MODEL", "--text", "t.txt"],
    "generate": ["generate", "MODEL", "--prompt", "Once", "--tokens", "4"],
    "spectrum": ["spectrum", "MODEL", "--token", "#270", "--no-figures", "--out", "o", *TEXT],
    "weights": ["spectrum", "MODEL", "--hidden", "1", "--layer", "1", "--form", "weights", "--no-figures", "--out", "o", *TEXT],
    "scan": ["spectrum", "MODEL", "--scan", "--layer", "1", "--out", "o", *TEXT],
    "layers": ["spectrum", "MODEL", "--all-layers", "--token", "#270", "--no-figures", "--out", "o", *TEXT],
    "explain": ["explain", "MODEL", "--prompt", "Once there", "--out", "o"],
    "compare": ["compare", "MODEL", "MODEL", "--token", "#270", "--no-figures", "--out", "o", *TEXT],
    "ablate": ["ablate", "MODEL", "--token", "#270", "--layer", "1", *TEXT],
    "readability": ["readability", "MODEL", "--token", "#270", *TEXT],
    "neurons": ["neurons", "MODEL", "--no-figures", "--out", "o"],
    "page": ["page", "MODEL", "--token", "#270", "--out", "o.html", *TEXT],
    "export": ["export", "MODEL", "--npy", "o"],
}
# What these do with glint's own models is written otherwise, or is an image model's.
OWN = {
    "eval": ["eval", "MODEL", "--data", "stories"],
    "generate": VERBS["generate"],
    "spectrum": ["spectrum", "MODEL", "--token", "#270", "--no-figures", "--out", "o", "--data", "stories"],
    "explain": VERBS["explain"] + ["--data", "stories"],
    "page": ["page", "MODEL", "--out", "o.html", "--data", "stories"],
    "export": ["export", "MODEL", "--npy", "o"],
}


def tensors(path):
    """Name and place in the file of every tensor."""
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return data, [(n, 8 + size + t["data_offsets"][0], t["shape"]) for n, t in header.items() if n != "__metadata__"]


def run(arguments):
    for made in ("o", "o.html"):
        shutil.rmtree(made, ignore_errors=True)
        if os.path.exists(made):
            os.remove(made)
    command = [os.environ["GLINT"]] + ["bad" if a == "MODEL" else a for a in arguments]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)


def main():
    failures = 0

    def failed(*words):
        nonlocal failures
        failures += 1
        print("FAILED:", *words, file=sys.stderr)

    for model, verbs in (("tiny", VERBS), ("own", OWN)):
        shutil.copytree(model, "bad", dirs_exist_ok=True)
        data, all_tensors = tensors(model + "/model.safetensors")
        sound = {}
        for verb, arguments in verbs.items():
            done = run(arguments)
            sound[verb] = done.stdout
            if done.returncode != 0:
                failed(verb, "of the sound", model, done.returncode, done.stderr)
        for name, at, shape in all_tensors:
            for bad in BAD:
                place = at + 4 * (shape[-1] // 2)
                with open("bad/model.safetensors", "wb") as file:
                    file.write(data[:place] + BAD[bad] + data[place + 4:])
                for verb, arguments in verbs.items():
                    done = run(arguments)
                    # What looks at the GLUs alone gives what it gives of the sound model.
                    others = ("attn", "embed", "lm_head")
                    if verb == "neurons" and any(o in name for o in others) and (done.returncode, done.stdout) == (0, sound[verb]):
                        continue
                    layer = re.search(r"layers?\.(\d+)|\.h\.(\d+)", name)
                    number = layer and int(layer.group(1) or layer.group(2)) + 1
                    said = name in done.stderr or (number and "layer %d" % number in done.stderr) or "overflow" in done.stderr
                    if done.returncode != 4 or not said or done.stdout:
                        failed(verb, "of", model, "with", bad, "in", name, "exit", done.returncode, done.stdout[:200], done.stderr[:300])
        shutil.rmtree("bad")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
