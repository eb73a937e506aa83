#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: make_corpus.py FOLDER. Small files, valid and nearly valid."""
import gzip
import hashlib
import json
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import make_io  # noqa: E402


def header(text, data=b""):
    return struct.pack("<Q", len(text)) + text + data


def idx(dimensions, data, kind=8):
    return bytes([0, 0, kind, len(dimensions)]) + struct.pack(f">{len(dimensions)}I", *dimensions) + data


def corpus(stories, vocab):
    ids = b"".join(struct.pack("<%dH" % len(s), *s) for s in stories)
    starts = [0]
    for s in stories:
        starts.append(starts[-1] + len(s))
    data = b"glinttok" + struct.pack("<II", 1, vocab) + bytes(range(32)) + bytes(16) + ids + bytes(-len(ids) % 8)
    data += struct.pack("<%dQ" % len(starts), *starts) + struct.pack("<QQQ", len(stories), starts[-1], 0)
    return data + hashlib.sha256(data).digest() + b"glintend"


def field(number, data):
    size = bytes([len(data) & 0x7f | 0x80, len(data) >> 7]) if len(data) > 0x7f else bytes([len(data)])
    return bytes([number << 3 | 2]) + size + data


def piece(text, kind, score=-1.0):
    return field(1, field(1, text) + b"\x15" + struct.pack("<f", score) + bytes([3 << 3, kind]))


def model(kind, extra=b""):
    """A SentencePiece model with a table of characters that turns A into a."""
    units = [0] * 512
    units[0] = 1 << 10
    units[1 ^ ord("A")] = ord("A") | 1 << 8 | 256 << 10
    units[1 ^ ord("A") ^ 256] = 1 << 31
    table = struct.pack("<I", 4 * len(units)) + struct.pack("<512I", *units) + b"a\0"
    pieces = [piece(b"<unk>", 2), piece(b"</s>", 3)]
    pieces += [piece(t, 1, -i) for i, t in enumerate([b"a", b"aa", b"\xe2\x96\x81", b"\xe2\x96\x81a"])]
    return b"".join(pieces) + field(2, bytes([3 << 3, kind])) + field(3, field(2, table)) + extra


def text64(s):
    return struct.pack("<Q", len(s)) + s


def gguf(pairs, tensors=(), data=b"", version=3):
    """pairs: (key, type, value bytes); tensors: (name, dimensions, type, offset)."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    for key, kind, value in pairs:
        out += text64(key) + struct.pack("<I", kind) + value
    for name, dims, kind, offset in tensors:
        out += text64(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, kind, offset)
    return out + bytes(-len(out) % 32) + data


def gguf_list(kind, values, pack):
    return struct.pack("<IQ", kind, len(values)) + b"".join(pack(v) for v in values)


def gguf_tokenizer(model, tokens, types, extra=()):
    return gguf([(b"tokenizer.ggml.model", 8, text64(model)),
                 (b"tokenizer.ggml.tokens", 9, gguf_list(8, tokens, text64)),
                 (b"tokenizer.ggml.scores", 9, gguf_list(6, range(len(tokens)), lambda v: struct.pack("<f", -v))),
                 (b"tokenizer.ggml.token_type", 9, gguf_list(5, types, lambda v: struct.pack("<i", v))),
                 (b"tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 1)), *extra])


def llama2c(version, group=2, own_head=False):
    d, h, n, heads, kv, vocab, context = 4, 4, 1, 2, 1, 3, 2
    kv_dim = d // heads * kv
    matrices = [d * d, kv_dim * d, kv_dim * d, d * d, h * d, d * h, h * d]
    numbers = struct.pack("<7i", d, h, n, heads, kv, -vocab if own_head and version == 0 else vocab, context)
    values = sum(matrices) * n + vocab * d * (2 if own_head else 1)
    norms = (2 * n + 1) * d
    if version == 0:
        return numbers + bytes(4 * (values + norms + context * (d // heads)))
    head = struct.pack("<Ii", 0x616b3432, version) + numbers + bytes([0 if own_head else 1])
    if version == 1:
        return head.ljust(256, b"\0") + bytes(4 * (values + norms))
    return (head + struct.pack("<i", group)).ljust(256, b"\0") + bytes(4 * norms + values + 4 * (values // group))


def tokenizer_bin(old):
    pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n"]
    pieces += [chr(b).encode() if old else b"<0x%02X>" % b for b in range(256)] + [b"a", b" ", b" a", b"aa", b" time"]
    return struct.pack("<i", 8) + b"".join(struct.pack("<fi", -i, len(p)) + p for i, p in enumerate(pieces))


def tokenizer_json(model, **parts):
    tree = {"version": "1.0", "added_tokens": [
        {"id": 0, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": True, "normalized": False,
         "special": True}], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None, **parts}
    tree["model"] = {"type": "BPE", "vocab": {"<s>": 0, "a": 1, "aa": 2, "\u2581": 3, "\u2581a": 4, "\u0120": 5}, **model}
    return json.dumps(tree).encode()


def main():
    root = Path(sys.argv[1])

    def seed(target, name, data):
        folder = root / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    tensors = make_io.sample_tensors()
    seed("safetensors", "all", make_io.safetensors(tensors, {"a": "b"}))
    seed("safetensors", "one", make_io.safetensors(tensors[:1], None, pad=False))
    seed("safetensors", "half", make_io.safetensors(tensors[2:4]))
    seed("safetensors", "empty", header(b"{}"))
    entry = b'"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}'
    seed("safetensors", "twice", header(b"{" + entry % (b"a", b"U8", b"2", 0, 2) + b"," +
                                        entry % (b"a", b"I8", b"2", 2, 4) + b"}", b"1234"))
    seed("safetensors", "overlap", header(b"{" + entry % (b"a", b"F32", b"1", 0, 4) + b"," +
                                          entry % (b"b", b"F16", b"1,1", 2, 4) + b"}", b"1234"))
    seed("safetensors", "huge", header(b"{" + entry % (b"a", b"F32", b"4611686018427387905", 0, 4) + b"}", b"1234"))

    seed("npy", "f4", make_io.npy("<f4", [2, 3], bytes(24)))
    seed("npy", "f8_v2", make_io.npy("<f8", [1], bytes(8), version=2))
    seed("npy", "u1", make_io.npy("|u1", [2, 2, 1], b"abcd"))
    seed("npy", "scalar", make_io.npy("<i4", [], b"abcd"))

    for name, data, _ in make_io.pictures():
        seed("png", name, data)
    extra = make_io.chunk(b"gAMA", struct.pack(">I", 45455)) + make_io.chunk(b"tEXt", b"Title\0text")
    seed("png", "extras", make_io.png(2, 2, make_io.RGB, 8, lambda x, y: (x, y, 9), extra=extra))

    seed("json", "values", b'{"a":[1,-2,0.5,1e-3,true,false,null],"b":{"c":"\\u00e9\\ud83d\\ude00\\n"}}')
    seed("json", "lines", b'{"step":1,"loss":0.5}\n{"step":2}\n{"st')
    seed("json", "twice", b'{"a":1,"a":2}')
    seed("json", "deep", b"[" * 70)
    seed("json", "numbers", b"[0,-0,18446744073709551616,-9223372036854775808,1e308,1.5E+2]")
    seed("json", "utf8", '["\u00e9\u20ac\U0001f600"]'.encode())

    seed("idx", "images", idx([2, 2, 3], bytes(range(12))))
    seed("idx", "labels", idx([5], bytes([0, 9, 3, 1, 2])))
    seed("idx", "label_out_of_range", idx([2], bytes([9, 10])))
    seed("idx", "images_gz", gzip.compress(idx([3, 4, 4], bytes(48)), mtime=0))
    seed("idx", "labels_gz", gzip.compress(idx([40], bytes(40)), mtime=0))
    seed("idx", "two_members", gzip.compress(idx([4], b"\1\2"), mtime=0) + gzip.compress(b"\3\4", mtime=0))
    seed("idx", "bomb_gz", gzip.compress(idx([60000, 28, 28], bytes(4000)), mtime=0))
    seed("idx", "claims_all_gz", gzip.compress(idx([64 << 20], b"\1"), mtime=0))
    seed("idx", "huge", idx([0xffffffff, 0xffffffff, 0xffffffff], b""))
    seed("idx", "floats", idx([1], bytes(4), kind=0x0D))
    seed("idx", "none", idx([0, 28, 28], b""))

    seed("recipe", "all", b'# why\ngate = "sqs" # which\nlr = 1e-3\nseed = 0xff\nbias = true\nlayers=1_0\ndata = \'a\\b\'\n')
    seed("recipe", "dots", b"a." * 500 + b"a=1")
    seed("recipe", "lists", b"a=" + b"[" * 500)
    seed("recipe", "tables", b"[[a.b]]\nc = {d = {e = 1}}")
    seed("recipe", "escapes", b'a="\\u00e9\\U0001F600\\n\\\\"\nb=-inf\nc=1979-05-27T07:32:00Z\n"d" = nan')

    seed("corpus", "some", corpus([[1, 2, 3], [9], [4] * 5], 10))
    seed("corpus", "none", corpus([], 1))
    seed("corpus", "id", corpus([[10]], 10))
    seed("corpus", "long", corpus([[i % 300] * (1 + i % 7) for i in range(40)], 300))

    seed("tokenizer", "unigram", model(1))
    seed("tokenizer", "bpe", model(2))
    seed("tokenizer", "user", model(2, piece(b"once", 4)))
    seed("tokenizer", "bytes", model(1) + b"".join(piece(b"<0x%02X>" % i, 6) for i in range(256)) +
         field(2, bytes([0x98, 2, 1])))

    pairs = [(b"general.architecture", 8, text64(b"llama")), (b"llama.block_count", 4, struct.pack("<I", 1)),
             (b"f", 6, struct.pack("<f", 0.5)), (b"yes", 7, b"\1"), (b"n", 9, gguf_list(1, range(70), lambda v: bytes([v])))]
    seed("gguf", "tensors", gguf(pairs, [(b"a", [4, 2], 0, 0), (b"b", [32], 8, 32), (b"c", [256], 12, 96)], bytes(240)))
    seed("gguf", "alignment", gguf([(b"general.alignment", 4, struct.pack("<I", 64))], [(b"a", [1], 1, 0)], bytes(66)))
    seed("gguf", "wraps", gguf([], [(b"a", [1 << 32, 1 << 32], 0, 0)], bytes(64)))
    seed("gguf", "long_list", gguf([(b"k", 9, struct.pack("<IQ", 8, 1 << 60))]))
    seed("gguf", "llama", gguf_tokenizer(b"llama", [b"<unk>", b"<s>", b"a", b"\xe2\x96\x81", b"\xe2\x96\x81a", b"<0x41>", b"xy"],
                                         [2, 3, 1, 1, 1, 6, 4]))
    merges = (b"tokenizer.ggml.merges", 9, gguf_list(8, [b"a a", b"\xc4\xa0 a"], text64))
    seed("gguf", "gpt2", gguf_tokenizer(b"gpt2", [b"<s>", b"a", b"aa", b"\xc4\xa0", b"\xc4\xa0a"], [3, 1, 1, 1, 1],
                                        [merges, (b"tokenizer.ggml.pre", 8, text64(b"llama-bpe"))]))

    for version in (0, 1, 2):
        seed("llama2c", "v%d" % version, llama2c(version))
        seed("llama2c", "v%d_head" % version, llama2c(version, own_head=True))
    seed("llama2c", "group", llama2c(2, group=3))

    seed("shard_index", "two", b'{"metadata":{"total_size":12},"weight_map":{"a":"x.safetensors","b":"y.safetensors"}}')
    seed("shard_index", "path", b'{"weight_map":{"a":"../x.safetensors"}}')
    seed("shard_index", "twice", b'{"weight_map":{"a":"x.safetensors","a":"x.safetensors"}}')

    seed("tokenizer_bin", "new", tokenizer_bin(False))
    seed("tokenizer_bin", "old", tokenizer_bin(True))

    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    regex = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    seed("tokenizer_json", "byte_level", tokenizer_json(
        {"merges": ["a a"], "ignore_merges": True}, decoder={"type": "ByteLevel"}, normalizer={"type": "NFC"},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, split, byte_level]},
        post_processor={"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                                 {"Sequence": {"id": "A", "type_id": 0}}],
                        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}}))
    space = "\u2581"
    seed("tokenizer_json", "sentencepiece", tokenizer_json(
        {"merges": [["a", "a"], [space, "a"]], "byte_fallback": True, "unk_token": "<s>", "fuse_unk": True},
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": space}, {
            "type": "Replace", "pattern": {"String": " "}, "content": space}]},
        decoder={"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": space}, "content": " "},
                                                  {"type": "ByteFallback"}, {"type": "Fuse"},
                                                  {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}))
    seed("tokenizer_json", "metaspace", tokenizer_json(
        {"merges": []}, decoder={"type": "Metaspace", "replacement": space, "prepend_scheme": "always"},
        pre_tokenizer={"type": "Metaspace", "replacement": space, "prepend_scheme": "first", "split": True}))
    seed("tokenizer_json", "far", tokenizer_json({"merges": [], "vocab": {"a": 100000}}, added_tokens=[]))


if __name__ == "__main__":
    main()
