#!/usr/bin/env python3
"""Golden encodings: tokenizers of every style, trained small by the libraries that define them, and what those
libraries make of texts in every script.

  make_tokenizers.py FILE.json.gz [TEXTS]     TEXTS: how many texts (default 200; 10000 for the whole check)

Needs tokenizers, sentencepiece and gguf from PyPI. The file: {"texts": [...], "cases": [{"name", "format", "file"
(a character for each byte), "checks": [CRC-32 of the ids as u32 and of the decoded text, or null, one for each
text]}]}. With GLINT_GOLDEN_IDS=1 in the environment the ids stand there as well, to look at a difference.
"""
import gzip
import io
import json
import os
import random
import struct
import sys
import tempfile
import unicodedata
import zlib
from pathlib import Path

import gguf
import sentencepiece
import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPACE = "\u2581"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PREFIX = r"[^\r\n\p{L}\p{N}]?"
LLAMA3 = ENDINGS + "|" + PREFIX + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES
QWEN2 = ENDINGS + "|" + PREFIX + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES
MARKS = ENDINGS + "|" + PREFIX + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + SPACES
CASED = PREFIX + UPPER + "*" + LOWER + "+%s|" + PREFIX + UPPER + "+" + LOWER + "*%s"
GPT4O = CASED % (ENDINGS + "?", ENDINGS + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES
TEKKEN = CASED % ("", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES

# texts -------------------------------------------------------------------------------------------------------------

# One range for each script, and some symbols.
RANGES = [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x250, 0x2AF), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58A),
          (0x591, 0x5F4), (0x600, 0x6FF), (0x710, 0x74A), (0x780, 0x7B1), (0x7C0, 0x7F5), (0x800, 0x82D),
          (0x840, 0x85B), (0x8A0, 0x8C9), (0x900, 0x97F), (0x980, 0x9FB), (0xA01, 0xA76), (0xA81, 0xAF1),
          (0xB01, 0xB77), (0xB82, 0xBFA), (0xC00, 0xC39), (0xC80, 0xCF2), (0xD00, 0xD3A), (0xD82, 0xDF4),
          (0xE01, 0xE5B), (0xE81, 0xEB9), (0xF00, 0xFD4), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF),
          (0x1200, 0x137C), (0x13A0, 0x13FD), (0x1400, 0x167F), (0x1680, 0x169C), (0x16A0, 0x16F8), (0x1700, 0x1714),
          (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1900, 0x194F), (0x1950, 0x1974), (0x1980, 0x19DA), (0x1A00, 0x1A1F),
          (0x1B00, 0x1B7C), (0x1C00, 0x1C4F), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE), (0x2000, 0x206F), (0x2070, 0x209C),
          (0x20A0, 0x20BF), (0x2100, 0x218B), (0x2190, 0x23FF), (0x2460, 0x27BF), (0x2C00, 0x2C5F), (0x2D00, 0x2D2D),
          (0x3000, 0x303F), (0x3041, 0x30FF), (0x3105, 0x312F), (0x3131, 0x318E), (0x4E00, 0x9FFF), (0xA000, 0xA48C),
          (0xA4D0, 0xA4FF), (0xA500, 0xA62B), (0xA640, 0xA69F), (0xA6A0, 0xA6F7), (0xA840, 0xA877), (0xA880, 0xA8D9),
          (0xAC00, 0xD7A3), (0xFB00, 0xFB4F), (0xFB50, 0xFDFF), (0xFE30, 0xFE6B), (0xFF01, 0xFFEE), (0x10000, 0x1005D),
          (0x10280, 0x1031F), (0x10330, 0x1034A), (0x10380, 0x1039D), (0x10400, 0x1044F), (0x10900, 0x1091B),
          (0x10A00, 0x10A35), (0x11000, 0x11045), (0x11080, 0x110C1), (0x12000, 0x12399), (0x13000, 0x1342E),
          (0x16800, 0x16A38), (0x1B000, 0x1B122), (0x1D400, 0x1D7FF), (0x1E900, 0x1E943), (0x1F000, 0x1F02B),
          (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F64F), (0x1F680, 0x1F6D7), (0x1F900, 0x1F9FF), (0x20000, 0x2A6DF)]
EMOJI = ["\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466", "\U0001F44D\U0001F3FD", "\u2764\uFE0F", "1\uFE0F\u20E3",
         "\U0001F1E9\U0001F1EA", "\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
         "\U0001F9D1\u200D\U0001F680", "\U0001FAE0"]
BLANKS = [" ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00A0", "\u2003", "\u3000", "\u2028", "\x85", "     ",
          "\u200B", "\ufeff", " \t \n"]
WORDS = ("the Once upon a time there was little girl named Lily she loved to play outside in sun ball happy I'm you're "
         "we've it's don't he'll they'd IT'S DON'T 'tis o'clock x'Sy x'\u017f ''s 's' foo_bar camelCase HTTPServer ABCdef iPhone "
         "3.14159 2024 1,234,567 0x1F 12345678 1/2 \u00bd \u0661\u0662\u0663 \u2167 1st a1b2c3 https://example.org/a/b?c=d user@example.com "
         "if (x != 0) { return -1; } // comment /* */ #include <vector> ... ?! --- *** == => <- \\n \\t $5 50% \u20ac10 "
         "\u00fcber na\u00efve caf\u00e9 cafe\u0301 A\u030a \u212b \u1112\u1161\u11ab \ud55c\uae00 \u0e01\u0e33 \u092f\u0941\u0928\u093f "
         "<s> </s> <unk> <|endoftext|> <|im_end|> <0x0A> \u2581 \u2581\u2581x [MASK]").split(" ")


def assigned(c):
    return unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")


def script_word(rng):
    low, high = rng.choice(RANGES)
    return "".join(chr(c) for c in (rng.randint(low, high) for _ in range(rng.randint(1, 6))) if assigned(c))


def text(rng):
    out = []
    for _ in range(rng.randint(1, 14)):
        kind = rng.random()
        if kind < 0.45:
            out.append(rng.choice(WORDS))
        elif kind < 0.8:
            out.append(script_word(rng))
        elif kind < 0.88:
            out.append(rng.choice(EMOJI))
        elif kind < 0.93:
            out.append(str(rng.randint(0, 10 ** rng.randint(1, 9))))
        else:
            out.append("".join(chr(rng.randint(0, 0x17F)) for _ in range(rng.randint(1, 4))))
        if rng.random() < 0.8:
            out.append(rng.choice(BLANKS))
    return "".join(out)


def texts(count):
    rng = random.Random(20240614)
    fixed = ["", " ", "  ", "\n", "a", " a", "Once upon a time", "Hello<|im_end|> world <s>!", "\u2581", "x" * 300]
    all_scripts = ["".join(chr(c) for c in range(low, min(high, low + 12)) if assigned(c)) for low, high in RANGES]
    blocks = [" ".join(all_scripts[i:i + 9]) for i in range(0, len(all_scripts), 9)]
    made = fixed + blocks + EMOJI
    return made + [text(rng) for _ in range(count - len(made))]


# tokenizers --------------------------------------------------------------------------------------------------------

def training_texts():
    rng = random.Random(7)
    english = [w for w in WORDS if w.isascii()]
    return [" ".join(rng.choice(english if rng.random() < 0.8 else WORDS) for _ in range(30)) for _ in range(400)] + \
           [text(rng) for _ in range(100)]


def byte_level(pattern, digits=False, nfc=False, prefix_space=False, own_regex=False, bos=None):
    t = tokenizers.Tokenizer(models.BPE(ignore_merges=pattern in (LLAMA3, TEKKEN)))
    steps = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    if not own_regex:
        steps.append(pre_tokenizers.Split(Regex(pattern), "isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=own_regex))
    t.pre_tokenizer = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    if nfc:
        t.normalizer = normalizers.NFC()
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=["<|endoftext|>"], show_progress=False)
    t.train_from_iterator(training_texts(), trainer)
    t.add_special_tokens([tokenizers.AddedToken("<|im_end|>", normalized=False), tokenizers.AddedToken("<s>", rstrip=True)])
    t.add_tokens([tokenizers.AddedToken("[MASK]", lstrip=True), tokenizers.AddedToken("happy", single_word=True)])
    if bos:
        t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, t.token_to_id(bos))])])
    return t


def old_merges(json_text):
    """Merges as texts, "a b", which older versions wrote."""
    tree = json.loads(json_text)
    tree["model"]["merges"] = [" ".join(m) for m in tree["model"]["merges"]]
    return json.dumps(tree, ensure_ascii=False)


def sentencepiece_model(kind="bpe", **options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_texts()), model_writer=out, model_type=kind, vocab_size=900, byte_fallback=True,
        character_coverage=0.98, hard_vocab_limit=False, minloglevel=9, num_threads=1,
        **{"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "split_digits": True,
           "allow_whitespace_only_pieces": True, **options})
    return out.getvalue()


def sp_style(model, style):
    """tokenizer.json of a SentencePiece BPE model, as conversions of Llama and Gemma have it."""
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    vocab = {sp.id_to_piece(i): i for i in range(sp.get_piece_size())}
    merges = []
    for piece, i in vocab.items():
        if sp.is_control(i) or sp.is_unknown(i) or sp.is_byte(i):
            continue
        local = [(vocab[piece[:k]], vocab[piece[k:]], piece[:k], piece[k:]) for k in range(1, len(piece))
                 if piece[:k] in vocab and piece[k:] in vocab]
        merges += [(sp.get_score(i), m[2], m[3]) for m in sorted(local)]
    merges.sort(key=lambda m: -m[0])
    t = tokenizers.Tokenizer(models.BPE(vocab, [(a, b) for _, a, b in merges], unk_token="<unk>", fuse_unk=True,
                                        byte_fallback=True))
    tail = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if style == "llama":
        t.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
        t.decoder = decoders.Sequence(tail + [decoders.Strip(" ", 1, 0)])
    elif style == "gemma":
        t.normalizer = normalizers.Replace(" ", SPACE)
        t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        t.decoder = decoders.Sequence(tail)
    else:
        t.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "first" if style == "first" else "always", style == "split")
        t.decoder = decoders.Sequence(tail[:-1] + [decoders.Metaspace(SPACE)]) if style == "first" else \
            decoders.Metaspace(SPACE)
    special = [tokenizers.AddedToken(x, normalized=False) for x in ("<unk>", "<s>", "</s>")]
    t.add_special_tokens(special)
    t.add_tokens([tokenizers.AddedToken("<|im_end|>", normalized=True, rstrip=True)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t


def tokenizer_bin(model, old):
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    entries = []
    for i in range(sp.get_piece_size()):
        piece = {sp.bos_id(): "\n<s>\n", sp.eos_id(): "\n</s>\n"}.get(i, sp.id_to_piece(i)).replace(SPACE, " ").encode()
        if old and sp.is_byte(i):
            piece = chr(int(sp.id_to_piece(i)[3:5], 16)).encode()  # from 0x80 on two bytes
        entries.append((sp.get_score(i), piece))
    data = struct.pack("<i", max(len(p) for _, p in entries))
    return data + b"".join(struct.pack("<fi", s, len(p)) + p for s, p in entries)


def gguf_file(fill):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocab.gguf"
        writer = gguf.GGUFWriter(str(path), "llama")
        fill(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def gguf_llama(model):
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)

    def fill(w):
        ids = range(sp.get_piece_size())
        w.add_tokenizer_model("llama")
        w.add_token_list([sp.id_to_piece(i) for i in ids])
        w.add_token_scores([sp.get_score(i) for i in ids])
        w.add_token_types([2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else 1 for i in ids])
        w.add_bos_token_id(1)
        w.add_eos_token_id(2)
    return gguf_file(fill)


def gguf_gpt2(t, pre):
    tree = json.loads(t.to_str())

    def fill(w):
        added = {a["id"]: a for a in tree["added_tokens"]}
        size = t.get_vocab_size(with_added_tokens=True)
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(pre)
        w.add_token_list([t.id_to_token(i) for i in range(size)])
        w.add_token_types([(3 if added[i]["special"] else 4) if i in added else 1 for i in range(size)])
        w.add_token_merges([" ".join(m) for m in tree["model"]["merges"]])
        w.add_bos_token_id(0)
        w.add_eos_token_id(0)
    return gguf_file(fill)


# cases -------------------------------------------------------------------------------------------------------------

def of_library(t):
    return lambda s: t.encode(s, add_special_tokens=False).ids, lambda ids: t.decode(ids, skip_special_tokens=True)


def of_sentencepiece(model):
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    return sp.encode, sp.decode


def cases():
    """(name, format, bytes of the file, encode, decode)"""
    llama3 = byte_level(LLAMA3, bos="<|endoftext|>")
    yield ("llama3", "json", llama3.to_str().encode(), *of_library(llama3))
    yield ("llama3, merges as texts", "json", old_merges(llama3.to_str()).encode(), *of_library(llama3))
    for name, t in [("qwen2", byte_level(QWEN2, nfc=True)), ("gpt2", byte_level(GPT2, own_regex=True)),
                    ("gpt2, space first", byte_level(GPT2, own_regex=True, prefix_space=True)),
                    ("smollm", byte_level(GPT2, digits=True, own_regex=True)), ("marks", byte_level(MARKS)),
                    ("gpt4o", byte_level(GPT4O)), ("tekken", byte_level(TEKKEN))]:
        yield (name, "json", t.to_str().encode(), *of_library(t))
    bpe = sentencepiece_model()
    for style in ("llama", "gemma", "first", "split", "always"):
        t = sp_style(bpe, style)
        yield ("sentencepiece style, " + style, "json", t.to_str().encode(), *of_library(t))
    yield ("sentencepiece bpe", "model", bpe, *of_sentencepiece(bpe))
    plain = sentencepiece_model(add_dummy_prefix=False)
    yield ("sentencepiece bpe, no dummy prefix", "model", plain, *of_sentencepiece(plain))
    unigram = sentencepiece_model("unigram", remove_extra_whitespaces=True)
    yield ("sentencepiece unigram", "model", unigram, *of_sentencepiece(unigram))
    yield ("tokenizer.bin", "bin", tokenizer_bin(bpe, False), *of_sentencepiece(bpe))
    yield ("tokenizer.bin, old", "bin", tokenizer_bin(bpe, True), *of_sentencepiece(bpe))
    yield ("gguf llama", "gguf", gguf_llama(bpe), *of_sentencepiece(bpe))
    bare = byte_level(QWEN2, nfc=True)
    tree = json.loads(bare.to_str())
    for a in tree["added_tokens"]:  # GGUF knows no more of added tokens than their type
        a.update(single_word=False, lstrip=False, rstrip=False, normalized=False)
    bare = tokenizers.Tokenizer.from_str(json.dumps(tree))
    yield ("gguf qwen2", "gguf", gguf_gpt2(bare, "qwen2"), *of_library(bare))


def main():
    path, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    all_texts, made = texts(count), []
    for name, kind, data, encode, decode in cases():
        case = {"name": name, "format": kind, "file": data.decode("latin-1"), "checks": []}
        for s in all_texts:
            if kind == "bin" and SPACE in s:  # llama2.c takes it for a character, SentencePiece for a space
                case["checks"].append(None)
                continue
            ids = encode(s)
            case["checks"].append(zlib.crc32(struct.pack(f"<{len(ids)}I", *ids) + decode(ids).encode()))
            if os.environ.get("GLINT_GOLDEN_IDS"):
                case.setdefault("ids", []).append(ids)
        made.append(case)
        print(f"{name}: {len(data)} bytes", file=sys.stderr)
    text_out = json.dumps({"texts": all_texts, "cases": made}, ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(text_out, 9, mtime=0))


if __name__ == "__main__":
    main()
