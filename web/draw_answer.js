// What the model says of the drawing: every class with its probability, and which class is explained.
import { append, fixed, h, percent, s } from "glint/dom";
import { figure } from "glint/chart";
import { argmax, softmax } from "glint/model";

/** Up to so many classes keep their places; more are sorted by probability in a list of their own height. */
export const FEW_CLASSES = 16;

/** One class: a radio button, its bar with a mark where it was before eigenvectors were removed, and numbers.
 * @param {import("./drawing.js").Drawing} drawing @param {number} c */
function classRow({ context, run }, c) {
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "radio", name: "class", value: c,
    onchange: () => context.set({ class: String(c) }) }));
  const fill = h("span", { class: "fill" });
  const was = h("span", { class: "was" });
  const share = h("span", { class: "share" });
  const logit = h("span", { class: "logit" });
  const element = h("label", { class: "class-row" }, input, h("span", { class: "class-name" }, run.classNames[c]),
    h("span", { class: "bar", "aria-hidden": "true" }, fill, was), share, logit);
  return { element, input, fill, was, share, logit };
}

/** @param {import("./drawing.js").Drawing} drawing */
export function answerCard(drawing) {
  const { context, run } = drawing;
  const rows = run.classNames.map((_, c) => classRow(drawing, c));
  const many = rows.length > FEW_CLASSES;
  const verdict = h("p", { class: "verdict", "aria-live": "polite" });
  const likeness = h("p", { class: "likeness" });
  const before = h("span", {});
  const back = h("p", { class: "removed" }, before,
    h("button", { type: "button", class: "button quiet", onclick: () => context.set({ off: null }) }, "Put back"));
  const follow = h("button", { type: "button", class: "button quiet", onclick: () => context.set({ class: null }) }, "Explain the prediction");
  const scores = figure({ title: "What the model says", file: "glint-logits",
    svg: () => barsSvg(run.classNames, softmax(drawing.pass.logits)),
    csv: () => {
      const p = softmax(drawing.pass.logits);
      return [["class", "logit", "probability"], ...run.classNames.map((n, c) => [n, drawing.pass.logits[c], p[c]])];
    } });
  const list = h("fieldset", { class: many ? "classes many" : "classes" }, h("legend", { class: "hidden" }, "Class to explain"), rows.map((r) => r.element));
  append(scores.body, [verdict, back, likeness,
    h("div", { class: "class-head", "aria-hidden": "true" }, h("span", {}, "why"), h("span", {}, "class"), h("span", {}, "probability"), h("span", {}, "logit")),
    list, h("p", { class: "muted follow" }, "Choose a class to see why. ", follow)]);
  const element = h("div", { class: "card answer" }, scores.element);

  /** The most likely first, above them the one that is explained. @param {number[]} p */
  function sort(p) {
    const order = rows.map((_, c) => c).sort((a, b) => Number(b === drawing.chosen) - Number(a === drawing.chosen) || p[b] - p[a] || a - b);
    const focused = document.activeElement;
    order.forEach((c, i) => {
      // The legend comes first.
      if (list.children[i + 1] !== rows[c].element) list.insertBefore(rows[c].element, list.children[i + 1]);
    });
    if (focused !== document.activeElement && list.contains(focused)) /** @type {HTMLElement} */ (focused).focus({ preventScroll: true });
  }

  function showLikeness() {
    const far = drawing.strangeness();
    likeness.classList.toggle("unlike", far > 1);
    likeness.textContent = far > 1
      ? `Unlike the training images: ${far.toFixed(1)} times as far from any class as 99 % of the test images.`
      : "Within the range of the training images.";
  }

  /** @param {number[]} p with what is left, @param {number[]} whole with everything */
  function showVerdict(p, whole) {
    const name = (/** @type {number[]} */ q) => `${run.classNames[argmax(q)]}, ${percent(q[argmax(q)])} sure`;
    if (verdict.textContent !== name(p)) verdict.textContent = name(p);
    const removed = drawing.removed().length;
    back.hidden = removed === 0;
    before.textContent = `without ${removed} eigenvector${removed === 1 ? "" : "s"}; with all: ${name(whole)}. `;
  }

  return {
    element,
    update() {
      const { decided, chosen, pass, empty } = drawing;
      const p = softmax(pass.logits);
      const whole = pass === drawing.whole ? p : softmax(drawing.whole.logits);
      element.classList.toggle("idle", empty);
      rows.forEach((row, c) => {
        row.fill.style.width = empty ? "0" : `${100 * p[c]}%`;
        row.was.hidden = empty || pass === drawing.whole;
        row.was.style.left = `${100 * whole[c]}%`;
        row.share.textContent = empty ? "–" : percent(p[c]);
        row.logit.textContent = empty ? "–" : fixed(pass.logits[c], 2);
        row.input.checked = !empty && c === chosen;
        row.element.classList.toggle("decided", !empty && c === decided);
        row.element.classList.toggle("chosen", !empty && c === chosen);
      });
      likeness.hidden = empty;
      follow.hidden = context.state.class === undefined;
      if (empty) {
        verdict.textContent = "The pad is empty: no answer.";
        back.hidden = true;
        return;
      }
      if (many) sort(p);
      showVerdict(p, whole);
      showLikeness();
    },
  };
}

/** @param {string[]} names @param {number[]} p */
function barsSvg(names, p) {
  const line = 24, width = 420, left = 110;
  const svg = s("svg", { viewBox: `0 0 ${width} ${names.length * line + 8}` });
  names.forEach((name, c) => svg.append(
    s("text", { x: left - 8, y: 20 + c * line, "text-anchor": "end" }, name),
    s("rect", { class: "whole", x: left, y: 8 + c * line, width: Math.max(0.5, p[c] * (width - left - 70)), height: line - 9 }),
    s("text", { class: "num", x: width - 4, y: 20 + c * line, "text-anchor": "end" }, percent(p[c]))));
  return svg;
}
