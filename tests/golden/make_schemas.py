#!/usr/bin/env python3
"""One golden JSON for every schema that glint gives: tests/golden/schemas/NAME.json.

    make_schemas.py PROGRAM [NAME...]                       writes them, as PROGRAM gives them now
    make_schemas.py PROGRAM --check [NAME...] [-- ARG...]   compares; ARG are further arguments of the verbs that read weights
    make_schemas.py PROGRAM --runs                          makes the models in schemas/runs anew

tests/cli/schemas_test.sh holds the program against them, tests/python/test_schemas.py Python and
tests/lab/schemas_test.cc the library. What the program has no verb for, `passages` and `layer`, is written by
GLINT_WRITE_SCHEMAS=1 pytest tests/python/test_schemas.py. Models are committed and nothing is trained, so that numbers differ in rounding
alone, whatever instructions and linear algebra compute them.
"""
import hashlib
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN, RUNS = HERE / "schemas", HERE / "schemas" / "runs"

# The corpus is made on the spot: its tokenizer is larger than all models together.
CORPUS = "tokenize --tales 60 --valid-share 0.34 --vocab 260 --no-byte-fallback --out corpus"
RECIPE = """data = "digits"
d-model = 6
epochs = 8
batch = 10
lr = 0.02
noise-std = 0.1
"""
TALES = "--data corpus --layers 2 --d-model 8 --heads 2 --context 32 --batch 10 --epochs 6 --lr 0.02"
SWEEP = "sweep digits.toml --gate sqs,identity --seeds 0 --out sweep"
HAPPY = "--token happy --near 2 --show 1 --tokens 300"

# NAME: the command that gives it. Names without one are files that the command before has written.
COMMANDS = {
    "data": "data digits",
    "tokenize": CORPUS,
    "corpus": "data corpus",
    "train": "train digits.toml --gate sqs --out sqs",
    "runs": "runs sqs deep identity tales --sort run",
    "model": "model sqs",
    "model-foreign": "model tiny/tiny.bin",
    "evaluate-images": "eval sqs --worst 2",
    "evaluate-text": "eval tales",
    "evaluate-foreign": "eval tiny/tiny.bin --text story.txt",
    "generate": "generate tales --prompt once --tokens 8 --temperature 0",
    "generate-foreign": "generate tiny/tiny.bin --prompt the --tokens 8 --temperature 0",
    "read": "spectrum sqs --unit 1,0-2 --out read",
    "read-refined": "spectrum sqs --unit 1 --refine --no-figures --out read",
    "read-lower": "spectrum deep --layer 1 --unit 0 --via 2 --no-figures --out read",
    "read-language": "spectrum tales " + HAPPY + " --no-figures --out read",
    "read-passages": "spectrum tales " + HAPPY + " --passages 1 --no-figures --out read",
    "read-activation": "spectrum tales --layer 1 --sae latents.safetensors --latent 2 --sae-reads output --near 2 --show 1"
    " --tokens 300 --no-figures --out read",
    "read-latent": "spectrum tales --layer 1 --sae latents.safetensors --latent 2 --inputs latents.safetensors"
    " --pairs 2 --near 2 --show 1 --tokens 300 --no-figures --out read",
    "read-from-layer": "spectrum tales --layer 1 --from-layer 2 --eigenvector -1 " + HAPPY + " --no-figures --out read",
    "read-foreign": "spectrum tiny/tiny.bin --layer 1 --hidden 2 --near 2 --show 1 --tokens 200 --no-figures --out read",
    "read-expert": "spectrum mixtral --layer 2 --expert 3 --hidden 1 --near 2 --show 1 --no-figures --out read",
    "scan": "spectrum tiny/tiny.bin --layer 2 --scan --tokens 200 --out read",
    "scan-latents": "spectrum tales --layer 1 --sae latents.safetensors --scan --tokens 300 --out read",
    "read-layers": "spectrum tales --all-layers --token happy --tokens 300 --no-figures --out read",
    "read-layers-image": "spectrum deep --all-layers --unit 1 --no-figures --out read",
    "explain": "explain sqs --index 3 --no-figures",
    "explain-local": "explain deep --index 5 --form local --unit 0,1 --no-figures",
    "explain-token": "explain tales --prompt once --token happy --against friend --layer all --show 1 --near 2 --no-figures",
    "explain-foreign": "explain tiny/tiny.bin --prompt the --show 1 --near 2 --no-figures",
    "ablate": "ablate sqs --unit 1,2 --remove 1,2",
    "ablate-language": "ablate tales --token happy --layer 1",
    "ablate-foreign": "ablate tiny/tiny.bin --token the --layer 1",
    "attack": "attack sqs --images 20 --strengths 0,1 --show 2 --no-figures",
    "compare": "compare sqs identity --show 2 --no-figures",
    "compare-control": "compare sqs identity --control sqs,deep --form auto --unit 1 --show 2 --no-figures",
    "compare-language": "compare tales tiny/tiny.bin --token the,t --show 2 --no-figures",
    "readability": "readability sqs deep",
    "readability-language": "readability tales --token happy,friend",
    "neurons": "neurons tales --no-figures --out read",
    "page": "page sqs --images 20 --show 2 --out page.html",
    "page-language": "page tales --out page.html",
    "page-readings": "page tales --layers 1 --token happy --out page.html",
    "export": "export sqs --npy arrays --hf folder",
    "export-language": "export tales --npy arrays-tales --hf folder-tales",
    "import": "import sqs/model.safetensors --gate sqs --image 6x6 --classes a,b,c,d --out imported",
    "plan": SWEEP + " --list",
    "sweep": SWEEP,
    "sweep-reading": "sweep/readings/sqs-seed-0.json",
    "reproduce": "reproduce formulas --quick --out reproduction",
}
# What depends on the machine, or on the last digits of numbers.
VARIES = {"linalg", "threads", "bytes", "sha256", "version", "command"}
EXCEPT = {"tokenize", "corpus", "data", "model", "model-foreign"}  # these count bytes, and their checksums are those of the data
KEPT = 24  # entries of a list of objects
# Of f32 models of one or two layers. A difference of 1e-5 of the largest number of a list, or of 1e-6 for a number by
# itself, is rounding. Refining descends for many steps, which add it up.
RTOL, FLOOR = 1e-5, 1e-6
LOOSE = {"read-refined": 0.02}


def without_what_varies(value, name):
    """`value` with "~" for what no test can know, and the first of many objects."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        kept = value[:KEPT] if value and isinstance(value[0], dict) else value
        return [without_what_varies(v, name) for v in kept] + ([f"~ {len(value) - KEPT} more"] if len(kept) < len(value) else [])
    if not isinstance(value, dict):
        return value
    out = {}
    for key, v in value.items():
        times = key.endswith("seconds") or key.endswith("per_second")
        hidden = times or (key in VARIES and not (name in EXCEPT and key in ("bytes", "sha256")))
        out[key] = "~" if hidden else without_what_varies(v, name)
        if key == "local" and "largest_error" in v:  # this form is exact: its error is rounding
            out[key]["largest_error"] = "~"
    return out


def differences(golden, got, path, floor=FLOOR):
    """Where two results differ, each with the path of keys that leads there; the first is the name."""
    rtol = LOOSE.get(path.split(".")[0], RTOL)
    if golden == "~":
        return
    if type(golden) is not type(got):
        yield f"{path}: {json.dumps(got)[:80]}, golden {json.dumps(golden)[:80]}"
    elif isinstance(golden, dict):
        if list(golden) != list(got):
            yield f"{path}: keys {list(got)}, golden {list(golden)}"
            return
        for key in golden:
            yield from differences(golden[key], got[key], f"{path}.{key}")
    elif isinstance(golden, list):
        if len(golden) != len(got):
            yield f"{path}: {len(got)} entries, golden {len(golden)}"
            return
        largest = max((abs(v) for v in golden if isinstance(v, float)), default=0)
        for i, (a, b) in enumerate(zip(golden, got)):
            yield from differences(a, b, f"{path}[{i}]", rtol * largest)
    elif isinstance(golden, float):
        if not abs(golden - got) <= rtol * abs(golden) + floor:
            yield f"{path}: {got!r}, golden {golden!r}"
    elif golden != got:
        yield f"{path}: {got!r}, golden {golden!r}"


def text_of(value, indent=""):
    """JSON in lines: what fits into one is in one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + len(indent) <= 200 or not isinstance(value, (dict, list)):
        return line
    inner = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + text_of(v, inner) for v in value) + "\n" + indent + "]"
    return "{\n" + ",\n".join(f"{inner}{json.dumps(k)}: {text_of(v, inner)}" for k, v in value.items()) + "\n" + indent + "}"


def golden_of(name):
    return json.loads((GOLDEN / (name + ".json")).read_text(encoding="utf-8"))


def write_golden(name, value):
    (GOLDEN / (name + ".json")).write_text(text_of(value) + "\n", encoding="utf-8")


def make_folder(folder):
    """Puts the models of the commands into a folder, all but the corpus and its tokenizer."""
    for entry in RUNS.iterdir():
        (shutil.copytree if entry.is_dir() else shutil.copy)(entry, folder / entry.name)
    for family in ("tiny", "mixtral"):
        shutil.copytree(HERE / "families" / family, folder / family)
    for gate in ("sqs", "identity"):  # the runs of the sweep are done already
        shutil.copytree(folder / gate, folder / "sweep" / "runs" / gate / "seed-0")


READING = {"spectrum", "explain", "ablate", "attack", "compare", "readability", "page", "export", "sweep"}


def run(program, folder, words, more=()):
    command = [program, *words, "--json", *(() if words[0] == "data" else ("--quiet",)), *(more if words[0] in READING else ())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def make_corpus(program, folder):
    """Makes the corpus and gives its tokenizer to the language model; what the program says of it."""
    made = run(program, folder, CORPUS.split())
    shutil.copy(folder / "corpus" / "tokenizer.model", folder / "tales")
    return made


def results(program, names=(), more=()):
    """NAME and what the program gives, without what varies; of all names, or of these."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_folder(folder)
        for name, command in COMMANDS.items():
            words = command.split()
            if names and name not in names and name not in ("tokenize", "sweep"):  # others need these
                continue
            if name == "tokenize":
                value = make_corpus(program, folder)
            elif len(words) == 1:
                value = json.loads((folder / command).read_text())
            else:
                value = run(program, folder, words, more)
            yield name, without_what_varies(value, name)


def sealed(value, indent):
    text = json.dumps({**value, "sha256": "0" * 64}, indent=indent, sort_keys=True)
    return text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1) + "\n"


def digits(folder):
    """Four classes of 6 x 6 pictures: a bar, a bar across, a diagonal, a ring."""
    drawn = random.Random(5)
    shapes = (
        lambda y, x: x in (2, 3),
        lambda y, x: y in (2, 3),
        lambda y, x: x - y in (0, 1),
        lambda y, x: (y in (1, 4) and 1 <= x <= 4) or (x in (1, 4) and 1 <= y <= 4),
    )
    folder.mkdir()
    for name, count in (("train", 120), ("t10k", 60)):
        labels = [i % len(shapes) for i in range(count)]
        drawn.shuffle(labels)
        pixels = bytearray()
        for label in labels:
            dy, dx = drawn.randrange(-1, 2), drawn.randrange(-1, 2)
            for y in range(6):
                for x in range(6):
                    pixels.append((180 if shapes[label](y - dy, x - dx) else 10) + drawn.randrange(-10, 70))
        (folder / (name + "-images-idx3-ubyte")).write_bytes(struct.pack(">IIII", 0x803, count, 6, 6) + pixels)
        (folder / (name + "-labels-idx1-ubyte")).write_bytes(struct.pack(">II", 0x801, count) + bytes(labels))


def latents(path):
    """A transcoder of 5 latents and width 8, as circuit-tracer writes it."""
    drawn, header, data = random.Random(3), {}, b""
    for name, shape in (("W_enc", [5, 8]), ("W_dec", [5, 8]), ("b_enc", [5]), ("b_dec", [8])):
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * size]}
        data += struct.pack(f"<{size}f", *(drawn.gauss(0, 0.5) for _ in range(size)))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_runs(program):
    shutil.rmtree(RUNS, ignore_errors=True)
    RUNS.mkdir(parents=True)
    digits(RUNS / "digits")
    latents(RUNS / "latents.safetensors")
    (RUNS / "digits.toml").write_text(RECIPE)
    (RUNS / "story.txt").write_text("the cat sat\n<|endoftext|>\nthe dog sat\n<|endoftext|>\nthe cat\n")
    subprocess.run([program, *CORPUS.split(), "--quiet"], cwd=RUNS, check=True)
    for name, options in (
        ("sqs", "digits.toml --gate sqs"),
        ("identity", "digits.toml --gate identity"),
        ("deep", "digits.toml --gate silu --layers 2 --bias"),
        ("tales", TALES),
    ):
        subprocess.run([program, "train", *options.split(), "--out", name, "--quiet"], cwd=RUNS, check=True, stdout=subprocess.DEVNULL)
        folder = RUNS / name
        for left in ("checkpoints", ".lock", "tokenizer.model"):
            (shutil.rmtree if (folder / left).is_dir() else lambda p: p.unlink(missing_ok=True))(folder / left)
        about = json.loads((folder / "run.json").read_text())
        about |= {"seconds": 1.0, "written": "2026-01-01T00:00:00Z"}
        about["result"]["seconds"] = 1.0
        about["machine"] = {"bf16_unit": "none", "cpu": "a processor", "isa": "v3", "precision": "f32", "ranks": 1, "threads": 2, "version": "0.1.0"}
        (folder / "run.json").write_text(sealed(about, 2))
        lines = [json.loads(line) | {"seconds": 1.0} for line in (folder / "metrics.jsonl").read_text().splitlines()]
        (folder / "metrics.jsonl").write_text("".join(sealed(line, None) for line in lines))
    shutil.rmtree(RUNS / "corpus")


def main():
    program, *arguments = sys.argv[1:]
    program = str(pathlib.Path(program).resolve())
    if "--runs" in arguments:
        return make_runs(program)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    names, more = [a for a in arguments[:end] if a != "--check"], arguments[end + 1 :]
    wrong = []
    for name, value in results(program, names, more):
        if "--check" in arguments:
            wrong += differences(golden_of(name), value, name)
        elif not names or name in names:
            write_golden(name, value)
    if wrong:
        raise SystemExit("\n".join(wrong[:40]))


if __name__ == "__main__":
    main()
