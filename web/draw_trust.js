// How far the reading can be trusted: how it adds up for this very image and what the other readings say of it; and
// how good they are over all test images, beside their controls.
import { append, fixed, h, percent, s, signed, whole } from "glint/dom";
import { figure, scale } from "glint/chart";
import { argmax } from "glint/model";

/** The parts of the reading as bars that begin where the one before ends.
 * @param {import("./drawing.js").Step[]} list @param {number} width */
function sumChart(list, width) {
  const line = 24;
  const height = list.length * line + 8;
  const left = 104, right = 58;
  const ends = list.flatMap((t) => [t.from, t.from + t.value]);
  const x = scale([Math.min(0, ...ends), Math.max(1e-9, ...ends)], [left, Math.max(left + 10, width - right)]);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": list.map((t) => `${t.name} ${signed(t.value)}`).join(", ") });
  svg.append(s("line", { class: "base", x1: x(0), x2: x(0), y1: 2, y2: height - 2 }));
  list.forEach((t, i) => {
    const y = 4 + i * line;
    const a = x(t.from), b = x(t.from + t.value);
    svg.append(
      s("text", { x: left - 8, y: y + 15, "text-anchor": "end" }, t.name),
      s("rect", { class: t.tone, x: Math.min(a, b), y: y + 4, width: Math.max(1, Math.abs(b - a)), height: line - 9, rx: 2 }),
      s("text", { class: "num", x: width - 4, y: y + 15, "text-anchor": "end" }, i < list.length - 2 ? signed(t.value) : fixed(t.value)));
  });
  return svg;
}

/** @param {string[]} columns @param {Node} body */
function table(columns, body) {
  return h("table", { class: "trust" },
    h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col" }, c)))), body);
}

/** What each reading makes of this image. @param {import("./drawing.js").Drawing} drawing */
function readingRows(drawing) {
  const { model, run, pass, chosen, decided } = drawing;
  return drawing.readings().map(({ name, form }) => {
    const all = model.readLogits(pass, form);
    const says = argmax(all);
    const off = all[chosen] - pass.logits[chosen];
    return h("tr", { class: form === drawing.form ? "current" : "" },
      h("th", { scope: "row" }, name), h("td", {}, fixed(all[chosen])),
      h("td", {}, Math.abs(off) < 5e-7 * Math.max(1, Math.abs(pass.logits[chosen])) ? "0" : signed(off, Math.abs(off) < 0.01 ? 4 : 2)),
      h("td", { class: "words" }, run.classNames[says], " ", says === decided ? h("span", { class: "same" }, "✓\u00a0same") : h("span", { class: "other" }, "✗\u00a0differs")));
  });
}

/** How good the readings are over all test images, and beside them the controls: what is as good without any
 * eigenvector of this model. @param {import("./drawing.js").Drawing} drawing */
function fidelityRows({ run, form: current }) {
  const row = (/** @type {string} */ name, /** @type {string} */ tone, /** @type {{agreement: number, r2: number, r2Scaled?: number}} */ f) =>
    h("tr", { class: tone }, h("th", { scope: "row" }, name), h("td", {}, percent(f.agreement)), h("td", {}, fixed(f.r2, 3)),
      h("td", {}, f.r2Scaled === undefined ? "" : fixed(f.r2Scaled, 3)));
  const { controls } = run;
  return [...run.forms.map((f) => row(f.name, f === current ? "current" : "", f.fidelity)),
    ...(controls ? [row("control: linear map", "control", controls.linear)] : []),
    ...(controls?.untrained[current.name] ? [row("control: untrained", "control", controls.untrained[current.name])] : [])];
}

/** @param {import("./drawing.js").Drawing} drawing */
export function trustCard(drawing) {
  const { model } = drawing;
  const here = h("tbody");
  const sum = h("p", { class: "sum" });
  const trust = figure({ title: "How far to trust it here", file: "glint-fidelity",
    draw: (width) => sumChart(drawing.steps(), width),
    csv: () => [["part", "value"], ...drawing.steps().map((t) => [t.name, t.value]),
      ...drawing.readings().map((r) => [`${r.name} reading`, model.readLogits(drawing.pass, r.form)[drawing.chosen]])],
    below: () => h("div", {}, sum, table(["reading", "value", "off by", "decides"], here)) });
  const element = h("div", { class: "card trusted" }, trust.element);
  return {
    element,
    update() {
      element.hidden = drawing.empty;
      if (drawing.empty) return;
      trust.refresh();
      here.replaceChildren(...readingRows(drawing));
      sum.textContent = "";
      append(sum, [h("strong", {}, drawing.form.name), ` reading of ${drawing.name}: `,
        `${fixed(drawing.parts().reading)} where the model says ${fixed(drawing.pass.logits[drawing.chosen])}.`]);
    },
  };
}

/** @param {import("./drawing.js").Drawing} drawing */
export function fidelityCard(drawing) {
  const body = h("tbody");
  const even = h("p", { class: "muted note" });
  const element = h("div", { class: "card judged" }, h("h3", {}, "How good the readings are over all test images"),
    table(["reading", "agrees", "R²", "R², best factor"], body), even);
  return {
    element,
    update() {
      body.replaceChildren(...fidelityRows(drawing));
      const { evenShare: share, mirroredAgreement: mirrored, inputs } = drawing.form.fidelity;
      even.textContent = `Measured on ${whole(inputs)} images. ` +
        (drawing.run.controls ? "A reading says something when it is better than the best linear map of the layer's input, which has no eigenvectors. An untrained model is often easy to read: a high number alone is no sign that something was learned. " : "") +
        (share === undefined ? "" : `Even share ${percent(share)}: so much of what the last layer says is the same for x and −x, as every sum of squares is.`) +
        (mirrored === undefined ? "" : ` On the mirror images, −x, the ${drawing.form.name} reading agrees with the model on ${percent(mirrored)}.`);
    },
  };
}
