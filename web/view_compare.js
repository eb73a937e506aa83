// Compare: the strongest eigenvectors of two runs side by side, how alike they are, and the angles between what
// they span.
import { append, fixed, h, number, percent, s, segmented } from "glint/dom";
import { legend, paintSigned, theme } from "glint/color";
import { figure, frame } from "glint/chart";
import { dot, principalAngles } from "glint/linalg";
import { classChoice, linearWords } from "glint/forms";
import { wholeIn } from "glint/state";

const MOST_IMAGES = 200;

/** From the paper to the ink of the theme, for likeness from 0 to 1. @param {number} t */
function likenessTone(t) {
  const [paper, ink] = theme() === "dark" ? [[23, 26, 32], [215, 218, 225]] : [[255, 255, 255], [44, 51, 64]];
  return `rgb(${paper.map((p, k) => Math.round(p + 0.92 * t * (ink[k] - p))).join(", ")})`;
}

/** How far a reading is its model over the test images, beside its controls. @param {import("./data.js").Run} run
 * @param {import("./data.js").Form} form */
function fidelityWords({ controls }, form) {
  const one = (/** @type {import("./data.js").Control} */ f) =>
    percent(f.agreement) + (f.centredR2 === undefined ? "" : `, R² centred ${fixed(f.centredR2, 3)}`);
  const untrained = controls?.untrained[form.name];
  return `Agrees with its model on ${one(form.fidelity)}.` +
    (controls ? ` Controls: linear map ${one(controls.linear)}${untrained ? `; untrained ${one(untrained)}` : ""}.` : "");
}

/** The one-to-one pairing with the largest sum, over all subsets of columns: [row] -> column. Rows must not
 * outnumber columns. @param {number[][]} weight @returns {number[]} */
export function bestPairing(weight) {
  const m = weight[0]?.length ?? 0;
  /** Best sum and last column for every set of columns used by the first rows. @type {Map<number, {sum: number, path: number[]}>} */
  let best = new Map([[0, { sum: 0, path: /** @type {number[]} */ ([]) }]]);
  for (const row of weight) {
    /** @type {typeof best} */
    const next = new Map();
    for (const [used, { sum, path }] of best) {
      for (let j = 0; j < m; j++) {
        const key = used | (1 << j);
        if (key === used) continue;
        const total = sum + row[j];
        if (total > (next.get(key)?.sum ?? -1)) next.set(key, { sum: total, path: [...path, j] });
      }
    }
    best = next;
  }
  return [...best.values()].sort((a, b) => b.sum - a.sum)[0]?.path ?? [];
}

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const { models, data } = context;
  const [a, b] = models;
  const names = a.run.classNames;
  const bothRead = a.readsPixels && b.readsPixels;
  const most = Math.min(a.run.strongest, b.run.strongest);

  const chosen = () => wholeIn(context.state.class, 0, a.classes - 1, 0);
  const sign = () => (context.state.side === "against" ? -1 : 1);
  const space = () => (bothRead && context.state.space !== "images" ? "pixels" : "images");

  const classes = classChoice(context, (c) => context.set({ class: String(c) }));
  const side = segmented({ label: "Side", value: "for", options: [{ value: "for", text: "for" }, { value: "against", text: "against" }],
    change: (v) => context.set({ side: v === "for" ? null : v }) });
  // Readings that both have. Every reading of a bilinear model is that of its weights.
  const has = (/** @type {import("./model.js").Model} */ m, /** @type {string} */ name) => m.config.gate === "identity" || m.run.forms.some((f) => f.name === name);
  const formNames = [...new Set(models.flatMap((m) => m.run.forms.map((f) => f.name)))].filter((n) => models.every((m) => has(m, n)));
  // The view has a choice of its own: both sides open with the same reading, the paper's, whatever other views show.
  const asked = () => formNames.find((n) => n === context.state.both) ?? formNames[0];
  const forms = segmented({ label: "Reading", value: "", options: formNames.map((n) => ({ value: n, text: n })),
    change: (both) => context.set({ both }) });
  /** @param {import("./model.js").Model} model */
  const formOf = (model) => model.run.forms.find((f) => f.name === asked()) ?? model.run.forms[0];
  const spaces = segmented({ label: "Compared as", value: space(),
    options: [{ value: "pixels", text: "pictures" }, { value: "images", text: "responses to images" }],
    change: (v) => context.set({ space: v === "pixels" ? null : v }) });

  /** @param {import("./model.js").Model} model */
  function strongest(model) {
    const form = formOf(model);
    const w = model.formWidth;
    const list = [];
    for (let i = 0; i < Math.min(most, Math.floor(w / 2)); i++) {
      const rank = sign() > 0 ? i : w - 1 - i;
      const lambda = form.values.values[chosen() * w + rank];
      if (Math.sign(lambda) !== sign()) break;
      const vector = /** @type {Float32Array} */ (model.eigenvector(form, chosen(), rank));
      list.push({ rank, lambda, vector, picture: /** @type {Float64Array} */ (model.picture(form, chosen(), rank)) });
    }
    return list;
  }

  /** Inputs of the last layer on test images, once. @param {import("./model.js").Model} model */
  function inputs(model) {
    return model.cached("inputs of the last layer", () => {
      const count = Math.min(MOST_IMAGES, data.images.labels.values.length);
      const n = model.config.inputs;
      return Array.from({ length: count }, (_, i) => {
        const pixels = Float32Array.from(data.images.pixels.values.subarray(i * n, (i + 1) * n), (v) => v / 255);
        return model.formInput(model.forward(pixels));
      });
    });
  }

  /** What is compared of every eigenvector: its picture, or its projections of the test images.
   * @param {import("./model.js").Model} model @param {ReturnType<typeof strongest>} list @returns {Float64Array[]} */
  function compared(model, list) {
    if (space() === "pixels") return list.map((t) => t.picture);
    return list.map((t) => Float64Array.from(inputs(model), (x) => dot(t.vector, x)));
  }

  const makeRow = () => Array.from({ length: most }, () => {
    const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" }));
    const value = h("span", { class: "lambda" });
    return { element: h("div", { class: "term" }, canvas, value), canvas, value };
  });
  const linears = models.map(() => {
    const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" }));
    const words = h("p", { class: "muted note" });
    return { element: h("div", { class: "linear-row" }, h("div", { class: "term" }, canvas), words), canvas, words };
  });
  const rows = [makeRow(), makeRow()];
  const titles = rows.map(() => h("h4", {}));
  const fidelities = rows.map(() => h("p", { class: "muted note fidelity" }));
  const gallery = figure({ title: "Side by side", file: "glint-compare", svg: () => gallerySvg(),
    csv: () => [["run", "rank", "eigenvalue"], ...lists.flatMap((list, m) => list.map((t, i) => [models[m].run.name, i + 1, t.lambda]))] });
  append(gallery.body, [...rows.map((row, m) => h("div", { class: "side" },
    titles[m], fidelities[m], h("div", { class: "terms" }, row.map((c) => c.element)), linears[m].element)), legend()]);

  /** @type {ReturnType<typeof strongest>[]} */
  let lists = [[], []];
  /** @type {number[][]} */
  let likeness = [];
  /** @type {number[]} */
  let angles = [];

  const matrix = figure({ title: "Likeness |cos|", file: "glint-similarity",
    note: "Rows: eigenvectors of A, columns: of B, strongest first. 1: the same direction, 0: nothing in common.",
    csv: () => [["A \\ B", ...lists[1].map((_, j) => j + 1)], ...likeness.map((r, i) => [i + 1, ...r])],
    draw: (width) => {
      const size = Math.min(width, 460);
      const n = Math.max(1, likeness.length), m = Math.max(1, likeness[0]?.length ?? 1);
      const left = 26, cell = (size - left) / Math.max(n, m);
      const svg = s("svg", { viewBox: `0 0 ${size} ${left + n * cell}`, width: size, height: left + n * cell, role: "img",
        "aria-label": `Likeness of the eigenvectors, from ${fixed(Math.min(...likeness.flat()))} to ${fixed(Math.max(...likeness.flat()))}` });
      likeness.forEach((row, i) => {
        svg.append(s("text", { x: left - 8, y: left + (i + 0.5) * cell + 4, "text-anchor": "end" }, i + 1));
        row.forEach((v, j) => {
          if (i === 0) svg.append(s("text", { x: left + (j + 0.5) * cell, y: left - 8, "text-anchor": "middle" }, j + 1));
          const rect = s("rect", { x: left + j * cell + 1, y: left + i * cell + 1, width: cell - 2, height: cell - 2, rx: 2, fill: likenessTone(v) });
          svg.append(rect);
          if (cell > 26) {
            const text = s("text", { class: v > 0.55 ? "on-dark" : "on-light", x: left + (j + 0.5) * cell, y: left + (i + 0.5) * cell + 4, "text-anchor": "middle" }, v.toFixed(2));
            svg.append(text);
          }
        });
      });
      return svg;
    } });

  const angleChart = figure({ title: "Principal angles", file: "glint-angles",
    note: "Between the spans of both sets. 0°: a direction that both have; 90°: one that only one of them has.",
    csv: () => [["angle", "degrees"], ...angles.map((v, i) => [i + 1, v])],
    draw: (width) => {
      const n = Math.max(1, angles.length);
      const f = frame({ width, height: 380, label: `Principal angles: ${angles.map((v) => `${v.toFixed(0)}°`).join(", ")}`,
        x: { label: "angle, smallest first", domain: [0.5, n + 0.5] }, y: { label: "degrees", domain: [0, 90], ticks: [0, 30, 60, 90] } });
      const bar = Math.min(36, ((width - 76) / n) * 0.6);
      angles.forEach((v, i) => f.svg.append(
        s("rect", { class: "whole", x: f.sx(i + 1) - bar / 2, width: bar, y: f.sy(v), height: Math.max(0.8, f.sy(0) - f.sy(v)), rx: 2 }),
        s("text", { class: "num", x: f.sx(i + 1), y: f.sy(v) - 5, "text-anchor": "middle" }, `${v.toFixed(0)}°`)));
      return f.svg;
    } });

  /** Both rows as one picture. */
  function gallerySvg() {
    const size = 84, gap = 12;
    const svg = s("svg", { viewBox: `0 0 ${gap + most * (size + gap)} ${2 * (size + 52)}` });
    lists.forEach((list, m) => {
      const y = 26 + m * (size + 52);
      svg.append(s("text", { x: gap, y: y - 8 }, `${"AB"[m]}: ${models[m].run.name}`));
      list.forEach((t, i) => svg.append(
        s("image", { x: gap + i * (size + gap), y, width: size, height: size, href: rows[m][i].canvas.toDataURL(), "image-rendering": "pixelated" }),
        s("text", { class: "num", x: gap + i * (size + gap), y: y + size + 16 }, `λ ${number(t.lambda)}`)));
    });
    return svg;
  }

  const said = h("p", { class: "said", "aria-live": "polite" });
  const element = h("section", { "aria-labelledby": "compare-title" },
    h("h2", { id: "compare-title" }, "Compare"),
    h("p", { class: "lead" }, "The same class in two runs: the patterns that each has learned, side by side. " +
      "Below are the likeness of every pair and the angles between what the two sets span."),
    h("div", { class: "card controls" }, classes.element, side.element, formNames.length > 1 ? forms.element : null, bothRead ? spaces.element : null),
    h("div", { class: "card" }, gallery.element, said),
    h("div", { class: "pair even" }, h("div", { class: "card" }, matrix.element), h("div", { class: "card" }, angleChart.element)),
    h("p", { class: "muted note" }, bothRead ? "" :
      `A deeper layer of two runs has no axes in common, so eigenvectors are compared by how they respond to ${Math.min(MOST_IMAGES, data.images.labels.values.length)} test images.`));

  return {
    element,
    update() {
      classes.set(String(chosen()));
      side.set(sign() > 0 ? "for" : "against");
      spaces.set(space());
      forms.set(asked());
      titles.forEach((t, m) => {
        const read = formOf(models[m]).name;
        t.textContent = `${"AB"[m]}: ${models[m].run.name}, ${read}${read === asked() ? "" : ", which is exact here"}`;
        fidelities[m].textContent = fidelityWords(models[m].run, formOf(models[m]));
      });
      lists = models.slice(0, 2).map(strongest);
      lists.forEach((list, m) => rows[m].forEach((card, i) => {
        const t = list[i];
        card.element.hidden = !t;
        if (!t) return;
        paintSigned(card.canvas, t.picture, a.height, a.width);
        card.canvas.setAttribute("aria-label", `Run ${"AB"[m]}, eigenvector ${i + 1}`);
        card.value.textContent = `λ ${number(t.lambda)}`;
      }));
      linears.forEach(({ element: row, canvas, words }, m) => {
        const part = models[m].linearPart(formOf(models[m]), chosen());
        row.hidden = !part?.picture;
        if (!part?.picture) return;
        paintSigned(canvas, part.picture, a.height, a.width);
        canvas.setAttribute("aria-label", `Run ${"AB"[m]}, linear part`);
        words.textContent = `${linearWords(models[m], formOf(models[m]), chosen())} The likeness below leaves it out.`;
      });
      const [va, vb] = [compared(a, lists[0]), compared(b, lists[1])];
      const cosine = (/** @type {Float64Array} */ x, /** @type {Float64Array} */ y) => {
        const lengths = Math.sqrt(dot(x, x) * dot(y, y));
        return lengths > 0 ? Math.min(1, Math.abs(dot(x, y)) / lengths) : 0;
      };
      likeness = va.map((x) => vb.map((y) => cosine(x, y)));
      angles = va.length && vb.length ? principalAngles(va, vb) : [];
      const n = Math.min(va.length, vb.length);
      const paired = n ? likeness.slice(0, n).reduce((sum, r, i) => sum + r[i], 0) / n : 0;
      // Over all subsets: only for as few as the page usually holds.
      const partners = n > 0 && n <= 10 ? bestPairing(likeness.slice(0, n)) : [];
      const partnered = partners.reduce((sum, j, i) => sum + likeness[i][j], 0) / n;
      said.textContent = n ? `Paired by rank, the likeness of ${names[chosen()]} is ${fixed(paired)} on average over ${n} pairs` +
        (partners.length ? `; with the best partner for each it is ${fixed(partnered)}.` : ".") : "One of the runs has no eigenvectors on this side.";
      matrix.refresh();
      angleChart.refresh();
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const compareView = { id: "compare", title: "Compare", fits: (data) => data.kind === "image" && data.runs.length > 1, make };
