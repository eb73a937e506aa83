// Signed numbers as colours, blue below 0 and red above, which people with any colour vision can tell apart;
// and pictures made of them.
import { h } from "glint/dom";

/** @typedef {[number, number, number]} Rgb */

/** Stops at -1, -1/2, 0, 1/2, 1. @type {{light: Rgb[], dark: Rgb[]}} */
const STOPS = {
  light: [[14, 58, 134], [84, 144, 212], [249, 249, 247], [229, 122, 98], [142, 18, 36]],
  dark: [[168, 208, 255], [58, 122, 210], [20, 23, 29], [206, 72, 58], [255, 184, 158]],
};

const darkQuery = matchMedia("(prefers-color-scheme: dark)");

/** @returns {"light" | "dark"} */
export function theme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return darkQuery.matches ? "dark" : "light";
}

/** Calls back when the theme changes. @param {() => void} callback */
export function onThemeChange(callback) {
  darkQuery.addEventListener("change", callback);
  new MutationObserver(callback).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** @param {number} t in -1..1 @param {"light" | "dark"} [mode] @returns {Rgb} */
export function diverging(t, mode = theme()) {
  const stops = STOPS[mode];
  const x = (Math.max(-1, Math.min(1, t)) + 1) * 2;
  const i = Math.min(3, Math.floor(x));
  const f = x - i;
  return /** @type {Rgb} */ (stops[i].map((v, k) => Math.round(v + f * (stops[i + 1][k] - v))));
}

/** @param {number} t @param {"light" | "dark"} [mode] */
export function divergingCss(t, mode = theme()) {
  return `rgb(${diverging(t, mode).join(" ")})`;
}

/** Paints signed values, 0 in the middle of the scale and the largest magnitude at its end.
 * @param {HTMLCanvasElement} canvas @param {ArrayLike<number>} values @param {number} height
 * @param {number} width */
export function paintSigned(canvas, values, height, width) {
  canvas.width = width;
  canvas.height = height;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(width, height);
  let top = 0;
  for (let i = 0; i < values.length; i++) top = Math.max(top, Math.abs(values[i]));
  const mode = theme();
  for (let i = 0; i < width * height; i++) {
    const [r, g, b] = diverging(top > 0 ? values[i] / top : 0, mode);
    image.data.set([r, g, b, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

/** Paints ink 0..1 as the paper and ink of the theme. @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>} values @param {number} height @param {number} width @param {number} [scale] */
export function paintInk(canvas, values, height, width, scale = 1) {
  canvas.width = width;
  canvas.height = height;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(width, height);
  const [paper, ink] = theme() === "dark" ? [[20, 23, 29], [240, 240, 236]] : [[255, 255, 255], [24, 27, 33]];
  for (let i = 0; i < width * height; i++) {
    const t = Math.max(0, Math.min(1, values[i] * scale));
    for (let k = 0; k < 3; k++) image.data[4 * i + k] = paper[k] + t * (ink[k] - paper[k]);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/** What the colours mean. @param {string} [low] @param {string} [high] @param {string} [note] */
export function legend(low = "negative", high = "positive", note = "each picture on its own scale") {
  const bar = h("span", { class: "legend-bar", "aria-hidden": "true" });
  const paint = () => {
    const stops = [-1, -0.5, 0, 0.5, 1].map((t) => divergingCss(t));
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  };
  paint();
  onThemeChange(paint);
  return h("p", { class: "legend" }, h("span", {}, low), bar, h("span", {}, high),
    h("span", { class: "muted" }, `0 in the middle; ${note}`));
}
