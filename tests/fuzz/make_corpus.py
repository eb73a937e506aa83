#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: make_corpus.py FOLDER. Small files, valid and nearly valid."""
import gzip
import hashlib
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


if __name__ == "__main__":
    main()
