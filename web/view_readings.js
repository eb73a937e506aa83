// Readings: what a layer of a language model looks for when it raises or lowers a token, by the eigenvectors that were
// packed in, their words, and the passages of a text in which each is strongest. Two models stand side by side.
import { fixed, h, number, percent, segmented, select, signed, whole } from "glint/dom";
import { divergingCss, legend, theme } from "glint/color";
import { spectrumPlot } from "glint/spectrum_plot";
import { wholeIn } from "glint/state";

/** @typedef {[string, number]} Word */
/** @typedef {{story: number, value: number, tokens: Word[], strongest: number}} Passage */
/** @typedef {{rank: number, value: number, along: Word[], against: Word[], mean: number, passages: Passage[]}} Vector */
/** @typedef {{name: string, r2: number | null, interval?: [number, number], eigenvectorsR2: number, linearShare: number,
 *   values: import("./data.js").Tensor, whole: number, vectors: Vector[], linear?: {along: Word[], against: Word[]}}} Unit */
/** @typedef {{layer: number, form: string, fidelity: {r2: number, interval?: [number, number]}, linear: number, untrained?: number,
 *   warnings: string[], units: Unit[]}} Reading */
/** @typedef {{name: string, text: string, layers: number, samples: string, passages: string, readings: Reading[], leftOut: string,
 *   opens: {layer: number, unit: string, rank: number} | null, sentences: import("./view_explained.js").Sentence[]}} ReadingRun */

const DIM = 0.35; // of the full colour behind a word: it stays easy to read

/** The model of a page of readings: nothing is computed here. */
export class ReadingModel {
  /** @param {ReadingRun} run */
  constructor(run) {
    this.run = run;
  }
}

/** @param {Word[]} words */
function wordList(words) {
  return h("span", {}, words.map(([text, cosine], i) => [i ? " " : "", h("span", { class: "word", title: `cosine ${signed(cosine)}` }, text)]).flat());
}

/** The words of a passage, each on the colour of what the eigenvector adds there. @param {Vector} vector @param {Passage} passage */
function passageOf(vector, passage) {
  const mode = theme();
  const words = passage.tokens.map(([text, strength], i) => {
    const span = h("span", { class: i === passage.strongest ? "word strongest" : "word", title: number(Math.abs(strength) * vector.value * Math.abs(passage.value / vector.value)) }, text);
    span.style.backgroundColor = divergingCss(DIM * Math.sign(vector.value) * Math.abs(strength), mode);
    return span;
  });
  const times = vector.mean > 0 ? `, ${whole(Math.abs(passage.value) / vector.mean)} times the mean` : "";
  return h("li", {}, h("p", { class: "passage" }, words), h("p", { class: "muted note" }, `story ${whole(passage.story)}: ${signed(passage.value, 3)}${times}`));
}

/** @param {Unit} unit @param {Vector} vector @param {boolean} current */
function vectorCard(unit, vector, current) {
  const words = [["along", vector.along], ["against", vector.against]];
  return h("article", { class: current ? "card vector-card current" : "card vector-card", "data-rank": String(vector.rank) },
    h("h4", {}, h("span", { class: vector.value < 0 ? "sign-neg" : "sign-pos" }, `λ ${number(vector.value)}`),
      ` speaks ${vector.value < 0 ? "against" : "for"} ${unit.name}`),
    h("dl", { class: "near" }, words.map(([side, list]) => h("div", {}, h("dt", {}, String(side)), h("dd", {}, wordList(/** @type {Word[]} */ (list)))))),
    vector.passages.length ? h("ol", { class: "passages" }, vector.passages.map((p) => passageOf(vector, p)))
      : h("p", { class: "muted note" }, "No passages were packed in."));
}

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const runs = /** @type {ReadingRun[]} */ (/** @type {unknown} */ (context.data.runs));
  const first = runs[0];
  const layers = first.readings.map((r) => r.layer), names = first.readings[0].units.map((u) => u.name);
  // Where nothing is chosen, the reading with the clearest words.
  const opens = () => context.state.layer || context.state.token ? null : first.opens;
  const layerAt = () => Math.max(0, layers.indexOf(opens()?.layer ?? Number(context.state.layer)));
  const unitAt = () => Math.max(0, names.indexOf(opens()?.unit ?? context.state.token ?? ""));
  const options = layers.map((l) => ({ value: String(l), text: String(l) }));
  const layer = (layers.length > 8 ? select : segmented)({ label: "Layer", options, value: String(layers[layerAt()]), change: (l) => context.set({ layer: l, token: names[unitAt()], rank: null }) });
  const token = select({ label: "Output token", value: names[unitAt()], options: names.map((n) => ({ value: n, text: n })), change: (t) => context.set({ token: t, layer: String(layers[layerAt()]), rank: null }) });

  const columns = runs.map((run, r) => {
    const reading = () => run.readings[layerAt()], unit = () => reading().units[unitAt()];
    // The values are those of the vectors that are here, or all of them.
    const rank = () => wholeIn(context.state.rank, 1, unit().values.values.length, (r === 0 && opens()?.rank || 0) + 1) - 1;
    const plot = spectrumPlot({ file: `glint-reading-${r + 1}`, name: () => unit().name, values: () => unit().values.values, rank,
      go: (to) => context.set({ layer: String(layers[layerAt()]), token: names[unitAt()], rank: String(to + 1) }),
      kept: () => new Set(unit().vectors.map((v) => v.rank)) });
    const facts = h("dl", { class: "pairs" });
    const warnings = h("div", {});
    const chosen = h("div", { class: "chosen" }), list = h("div", { class: "vector-list" });
    const element = h("div", { class: "reading-column", "data-run": String(r) },
      runs.length > 1 ? h("h3", {}, `${"AB"[r]}: ${run.name}`) : null,
      chosen, h("div", { class: "card" }, plot.element, facts, warnings), list,
      h("p", { class: "muted note left-out" }, run.leftOut));
    return { element, update() {
      plot.refresh();
      const { fidelity, linear, untrained, form } = reading(), u = unit();
      const between = (/** @type {[number, number] | undefined} */ i) => i ? ` (${fixed(i[0])} to ${fixed(i[1])})` : "";
      facts.replaceChildren(...[
        [`R² of this token, ${form} form`, u.r2 === null ? "not measured" : fixed(u.r2, 3) + between(u.interval)],
        ["of its eigenvectors alone", u.r2 === null ? "not measured" : fixed(u.eigenvectorsR2, 3)],
        ["all tokens here", u.r2 === null ? "not measured" : fixed(fidelity.r2, 3) + between(fidelity.interval)],
        ["control: a linear map", u.r2 === null ? "not measured" : fixed(linear, 3)],
        ...(untrained === undefined ? [] : [["control: matrices redrawn", fixed(untrained, 3)]]),
        ["linear part", u.r2 === null ? "not measured" : percent(u.linearShare)], ["measured on", run.samples],
      ].map(([k, t]) => h("div", {}, h("dt", {}, k), h("dd", {}, t))));
      warnings.replaceChildren(...reading().warnings.map((w) => h("p", { class: "problem", role: "note" }, w)));
      const card = (/** @type {Vector} */ v) => vectorCard(u, v, v.rank === rank());
      chosen.replaceChildren(...u.vectors.filter((v) => v.rank === rank()).map(card));
      list.replaceChildren(...u.vectors.filter((v) => v.rank !== rank()).map(card));
    } };
  });
  const element = h("section", { "aria-labelledby": "readings-title" },
    h("h2", { id: "readings-title" }, "Readings"),
    h("p", { class: "lead" }, "What in its input makes a layer raise or lower the chance of a token? Each eigenvector is a pattern that the layer looks for. " +
      `It is shown by the words nearest to it, and by the passages in which it is strongest, of ${first.passages}.`),
    h("div", { class: "card controls" }, layer.element, token.element),
    h("div", { class: "reading-legend" }, legend("against", "for", "the colour of a word: what the eigenvector adds there")),
    h("div", { class: runs.length > 1 ? "reading-columns two" : "reading-columns" }, columns.map((c) => c.element)));
  return {
    element,
    update() {
      layer.set(String(layers[layerAt()]));
      token.set(names[unitAt()]);
      for (const c of columns) c.update();
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const readingsView = { id: "readings", title: "Readings", fits: (data) => data.kind === "readings", make };
