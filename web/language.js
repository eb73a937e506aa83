// The language model in the page: the forward pass as the program computes it, and any layer's GLU as quadratic
// forms of its input.
//   x = E[token];  x += s O attn(norm x);  x += P (gate(L u) * (R u)), u = norm x;  logits = H norm(x)
import { gates } from "glint/gates";
import { dot, matvec, matvecTransposed, normed } from "glint/linalg";
import { symmetricEigen } from "glint/eigen";
import { Tokenizer } from "glint/tokenizer";

/** @typedef {import("./data.js").LanguageRun} LanguageRun */
/** @typedef {{values: Float64Array, vectors: Float64Array[], hidden: Float64Array, linear: Float64Array | null}} Spectrum */
/** What each token of a sentence leaves: its GLU inputs and its query, key and value [layer][token], its last state, and
 * where they were asked for the logs of the sums of e^logit.
 * @typedef {{ids: number[], inputs: Float64Array[][], mixes: Float64Array[][], last: Float64Array[], sums: (number | undefined)[]}} SentencePass */
/** @typedef {{name: string, terms: {id: number, sign: number}[]}} Direction */

export class LanguageModel {
  /** @param {LanguageRun} run */
  constructor(run) {
    this.run = run;
    this.config = run.config;
    this.gate = gates[run.config.gate];
    if (!this.gate) throw new Error(`unknown gate ${run.config.gate}`);
    this.hidden = run.config.d_hidden || run.config.d_model;
    this.tokenizer = new Tokenizer(run.tokenizer.values);
    /** @type {Map<string, Spectrum>} */
    this.spectra = new Map();
    const { vocab, d_model: d } = run.config;
    this.norms = new Float64Array(vocab);
    for (let t = 0; t < vocab; t++) {
      const row = this.weight("transformer.wte").subarray(t * d, (t + 1) * d);
      this.norms[t] = Math.sqrt(dot(row, row));
    }
  }

  /** @param {string} name */
  weight(name) {
    return this.run.tensors[`${name}.weight`].values;
  }

  /** The model reads from left to right: what `before` has of the same first tokens is used again.
   * @param {number[]} ids at most `context` @param {SentencePass} [before] @returns {SentencePass} */
  forward(ids, before) {
    const { d_model: d, heads, layers } = this.config;
    const size = d / heads, half = size / 2, h = this.hidden;
    const scale = 1 / Math.sqrt(2 * layers);
    const wte = this.weight("transformer.wte");
    let kept = 0;
    while (before && kept < ids.length && ids[kept] === before.ids[kept]) kept++;
    const x = ids.slice(kept).map((t) => Float64Array.from(wte.subarray(t * d, (t + 1) * d)));
    /** @type {Float64Array[][]} */
    const inputs = [], mixes = [];
    const add = (/** @type {Float64Array} */ to, /** @type {Float64Array} */ from) => { for (let j = 0; j < d; j++) to[j] += from[j]; };
    for (let i = 0; i < layers; i++) {
      const block = `transformer.h.${i}`;
      const qkv = before?.mixes[i].slice(0, kept) ?? [];
      x.forEach((state, r) => {
        const row = matvec(this.weight(`${block}.attn.qkv`), 3 * d, d, normed(state));
        for (let at = 0; at < 2 * d; at += size) {
          for (let j = 0; j < half; j++) {
            const angle = (kept + r) * 10000 ** (-j / half);
            const c = Math.cos(angle), s = Math.sin(angle);
            const a = row[at + j], b = row[at + j + half];
            row[at + j] = a * c - b * s;
            row[at + j + half] = a * s + b * c;
          }
        }
        qkv.push(row);
      });
      const read = before?.inputs[i].slice(0, kept) ?? [];
      x.forEach((row, r) => {
        const t = kept + r;
        const mixed = new Float64Array(d);
        for (let at = 0; at < d; at += size) {
          const query = qkv[t].subarray(at, at + size);
          const scores = Array.from({ length: t + 1 }, (_, k) => dot(query, qkv[k].subarray(d + at, d + at + size)) / Math.sqrt(size));
          const top = Math.max(...scores);
          const parts = scores.map((s) => Math.exp(s - top));
          const sum = parts.reduce((a, b) => a + b, 0);
          parts.forEach((p, k) => { for (let j = 0; j < size; j++) mixed[at + j] += (scale * p / sum) * qkv[k][2 * d + at + j]; });
        }
        add(row, matvec(this.weight(`${block}.attn.o`), d, d, mixed));
        read.push(normed(row));
        add(row, matvec(this.weight(`${block}.mlp.p`), d, h, this.glu(i, read[t])));
      });
      inputs.push(read);
      mixes.push(qkv);
    }
    return { ids, inputs, mixes, last: [...(before?.last.slice(0, kept) ?? []), ...x.map(normed)],
      sums: Array.from({ length: ids.length }, (_, t) => t < kept ? before?.sums[t] : undefined) };
  }

  /** What follows a token. @param {SentencePass} pass @param {number} t */
  logits(pass, t) {
    return matvec(this.weight("lm_head"), this.config.vocab, this.config.d_model, pass.last[t]);
  }

  /** The loss of `target` after a token. @param {SentencePass} pass @param {number} t @param {number} target */
  loss(pass, t, target) {
    if (pass.sums[t] === undefined) {
      const logits = this.logits(pass, t);
      const top = logits.reduce((a, b) => Math.max(a, b), -Infinity);
      pass.sums[t] = top + Math.log(logits.reduce((a, b) => a + Math.exp(b - top), 0));
    }
    const d = this.config.d_model;
    return /** @type {number} */ (pass.sums[t]) - dot(this.weight("lm_head").subarray(target * d, (target + 1) * d), pass.last[t]);
  }

  /** gate(L u) * (R u), through the gate itself or through a form's lines. @param {number} layer
   * @param {Float64Array} u @param {import("./data.js").GateLine} [line] */
  glu(layer, u, line) {
    const h = this.hidden;
    const z = matvec(this.weight(`transformer.h.${layer}.mlp.w`), 2 * h, this.config.d_model, u);
    const y = new Float64Array(h);
    for (let k = 0; k < h; k++) {
      y[k] = (line ? line.gain.values[k] * z[k] + (line.shift?.values[k] ?? 0) : this.gate(z[k], this.config)) * z[h + k];
    }
    return y;
  }

  /** "happy", "happy - sad": tokens with signs, or what is wrong with the text. @param {string} text
   * @returns {Direction | string} */
  direction(text) {
    const words = text.trim().split(/\s+/).filter(Boolean);
    if (!words.length) return "Type a token, or two with a minus between them.";
    /** @type {Direction} */
    const out = { name: "", terms: [] };
    let sign = 1, expected = true;
    for (const word of words) {
      if ((word === "-" || word === "+" || word === "−") && words.length > 1) {
        if (expected && out.terms.length) return "Two signs follow each other.";
        sign = word === "+" ? 1 : -1;
        expected = true;
        continue;
      }
      if (!expected) return "Put a + or − between two tokens.";
      const id = this.tokenizer.find(word);
      if (id === null) {
        return `“${word}” is not one piece of the tokenizer. It is cut into ${this.tokenizer.encode(word).map((t) => this.tokenizer.shown(t)).join(" ")}.`;
      }
      out.name += `${out.terms.length ? (sign < 0 ? " − " : " + ") : sign < 0 ? "− " : ""}${this.tokenizer.shown(id)}`;
      out.terms.push({ id, sign });
      sign = 1;
      expected = false;
    }
    if (expected) return "A token is missing after the sign.";
    const left = new Map();
    for (const { id, sign: by } of out.terms) left.set(id, (left.get(id) ?? 0) + by);
    return [...left.values()].some((n) => n !== 0) ? out : `The tokens of ${out.name} cancel: no direction is left.`;
  }

  /** Weights of the hidden units: q = P' u. @param {number} layer @param {Direction} direction */
  hiddenWeights(layer, direction) {
    const d = this.config.d_model;
    const u = new Float64Array(d);
    for (const { id, sign } of direction.terms) for (let j = 0; j < d; j++) u[j] += sign * this.weight("lm_head")[id * d + j];
    return matvecTransposed(this.weight(`transformer.h.${layer}.mlp.p`), d, this.hidden, u);
  }

  /** Q = 1/2 (L' diag(q) R + R' diag(q) L) and its eigenpairs; the linear part, where the lines have shifts:
   * sum_h shift_h q_h R_h. @param {number} layer
   * @param {import("./data.js").LanguageForm} form @param {Direction} direction @returns {Spectrum} */
  spectrum(layer, form, direction) {
    const key = `${layer} ${form.name} ${direction.terms.map((t) => t.sign * (t.id + 1)).join(" ")}`;
    const known = this.spectra.get(key);
    if (known) return known;
    const d = this.config.d_model, h = this.hidden;
    const w = this.weight(`transformer.h.${layer}.mlp.w`);
    const hidden = this.hiddenWeights(layer, direction);
    const q = new Float64Array(d * d);
    for (let k = 0; k < h; k++) {
      const s = 0.5 * hidden[k] * form.lines[layer].gain.values[k];
      const left = w.subarray(k * d, (k + 1) * d), right = w.subarray((h + k) * d, (h + k + 1) * d);
      for (let i = 0; i < d; i++) {
        const a = s * left[i], b = s * right[i];
        for (let j = 0; j < d; j++) q[i * d + j] += a * right[j] + b * left[j];
      }
    }
    const shift = form.lines[layer].shift?.values;
    const linear = shift ? matvecTransposed(w.subarray(h * d), h, d, hidden.map((v, k) => v * shift[k])) : null;
    const out = { ...symmetricEigen(q, d), hidden, linear };
    if (this.spectra.size > 40) this.spectra.clear();
    this.spectra.set(key, out);
    return out;
  }

  /** Tokens whose embeddings have the largest cosine with a vector, and the smallest, of those that `candidate`
   * lets through. @param {Float64Array} v @param {number} count @param {(id: number) => boolean} candidate */
  near(v, count, candidate) {
    const { d_model: d, vocab } = this.config;
    const cosine = matvec(this.weight("transformer.wte"), vocab, d, v);
    for (let t = 0; t < vocab; t++) cosine[t] = this.norms[t] > 0 ? cosine[t] / this.norms[t] : 0;
    const order = Array.from(cosine.keys()).filter(candidate).sort((a, b) => cosine[b] - cosine[a] || a - b);
    const list = (/** @type {number[]} */ ids) => ids.map((id) => ({ id, cosine: cosine[id] }));
    return { along: list(order.slice(0, count)), against: list(order.slice(-count).reverse()) };
  }
}

/** The model of a page for a language run. @param {import("./app.js").Context} context */
export function languageOf(context) {
  return /** @type {LanguageModel} */ (/** @type {unknown} */ (context.model));
}
