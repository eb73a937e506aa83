// The tokenizer of a language run: reads the SentencePiece file that the page holds and splits text as the
// program does. The file is a protobuf message: 1 pieces {1 text, 2 score, 3 type}, 2 trainer {3 kind, 24 spaces
// as suffix, 35 byte fallback}, 3 normaliser {2 table of characters, 3 first space, 4 single spaces, 5 marks}.

/** @typedef {{field: number, value: number, bytes: Uint8Array}} Field */
const MARK = "\u2581";
const TYPE = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 };

/** @param {Uint8Array} bytes @returns {Field[]} */
function fields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const none = bytes.subarray(0, 0);
  let at = 0;
  const varint = () => {
    let value = 0, scale = 1, byte = 128;
    for (; byte & 128; scale *= 128) value += ((byte = bytes[at++] ?? 0) & 127) * scale;
    return value;
  };
  const out = [];
  while (at < bytes.length) {
    const key = varint();
    const field = Math.floor(key / 8), wire = key % 8;
    if (wire === 0) out.push({ field, value: varint(), bytes: none });
    else if (wire === 5) { out.push({ field, value: view.getFloat32(at, true), bytes: none }); at += 4; }
    else if (wire === 1) { out.push({ field, value: view.getFloat64(at, true), bytes: none }); at += 8; }
    else if (wire === 2) { const size = varint(); out.push({ field, value: 0, bytes: bytes.subarray(at, at += size) }); }
    else throw new Error("the tokenizer is damaged");
  }
  return out;
}

export class Tokenizer {
  /** @param {Uint8Array} file */
  constructor(file) {
    const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
    /** @type {string[]} */ this.pieces = [];
    /** @type {number[]} */ this.scores = [];
    /** @type {number[]} */ this.types = [];
    /** Pieces that text can become. @type {Map<string, number>} */
    this.ids = new Map();
    /** Marks and bytes. @type {Map<string, number>} */
    this.marks = new Map();
    this.bpe = false;
    this.suffix = false;
    this.byteFallback = false;
    this.prefix = this.single = this.escape = true;
    this.unknown = 0;
    this.end = 0;
    let endPiece = "</s>";
    let table = file.subarray(0, 0);
    for (const top of fields(file)) {
      const inner = [1, 2, 3].includes(top.field) ? fields(top.bytes) : [];
      const get = (/** @type {number} */ n) => inner.find((f) => f.field === n);
      if (top.field === 1) {
        const id = this.pieces.length;
        const text = utf8.decode(get(1)?.bytes);
        const type = get(3)?.value ?? TYPE.normal;
        this.pieces.push(text);
        this.scores.push(get(2)?.value ?? 0);
        this.types.push(type);
        if ([TYPE.normal, TYPE.user, TYPE.unused].includes(type)) this.ids.set(text, id);
        else this.marks.set(text, id);
        if (type === TYPE.unknown) this.unknown = id;
      } else if (top.field === 2) {
        this.bpe = get(3)?.value === 2;
        this.suffix = get(24)?.value === 1;
        this.byteFallback = get(35)?.value === 1;
        const named = get(47);
        if (named) endPiece = utf8.decode(named.bytes);
      } else if (top.field === 3) {
        table = get(2)?.bytes ?? table;
        this.prefix = get(3)?.value !== 0;
        this.single = get(4)?.value !== 0;
        this.escape = get(5)?.value !== 0;
      }
    }
    this.end = this.marks.get(endPiece) ?? this.ids.get(endPiece) ?? 0;
    this.user = this.pieces.filter((_, i) => this.types[i] === TYPE.user).sort((a, b) => b.length - a.length);
    this.longest = this.pieces.reduce((m, p) => Math.max(m, Array.from(p).length), 1);
    const copy = table.slice();
    const size = copy.length >= 4 ? new DataView(copy.buffer).getUint32(0, true) : 0;
    this.trie = new Uint32Array(copy.buffer.slice(4, 4 + size));
    this.replacements = copy.subarray(4 + size);
  }

  /** The longest entry of the table of characters at a place. @param {Uint8Array} bytes @param {number} from */
  replacement(bytes, from) {
    const { trie } = this;
    const offset = (/** @type {number} */ unit) => (unit >>> 10) << ((unit & 512) >>> 6);
    let best = -1, length = 0;
    let at = trie.length ? offset(trie[0]) : 0;
    for (let i = from; i < bytes.length && trie.length; i++) {
      at ^= bytes[i];
      const unit = trie[at];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== bytes[i]) break;
      at ^= offset(unit);
      if ((unit >>> 8) & 1) {
        best = trie[at] & 0x7fffffff;
        length = i + 1 - from;
      }
    }
    if (best < 0) return null;
    return { bytes: this.replacements.subarray(best, this.replacements.indexOf(0, best)), length };
  }

  /** Text as the pieces spell it: folded, single spaces, marks for spaces. @param {string} text */
  normalise(text) {
    const bytes = new TextEncoder().encode(text);
    const utf8 = new TextDecoder();
    let out = "";
    for (let at = 0; at < bytes.length;) {
      const user = this.user.find((u) => utf8.decode(bytes.subarray(at, at + new TextEncoder().encode(u).length)) === u);
      const found = user ? null : this.replacement(bytes, at);
      let size = bytes[at] < 0x80 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
      if (user) size = new TextEncoder().encode(user).length;
      let piece = found ? utf8.decode(found.bytes) : utf8.decode(bytes.subarray(at, at + size));
      at += found ? found.length : size;
      if (this.single && (out === "" || out.endsWith(" "))) piece = piece.replace(/^ +/, "");
      out += piece;
    }
    if (this.single) out = out.replace(/ +$/, "");
    if (out === "") return "";
    if (this.prefix) out = this.suffix ? out + " " : " " + out;
    return this.escape ? out.replaceAll(" ", MARK) : out;
  }

  /** @param {string} text @returns {number[]} */
  encode(text) {
    const words = this.normalise(text);
    const symbols = this.bpe ? this.merge(words) : this.bestPath(words);
    /** @type {number[]} */
    const out = [];
    let lost = false;
    for (const symbol of symbols) {
      const id = this.ids.get(symbol);
      if (id !== undefined) {
        out.push(id);
        lost = false;
      } else if (this.byteFallback) {
        for (const b of new TextEncoder().encode(symbol)) {
          out.push(this.marks.get(`<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`) ?? this.unknown);
        }
      } else {
        if (!lost) out.push(this.unknown); // a run of lost characters is one
        lost = true;
      }
    }
    return out;
  }

  /** Characters, and whole pieces that a user defined. @param {string} text */
  split(text) {
    const out = [];
    for (let at = 0; at < text.length;) {
      const user = this.user.find((u) => text.startsWith(u, at));
      const symbol = user ?? String.fromCodePoint(/** @type {number} */ (text.codePointAt(at)));
      out.push({ text: symbol, fixed: user !== undefined });
      at += symbol.length;
    }
    return out;
  }

  /** Neighbours merge, the pair of the best score first, the leftmost of equals. @param {string} text */
  merge(text) {
    const list = this.split(text);
    /** @type {Map<string, string[]>} */
    const halves = new Map();
    const score = (/** @type {number} */ i) => {
      if (i < 0 || i + 1 >= list.length || list[i].fixed || list[i + 1].fixed) return -Infinity;
      const id = this.ids.get(list[i].text + list[i + 1].text);
      return id === undefined ? -Infinity : this.scores[id];
    };
    const scores = list.map((_, i) => score(i));
    for (;;) {
      let best = -1;
      for (let i = 0; i < list.length; i++) if (scores[i] > (best < 0 ? -Infinity : scores[best])) best = i;
      if (best < 0) break;
      const whole = list[best].text + list[best + 1].text;
      if (this.types[this.ids.get(whole) ?? 0] === TYPE.unused) halves.set(whole, [list[best].text, list[best + 1].text]);
      list.splice(best, 2, { text: whole, fixed: false });
      scores.splice(best, 1);
      scores[best] = score(best);
      if (best > 0) scores[best - 1] = score(best - 1);
    }
    /** @type {(symbol: string) => string[]} */
    const apart = (symbol) => halves.get(symbol)?.flatMap(apart) ?? [symbol];
    return list.flatMap((s) => apart(s.text));
  }

  /** The pieces with the largest sum of scores, in single precision as the program adds. @param {string} text */
  bestPath(text) {
    const chars = this.split(text).map((s) => s.text);
    const normal = this.scores.filter((_, i) => this.types[i] === TYPE.normal);
    const low = Math.min(...normal), high = Math.max(...normal);
    const best = chars.map(() => ({ score: -Infinity, from: 0 }));
    for (let i = 0; i < chars.length; i++) {
      const before = i ? best[i - 1].score : 0;
      const offer = (/** @type {number} */ last, /** @type {number} */ score) => {
        const sum = Math.fround(before + score);
        if (sum > best[last].score) best[last] = { score: sum, from: i };
      };
      let piece = "";
      for (let j = i; j < Math.min(chars.length, i + this.longest); j++) {
        piece += chars[j];
        const id = this.ids.get(piece);
        if (id === undefined || this.types[id] === TYPE.unused) continue;
        offer(j, this.types[id] === TYPE.user ? piece.length * high - 0.1 : this.scores[id]);
      }
      if (!this.ids.has(chars[i])) offer(i, low - 10);
    }
    const out = [];
    for (let end = chars.length; end > 0; end = best[end - 1].from) out.unshift(chars.slice(best[end - 1].from, end).join(""));
    return out;
  }

  /** As people read it: "·happy" where a word begins. @param {number} id */
  shown(id) {
    if (id === this.end) return "⟨end⟩";
    return this.pieces[id].replaceAll(MARK, "·") || "⟨empty⟩";
  }

  /** Whether a token stands for text, not for a byte or a mark. @param {number} id */
  isText = (id) => ![TYPE.unknown, TYPE.control, TYPE.byte].includes(this.types[id]);

  /** The piece of a whole word, the piece spelled so, the one piece that a word becomes, or the one with the number
   * after "#". @param {string} word */
  find(word) {
    if (/^#\d+$/.test(word) && Number(word.slice(1)) < this.pieces.length) return Number(word.slice(1));
    const spelled = word.replaceAll("·", MARK);
    for (const w of [MARK + spelled, spelled]) {
      const id = this.ids.get(w) ?? this.marks.get(w);
      if (id !== undefined && id !== this.unknown) return id;
    }
    const ids = this.encode(word);
    return ids.length === 1 && ids[0] !== this.unknown ? ids[0] : null;
  }
}
