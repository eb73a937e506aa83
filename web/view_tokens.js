// Tokens: the eigenvalues of an output token in a layer, and the tokens near the eigenvector of each.
import { h, number, percent, s, signed, whole } from "glint/dom";
import { figure } from "glint/chart";
import { languageOf } from "glint/language";
import { directionOf, languageControls, languageForm, layerOf } from "glint/language_controls";
import { spectrumPlot } from "glint/spectrum_plot";
import { wholeIn } from "glint/state";

const NEAR = 10, SHOWN = 4;

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const model = languageOf(context);
  const { tokenizer } = model;
  const w = model.config.d_model;
  const controls = languageControls(context);
  const rank = () => wholeIn(context.state.rank, 1, w, 1) - 1;
  /** @type {import("./language.js").Direction} */
  let direction = { name: "", terms: [] };
  const spectrum = () => model.spectrum(layerOf(context), languageForm(context), direction);
  const go = (/** @type {number} */ to) => context.set({ rank: String(to + 1) });

  const plot = spectrumPlot({ file: "glint-token-spectrum", name: () => direction.name, values: () => spectrum().values, rank, go });

  const lists = () => model.near(spectrum().vectors[rank()], NEAR, tokenizer.isText);
  const tokens = figure({ title: "Tokens along and against its eigenvector", file: "glint-token-list",
    note: "Cosine with the tokens' embeddings. Both lists act alike, because the match is squared.",
    csv: () => {
      const { along, against } = lists();
      return [["side", "token", "id", "cosine"], ...[["along", along], ["against", against]].flatMap(([side, list]) =>
        /** @type {typeof along} */ (list).map((t) => [/** @type {string} */ (side), tokenizer.pieces[t.id], t.id, t.cosine]))];
    },
    draw: (width) => {
      const { along, against } = lists();
      const row = 21, half = width / 2, height = 24 + NEAR * row;
      const top = Math.max(...[...along, ...against].map((t) => Math.abs(t.cosine)), 1e-9);
      const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
        "aria-label": `Along: ${along.map((t) => tokenizer.shown(t.id)).join(" ")}. Against: ${against.map((t) => tokenizer.shown(t.id)).join(" ")}.` });
      [along, against].forEach((list, side) => {
        const x = side * half;
        svg.append(s("text", { class: "name", x, y: 13 }, side ? "against" : "along"));
        list.forEach((t, i) => {
          const y = 24 + i * row;
          const text = tokenizer.shown(t.id);
          svg.append(s("rect", { class: "whole faint", x, y, width: ((half - 58) * Math.abs(t.cosine)) / top, height: row - 4, rx: 3 }),
            s("text", { class: "num", x: x + 6, y: y + 13 }, text.length > 14 ? `${text.slice(0, 13)}…` : text),
            s("text", { x: x + half - 16, y: y + 13, "text-anchor": "end" }, signed(t.cosine)));
        });
      });
      return svg;
    } });
  const facts = h("dl", { class: "pairs" });
  const body = h("tbody", {});
  const linearNote = h("p", { class: "muted note" },
    "This reading also has a part that is not squared, w·x: tokens along it speak for the output, tokens against it against the output.");
  const table = h("div", { class: "card span" }, h("h3", {}, "The strongest of either sign"),
    h("div", { class: "scroll" }, h("table", { class: "token-table" }, h("thead", {}, h("tr", {},
      ["Eigenvalue", "Tokens along it", "Tokens against it"].map((t) => h("th", { scope: "col" }, t)))), body)), linearNote);
  const grid = h("div", { class: "spectra-grid tokens-grid" }, h("div", { class: "card" }, plot.element),
    h("div", { class: "card" }, tokens.element, facts), table);

  const element = h("section", { "aria-labelledby": "tokens-title" },
    h("h2", { id: "tokens-title" }, "Tokens"),
    h("p", { class: "lead" }, "What in its input makes a layer raise or lower the chance of a token? Choose a layer and an output token, or a difference such as “happy - sad”. " +
      "Each eigenvector is a pattern that the layer looks for, shown by the tokens that are nearest to it."),
    controls.element, grid);

  return {
    element,
    update() {
      controls.update();
      const chosen = directionOf(context);
      grid.hidden = typeof chosen === "string";
      if (typeof chosen === "string") return;
      direction = chosen;
      plot.refresh();
      tokens.refresh();
      const { values, vectors, linear } = spectrum();
      const energy = values.reduce((a, x) => a + x * x, 0);
      const place = values.filter((x) => Math.abs(x) > Math.abs(values[rank()])).length + 1;
      facts.replaceChildren(...[
        ["Eigenvalue", number(values[rank()], 4)], ["Speaks", `${values[rank()] < 0 ? "against" : "for"} ${direction.name}`],
        ["Rank by size", `${whole(place)} of ${whole(w)}`], ["Share of Σλ²", percent(energy ? values[rank()] ** 2 / energy : 0, 2)],
      ].map(([k, t]) => h("div", {}, h("dt", {}, k), h("dd", {}, t))));
      const up = Array.from(values.keys()).filter((i) => i < SHOWN && values[i] > 0);
      const down = Array.from(values.keys()).filter((i) => i >= w - SHOWN && values[i] < 0 && !up.includes(i)).reverse();
      const row = (/** @type {Float64Array} */ v, /** @type {any} */ name, /** @type {boolean} */ current) => {
        const { along, against } = model.near(v, 8, tokenizer.isText);
        const words = (/** @type {typeof along} */ list) => h("td", {}, list.map((t) => tokenizer.shown(t.id)).join(" "));
        return h("tr", { class: current ? "current" : null }, h("th", { scope: "row" }, name), words(along), words(against));
      };
      body.replaceChildren(...[...up, ...down].map((i) => row(vectors[i], h("a", { href: context.href({ rank: String(i + 1) }) }, number(values[i])), i === rank())),
        ...(linear ? [row(linear, "linear part", false)] : []));
      linearNote.hidden = !linear;
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const tokensView = { id: "tokens", title: "Tokens", fits: (data) => data.kind === "language", make };
