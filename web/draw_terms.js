// Why: the strongest eigenvectors for and against the chosen class as pictures, each with what it contributes to
// the logit of this image, and the linear part of a reading that has one.
import { append, h, number, s, segmented, signed } from "glint/dom";
import { legend, paintSigned } from "glint/color";
import { figure } from "glint/chart";
import { dot } from "glint/linalg";
import { formChoice } from "glint/forms";

/** @typedef {import("./drawing.js").Drawing} Drawing @typedef {import("./drawing.js").Term} Term */

/** One eigenvector: its picture, a bar and numbers. */
function termCard() {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
  const fill = h("span", { class: "fill" });
  const value = h("span", { class: "value" });
  const lambda = h("span", { class: "lambda" });
  const name = h("span", { class: "hidden" });
  const element = h("a", { class: "term" }, canvas, h("span", { class: "bar", "aria-hidden": "true" }, fill), name, value, lambda);
  let drawn = "";
  return {
    element, canvas,
    /** @param {Drawing} drawing @param {Term | undefined} t @param {string} title @param {number} share of the largest */
    show(drawing, t, title, share) {
      element.hidden = !t;
      if (!t) return;
      const { context, model, form, chosen } = drawing;
      const key = `${form.name} ${chosen} ${t.rank}`;
      if (drawn !== key) {
        paintSigned(canvas, model.picture(form, chosen, t.rank) ?? [], model.height, model.width);
        drawn = key;
      }
      fill.style.width = `${100 * share}%`;
      value.textContent = signed(t.contribution);
      lambda.textContent = `λ ${number(t.lambda)}`;
      element.setAttribute("href", context.href({ view: "spectra", class: String(chosen), rank: String(t.rank + 1) }));
      name.textContent = `${title} contributes `;
    },
  };
}

/** The part of a reading that is not squared. @param {Drawing} drawing */
function linearRow(drawing) {
  const { model } = drawing;
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" }));
  const value = h("span", { class: "value" });
  const element = h("div", { class: "side linear" }, h("h4", {}, "Linear part"),
    h("div", { class: "linear-row" }, h("div", { class: "term" }, canvas, value),
      h("p", { class: "muted note" }, model.readsPixels
        ? "This reading also has a part that is not squared, w·x: ink on red speaks for the class, ink on blue against it."
        : "This reading also has a part that is not squared, w·x, in the input of the last layer.")));
  let drawn = "";
  return {
    element,
    update() {
      const { form, chosen } = drawing;
      const part = model.linearPart(form, chosen);
      element.hidden = !part;
      if (!part) return;
      const key = `${form.name} ${chosen}`;
      canvas.hidden = !part.picture;
      if (part.picture && drawn !== key) paintSigned(canvas, part.picture, model.height, model.width);
      drawn = key;
      value.textContent = signed(dot(part.vector, model.formInput(drawing.pass)));
      canvas.setAttribute("aria-label", `The linear part of ${drawing.name} as a picture`);
    },
  };
}

/** @param {Drawing} drawing */
function explanation({ model }) {
  if (!model.readsPixels) {
    return `Layer ${model.config.layers} does not read pixels. A picture shows the strongest pattern of the layers below that drives the eigenvector; the contributions are those of the eigenvector itself.`;
  }
  return "A picture shows what an eigenvector looks for. Its sign means nothing: the projection is squared, so a picture and its negative speak alike." +
    (model.config.norm === "rms" ? " The layer's input is normalised, so only the shape of a picture counts, not the amount of ink." : "");
}

/** Pictures of the other classes are made while nothing happens, so that no stroke waits for them.
 * @param {Drawing} drawing */
function prepareAhead(drawing) {
  const { model, run } = drawing;
  const wait = window.requestIdleCallback ?? ((/** @type {() => void} */ f) => setTimeout(f, 50));
  const top = run.strongest;
  let ahead = 0;
  const prepare = () => {
    const { form } = drawing;
    const c = Math.floor(ahead / (2 * top));
    if (c >= model.classes) return;
    const i = ahead % (2 * top);
    model.picture(form, c, i < top ? i : model.formWidth - 1 - (i - top));
    if (i === 0) model.linearPart(form, c);
    ahead++;
    wait(prepare);
  };
  wait(prepare);
}

/** @param {Drawing} drawing */
export function termsCard(drawing) {
  const { context, run } = drawing;
  const top = run.strongest;
  const forms = formChoice(context);
  const order = segmented({ label: "Order", value: "value",
    options: [{ value: "value", text: "by eigenvalue" }, { value: "here", text: "by what counts here" }],
    change: (o) => context.set({ order: o === "value" ? null : o }) });
  const sides = [1, -1].map((sign) => ({ sign, word: sign > 0 ? "for" : "against", cards: Array.from({ length: top }, termCard),
    total: h("span", { class: "total" }), list: /** @type {Term[]} */ ([]) }));
  const linear = linearRow(drawing);
  const title = h("h3", {});
  const terms = figure({ title: "Strongest eigenvectors", file: "glint-terms", svg: () => picture(), csv: () => [
    ["side", "rank", "eigenvalue", "projection", "contribution"],
    ...sides.flatMap((side) => side.list.map((t) => [side.word, t.rank + 1, t.lambda, t.projection, t.contribution]))] });
  terms.element.querySelector("h3")?.replaceWith(title);
  append(terms.body, [
    h("div", { class: "controls" }, forms.element, order.element),
    sides.map((side) => h("div", { class: `side ${side.word}` },
      h("h4", {}, side.sign > 0 ? "For" : "Against", side.total), h("div", { class: "terms" }, side.cards.map((c) => c.element)))),
    linear.element, legend(), h("p", { class: "muted note" }, explanation(drawing))]);
  prepareAhead(drawing);

  const largest = () => Math.max(1e-12, ...sides.flatMap((side) => side.list.map((t) => Math.abs(t.contribution))));

  /** The terms as one picture. */
  function picture() {
    const size = 84, gap = 12, cell = size + gap;
    const width = gap + top * cell, height = 2 * (size + 66) + 10;
    const most = largest();
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    sides.forEach(({ list, sign, cards }, row) => {
      const y = 24 + row * (size + 66);
      svg.append(s("text", { x: gap, y: y - 8 }, `${sign > 0 ? "For" : "Against"} ${drawing.name}`));
      list.forEach((t, i) => {
        const x = gap + i * cell;
        svg.append(
          s("image", { x, y, width: size, height: size, href: cards[i].canvas.toDataURL(), "image-rendering": "pixelated" }),
          s("rect", { class: sign > 0 ? "pos" : "neg", x, y: y + size + 4, width: (size * Math.abs(t.contribution)) / most, height: 5 }),
          s("text", { class: "num", x, y: y + size + 24 }, signed(t.contribution)));
      });
    });
    return svg;
  }

  return {
    element: h("div", { class: "card" }, terms.element),
    update() {
      forms.set(drawing.form.name);
      order.set(context.state.order === "here" ? "here" : "value");
      for (const side of sides) side.list = drawing.side(side.sign);
      const most = largest();
      for (const { list, cards, total, word } of sides) {
        const sum = list.reduce((a, t) => a + t.contribution, 0);
        total.textContent = list.length ? ` ${signed(sum)} from these ${list.length}` : "";
        cards.forEach((card, i) => card.show(drawing, list[i], `Eigenvector ${i + 1} ${word}`, Math.abs(list[i]?.contribution ?? 0) / most));
      }
      linear.update();
      title.textContent = `Why ${drawing.name}? Contributions λ (v·x)² to its logit`;
    },
  };
}
