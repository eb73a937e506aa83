// The pad of the Draw view with its controls, and the image that the model is given.
import { h } from "glint/dom";
import { paintInk } from "glint/color";
import { Pad, inkFromText, inkText } from "glint/pad";

/** @typedef {Record<string, string | null>} Address where a link finds the image */

/** Digits are centred as MNIST's are; other pictures fill their frame. @param {string[]} names */
function areDigits(names) {
  return names.every((n) => /^\d$/.test(n));
}

/** `changed` is called at every move of the pen, with true when a stroke ends.
 * @param {import("./drawing.js").Drawing} drawing @param {(done: boolean) => void} changed */
export function padCard(drawing, changed) {
  const { model, run } = drawing;
  const pad = new Pad({ height: model.height, width: model.width, centre: areDigits(run.classNames), changed: (done) => {
    drawing.pixels = pad.pixels();
    changed(done);
  } });
  /** Images that were picked keep their address when a stroke on them is undone. @type {WeakMap<Float32Array, Address>} */
  const picked = new WeakMap();
  const seen = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "seen", role: "img", "aria-label": "The image that the model is given" }));
  const pen = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: 8, max: 48, step: 1, value: pad.pen, id: "pen",
    oninput: () => { pad.pen = Number(pen.value); } }));
  const centre = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", id: "centre", checked: pad.centre,
    onchange: () => { pad.centre = centre.checked; if (!pad.picked) pad.changed(true); } }));
  // Not `disabled`, which would take the focus from a reader who undoes stroke after stroke.
  const undo = h("button", { type: "button", class: "button", onclick: () => pad.undo() }, "Undo");
  const source = h("p", { class: "source", role: "status" });
  const element = h("div", { class: "card pad-card" }, pad.canvas,
    h("div", { class: "pad-row" },
      h("div", { class: "pad-controls" },
        h("div", { class: "buttons" }, undo, h("button", { type: "button", class: "button", onclick: () => pad.clear() }, "Clear")),
        h("div", { class: "field" }, h("label", { for: "pen" }, "Pen"), pen),
        h("label", { class: "check" }, centre, h("span", {}, "Centre", h("span", { class: "long" }, " as MNIST does")))),
      h("div", { class: "seen-box" }, seen, h("span", { class: "muted" }, "the model sees"))),
    source);

  return {
    element,
    /** Shows an image that was picked. @param {Float32Array} pixels @param {Address} address */
    pick(pixels, address) {
      drawing.pixels = pixels;
      picked.set(pixels, address);
      pad.pick(pixels);
    },
    /** Shows the ink of a link; false for a text that is none. @param {string | undefined} text */
    ink(text) {
      const drawn = text ? inkFromText(text.replace(/^-$/, ""), model.config.inputs) : null;
      if (!drawn) return false;
      drawing.pixels = drawn;
      pad.pick(text === "-" ? null : drawn);
      return true;
    },
    /** The drawing as text for a link. */
    text: () => inkText(drawing.pixels) || "-",
    /** @returns {Address} */
    address: () => picked.get(drawing.pixels) ?? { image: null, ink: inkText(drawing.pixels) || "-" },
    /** @param {string} words */
    say(words) {
      source.textContent = words;
    },
    update() {
      paintInk(seen, drawing.pixels, model.height, model.width);
      undo.setAttribute("aria-disabled", String(pad.past.length === 0));
    },
  };
}
