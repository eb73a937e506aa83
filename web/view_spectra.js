// Spectra: all eigenvalues of a class, the eigenvector of each, and how many terms the accuracy needs.
import { append, h, number, percent, s, whole } from "glint/dom";
import { legend, paintSigned } from "glint/color";
import { figure, keys, lineChart } from "glint/chart";
import { spectrumPlot } from "glint/spectrum_plot";
import { classChoice, formChoice, formOf, linearWords } from "glint/forms";
import { wholeIn } from "glint/state";

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const { model } = context;
  const { run } = model;
  const w = model.formWidth;
  const names = run.classNames;

  const chosen = () => wholeIn(context.state.class, 0, model.classes - 1, 0);
  const rank = () => wholeIn(context.state.rank, 1, w, 1) - 1;
  const kept = () => wholeIn(context.state.k, 0, w, Math.min(16, w));
  const values = () => formOf(context).values.values.subarray(chosen() * w, (chosen() + 1) * w);

  const classes = classChoice(context, (c) => context.set({ class: String(c) }));
  const forms = formChoice(context);

  /** Ranks by magnitude, the order in which terms are kept. */
  const byMagnitude = () => {
    const v = values();
    return Array.from(v.keys()).sort((a, b) => Math.abs(v[b]) - Math.abs(v[a]) || a - b);
  };

  const plot = spectrumPlot({ file: "glint-spectrum", name: () => names[chosen()], values, rank,
    go: (to) => context.set({ rank: String(to + 1) }), kept: () => new Set(byMagnitude().slice(0, kept())) });

  // The eigenvector of the chosen value.
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "big", role: "img" }));
  const facts = h("dl", { class: "pairs" });
  const missing = h("p", { class: "muted", hidden: true },
    "This page keeps the strongest eigenvectors of either sign; at this width it does not compute the others.");
  const vector = figure({ title: "Its eigenvector", file: "glint-eigenvector",
    csv: () => {
      const p = model.picture(formOf(context), chosen(), rank()) ?? [];
      return [["row", "column", "value"], ...Array.from(p, (x, i) => [Math.floor(i / model.width), i % model.width, x])];
    },
    svg: () => s("svg", { viewBox: "0 0 280 280" }, s("image", { width: 280, height: 280, href: canvas.toDataURL(), "image-rendering": "pixelated" })) });
  const linearCanvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" }));
  const linearNote = h("p", { class: "muted note" });
  const linearBox = h("div", { class: "linear-box" }, h("h3", {}, "Its linear part"),
    h("div", { class: "linear-row" }, h("div", { class: "term" }, linearCanvas), linearNote));
  append(vector.body, [canvas, missing, legend("negative", "positive", "its sign as a whole means nothing"), facts]);

  /** What stands beside the eigenvectors in this reading. */
  function showLinear() {
    const part = model.linearPart(formOf(context), chosen());
    linearBox.hidden = !part;
    if (!part) return;
    linearCanvas.hidden = !part.picture;
    if (part.picture) paintSigned(linearCanvas, part.picture, model.height, model.width);
    linearCanvas.setAttribute("aria-label", `The linear part of ${names[chosen()]} as a picture`);
    linearNote.textContent = linearWords(model, formOf(context), chosen());
  }

  function showVector() {
    const v = model.picture(formOf(context), chosen(), rank());
    const all = values();
    missing.hidden = v !== null;
    canvas.hidden = v === null;
    if (v) {
      paintSigned(canvas, v, model.height, model.width);
      canvas.setAttribute("aria-label", `Eigenvector ${rank() + 1} of ${names[chosen()]} as a picture`);
    }
    const energy = all.reduce((a, x) => a + x * x, 0);
    const place = byMagnitude().indexOf(rank()) + 1;
    facts.replaceChildren(...[
      ["Eigenvalue", number(all[rank()], 4)],
      ["Speaks", all[rank()] < 0 ? `against ${names[chosen()]}` : `for ${names[chosen()]}`],
      ["Rank by size", `${whole(place)} of ${whole(w)}`],
      ["Share of Σλ²", percent(energy ? all[rank()] ** 2 / energy : 0, 2)],
    ].map(([k, t]) => h("div", {}, h("dt", {}, k), h("dd", {}, t))));
  }

  // How many terms are needed.
  const slider = /** @type {HTMLInputElement} */ (h("input", { type: "range", id: "keep", min: 0, max: w, step: 1,
    oninput: () => context.set({ k: slider.value }) }));
  const said = h("p", { class: "said", "aria-live": "polite" });
  // A calibrated form has a linear part beside its eigenvectors, which is there at k = 0 already.
  const linear = () => formOf(context).shift?.values.some((v) => v !== 0) ?? false;
  const curves = () => {
    const form = formOf(context);
    /** @type {import("./chart.js").Series[]} */
    const list = [];
    const line = (/** @type {string} */ name, /** @type {string} */ tone, /** @type {Float32Array} */ y, dashed = false) =>
      list.push({ name, tone, dashed, points: Array.from(y, (v, k) => ({ x: k, y: 100 * v })) });
    if (form.accuracy) line(`right on the test set${linear() ? " (k = 0: the linear part alone)" : ""}`, "ink", form.accuracy.values);
    if (form.agreement) line("decides as the whole model", "soft", form.agreement.values, true);
    return list;
  };
  const keep = figure({ title: "Keep only the strongest terms", file: "glint-truncation",
    note: "Every class keeps its k eigenvectors of largest |λ|; all others are cut away. What is not squared always stays: the constant, in the calibrated form the linear part, and in models with a residual what goes past the layer. So k = 0 shows what they do without any eigenvector.",
    csv: () => {
      const { accuracy, agreement } = formOf(context);
      return [["k", "accuracy", "agreement"], ...Array.from({ length: w + 1 }, (_, k) => [k, accuracy?.values[k] ?? "", agreement?.values[k] ?? ""])];
    },
    draw: (width) => {
      const series = curves();
      return lineChart({ width, height: 220, label: "Accuracy against the number of terms kept", series,
        x: "terms kept, k (small numbers have more room)", y: "test images, %", yDomain: [0, 100], xDomain: [0, w], early: true, mark: kept() }).svg;
    },
    below: () => keys(curves()) });

  const sizeNote = h("p", { class: "muted note" });
  const element = h("section", { "aria-labelledby": "spectra-title" },
    h("h2", { id: "spectra-title" }, "Spectra"),
    h("p", { class: "lead" }, "Every class is a sum of squared patterns, each with a weight: its eigenvalue. " +
      "A few large ones do most of the work, and the slider shows how few are enough. The calibrated reading has a linear part beside them, which is not squared and is counted apart."),
    h("div", { class: "card controls" }, classes.element, forms.element),
    h("div", { class: "spectra-grid" },
      h("div", { class: "card" }, plot.element, linearBox), h("div", { class: "card" }, vector.element),
      h("div", { class: "card span" }, keep.element,
        h("div", { class: "keep" }, h("label", { for: "keep" }, "Keep the top k terms"), slider, said))),
    sizeNote, model.readsPixels ? null : h("p", { class: "muted note" },
      `These are the spectra of layer ${model.config.layers}, which does not read pixels. A picture shows the strongest pattern of the layers below that drives an eigenvector.`));

  return {
    element,
    update() {
      classes.set(String(chosen()));
      forms.set(formOf(context).name);
      slider.value = String(kept());
      const { size } = formOf(context);
      sizeNote.hidden = size === undefined;
      sizeNote.textContent = size === undefined ? "" : `In the scaled reading eigenvalues depend on ‖x‖, the size of the layer's input. These are the ones at the median over training images, ‖x‖ = ${number(size)}, and the slider keeps these for every image; the reading itself has those of each image's own size.`;
      plot.refresh();
      keep.refresh();
      showVector();
      showLinear();
      const { accuracy, fidelity } = formOf(context);
      said.replaceChildren(h("strong", {}, `k = ${kept()}`), accuracy
        ? `: ${percent(accuracy.values[kept()])} of the test images right. ` +
          (linear() ? `The linear part alone, k = 0: ${percent(accuracy.values[0])}. ` : "") +
          `All ${w} terms: ${percent(accuracy.values[w])}; ` +
          (size === undefined ? "" : `the reading, at each image's own size: ${percent(fidelity.accuracyForm)}; `) + `the model itself: ${percent(fidelity.accuracyModel)}.`
        : ".");
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const spectraView = { id: "spectra", title: "Spectra", fits: (data) => data.kind === "image", make };
