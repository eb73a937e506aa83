// How far the reading can be trusted for this very image: how it adds up, and what the other readings say.
import { append, fixed, h, percent, s, signed } from "glint/dom";
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

/** @param {import("./drawing.js").Drawing} drawing */
export function trustCard(drawing) {
  const { model, run } = drawing;
  const body = h("tbody");
  const sum = h("p", { class: "sum" });
  const trust = figure({ title: "How far to trust it here", file: "glint-fidelity",
    draw: (width) => sumChart(drawing.steps(), width),
    csv: () => [["part", "value"], ...drawing.steps().map((t) => [t.name, t.value]),
      ...drawing.readings().map((r) => [`${r.name} reading`, model.readLogits(drawing.pass, r.form)[drawing.chosen]])],
    below: () => h("div", {}, sum,
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Readings of this image" },
        h("table", { class: "trust" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "reading"), h("th", { scope: "col" }, "value"),
            h("th", { scope: "col" }, "off by"), h("th", { scope: "col" }, "decides"),
            h("th", { scope: "col" }, "agrees on test"))),
          body))) });

  /** @param {{name: string, form: import("./data.js").Form | null}} reading */
  function row({ name, form }) {
    const { pass, chosen, decided } = drawing;
    const all = model.readLogits(pass, form);
    const says = argmax(all);
    const off = all[chosen] - pass.logits[chosen];
    return h("tr", { class: form === drawing.form ? "current" : "" },
      h("th", { scope: "row" }, name), h("td", {}, fixed(all[chosen])),
      h("td", {}, Math.abs(off) < 5e-7 * Math.max(1, Math.abs(pass.logits[chosen])) ? "0" : signed(off, Math.abs(off) < 0.01 ? 4 : 2)),
      h("td", {}, run.classNames[says], says === decided ? h("span", { class: "same" }, " ✓ same") : h("span", { class: "other" }, " ✗ differs")),
      h("td", {}, form ? `${percent(form.fidelity.agreement)}, R² ${fixed(form.fidelity.r2)}` : "by construction"));
  }

  return {
    element: h("div", { class: "card" }, trust.element),
    update() {
      trust.refresh();
      body.replaceChildren(...drawing.readings().map(row));
      sum.textContent = "";
      append(sum, [h("strong", {}, drawing.form.name), ` reading of ${drawing.name}: `,
        `${fixed(drawing.parts().reading)} where the model says ${fixed(drawing.pass.logits[drawing.chosen])}.`]);
    },
  };
}
