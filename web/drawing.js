// The image of the Draw view, what the model makes of it and how the chosen class is read: the numbers that the
// parts of the view show.
import { argmax } from "glint/model";
import { formOf } from "glint/forms";
import { wholeIn } from "glint/state";

/** @typedef {{rank: number, lambda: number, projection: number, contribution: number}} Term */
/** @typedef {{name: string, value: number, tone: string, from: number}} Step */

export class Drawing {
  /** @param {import("./app.js").Context} context */
  constructor(context) {
    this.context = context;
    this.model = context.model;
    this.run = context.model.run;
    this.pixels = new Float32Array(this.model.config.inputs);
    this.pass = this.model.forward(this.pixels);
    /** The class that is explained: the chosen one, or else the prediction. */
    this.chosen = 0;
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

  /** Runs the model on the pixels. */
  read() {
    this.pass = this.model.forward(this.pixels);
    this.chosen = wholeIn(this.context.state.class, 0, this.model.classes - 1, this.decided);
  }

  /** The strongest terms of one side, in the order of the page. @param {number} sign @returns {Term[]} */
  side(sign) {
    const { model, form, chosen } = this;
    const w = model.formWidth;
    const input = model.formInput(this.pass);
    const list = [];
    for (let i = 0; i < Math.min(this.run.strongest, Math.floor(w / 2)); i++) {
      const rank = sign > 0 ? i : w - 1 - i;
      const lambda = form.values.values[chosen * w + rank];
      if (Math.sign(lambda) !== sign) continue;
      const vector = /** @type {ArrayLike<number>} */ (model.eigenvector(form, chosen, rank));
      let projection = 0;
      for (let j = 0; j < w; j++) projection += vector[j] * input[j];
      list.push({ rank, lambda, projection, contribution: lambda * projection * projection });
    }
    if (this.context.state.order === "here") list.sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
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
    for (let c = 0; c < classes; c++) off = Math.max(off, Math.abs(this.pass.logits[c] - this.run.logits.values[i * classes + c]));
    return off;
  }
}
