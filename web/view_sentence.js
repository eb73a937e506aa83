// Sentence: a typed sentence goes through the model; which eigenvectors of a layer fire at which token, and what
// the model expects next.
import { fixed, h, number, percent, s, signed, whole } from "glint/dom";
import { divergingCss, legend, theme } from "glint/color";
import { figure } from "glint/chart";
import { dot } from "glint/linalg";
import { languageOf } from "glint/language";
import { directionOf, languageControls, languageForm, layerOf } from "glint/language_controls";
import { wholeIn } from "glint/state";

const ROWS = 12, NEXT = 10, CELL = 46, LINE = 24, PAUSE = 150, SLICE = 12; // the last two in ms

/** @param {Float64Array} logits */
function softmax(logits) {
  const top = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const parts = logits.map((x) => Math.exp(x - top));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((x) => x / sum);
}

/** Two digits that are not below the value. @param {number} value */
function above(value) {
  if (!(value > 0)) return "0";
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return number(Math.ceil(value / unit - 1e-9) * unit, 2);
}

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const model = languageOf(context);
  const { tokenizer, run } = model;
  const controls = languageControls(context);
  /** @type {import("./language.js").Direction} */
  let direction = { name: "", terms: [] };
  let sentence = "\0";
  /** @type {import("./language.js").SentencePass} */
  let pass = { ids: [], inputs: [], mixes: [], last: [], sums: [] };
  /** The logits at the chosen token, the only ones that are shown whole. @type {{at: number, logits: Float64Array} | null} */
  let shown = null;
  /** @type {number[]} */
  let targets = [];
  let cut = 0, turn = 0;

  /** The end mark comes first, as in training. @param {string} text */
  const read = (text) => {
    if (text === sentence) return;
    const first = sentence === "\0";
    sentence = text;
    const all = [tokenizer.end, ...tokenizer.encode(text)];
    const ids = all.slice(0, model.config.context);
    cut = all.length - ids.length;
    pass = model.forward(ids, first ? undefined : pass);
    targets = [...all.slice(1), tokenizer.end].slice(0, ids.length);
    shown = null;
    measure(++turn);
  };
  /** The loss takes the logits of every token: between other work, a slice at a time. @param {number} mine */
  const measure = (mine) => {
    if (mine !== turn) return;
    const until = performance.now() + SLICE;
    let t = 0, sum = 0;
    while (t < targets.length && (pass.sums[t] !== undefined || performance.now() < until)) {
      sum += model.loss(pass, t, targets[t]);
      t++;
    }
    const loss = sum / targets.length;
    const done = t === targets.length;
    const rounded = run.halfDeviation === undefined ? ""
      : ` Weights rounded to 16 bits; logits within ${above(run.halfDeviation)} of the program’s on validation stories.`;
    said.textContent = `${whole(pass.ids.length)} tokens with the start mark` + (done ? `; loss ${fixed(loss, 4)} a token, perplexity ${fixed(Math.exp(loss), 1)}.` : ".") +
      (cut ? ` ${whole(cut)} more are beyond the model's context and left out.` : "") + rounded;
    if (!done) setTimeout(() => measure(mine), 0);
  };
  const logits = () => {
    const at = position();
    if (shown?.at !== at) shown = { at, logits: model.logits(pass, at) };
    return shown.logits;
  };
  const position = () => wholeIn(context.state.pos, 0, pass.ids.length - 1, pass.ids.length - 1);
  const label = (/** @type {number} */ i) => i === 0 ? "⟨start⟩" : tokenizer.shown(pass.ids[i]);

  let typing = 0; // the timer that waits for a pause
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "sentence", class: "sentence-input", maxlength: 2000, autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      clearTimeout(typing);
      typing = setTimeout(() => {
        typing = 0;
        // An address leaves out what is empty: a space stands for no sentence.
        context.set({ text: input.value || " ", pos: null });
      }, PAUSE);
    } }));
  const chips = h("div", { class: "token-chips", role: "group", "aria-label": "Tokens of the sentence" });
  const said = h("p", { class: "said", "aria-live": "polite" });

  /** Contributions of the eigenvectors that do most over the sentence. */
  const heat = () => {
    const layer = layerOf(context), form = languageForm(context);
    const { values, vectors, hidden, linear } = model.spectrum(layer, form, direction);
    const parts = vectors.map((v, k) => pass.inputs[layer].map((x) => values[k] * dot(v, x) ** 2));
    const size = parts.map((row) => row.reduce((a, b) => a + Math.abs(b), 0));
    const ranks = Array.from(size.keys()).sort((a, b) => size[b] - size[a] || a - b).slice(0, ROWS).sort((a, b) => a - b);
    // Below the eigenvectors what makes them the whole reading: the others, and what is not squared.
    const rest = Array.from(size.keys()).filter((k) => !ranks.includes(k));
    const sums = !rest.length ? [] : [{ name: `${whole(rest.length)} ${rest.length === 1 ? "other" : "others"}`, row: pass.ids.map((_, t) => rest.reduce((a, k) => a + parts[k][t], 0)) }];
    if (linear) sums.push({ name: "linear part", row: pass.inputs[layer].map((x) => dot(linear, x)) });
    return { ranks, values, parts, sums,
      form: pass.inputs[layer].map((x) => dot(hidden, model.glu(layer, x, form.lines[layer]))),
      truth: pass.inputs[layer].map((x) => dot(hidden, model.glu(layer, x))) };
  };
  const map = figure({ title: "Which eigenvectors fire where", file: "glint-sentence",
    note: "λ (v·x)² of the eigenvectors that do most in this sentence; below them the sum of the others and, where the reading has one, its linear part w·x. " +
      "Together they are the whole reading; the last row is what the layer itself adds.",
    csv: () => {
      const { ranks, values, parts, sums, form, truth } = heat();
      return [["row", "eigenvalue", ...pass.ids.map((_, i) => `${i} ${label(i)}`)], ...ranks.map((k) => [k + 1, values[k], ...parts[k]]),
        ...sums.map(({ name, row }) => [name, "", ...row]), ["reading", "", ...form], ["layer", "", ...truth]];
    },
    draw: () => {
      const { ranks, values, parts, sums, form, truth } = heat();
      const left = 128, top = 24, n = pass.ids.length;
      const width = left + n * CELL + 4, height = top + (ranks.length + sums.length + 2) * LINE + 12;
      const most = Math.max(1e-12, ...ranks.flatMap((k) => parts[k].map(Math.abs)));
      const largest = Math.max(1e-12, ...[form, truth, ...sums.map(({ row }) => row)].flatMap((row) => row.map(Math.abs)));
      const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
        "aria-label": `Contributions of ${ranks.length} eigenvectors of ${direction.name} at ${n} tokens` });
      const mode = theme();
      const short = (/** @type {string} */ t) => t.length > 7 ? `${t.slice(0, 6)}…` : t;
      for (let i = 0; i < n; i++) svg.append(s("text", { class: "num", x: left + (i + 0.5) * CELL, y: 15, "text-anchor": "middle" }, short(label(i))));
      const line = (/** @type {number} */ y, /** @type {string} */ name, /** @type {number[]} */ row, /** @type {number} */ scale) => {
        svg.append(s("text", { class: "num", x: 2, y: y + 16 }, name));
        row.forEach((v, i) => svg.append(s("rect", { x: left + i * CELL, y, width: CELL - 2, height: LINE - 2, rx: 2, fill: divergingCss(v / scale, mode) },
          s("title", {}, `${label(i)}: ${number(v)}`))));
      };
      ranks.forEach((k, r) => line(top + r * LINE, `${k + 1}: λ ${number(values[k])}`, parts[k], most));
      const below = top + ranks.length * LINE + 8;
      [...sums, { name: "whole reading", row: form }, { name: "the layer itself", row: truth }]
        .forEach(({ name, row }, r) => line(below + r * LINE, name, row, largest));
      svg.append(s("rect", { class: "column-mark", x: left + position() * CELL - 1, y: top - 2, width: CELL, height: height - top, rx: 3, fill: "none" }));
      return svg;
    },
    below: () => legend("against", "for", "eigenvectors on one scale, the sums below on another") });
  map.body.classList.add("scroll");
  map.body.tabIndex = 0;
  map.body.setAttribute("role", "region");
  map.body.setAttribute("aria-label", "Heat map, scrolls sideways");

  const best = () => {
    const p = softmax(logits());
    return Array.from(p.keys()).sort((a, b) => p[b] - p[a] || a - b).slice(0, NEXT).map((id) => ({ id, p: p[id], logit: logits()[id] }));
  };
  const next = figure({ title: "What the model expects next", file: "glint-next",
    csv: () => [["token", "id", "probability", "logit"], ...best().map((t) => [tokenizer.pieces[t.id], t.id, t.p, t.logit])],
    draw: (width) => {
      const list = best(), row = 23;
      const svg = s("svg", { viewBox: `0 0 ${width} ${NEXT * row}`, width, height: NEXT * row, role: "img",
        "aria-label": `Most likely next: ${list.map((t) => `${tokenizer.shown(t.id)} ${percent(t.p)}`).join(", ")}` });
      list.forEach((t, i) => svg.append(
        s("text", { class: "num", x: 2, y: i * row + 15 }, tokenizer.shown(t.id).slice(0, 14)),
        s("rect", { class: "whole", x: 104, y: i * row + 5, width: Math.max(1, (width - 166) * t.p), height: row - 10, rx: 3 }),
        s("text", { class: "num", x: width - 2, y: i * row + 15, "text-anchor": "end" }, percent(t.p))));
      return svg;
    } });
  const after = h("p", { class: "said" });
  const mapCard = h("div", { class: "card" }, map.element);

  const element = h("section", { "aria-labelledby": "sentence-title" },
    h("h2", { id: "sentence-title" }, "Sentence"),
    h("p", { class: "lead" }, "Type a sentence. The model in this page reads it; choose a token to see what it expects next, and which eigenvectors of the layer speak for or against the output token at every word."),
    h("div", { class: "card sentence-card" }, h("label", { for: "sentence" }, "Sentence"), input, chips, said),
    controls.element,
    h("div", { class: "spectra-grid" }, mapCard, h("div", { class: "card" }, next.element, after)));

  return {
    element,
    update() {
      const text = context.state.text ?? run.sample;
      if (!typing && document.activeElement !== input) input.value = text;
      read(text);
      controls.update();
      const focused = chips.contains(document.activeElement);
      chips.replaceChildren(...pass.ids.map((_, i) => h("button", { type: "button", class: "token-chip", "aria-pressed": String(i === position()),
        onclick: () => context.set({ pos: String(i) }) }, label(i))));
      if (focused) /** @type {HTMLElement} */ (chips.children[position()]).focus();
      const chosen = directionOf(context);
      mapCard.hidden = typeof chosen === "string";
      if (typeof chosen !== "string") {
        direction = chosen;
        map.refresh();
        // The chosen token's column, where the sentence is wider than the page.
        const right = 132 + (position() + 1) * CELL;
        if (right > map.body.scrollLeft + map.body.clientWidth || right - CELL < map.body.scrollLeft) map.body.scrollLeft = right - map.body.clientWidth;
        const sum = chosen.terms.reduce((a, t) => a + t.sign * logits()[t.id], 0);
        after.textContent = `After ${label(position())} the logit of ${chosen.name} is ${signed(sum)}` +
          (chosen.terms.length === 1 ? `, probability ${percent(softmax(logits())[chosen.terms[0].id], 2)}.` : ".");
      }
      next.refresh();
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const sentenceView = { id: "sentence", title: "Sentence", fits: (data) => data.kind === "language", make };
