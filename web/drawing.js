// The image of the Draw view, what the model makes of it and how the chosen class is read: the numbers that the
// parts of the view show.
import { argmax } from "glint/model";
import { dot, orthonormal } from "glint/linalg";
import { formOf } from "glint/forms";
import { wholeIn } from "glint/state";

/** An eigenvector at this image. `whole` is what it contributes when nothing is removed.
 * @typedef {{rank: number, vector: Float64Array, lambda: number, projection: number, contribution: number, whole: number, removed: boolean}} Term */
/** @typedef {{name: string, value: number, tone: string, from: number}} Step */

/** What a removed eigenvector is called in the address: form, class, rank from 1. */
const REMOVED = /^(\w+)\.(\d+)\.(\d+)$/;

/** What became of eigenpairs when the size of the input changed: for each, in turn, the most alike of those left on its
 * side of the spectrum. @param {import("./ritz.js").Pair[]} before @param {import("./ritz.js").Pair[]} after */
function matched(before, after) {
  const half = before.length / 2;
  const left = [after.slice(0, half), after.slice(half)];
  return before.map(({ vector }, i) => {
    const side = left[i < half ? 0 : 1];
    const likeness = side.map((pair) => Math.abs(dot(pair.vector, vector)));
    return side.splice(argmax(likeness), 1)[0];
  });
}

export class Drawing {
  /** @param {import("./app.js").Context} context */
  constructor(context) {
    this.context = context;
    this.model = context.model;
    this.run = context.model.run;
    /** @type {Float32Array} */
    this.pixels = new Float32Array(this.model.config.inputs);
    /** The model on the image; without the directions that were removed. */
    this.pass = this.model.forward(this.pixels);
    /** The model as it is. */
    this.whole = this.pass;
    /** The class that is explained: the chosen one, or else the prediction. */
    this.chosen = 0;
    /** A stroke is being drawn: what takes long waits for its end. */
    this.moving = false;
  }

  get form() {
    return formOf(this.context, this.model);
  }

  get decided() {
    return argmax(this.pass.logits);
  }

  get name() {
    return this.run.classNames[this.chosen];
  }

  /** There is nothing to answer. */
  get empty() {
    return this.pixels.every((v) => v === 0);
  }

  /** The eigenpairs of a form for what a pass saw. @param {import("./model.js").Pass} pass
   * @param {import("./data.js").Form} form @param {number} c */
  pairs(pass, form, c) {
    return this.moving ? this.model.quickPairs(pass, form, c) : this.model.pairs(pass, form, c);
  }

  /** Runs the model on the pixels. @param {boolean} [moving] */
  read(moving = false) {
    const { model } = this;
    this.moving = moving;
    const names = this.removed();
    this.whole = model.forward(this.pixels);
    this.pass = names.length ? model.forward(this.pixels, this.directions(names)) : this.whole;
    // That of the model as it is: what was removed from it stays in sight when the answer changes.
    this.chosen = wholeIn(this.context.state.class, 0, model.classes - 1, argmax(this.whole.logits));
  }

  /** The eigenvectors that the reader took away: names that make sense for this run, each once. */
  removed() {
    const { model, run } = this;
    return [...new Set((this.context.state.off ?? "").split(","))].filter((name) => {
      const [, form, c, rank] = REMOVED.exec(name) ?? [];
      return run.forms.some((f) => f.name === form) && Number(c) < model.classes && Number(rank) >= 1 &&
        Number(rank) <= model.formWidth && model.isStored(Number(rank) - 1);
    });
  }

  /** What they span in the layer's input, as an orthonormal basis: eigenvectors of the whole image, not of what was left of it.
   * The entry of a bias, whose input is always 1, is left out. @param {string[]} names */
  directions(names) {
    const { model, run } = this;
    return orthonormal(names.map((name) => {
      const [form, c, rank] = name.split(".");
      const found = /** @type {import("./data.js").Form} */ (run.forms.find((f) => f.name === form));
      return this.pairs(this.whole, found, Number(c))[model.slot(Number(rank) - 1)].vector.slice(0, model.layerWidth(model.last));
    }));
  }

  /** @param {number} rank of the form and class that are shown */
  nameOf(rank) {
    return `${this.form.name}.${this.chosen}.${rank + 1}`;
  }

  /** Takes an eigenvector away, or puts it back. @param {number} rank */
  toggle(rank) {
    const name = this.nameOf(rank);
    const names = this.removed();
    this.context.set({ off: (names.includes(name) ? names.filter((n) => n !== name) : [...names, name]).join(",") });
  }

  /** How far the input of the last layer is from the nearest mean of a class, as a part of the distance that 99 %
   * of the test images stay within. Above 1 the drawing is unlike what the model was trained on. */
  strangeness() {
    const { means, limit } = this.run.usual;
    const x = this.whole.layers[this.model.last].u;
    let nearest = Infinity;
    for (let c = 0; c < means.shape[0]; c++) {
      let squares = 0;
      for (let j = 0; j < x.length; j++) squares += (x[j] - means.values[c * x.length + j]) ** 2;
      nearest = Math.min(nearest, squares);
    }
    return Math.sqrt(nearest) / limit;
  }

  /** The strongest terms of one side, in the order of the page. @param {number} sign @returns {Term[]} */
  side(sign) {
    const { model, form, chosen } = this;
    const w = model.formWidth;
    const removed = this.removed();
    const input = model.formInput(this.pass);
    const wholeInput = model.formInput(this.whole);
    const whole = this.pairs(this.whole, form, chosen);
    const here = this.pass === this.whole ? whole : matched(whole, this.pairs(this.pass, form, chosen));
    const list = [];
    for (let i = 0; i < this.run.strongest; i++) {
      const rank = sign > 0 ? i : w - 1 - i;
      const at = model.slot(rank);
      if (Math.sign(whole[at].value) !== sign) continue;
      const { value: lambda, vector } = here[at];
      const projection = dot(vector, input);
      list.push({ rank, vector, lambda, projection, contribution: lambda * projection ** 2,
        whole: whole[at].value * dot(whole[at].vector, wholeInput) ** 2,
        removed: removed.includes(this.nameOf(rank)) });
    }
    if (this.context.state.order === "here") list.sort((a, b) => Math.abs(b.whole) - Math.abs(a.whole));
    return list;
  }

  /** How the reading adds up: the terms shown, all others, what is outside of the form. */
  parts() {
    const { model, form, pass, chosen } = this;
    const [plus, minus] = [1, -1].map((sign) => this.side(sign).reduce((a, t) => a + t.contribution, 0));
    const quadratic = model.quadraticPart(pass, form, chosen);
    const reading = model.readLogits(pass, form)[chosen];
    return { plus, minus, rest: quadratic - plus - minus, aside: reading - quadratic, reading, logit: pass.logits[chosen] };
  }

  /** The same as bars, each with the place where it begins. @returns {Step[]} */
  steps() {
    const v = this.parts();
    const list = [
      { name: "for, shown", value: v.plus, tone: "pos", from: 0 },
      { name: "against, shown", value: v.minus, tone: "neg", from: v.plus },
      { name: "other terms", value: v.rest, tone: v.rest < 0 ? "neg" : "pos", from: v.plus + v.minus }];
    if (Math.abs(v.aside) > 1e-9) {
      list.push({ name: this.asideName(), value: v.aside, tone: v.aside < 0 ? "neg" : "pos", from: v.plus + v.minus + v.rest });
    }
    list.push({ name: "the reading", value: v.reading, tone: "whole", from: 0 }, { name: "the true logit", value: v.logit, tone: "truth", from: 0 });
    return list;
  }

  asideName() {
    const names = [];
    if (this.form.shift) names.push("linear part");
    if (this.model.config.residual) names.push("residual");
    if (this.model.config.bias) names.push("bias");
    return names.join(", ") || "rounding";
  }

  /** Every reading that the page can make of this image; null: the local one. */
  readings() {
    return [...this.run.forms.map((f) => ({ name: f.name, form: /** @type {import("./data.js").Form | null} */ (f) })),
      { name: "local, exact", form: null }];
  }

  /** How far the page's logits are from the program's own, which are in the file. @param {number} i the test image */
  offProgram(i) {
    const { classes } = this.model;
    let off = 0;
    for (let c = 0; c < classes; c++) off = Math.max(off, Math.abs(this.whole.logits[c] - this.run.logits.values[i * classes + c]));
    return off;
  }
}
