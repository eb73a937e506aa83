#!/usr/bin/env python3
"""A megabyte of English as tokens: glint, Hugging Face tokenizers and SentencePiece, on one thread, taking turns.

The tokenizers of stories15M, SmolLM2-135M-Instruct and Gemma 3 270M, as far as they lie there (scripts/fetch-data). The peers
are given the same lists of pieces: SentencePiece a model file, the tokenizers library a vocabulary with merges. All have the
text in memory, have encoded it before and give lists of numbers; a peer counts only where its numbers are glint's. The text:
the licences that Debian carries, the documentation of glint, and the topics of Python's own help.
"""
import os
import pathlib
import pydoc_data.topics
import statistics
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import gguf  # noqa: E402
import sentencepiece  # noqa: E402
import tokenizers  # noqa: E402
from sentencepiece import sentencepiece_model_pb2 as proto  # noqa: E402

import glint  # noqa: E402
import turns  # noqa: E402

BYTES = 1_000_000
LICENCES = pathlib.Path("/usr/share/common-licenses")
SPACE = "\u2581"
MODELS = {
    "stories15M": ("stories15m/stories15M.bin", "SentencePiece's BPE"),
    "SmolLM2-135M": ("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "byte-level BPE"),
    "Gemma 3 270M": ("gemma3-270m/gemma-3-270m-q4_k_m.gguf", "SentencePiece's BPE"),
}


def english():
    files = sorted(p for p in LICENCES.iterdir() if not p.is_symlink())
    topics = pydoc_data.topics.topics
    files += sorted(pathlib.Path(__file__).resolve().parents[2].glob("docs/**/*.md"))
    text = "\n".join([p.read_text() for p in files] + [topics[name] for name in sorted(topics)])
    return text.encode()[:BYTES].decode(errors="ignore")


def of_gguf(path):
    """Pieces, scores, types (as SentencePiece numbers them), merges, and whether a space stands before a text."""
    reader = gguf.GGUFReader(path)
    get = lambda name, other=None: f.contents() if (f := reader.get_field("tokenizer.ggml." + name)) else other
    pieces, types, merges = get("tokens"), get("token_type"), get("merges")
    if not merges:  # such files store the spaces of pieces that people chose as they are
        pieces = [p.replace(" ", SPACE) if type_ == 4 else p for p, type_ in zip(pieces, types)]
    return pieces, get("scores"), types, merges, get("add_space_prefix", True)


def of_llama2c(folder):
    import bench_foreign
    pieces, scores = bench_foreign.read_tokenizer(folder / "tokenizer.bin")
    pieces = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)] + [p.decode().replace(" ", SPACE) for p in pieces[259:]]
    return pieces, scores, [2, 3, 3] + [6] * 256 + [1] * (len(pieces) - 259), None, True


def sentencepiece_of(pieces, scores, types, first_space):
    types = [2 if piece == "<unk>" else type_ for piece, type_ in zip(pieces, types)]  # Gemma's file says control
    model = proto.ModelProto()
    for piece, score, type_ in zip(pieces, scores, types):
        model.pieces.add(piece=piece, score=score, type=type_)
    spec, normal = model.trainer_spec, model.normalizer_spec
    spec.model_type, spec.byte_fallback, spec.vocab_size = proto.TrainerSpec.BPE, True, len(pieces)
    spec.unk_id, spec.bos_id, spec.eos_id, spec.pad_id = types.index(2), -1, -1, -1
    normal.name, normal.add_dummy_prefix, normal.remove_extra_whitespaces = "identity", first_space, False
    encoder = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    return lambda text: encoder.encode(text)


def hugging_face_of_scores(pieces, scores, types, first_space):
    """Merges in the order in which SentencePiece would join: by the score of the whole."""
    ids = {p: i for i, p in enumerate(pieces)}
    found = []
    for i, piece in enumerate(pieces):
        if types[i] in (1, 4):
            found += [(-scores[i], i, piece[:k], piece[k:]) for k in range(1, len(piece)) if piece[:k] in ids and piece[k:] in ids]
    merges = [(a, b) for _, _, a, b in sorted(found)]
    t = tokenizers.Tokenizer(tokenizers.models.BPE(ids, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    steps = [tokenizers.normalizers.Prepend(SPACE)] if first_space else []
    t.normalizer = tokenizers.normalizers.Sequence(steps + [tokenizers.normalizers.Replace(" ", SPACE)])
    t.add_tokens([tokenizers.AddedToken(p, normalized=True) for p, type_ in zip(pieces, types) if type_ == 4])
    return lambda text: t.encode_batch_fast([text])[0].ids


def hugging_face_of_merges(pieces, types, merges):
    ids = {p: i for i, p in enumerate(pieces)}
    t = tokenizers.Tokenizer(tokenizers.models.BPE(ids, [tuple(m.split(" ")) for m in merges]))
    digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
    t.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([digits, tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.add_special_tokens([p for p, type_ in zip(pieces, types) if type_ == 3])
    return lambda text: t.encode_batch_fast([text])[0].ids


def peers_of(path):
    pieces, scores, types, merges, first_space = of_gguf(path) if path.suffix == ".gguf" else of_llama2c(path.parent)
    if merges:
        return {"tokenizers": hugging_face_of_merges(pieces, types, merges)}
    return {"SentencePiece": sentencepiece_of(pieces, scores, types, first_space),
            "tokenizers": hugging_face_of_scores(pieces, scores, types, first_space)}


def seconds(encode, text):
    start = time.perf_counter()
    encode(text)
    return time.perf_counter() - start


def main():
    parser = turns.parser(__doc__, 5)
    parser.add_argument("--models", default="data", help="folder with the models")
    args = parser.parse_args()
    result, text = turns.result(args), english()
    result["bytes"] = len(text.encode())
    result["versions"] = {"tokenizers": tokenizers.__version__, "SentencePiece": sentencepiece.__version__}
    for name, (file, kind) in MODELS.items():
        path = pathlib.Path(args.models) / file
        if not path.exists():
            result["skipped"].append(name + " is not there: scripts/fetch-data " + path.parts[-2])
            print(result["skipped"][-1], file=sys.stderr)
            continue
        run = glint.load(path)
        begin = len(run.tokens(""))
        encoders = {"glint": run.tokens, **peers_of(path)}
        ours, other = run.tokens(text)[begin:], []
        for peer in list(encoders)[1:]:
            if encoders[peer](text) != ours:
                other.append(peer)
                del encoders[peer]
        times = {peer: [] for peer in encoders}
        for _ in range(args.rounds):
            for peer, encode in encoders.items():
                times[peer].append(seconds(encode, text))
        median = {peer: 1e3 * statistics.median(t) for peer, t in times.items()}
        row = {"model": name, "kind": kind, "vocabulary": run.about["model"]["vocab"], "tokens": len(ours), "glint_ms": median.pop("glint"), "peers": median, "other": other}
        if median:
            row["best_peer"] = min(median, key=median.get)
            row["ratio"] = median[row["best_peer"]] / row["glint_ms"]
        result["rows"].append(row)
        print(row, flush=True)
    turns.save(args, result)


if __name__ == "__main__":
    main()
