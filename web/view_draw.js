// Draw: an image, what the model makes of it, and which eigenvectors speak for and against a class.
import { append, fixed, h, number, percent, s, segmented, signed, whole } from "glint/dom";
import { legend, paintInk, paintSigned } from "glint/color";
import { figure, scale } from "glint/chart";
import { Pad, inkFromText, inkText } from "glint/pad";
import { argmax, softmax } from "glint/model";
import { dot } from "glint/linalg";
import { formOf, formChoice } from "glint/forms";
import { picker } from "glint/picker";
import { wholeIn } from "glint/state";

/** @typedef {import("./app.js").Context} Context */

/** Digits are centred as MNIST's are; other pictures fill their frame. @param {string[]} names */
function areDigits(names) {
  return names.every((n) => /^\d$/.test(n));
}

/** @param {Context} context @returns {import("./app.js").View} */
function make(context) {
  const { model, data } = context;
  const { images } = data;
  const run = model.run;
  const classes = model.classes;
  const top = run.strongest;
  const picture = (/** @type {number} */ i) =>
    Float32Array.from(images.pixels.values.subarray(i * model.config.inputs, (i + 1) * model.config.inputs), (v) => v / 255);

  /** @type {import("./model.js").Pass | null} */
  let pass = null;
  /** @type {Float32Array} */
  let pixels = new Float32Array(model.config.inputs);
  let chosen = 0;

  // The pad and its controls.
  const pad = new Pad({ height: model.height, width: model.width, centre: areDigits(run.classNames), changed: (done) => {
    const began = performance.now();
    pixels = pad.pixels();
    respond();
    performance.measure("glint-stroke", { start: began });
    if (done) context.set({ image: null, ink: inkText(pixels) || "-" });
  } });
  const seen = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "seen", role: "img", "aria-label": "The image that the model is given" }));
  const pen = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: 8, max: 48, step: 1, value: pad.pen, id: "pen",
    oninput: () => { pad.pen = Number(pen.value); } }));
  const centre = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", id: "centre", checked: pad.centre,
    onchange: () => { pad.centre = centre.checked; if (!pad.picked) pad.changed(true); } }));
  const source = h("p", { class: "source", role: "status" });
  const padCard = h("div", { class: "card pad-card" }, pad.canvas,
    h("div", { class: "pad-row" },
      h("div", { class: "pad-controls" },
        h("div", { class: "field" }, h("label", { for: "pen" }, "Pen"), pen),
        h("label", { class: "check" }, centre, h("span", {}, `Centre as MNIST does`)),
        h("button", { type: "button", class: "button", onclick: () => pad.clear() }, "Clear")),
      h("div", { class: "seen-box" }, seen, h("span", { class: "muted" }, "the model sees"))),
    source);

  // Classes with their probabilities.
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
    svg: () => barsSvg(run.classNames, softmax(/** @type {any} */ (pass).logits)),
    csv: () => {
      const p = softmax(/** @type {any} */ (pass).logits);
      return [["class", "logit", "probability"], ...run.classNames.map((n, c) => [n, /** @type {any} */ (pass).logits[c], p[c]])];
    } });
  append(scores.body, [verdict,
    h("div", { class: "class-head", "aria-hidden": "true" }, h("span", {}, "class"), h("span", {}, "probability"), h("span", {}, "logit")),
    h("fieldset", { class: "classes" }, h("legend", { class: "hidden" }, "Class to explain"), rows.map((r) => r.element)),
    h("p", { class: "muted follow" }, "Choose a class to see why. ", follow)]);

  // How far the reading can be trusted.
  const trustBody = h("tbody");
  const sumText = h("p", { class: "sum" });
  const trust = figure({ title: "How far to trust it here", file: "glint-fidelity",
    draw: (width) => sumChart(width), csv: () => sumRows(), below: () => h("div", {}, sumText,
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Readings of this image" },
        h("table", { class: "trust" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "reading"), h("th", { scope: "col" }, "value"),
            h("th", { scope: "col" }, "off by"), h("th", { scope: "col" }, "decides"),
            h("th", { scope: "col" }, "agrees on test"))),
          trustBody))) });

  // The strongest terms.
  const forms = formChoice(context);
  const order = segmented({ label: "Order", value: "value",
    options: [{ value: "value", text: "by eigenvalue" }, { value: "here", text: "by what counts here" }],
    change: (o) => context.set({ order: o === "value" ? null : o }) });
  const makeCards = () => Array.from({ length: top }, () => {
    const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
    const fill = h("span", { class: "fill" });
    const value = h("span", { class: "value" });
    const lambda = h("span", { class: "lambda" });
    const name = h("span", { class: "hidden" });
    const element = h("a", { class: "term" }, canvas, h("span", { class: "bar", "aria-hidden": "true" }, fill), name, value, lambda);
    return { element, canvas, fill, name, value, lambda, drawn: "" };
  });
  const sides = [{ sign: 1, cards: makeCards(), total: h("span", { class: "total" }) }, { sign: -1, cards: makeCards(), total: h("span", { class: "total" }) }];
  const linear = { canvas: /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" })), value: h("span", { class: "value" }), drawn: "" };
  const linearRow = h("div", { class: "side linear" }, h("h4", {}, "Linear part"),
    h("div", { class: "linear-row" }, h("div", { class: "term" }, linear.canvas, linear.value),
      h("p", { class: "muted note" }, model.readsPixels
        ? "This reading also has a part that is not squared, w·x: ink on red speaks for the class, ink on blue against it."
        : "This reading also has a part that is not squared, w·x, in the input of the last layer.")));
  const termsTitle = h("h3", {});
  const terms = figure({ title: "Strongest eigenvectors", file: "glint-terms", svg: () => termsSvg(), csv: () => [
    ["side", "rank", "eigenvalue", "projection", "contribution"],
    ...currentTerms().flatMap((side) => side.list.map((t) => [side.sign > 0 ? "for" : "against", t.rank + 1, t.lambda, t.projection, t.contribution]))] });
  const heading = terms.element.querySelector("h3");
  heading?.replaceWith(termsTitle);
  append(terms.body, [
    h("div", { class: "controls" }, forms.element, order.element),
    sides.map((side) => h("div", { class: `side ${side.sign > 0 ? "for" : "against"}` },
      h("h4", {}, side.sign > 0 ? "For" : "Against", side.total), h("div", { class: "terms" }, side.cards.map((c) => c.element)))),
    linearRow, legend(), h("p", { class: "muted note" }, model.readsPixels
      ? "A picture shows what an eigenvector looks for. Its sign means nothing: the projection is squared, so a picture and its negative speak alike." +
        (model.config.norm === "rms" ? " The layer's input is normalised, so only the shape of a picture counts, not the amount of ink." : "")
      : `Layer ${model.config.layers} does not read pixels. A picture shows the strongest pattern of the layers below that drives the eigenvector; the contributions are those of the eigenvector itself.`)]);

  const pick = picker(context, (i) => context.set({ image: String(i), ink: null }));

  const element = h("section", { "aria-labelledby": "draw-title" },
    h("h2", { id: "draw-title" }, "Draw"),
    h("p", { class: "lead" }, "Draw on the pad or pick a test image, and the model answers at every stroke. " +
      "Below it are the patterns in its weights that speak for and against the class you choose, and how much of the answer they explain."),
    h("div", { class: "draw-grid" },
      h("div", { class: "column" }, padCard, h("div", { class: "card" }, pick.element)),
      h("div", { class: "column" },
        h("div", { class: "pair" }, h("div", { class: "card" }, scores.element), h("div", { class: "card" }, trust.element)),
        h("div", { class: "card" }, terms.element))));

  /** Terms of the chosen class at this image, both sides in the order of the page. */
  function currentTerms() {
    const form = formOf(context);
    const w = model.formWidth;
    const input = model.formInput(/** @type {any} */ (pass));
    return sides.map(({ sign }) => {
      const list = [];
      for (let i = 0; i < Math.min(top, Math.floor(w / 2)); i++) {
        const rank = sign > 0 ? i : w - 1 - i;
        const lambda = form.values.values[chosen * w + rank];
        if (Math.sign(lambda) !== sign) continue;
        const vector = /** @type {ArrayLike<number>} */ (model.eigenvector(form, chosen, rank));
        let projection = 0;
        for (let j = 0; j < w; j++) projection += vector[j] * input[j];
        list.push({ rank, lambda, vector, projection, contribution: lambda * projection * projection });
      }
      if (context.state.order === "here") list.sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
      return { sign, list };
    });
  }

  /** How the reading adds up: the terms shown, all others, what is outside of the form. */
  function parts() {
    const form = formOf(context);
    const p = /** @type {import("./model.js").Pass} */ (pass);
    const [plus, minus] = currentTerms().map((side) => side.list.reduce((a, t) => a + t.contribution, 0));
    const quadratic = model.quadraticPart(p, form, chosen);
    const reading = model.readLogits(p, form)[chosen];
    return { plus, minus, rest: quadratic - plus - minus, aside: reading - quadratic, reading, logit: p.logits[chosen] };
  }

  /** @returns {{name: string, value: number, tone: string, from: number}[]} */
  function steps() {
    const v = parts();
    const list = [
      { name: "for, shown", value: v.plus, tone: "pos", from: 0 },
      { name: "against, shown", value: v.minus, tone: "neg", from: v.plus },
      { name: "other terms", value: v.rest, tone: v.rest < 0 ? "neg" : "pos", from: v.plus + v.minus }];
    if (Math.abs(v.aside) > 1e-9) {
      list.push({ name: asideName(), value: v.aside, tone: v.aside < 0 ? "neg" : "pos", from: v.plus + v.minus + v.rest });
    }
    list.push({ name: "the reading", value: v.reading, tone: "whole", from: 0 }, { name: "the true logit", value: v.logit, tone: "truth", from: 0 });
    return list;
  }

  function asideName() {
    const names = [];
    if (formOf(context).shift) names.push("linear part");
    if (model.config.residual) names.push("residual");
    if (model.config.bias) names.push("bias");
    return names.join(", ") || "rounding";
  }

  /** @param {number} width */
  function sumChart(width) {
    const list = steps();
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

  /** @returns {(string | number)[][]} */
  function sumRows() {
    const p = /** @type {import("./model.js").Pass} */ (pass);
    return [["part", "value"], ...steps().map((t) => [t.name, t.value]),
      ...readings().map((r) => [`${r.name} reading`, model.readLogits(p, r.form)[chosen]])];
  }

  /** @returns {{name: string, form: import("./data.js").Form | null}[]} */
  function readings() {
    return [...run.forms.map((f) => ({ name: f.name, form: f })), { name: "local, exact", form: null }];
  }

  function showTrust() {
    const p = /** @type {import("./model.js").Pass} */ (pass);
    const decided = argmax(p.logits);
    trustBody.replaceChildren(...readings().map(({ name, form }) => {
      const all = model.readLogits(p, form);
      const says = argmax(all);
      const off = all[chosen] - p.logits[chosen];
      const exact = !form;
      return h("tr", { class: form === formOf(context) ? "current" : "" },
        h("th", { scope: "row" }, name), h("td", {}, fixed(all[chosen])),
        h("td", {}, Math.abs(off) < 5e-7 * Math.max(1, Math.abs(p.logits[chosen])) ? "0" : signed(off, Math.abs(off) < 0.01 ? 4 : 2)),
        h("td", {}, run.classNames[says], says === decided ? h("span", { class: "same" }, " ✓ same") : h("span", { class: "other" }, " ✗ differs")),
        h("td", {}, exact ? "by construction" : `${percent(form.fidelity.agreement)}, R² ${fixed(form.fidelity.r2)}`));
    }));
  }

  function showTerms() {
    const all = currentTerms();
    const largest = Math.max(1e-12, ...all.flatMap((side) => side.list.map((t) => Math.abs(t.contribution))));
    const form = formOf(context);
    all.forEach(({ list }, which) => {
      const { cards, sign, total } = sides[which];
      const sum = list.reduce((a, t) => a + t.contribution, 0);
      total.textContent = list.length ? ` ${signed(sum)} from these ${list.length}` : "";
      cards.forEach((card, i) => {
        const t = list[i];
        card.element.hidden = !t;
        if (!t) return;
        const key = `${form.name} ${chosen} ${t.rank}`;
        if (card.drawn !== key) {
          paintSigned(card.canvas, model.picture(form, chosen, t.rank) ?? [], model.height, model.width);
          card.drawn = key;
        }
        card.fill.style.width = `${(100 * Math.abs(t.contribution)) / largest}%`;
        card.value.textContent = signed(t.contribution);
        card.lambda.textContent = `λ ${number(t.lambda)}`;
        card.element.setAttribute("href", context.href({ view: "spectra", class: String(chosen), rank: String(t.rank + 1) }));
        card.name.textContent = `Eigenvector ${i + 1} ${sign > 0 ? "for" : "against"} contributes `;
      });
    });
    const part = model.linearPart(form, chosen);
    linearRow.hidden = !part;
    if (part) {
      const key = `${form.name} ${chosen}`;
      linear.canvas.hidden = !part.picture;
      if (part.picture && linear.drawn !== key) paintSigned(linear.canvas, part.picture, model.height, model.width);
      linear.drawn = key;
      linear.value.textContent = signed(dot(part.vector, model.formInput(/** @type {any} */ (pass))));
      linear.canvas.setAttribute("aria-label", `The linear part of ${run.classNames[chosen]} as a picture`);
    }
    termsTitle.textContent = `Why ${run.classNames[chosen]}? Contributions λ (v·x)² to its logit`;
  }

  /** The terms as one picture. */
  function termsSvg() {
    const all = currentTerms();
    const size = 84, gap = 12, cell = size + gap;
    const width = gap + top * cell, height = 2 * (size + 66) + 10;
    const largest = Math.max(1e-12, ...all.flatMap((side) => side.list.map((t) => Math.abs(t.contribution))));
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    all.forEach(({ list, sign }, row) => {
      const y = 24 + row * (size + 66);
      svg.append(s("text", { x: gap, y: y - 8 }, `${sign > 0 ? "For" : "Against"} ${run.classNames[chosen]}`));
      list.forEach((t, i) => {
        const card = sides[row].cards[i];
        const x = gap + i * cell;
        svg.append(
          s("image", { x, y, width: size, height: size, href: card.canvas.toDataURL(), "image-rendering": "pixelated" }),
          s("rect", { class: sign > 0 ? "pos" : "neg", x, y: y + size + 4, width: (size * Math.abs(t.contribution)) / largest, height: 5 }),
          s("text", { class: "num", x, y: y + size + 24 }, signed(t.contribution)));
      });
    });
    return svg;
  }

  /** Everything that depends on the image or on the class. */
  function respond() {
    pass = model.forward(pixels);
    const p = softmax(pass.logits);
    const decided = argmax(pass.logits);
    chosen = wholeIn(context.state.class, 0, classes - 1, decided);
    rows.forEach((row, c) => {
      row.fill.style.width = `${100 * p[c]}%`;
      row.share.textContent = percent(p[c]);
      row.logit.textContent = fixed(/** @type {any} */ (pass).logits[c], 2);
      row.input.checked = c === chosen;
      row.element.classList.toggle("decided", c === decided);
      row.element.classList.toggle("chosen", c === chosen);
    });
    const answer = `${run.classNames[decided]}, ${percent(p[decided])} sure`;
    if (verdict.textContent !== answer) verdict.textContent = answer;
    follow.hidden = context.state.class === undefined;
    paintInk(seen, pixels, model.height, model.width);
    showTerms();
    trust.refresh();
    showTrust();
    sumText.textContent = "";
    append(sumText, [h("strong", {}, formOf(context).name), ` reading of ${run.classNames[chosen]}: `,
      `${fixed(parts().reading)} where the model says ${fixed(pass.logits[chosen])}.`]);
  }

  /** Pictures of the other classes are made while nothing happens, so that no stroke waits for them. */
  const wait = window.requestIdleCallback ?? ((/** @type {() => void} */ f) => setTimeout(f, 50));
  let ahead = 0;
  const prepare = () => {
    const form = formOf(context);
    const c = Math.floor(ahead / (2 * top));
    if (c >= classes) return;
    const i = ahead % (2 * top);
    model.picture(form, c, i < top ? i : model.formWidth - 1 - (i - top));
    if (i === 0) model.linearPart(form, c);
    ahead++;
    wait(prepare);
  };
  wait(prepare);

  let current = "";
  return {
    element,
    update() {
      const { state } = context;
      const image = wholeIn(state.image, 0, images.labels.values.length - 1, null);
      const key = image !== null ? `image ${image}` : `ink ${state.ink ?? ""}`;
      if (key !== current) {
        const own = key === `ink ${inkText(pixels) || "-"}`;
        if (image !== null) {
          pixels = picture(image);
          pad.pick(pixels);
        } else if (!own) {
          const drawn = state.ink ? inkFromText(state.ink.replace(/^-$/, ""), model.config.inputs) : null;
          if (drawn) {
            pixels = drawn;
            if (state.ink === "-") pad.wipe();
            else pad.pick(pixels);
            pad.show();
          } else {
            pixels = picture(0);
            pad.pick(pixels);
          }
        }
        current = key;
      }
      forms.set(formOf(context).name);
      order.set(state.order === "here" ? "here" : "value");
      pick.update();
      respond();
      const label = image ?? (state.ink ? null : 0);
      source.textContent = label === null ? (state.ink === "-" ? "The pad is empty." : "Your drawing.")
        : `Test image ${whole(label)}: ${run.classNames[images.labels.values[label]]}. ${programSays(label)}`;
    },
  };

  /** The program's own logits are in the file: the page shows how near its own come. @param {number} i */
  function programSays(i) {
    const p = /** @type {import("./model.js").Pass} */ (pass);
    let off = 0;
    for (let c = 0; c < classes; c++) off = Math.max(off, Math.abs(p.logits[c] - run.logits.values[i * classes + c]));
    return `Logits here and in the program differ by at most ${off.toExponential(0).replace("e-", "e−")}.`;
  }
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

/** @type {import("./app.js").ViewKind} */
export const drawView = { id: "draw", title: "Draw", fits: (data) => data.kind === "image", make };
