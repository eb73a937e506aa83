// What the model says of the drawing: every class with its probability, and which class is explained.
import { append, fixed, h, percent, s } from "glint/dom";
import { figure } from "glint/chart";
import { softmax } from "glint/model";

/** @param {import("./drawing.js").Drawing} drawing */
export function answerCard(drawing) {
  const { context, run } = drawing;
  const rows = run.classNames.map((name, c) => {
    const input = /** @type {HTMLInputElement} */ (h("input", { type: "radio", name: "class", value: c,
      onchange: () => context.set({ class: String(c) }) }));
    const fill = h("span", { class: "fill" });
    const share = h("span", { class: "share" });
    const logit = h("span", { class: "logit" });
    const element = h("label", { class: "class-row" }, input,
      h("span", { class: "class-name" }, name), h("span", { class: "bar", "aria-hidden": "true" }, fill), share, logit);
    return { element, input, fill, share, logit };
  });
  const verdict = h("p", { class: "verdict", "aria-live": "polite" });
  const follow = h("button", { type: "button", class: "button quiet", onclick: () => context.set({ class: null }) }, "Explain the prediction");
  const scores = figure({ title: "What the model says", file: "glint-logits",
    svg: () => barsSvg(run.classNames, softmax(drawing.pass.logits)),
    csv: () => {
      const p = softmax(drawing.pass.logits);
      return [["class", "logit", "probability"], ...run.classNames.map((n, c) => [n, drawing.pass.logits[c], p[c]])];
    } });
  append(scores.body, [verdict,
    h("div", { class: "class-head", "aria-hidden": "true" }, h("span", {}, "class"), h("span", {}, "probability"), h("span", {}, "logit")),
    h("fieldset", { class: "classes" }, h("legend", { class: "hidden" }, "Class to explain"), rows.map((r) => r.element)),
    h("p", { class: "muted follow" }, "Choose a class to see why. ", follow)]);

  return {
    element: h("div", { class: "card" }, scores.element),
    update() {
      const { decided, chosen, pass } = drawing;
      const p = softmax(pass.logits);
      rows.forEach((row, c) => {
        row.fill.style.width = `${100 * p[c]}%`;
        row.share.textContent = percent(p[c]);
        row.logit.textContent = fixed(pass.logits[c], 2);
        row.input.checked = c === chosen;
        row.element.classList.toggle("decided", c === decided);
        row.element.classList.toggle("chosen", c === chosen);
      });
      const answer = `${run.classNames[decided]}, ${percent(p[decided])} sure`;
      if (verdict.textContent !== answer) verdict.textContent = answer;
      follow.hidden = context.state.class === undefined;
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
