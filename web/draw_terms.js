// Why: the strongest eigenvectors for and against the chosen class as pictures, each with what it contributes to
// the logit of this image, and the linear part of a reading that has one. A click takes an eigenvector away.
import { append, fixed, h, number, percent, s, segmented, signed } from "glint/dom";
import { legend, paintSigned } from "glint/color";
import { figure } from "glint/chart";
import { argmax, softmax } from "glint/model";
import { dot } from "glint/linalg";
import { formChoice, linearWords } from "glint/forms";

/** @typedef {import("./drawing.js").Drawing} Drawing @typedef {import("./drawing.js").Term} Term */

/** One eigenvector: its picture, which is a button that takes it away, a bar and numbers. @param {Drawing} drawing */
function termCard(drawing) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
  const fill = h("span", { class: "fill" });
  const value = h("span", { class: "value" });
  const lambda = h("a", { class: "lambda" });
  let rank = 0;
  const button = h("button", { type: "button", class: "take", onclick: () => drawing.toggle(rank) }, canvas,
    h("span", { class: "sign", "aria-hidden": "true" }));
  const element = h("div", { class: "term" }, button, h("span", { class: "bar", "aria-hidden": "true" }, fill), value, lambda);
  /** @type {string | Float64Array} what is on the canvas */
  let drawn = "";
  return {
    element, canvas,
    /** @param {Term | undefined} t @param {string} title @param {number} share of the largest */
    show(t, title, share) {
      element.hidden = !t;
      if (!t) return;
      const { context, model, form, chosen } = drawing;
      rank = t.rank;
      // Eigenvectors of the image's own size have pictures of their own, where the page can make them.
      const own = form.slope !== undefined && model.readsPixels;
      const key = own ? t.vector : `${form.name} ${chosen} ${t.rank}`;
      if (drawn !== key) {
        paintSigned(canvas, (own ? model.inPixels(form, t.vector) : model.picture(form, chosen, t.rank)) ?? [], model.height, model.width);
        drawn = key;
      }
      element.classList.toggle("gone", t.removed);
      fill.style.width = `${100 * share}%`;
      value.textContent = t.removed ? "removed" : signed(t.contribution);
      lambda.textContent = `λ ${number(t.lambda, 2)}`;
      lambda.setAttribute("href", context.href({ view: "spectra", class: String(chosen), rank: String(t.rank + 1) }));
      lambda.setAttribute("aria-label", `${title}, λ ${number(t.lambda, 2)}: show in Spectra`);
      button.setAttribute("aria-pressed", String(t.removed));
      button.setAttribute("aria-label", `Remove ${title.toLowerCase()}, which contributes ${signed(t.whole)}`);
      button.title = t.removed ? "Put it back" : "Take it away and see the answer change";
    },
  };
}

/** The part of a reading that is not squared. @param {Drawing} drawing */
function linearRow(drawing) {
  const { model } = drawing;
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" }));
  const value = h("span", { class: "value" });
  const words = h("p", { class: "muted note" });
  const element = h("div", { class: "side linear" }, h("h4", {}, "Linear part"),
    h("div", { class: "linear-row" }, h("div", { class: "term" }, canvas, value), words));
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
      words.textContent = linearWords(model, form, chosen);
      canvas.setAttribute("aria-label", `The linear part of ${drawing.name} as a picture`);
    },
  };
}

/** What the removed eigenvectors did: the model's answer before and after, and what the reading expected.
 * @param {Drawing} drawing */
function removedLine(drawing) {
  const { context, model, run } = drawing;
  const words = h("span", { "aria-live": "polite" });
  const button = h("button", { type: "button", class: "button", onclick: () => context.set({ off: null }) }, "Put all back");
  const element = h("p", { class: "ablation" }, words, button);
  return {
    element,
    update() {
      const removed = drawing.removed().length;
      button.hidden = removed === 0;
      element.classList.toggle("active", removed > 0);
      if (removed === 0) {
        words.textContent = "Click a picture to take its direction out of the layer's input: the model is run again without it.";
        return;
      }
      const { pass, whole, form, chosen } = drawing;
      const says = [whole, pass].map((run_) => argmax(run_.logits));
      const p = softmax(pass.logits);
      const [from, to] = [whole, pass].map((run_) => model.readLogits(run_, form)[chosen]);
      words.textContent = `Without ${removed} direction${removed === 1 ? "" : "s"} the model ` +
        `${says[0] === says[1] ? "still says" : "says"} ${run.classNames[says[1]]} (${percent(p[says[1]])})` +
        `${says[0] === says[1] ? "" : `, no longer ${run.classNames[says[0]]}`}. Logit of ${drawing.name}: ${fixed(whole.logits[chosen])} → ${fixed(pass.logits[chosen])}, ` +
        `a change of ${signed(pass.logits[chosen] - whole.logits[chosen])}; the ${form.name} reading expects ${signed(to - from)}. `;
    },
  };
}

/** @param {Drawing} drawing */
function explanation({ model, form }) {
  if (!model.readsPixels) {
    return `Layer ${model.config.layers} does not read pixels. A picture shows the strongest pattern of the layers below that drives the eigenvector; the contributions are those of the eigenvector itself.` +
      (form.slope ? " In this reading eigenvectors depend on ‖x‖, the size of the layer's input: λ and contributions are those of this image, the pictures those of the usual size." : "");
  }
  return "A picture shows what an eigenvector looks for. Its sign means nothing: the projection is squared, so a picture and its negative speak alike." +
    (form.slope ? " In this reading eigenvectors depend a little on ‖x‖, the size of the layer's input: these are the ones of this very image." : "") +
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
    if (form.slope && model.readsPixels) return; // they depend on the image
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
  const sides = [1, -1].map((sign) => ({ sign, word: sign > 0 ? "for" : "against", cards: Array.from({ length: top }, () => termCard(drawing)),
    total: h("span", { class: "total" }), list: /** @type {Term[]} */ ([]) }));
  const linear = linearRow(drawing);
  const ablation = removedLine(drawing);
  const title = h("h3", {});
  const note = h("p", { class: "muted note" });
  const terms = figure({ title: "Strongest eigenvectors", file: "glint-terms", svg: () => picture(), csv: () => [
    ["side", "rank", "eigenvalue", "projection", "contribution", "removed"],
    ...sides.flatMap((side) => side.list.map((t) => [side.word, t.rank + 1, t.lambda, t.projection, t.contribution, Number(t.removed)]))] });
  terms.element.querySelector("h3")?.replaceWith(title);
  append(terms.body, [
    h("div", { class: "controls" }, forms.element, order.element), ablation.element,
    sides.map((side) => h("div", { class: `side ${side.word}` },
      h("h4", {}, side.sign > 0 ? "For" : "Against", side.total), h("div", { class: "terms" }, side.cards.map((c) => c.element)))),
    linear.element, legend(), note]);
  const nothing = h("p", { class: "muted" }, "Why the model answers as it does is shown here as soon as there is something on the pad.");
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
          s("image", { x, y, width: size, height: size, href: cards[i].canvas.toDataURL(), "image-rendering": "pixelated", opacity: t.removed ? 0.25 : 1 }),
          s("rect", { class: sign > 0 ? "pos" : "neg", x, y: y + size + 4, width: (size * Math.abs(t.contribution)) / most, height: 5 }),
          s("text", { class: "num", x, y: y + size + 24 }, t.removed ? "removed" : signed(t.contribution)));
      });
    });
    return svg;
  }

  return {
    element: h("div", { class: "card why" }, terms.element, nothing),
    update() {
      terms.element.hidden = drawing.empty;
      nothing.hidden = !drawing.empty;
      if (drawing.empty) return;
      forms.set(drawing.form.name);
      order.set(context.state.order === "here" ? "here" : "value");
      for (const side of sides) side.list = drawing.side(side.sign);
      const most = largest();
      for (const { list, cards, total, word } of sides) {
        const left = list.filter((t) => !t.removed);
        total.textContent = left.length ? ` ${signed(left.reduce((a, t) => a + t.contribution, 0))} from these ${left.length}` : "";
        cards.forEach((card, i) => card.show(list[i], `Eigenvector ${i + 1} ${word}`, Math.abs(list[i]?.contribution ?? 0) / most));
      }
      ablation.update();
      linear.update();
      note.textContent = explanation(drawing);
      title.textContent = `Why ${drawing.name}? Contributions λ (v·x)² to its logit`;
    },
  };
}
