// The image model in the page: the forward pass as the program computes it, and the readings of its last layer
// as quadratic forms.
//   x_0 = E p (+ b);  x_{i+1} = gate(L u) * (R u) (+ x_i), u = norm(x_i);  logits = H x_n (+ b)
import { gates, shrink } from "glint/gates";
import { endPairs } from "glint/ritz";
import { dot, eigenvectorAt, matvec, matvecTransposed, normed, strongestEigenpair } from "glint/linalg";

/** @typedef {import("./data.js").Run} Run @typedef {import("./data.js").Form} Form */
/** `x` is what the layer gets and `u` what it reads of it. @typedef {{u: Float64Array, l: Float64Array, r: Float64Array, x: Float64Array}} LayerState */
/** `gains` keeps those of forms that depend on the input. @typedef {{logits: Float64Array, layers: LayerState[], gains: Map<Form, ArrayLike<number>>}} Pass */

// As in glint/spectra/forms.h: nearer to 0 than this gain allows, the rest of the line is a shift.
const LOCAL_GAIN = 16;

export class Model {
  /** @param {Run} run @param {number} height @param {number} width */
  constructor(run, height, width) {
    this.run = run;
    this.config = run.config;
    this.height = height;
    this.width = width;
    this.gate = gates[run.config.gate];
    if (!this.gate) throw new Error(`unknown gate ${run.config.gate}`);
    this.hidden = run.config.d_hidden || run.config.d_model;
    this.classes = run.config.classes;
    /** @type {Map<string, any>} */
    this.cache = new Map();
    /** The eigenpairs of a scaled form that were computed last, by form and class. @type {Map<string, import("./ritz.js").Pair[]>} */
    this.held = new Map();
    /** By an eigenvector of one class. @type {WeakMap<Float64Array, Float64Array>} */
    this.weights = new WeakMap();
  }

  /** @param {string} name */
  weight(name) {
    return this.run.tensors[`${name}.weight`].values;
  }

  /** @param {string} name @returns {Float32Array | undefined} */
  bias(name) {
    return this.run.tensors[`${name}.bias`]?.values;
  }

  /** Width of the input of layer i. @param {number} i */
  layerWidth(i) {
    return i === 0 ? this.config.d_model : this.hidden;
  }

  get last() {
    return this.config.layers - 1;
  }

  /** Width of the last layer's form: its input, and 1 for the biases. */
  get formWidth() {
    return this.layerWidth(this.last) + (this.config.bias ? 1 : 0);
  }

  /** The last layer reads the pixels through a linear map (up to the factor of a norm). */
  get readsPixels() {
    return this.config.layers === 1;
  }

  /** @param {ArrayLike<number>} pixels in 0..1 @param {Float64Array[]} [removed] an orthonormal basis of what is taken
   * out of the last layer's input; nothing is normalised again @returns {Pass} */
  forward(pixels, removed = []) {
    const { d_model: d, inputs, layers, norm, residual } = this.config;
    const h = this.hidden;
    let x = matvec(this.weight("embed"), d, inputs, pixels, this.bias("embed"));
    /** @type {LayerState[]} */
    const states = [];
    for (let i = 0; i < layers; i++) {
      const u = without(norm === "rms" ? normed(x) : x, i === this.last ? removed : []);
      const z = matvec(this.weight(`blocks.${i}`), 2 * h, this.layerWidth(i), u, this.bias(`blocks.${i}`));
      const l = z.subarray(0, h);
      const r = z.subarray(h);
      const y = new Float64Array(h);
      for (let k = 0; k < h; k++) y[k] = this.gate(l[k], this.config) * r[k] + (residual ? x[k] : 0);
      states.push({ u, l, r, x });
      x = y;
    }
    return { logits: matvec(this.weight("head"), this.classes, h, x, this.bias("head")), layers: states, gains: new Map() };
  }

  /** What the form leaves to the side: the residual's path and the bias of the head. @param {Pass} pass
   * @param {number} c */
  aside(pass, c) {
    const head = this.weight("head").subarray(c * this.hidden, (c + 1) * this.hidden);
    const bias = this.bias("head")?.[c] ?? 0;
    return bias + (this.config.residual ? dot(head, pass.layers[this.last].x) : 0);
  }

  /** The gains of a form at the size of an input: those of a scaled form shrink as the input grows.
   * @param {Form} form @param {number} size @returns {ArrayLike<number>} */
  gains(form, size) {
    const { gain, slope, power = 1 } = form;
    if (!slope) return gain.values;
    return Float64Array.from(gain.values, (a, k) => a / shrink(slope.values[k] * size, power));
  }

  /** The size of the last layer's input: its length without the 1 of biases. @param {Pass} pass */
  size(pass) {
    const { u } = pass.layers[this.last];
    return Math.sqrt(dot(u, u));
  }

  /** Those of this very input. @param {Pass} pass @param {Form} form @returns {ArrayLike<number>} */
  gainsAt(pass, form) {
    let gains = pass.gains.get(form);
    if (!gains) {
      gains = this.gains(form, this.size(pass));
      pass.gains.set(form, gains);
    }
    return gains;
  }

  /** Logits read through a form: gate(l) replaced by gain l + shift. `form` null: the local one, whose lines go
   * through the points of this very input. @param {Pass} pass @param {Form | null} form */
  readLogits(pass, form) {
    const { l, r } = pass.layers[this.last];
    const h = this.hidden;
    const y = new Float64Array(h);
    const gains = form && this.gainsAt(pass, form);
    for (let k = 0; k < h; k++) {
      let gain = gains ? gains[k] : 0;
      let shift = form ? (form.shift?.values[k] ?? 0) : 0;
      if (!form) {
        const value = this.gate(l[k], this.config);
        const quotient = l[k] === 0 ? 0 : value / l[k];
        gain = Math.max(-LOCAL_GAIN, Math.min(LOCAL_GAIN, quotient));
        shift = value - gain * l[k];
      }
      y[k] = (gain * l[k] + shift) * r[k];
    }
    const out = matvec(this.weight("head"), this.classes, h, y);
    for (let c = 0; c < this.classes; c++) out[c] += this.aside(pass, c);
    return out;
  }

  /** The input of the form: that of the last layer, and a 1 where there are biases. @param {Pass} pass */
  formInput(pass) {
    const { u } = pass.layers[this.last];
    if (!this.config.bias) return u;
    const out = new Float64Array(u.length + 1);
    out.set(u);
    out[u.length] = 1;
    return out;
  }

  /** The part of the quadratic form alone, without shifts: the sum of all eigenvector terms. @param {Pass} pass
   * @param {Form} form @param {number} c */
  quadraticPart(pass, form, c) {
    const { l, r } = pass.layers[this.last];
    const head = this.weight("head");
    const gains = this.gainsAt(pass, form);
    let sum = 0;
    for (let k = 0; k < this.hidden; k++) sum += head[c * this.hidden + k] * gains[k] * l[k] * r[k];
    return sum;
  }

  /** The strongest eigenpairs that are in the file, those of the largest values first, then those of the smallest, as
   * `slot` counts them. @param {Form} form @param {number} c @returns {import("./ritz.js").Pair[]} */
  storedPairs(form, c) {
    const { strongest } = this.run;
    const w = this.formWidth;
    return this.cached(`stored ${form.name} ${c}`, () => Array.from({ length: 2 * strongest }, (_, i) => {
      const rank = i < strongest ? i : w - 2 * strongest + i;
      const vector = /** @type {ArrayLike<number>} */ (this.eigenvector(form, c, rank));
      return { value: form.values.values[c * w + rank], vector: Float64Array.from(vector) };
    }));
  }

  /** Those for this very input. Only a scaled form has others than the stored ones: its Q depends on the input's size.
   * @param {Pass} pass @param {Form} form @param {number} c */
  pairs(pass, form, c) {
    const stored = this.storedPairs(form, c);
    if (!form.slope || stored.length === 0) return stored;
    const gains = this.gainsAt(pass, form);
    const found = this.cached(`pairs ${form.name} ${c} ${this.size(pass)}`, () =>
      endPairs((block) => this.applied(c, gains, block), stored.map((p) => p.vector), stored.length / 2), 8);
    this.held.set(`${form.name} ${c}`, found);
    return found;
  }

  /** Nearly the same without delay, while the image is changing: the eigenvectors that were computed last, with v'Qv of
   * this input in the place of λ. @param {Pass} pass @param {Form} form @param {number} c */
  quickPairs(pass, form, c) {
    if (!form.slope) return this.storedPairs(form, c);
    const gains = this.gainsAt(pass, form);
    const held = this.held.get(`${form.name} ${c}`) ?? this.storedPairs(form, c);
    return held.map(({ vector }) => ({ vector, value: dot(this.unitWeights(c, vector), gains) }));
  }

  /** v'Qv is the sum of these, each times its gain. @param {number} c @param {Float64Array} v */
  unitWeights(c, v) {
    let out = this.weights.get(v);
    if (!out) {
      const d = this.layerWidth(this.last);
      const z = matvec(this.weight(`blocks.${this.last}`), 2 * this.hidden, d, v, this.bias(`blocks.${this.last}`)?.map((b) => b * v[d]));
      out = Float64Array.from({ length: this.hidden }, (_, k) => this.weight("head")[c * this.hidden + k] * z[k] * z[k + this.hidden]);
      this.weights.set(v, out);
    }
    return out;
  }

  /** Q v for some vectors, Q with these gains. @param {number} c @param {ArrayLike<number>} gains @param {Float64Array[]} block */
  applied(c, gains, block) {
    const d = this.layerWidth(this.last);
    const h = this.hidden;
    const weight = this.weight(`blocks.${this.last}`);
    const bias = this.bias(`blocks.${this.last}`);
    const head = this.weight("head");
    return block.map((v) => {
      const z = matvec(weight, 2 * h, d, v, bias?.map((b) => b * v[d]));
      const turned = new Float64Array(2 * h);
      for (let k = 0; k < h; k++) {
        const q = 0.5 * head[c * h + k] * gains[k];
        turned[k] = q * z[k + h];
        turned[k + h] = q * z[k];
      }
      const out = new Float64Array(v.length);
      out.set(matvecTransposed(weight, 2 * h, d, turned));
      if (bias) out[d] = dot(bias, turned);
      return out;
    });
  }

  /** Is the eigenvector of this rank (0: the largest value) in the file? @param {number} rank */
  isStored(rank) {
    const s = this.run.strongest;
    return rank < s || rank >= this.formWidth - s;
  }

  /** The place of a stored eigenvector among those of its class. @param {number} rank */
  slot(rank) {
    const s = this.run.strongest;
    return rank < s ? rank : 2 * s - (this.formWidth - rank);
  }

  /** Widths up to which a missing eigenvector is computed in the page. */
  get canCompute() {
    return this.formWidth <= 600;
  }

  /** @param {Form} form @param {number} c @param {number} rank @returns {ArrayLike<number> | null} */
  eigenvector(form, c, rank) {
    const w = this.formWidth;
    const s = this.run.strongest;
    if (this.isStored(rank)) {
      const at = (c * 2 * s + this.slot(rank)) * w;
      return form.vectors.values.subarray(at, at + w);
    }
    if (!this.canCompute) return null;
    return this.cached(`vector ${form.name} ${c} ${rank}`, () =>
      eigenvectorAt(this.interaction(form, c), w, form.values.values[c * w + rank]));
  }

  /** Q of one class at the usual size of an input: 1/2 (L' diag(q) R + R' diag(q) L), q_h = gain_h head[c, h]. @param {Form} form
   * @param {number} c @returns {Float64Array} */
  interaction(form, c) {
    return this.cached("interaction " + form.name + " " + c, () => {
      const w = this.formWidth;
      const d = this.layerWidth(this.last);
      const weight = this.weight(`blocks.${this.last}`);
      const bias = this.bias(`blocks.${this.last}`);
      const head = this.weight("head");
      const gains = this.gains(form, form.size ?? 0);
      const half = new Float64Array(w * w);
      const l = new Float64Array(w);
      const r = new Float64Array(w);
      for (let k = 0; k < this.hidden; k++) {
        for (let j = 0; j < d; j++) {
          l[j] = weight[k * d + j];
          r[j] = weight[(k + this.hidden) * d + j];
        }
        if (bias) [l[d], r[d]] = [bias[k], bias[k + this.hidden]];
        const q = head[c * this.hidden + k] * gains[k];
        for (let i = 0; i < w; i++) {
          const s = q * l[i];
          for (let j = 0; j < w; j++) half[i * w + j] += s * r[j];
        }
      }
      const out = new Float64Array(w * w);
      for (let i = 0; i < w; i++) for (let j = 0; j < w; j++) out[i * w + j] = 0.5 * (half[i * w + j] + half[j * w + i]);
      return out;
    }, 2);
  }

  /** A picture of an eigenvector of a form. @param {Form} form @param {number} c @param {number} rank
   * @returns {Float64Array | null} */
  picture(form, c, rank) {
    const { pictures } = form;
    const n = this.config.inputs;
    if (pictures && this.isStored(rank)) {
      const at = (c * 2 * this.run.strongest + this.slot(rank)) * n;
      return Float64Array.from(pictures.values.subarray(at, at + n), (v) => (v - 128) / 127);
    }
    const vector = this.eigenvector(form, c, rank);
    return vector && this.cached(`picture ${form.name} ${c} ${rank}`, () => this.inPixels(form, vector));
  }

  /** A direction of the last layer's input as pixels. With one layer that is E' v. With more, the layer reads no
   * pixels: the direction becomes the output of the layer below, whose strongest eigenvector is taken, and so on
   * down. @param {Form} form @param {ArrayLike<number>} vector */
  inPixels(form, vector) {
    const { d_model: d, inputs } = this.config;
    /** @type {Float64Array} */
    let v = Float64Array.from(Array.prototype.slice.call(vector, 0, this.layerWidth(this.last)));
    for (let i = this.last - 1; i >= 0; i--) v = this.below(i, v, form.below[i].values);
    return matvecTransposed(this.weight("embed"), d, inputs, v);
  }

  /** The linear part of a form with shifts, sum_h shift_h q_h R_h; null where there is none. @param {Form} form
   * @param {number} c @returns {{vector: Float64Array, picture: Float64Array | null} | null} */
  linearPart(form, c) {
    const { shift } = form;
    if (!shift) return null;
    return this.cached(`linear ${form.name} ${c}`, () => {
      const d = this.layerWidth(this.last);
      const h = this.hidden;
      const q = Float64Array.from(shift.values, (s, k) => s * this.weight("head")[c * h + k]);
      const vector = new Float64Array(this.formWidth);
      vector.set(matvecTransposed(this.weight(`blocks.${this.last}`).subarray(h * d), h, d, q));
      const bias = this.bias(`blocks.${this.last}`);
      if (bias) vector[d] = dot(q, bias.subarray(h));
      const n = this.config.inputs;
      const stored = form.linearPictures?.values.subarray(c * n, (c + 1) * n);
      const picture = stored ? Float64Array.from(stored, (v) => (v - 128) / 127) : this.readsPixels ? this.inPixels(form, vector) : null;
      return { vector, picture };
    });
  }

  /** The strongest eigenvector of layer i for the output direction `direction`, without the entry of a bias.
   * @param {number} i @param {Float64Array} direction @param {Float32Array} gain */
  below(i, direction, gain) {
    const d = this.layerWidth(i);
    const h = this.hidden;
    const weight = this.weight(`blocks.${i}`);
    const bias = this.bias(`blocks.${i}`);
    const left = weight.subarray(0, h * d);
    const right = weight.subarray(h * d);
    const { vector } = strongestEigenpair((x) => {
      const l = matvec(left, h, d, x);
      const r = matvec(right, h, d, x);
      for (let k = 0; k < h; k++) {
        const q = 0.5 * direction[k] * gain[k];
        const one = bias ? x[d] : 0;
        const lk = l[k] + (bias ? bias[k] * one : 0);
        l[k] = q * (r[k] + (bias ? bias[k + h] * one : 0));
        r[k] = q * lk;
      }
      const y = new Float64Array(x.length);
      const a = matvecTransposed(left, h, d, l);
      const b = matvecTransposed(right, h, d, r);
      for (let j = 0; j < d; j++) y[j] = a[j] + b[j];
      if (bias) for (let k = 0; k < h; k++) y[d] += bias[k] * l[k] + bias[k + h] * r[k];
      return y;
    }, d + (bias ? 1 : 0));
    return vector.subarray(0, d);
  }

  /** @template T @param {string} key @param {() => T} make @param {number} [keep] of its kind @returns {T} */
  cached(key, make, keep = 400) {
    const found = this.cache.get(key);
    if (found !== undefined) return found;
    const kind = key.split(" ")[0];
    const same = [...this.cache.keys()].filter((k) => k.startsWith(kind + " "));
    if (same.length >= keep) this.cache.delete(same[0]);
    const made = make();
    this.cache.set(key, made);
    return made;
  }
}

/** An input without some directions. @param {Float64Array} u @param {Float64Array[]} basis orthonormal */
function without(u, basis) {
  const out = basis.length ? u.slice() : u;
  for (const v of basis) {
    const s = dot(v, out);
    for (let j = 0; j < out.length; j++) out[j] -= s * v[j];
  }
  return out;
}

/** @param {ArrayLike<number>} logits */
export function softmax(logits) {
  const all = Array.from(logits);
  const top = Math.max(...all);
  const exps = all.map((x) => Math.exp(x - top));
  const total = exps.reduce((a, b) => a + b, 0);
  return exps.map((x) => x / total);
}

/** @param {ArrayLike<number>} values */
export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}
