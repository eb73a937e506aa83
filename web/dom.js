// Small helpers to build the page. Text always becomes text nodes: nothing here can make markup from a string.

/** @typedef {Node | string | number | null | undefined | false} Child */

/** @param {Element} element @param {Record<string, any>} attributes @param {(Child | Child[])[]} children */
function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
}

/** @param {Element} element @param {(Child | Child[])[]} children */
export function append(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** An HTML element. @param {string} tag @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children @returns {HTMLElement} */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. @param {string} tag @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children @returns {SVGElement} */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** A number for people: three significant digits or so, a true minus sign. @param {number} x
 * @param {number} [digits] */
export function number(x, digits = 3) {
  if (!Number.isFinite(x)) return "–";
  const a = Math.abs(x);
  let text;
  if (a === 0) text = "0";
  else if (a < 1e-3 || a >= 1e6) text = a.toExponential(Math.max(0, digits - 2)).replace("e-", "e−").replace("e+", "e");
  else text = a.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(a))));
  return (x < 0 ? "−" : "") + text;
}

/** With its sign. @param {number} x @param {number} [decimals] */
export function signed(x, decimals = 2) {
  const text = Math.abs(x).toFixed(decimals);
  return (Number(text) === 0 ? "" : x < 0 ? "−" : "+") + text;
}

/** @param {number} x @param {number} [decimals] */
export function fixed(x, decimals = 2) {
  const text = Math.abs(x).toFixed(decimals);
  return (x < 0 && Number(text) !== 0 ? "−" : "") + text;
}

/** @param {number} share @param {number} [decimals] */
export function percent(share, decimals = 1) {
  return Number.isFinite(share) ? `${(100 * share).toFixed(decimals)} %` : "–";
}

/** @param {number} n */
export function whole(n) {
  return Math.round(n).toLocaleString("en-US");
}

let counter = 0;
/** A fresh id. @param {string} stem */
export function uid(stem) {
  counter += 1;
  return `${stem}-${counter}`;
}

/** A choice of a few words: radio buttons that look like one control.
 * @param {{label: string, options: {value: string, text: string}[], value: string,
 *   change: (value: string) => void}} setup */
export function segmented({ label, options, value, change }) {
  const name = uid("choice");
  /** @type {Map<string, HTMLInputElement>} */
  const inputs = new Map();
  const element = h("fieldset", { class: "segmented" }, h("legend", {}, label),
    options.map((o) => {
      const input = /** @type {HTMLInputElement} */ (h("input", {
        type: "radio", name, value: o.value, checked: o.value === value, onchange: () => change(o.value) }));
      inputs.set(o.value, input);
      return h("label", {}, input, h("span", {}, o.text));
    }));
  return {
    element,
    /** @param {string} v */
    set(v) {
      const input = inputs.get(v);
      if (input) input.checked = true;
    },
  };
}

/** @param {{label: string, options: {value: string, text: string}[], value: string,
 *   change: (value: string) => void}} setup */
export function select({ label, options, value, change }) {
  const id = uid("select");
  const element = /** @type {HTMLSelectElement} */ (h("select", { id, onchange: () => change(element.value) },
    options.map((o) => h("option", { value: o.value, selected: o.value === value }, o.text))));
  return {
    element: h("div", { class: "field" }, h("label", { for: id }, label), element),
    /** @param {string} v */
    set(v) {
      element.value = v;
    },
  };
}
