// Sentences: of a model that is not packed in, chosen sentences token by token. What the model expects next, what each
// part adds to that logit, and the eigenvectors of the GLUs that add most.
import { fixed, h, number, percent, segmented, select, signed } from "glint/dom";
import { wholeIn } from "glint/state";

/** @typedef {{value: number, projection: number, adds: number, words: [string, number][]}} Term */
/** @typedef {{layer: number, share: number, quadratic: number, linear: number, constant: number, rest: number, r2: number,
 *   eigenvectorsR2: number, linearMap: number, terms: Term[]}} ExplainedLayer */
/** @typedef {{position: number, token: string, logit: number, embedding: number, attention: number[], glu: number[], constant: number,
 *   expected: [string, number][], layers: ExplainedLayer[]}} Position */
/** @typedef {{text: string, tokens: string[], at: Position[]}} Sentence */

/** A bar from the middle, to the right for the token. @param {number} value @param {number} largest */
function bar(value, largest) {
  const part = h("span", { class: value < 0 ? "part-bar against" : "part-bar" });
  part.style.width = `${50 * Math.abs(value) / largest}%`;
  return h("span", { class: "part-track", "aria-hidden": "true" }, part);
}

/** @param {Position} at @param {ExplainedLayer} e */
function termsOf(at, e) {
  const rows = e.terms.map((t) => h("article", { class: "card vector-card" },
    h("h4", {}, h("span", { class: t.adds < 0 ? "sign-neg" : "sign-pos" }, signed(t.adds)), ` to ${at.token}`),
    h("p", { class: "muted note" }, `λ ${number(t.value)}, v · x ${fixed(t.projection)}; words on the side of the text:`),
    h("p", {}, t.words.map(([text, cosine], i) => [i ? " " : "", h("span", { class: "word", title: `cosine ${signed(cosine)}` }, text)]).flat())));
  const others = e.quadratic - e.terms.reduce((sum, t) => sum + t.adds, 0);
  const rest = [["all other eigenvectors", others], ["linear part", e.linear], ["bias", e.constant], ["what the form leaves out", e.rest]]
    .filter(([, v]) => Math.abs(Number(v)) >= 5e-4);
  return [
    h("h3", {}, `GLU of layer ${e.layer}: ${signed(e.share)} to ${at.token}`),
    h("p", { class: "note" }, `Along this direction the form has R² ${fixed(e.r2)}, its eigenvectors alone ${fixed(e.eigenvectorsR2)}; a linear map of the layer's input ${fixed(e.linearMap)}.`),
    h("div", { class: "vector-list" }, rows),
    h("dl", { class: "pairs" }, rest.map(([name, v]) => h("div", {}, h("dt", {}, String(name)), h("dd", {}, signed(Number(v)))))),
  ];
}

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const runs = /** @type {{name: string, sentences: Sentence[]}[]} */ (/** @type {unknown} */ (context.data.runs));
  const runAt = () => wholeIn(context.state.run, 0, runs.length - 1, 0);
  const sentences = () => runs[runAt()].sentences;
  const sentenceAt = () => wholeIn(context.state.sentence, 0, sentences().length - 1, 0);
  const sentence = () => sentences()[sentenceAt()];
  const tokenAt = () => wholeIn(context.state.pos, 0, sentence().tokens.length - 1, sentence().tokens.length - 1);
  const model = runs.length > 1 ? segmented({ label: "Model", value: String(runAt()), change: (run) => context.set({ run, pos: null, part: null }),
    options: runs.map((r, i) => ({ value: String(i), text: `${"AB"[i]}: ${r.name}` })) }) : null;
  const choice = select({ label: "Sentence", value: String(sentenceAt()), change: (sentence) => context.set({ sentence, pos: null, part: null }),
    options: sentences().map((x, i) => ({ value: String(i), text: x.text })) });
  const tokens = h("div", { class: "token-row", role: "group", "aria-label": "After which token" });
  const said = h("p", { class: "lead", role: "status" });
  const parts = h("div", { class: "parts" });
  const detail = h("div", {});
  const element = h("section", { "aria-labelledby": "explained-title" },
    h("h2", { id: "explained-title" }, "Sentences"),
    h("p", { class: "lead" }, "Choose a token: after it the model expects another one. Its logit is the sum of what the embedding, every attention and every GLU add to it. " +
      "Of the GLUs that add most, the eigenvectors say why."),
    h("div", { class: "card controls" }, model?.element ?? null, choice.element, tokens),
    said, h("div", { class: "explained" }, h("div", { class: "card" }, parts), detail));
  return {
    element,
    update() {
      model?.set(String(runAt()));
      choice.set(String(sentenceAt()));
      const now = sentence(), at = now.at[tokenAt()];
      tokens.replaceChildren(...now.tokens.map((t, i) => h("button", { type: "button", class: "token", "aria-pressed": String(i === tokenAt()),
        onclick: () => context.set({ pos: String(i), part: null }) }, t)));
      said.replaceChildren(...[`After “${now.tokens.slice(0, tokenAt() + 1).map((t) => t.replace("·", " ")).join("").trim()}” the model expects `,
        ...at.expected.map(([t, p], i) => [i ? ", " : "", h("span", { class: "word" }, t), ` ${percent(p)}`]).flat(), "."]);
      const layers = at.layers.map((e) => e.layer);
      const strongest = [...at.layers].sort((a, b) => Math.abs(b.share) - Math.abs(a.share))[0];
      const chosen = at.layers.find((e) => e.layer === Number(context.state.part)) ?? strongest;
      const largest = Math.max(1e-9, Math.abs(at.embedding), ...at.attention.map(Math.abs), ...at.glu.map(Math.abs));
      const part = (/** @type {number} */ v) => [h("span", { class: "part-number" }, signed(v)), bar(v, largest)];
      parts.replaceChildren(
        h("h3", {}, `Logit of ${at.token}: ${fixed(at.logit)}`),
        h("div", { class: "part-row part-head" }, h("span", {}, ""), h("span", {}, "attention"), h("span", {}, "GLU")),
        h("div", { class: "part-row" }, h("span", {}, "embedding"), h("span", { class: "part" }, part(at.embedding)), h("span", {})),
        ...at.glu.map((v, i) => h("div", { class: "part-row" }, h("span", {}, `layer ${i + 1}`), h("span", { class: "part" }, part(at.attention[i])),
          layers.includes(i + 1)
            ? h("button", { type: "button", class: "part", "aria-pressed": String(chosen.layer === i + 1), title: "its eigenvectors", onclick: () => context.set({ part: String(i + 1) }) }, part(v))
            : h("span", { class: "part" }, part(v)))),
        at.constant ? h("p", { class: "muted note" }, `biases ${signed(at.constant)}`) : "");
      detail.replaceChildren(...termsOf(at, chosen));
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const explainedView = { id: "sentences", title: "Sentences", fits: (data) => data.kind === "readings" &&
  data.runs.every((r) => /** @type {any} */ (r).sentences.length > 0), make };
