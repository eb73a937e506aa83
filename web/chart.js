// Charts as SVG that follow the theme, fit their container, and can be saved as SVG and CSV.
import { h, s } from "glint/dom";

/** @typedef {{x: number, y: number}} Point */
/** @typedef {{name: string, tone: string, points: Point[], dashed?: boolean}} Series */

/** Round numbers that cover a range. @param {number} low @param {number} high @param {number} count */
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((v) => v >= rough * 0.999) ?? power;
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) out.push(k * step);
  return { values: out, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** @param {number} v @param {number} decimals */
export function tickText(v, decimals) {
  return (v < 0 && v.toFixed(decimals) !== (0).toFixed(decimals) ? "−" : "") + Math.abs(v).toFixed(decimals);
}

const EARLY_TICKS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];

/** @param {[number, number]} domain @param {[number, number]} range */
export function scale(domain, range) {
  const k = (range[1] - range[0]) / (domain[1] - domain[0] || 1);
  return (/** @type {number} */ v) => range[0] + (v - domain[0]) * k;
}

/** The frame of a chart: axes with ticks and names. `x.early` gives small numbers more room, as log(1 + x).
 * @param {{width: number, height: number, label: string, x: {label: string, domain: [number, number], early?: boolean}, y: {label: string, domain: [number, number], ticks?: number[]}}} setup */
export function frame({ width, height, label, x, y }) {
  const margin = { left: 62, right: 14, top: 12, bottom: 40 };
  /** @type {[number, number]} */
  const across = [margin.left, width - margin.right];
  const early = scale([Math.log1p(x.domain[0]), Math.log1p(x.domain[1])], across);
  const sx = x.early ? (/** @type {number} */ v) => early(Math.log1p(v)) : scale(x.domain, across);
  const sy = scale(y.domain, [height - margin.bottom, margin.top]);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  const grid = s("g", { class: "axis" });
  const ty = y.ticks ? { values: y.ticks, decimals: 0 } : ticks(y.domain[0], y.domain[1], Math.max(2, Math.round(height / 45)));
  for (const v of ty.values) {
    grid.append(
      s("line", { class: v === 0 ? "zero" : "grid", x1: margin.left, x2: width - margin.right, y1: sy(v), y2: sy(v) }),
      s("text", { x: margin.left - 7, y: sy(v) + 4, "text-anchor": "end" }, tickText(v, ty.decimals)));
  }
  const tx = x.early ? { values: EARLY_TICKS.filter((v) => v >= x.domain[0] && v <= x.domain[1]), decimals: 0 }
    : ticks(x.domain[0], x.domain[1], Math.max(2, Math.round(width / 90)));
  for (const v of tx.values) {
    grid.append(
      s("line", { class: "tick", x1: sx(v), x2: sx(v), y1: height - margin.bottom, y2: height - margin.bottom + 4 }),
      s("text", { x: sx(v), y: height - margin.bottom + 17, "text-anchor": "middle" }, tickText(v, tx.decimals)));
  }
  grid.append(
    s("line", { class: "base", x1: margin.left, x2: width - margin.right, y1: height - margin.bottom, y2: height - margin.bottom }),
    s("text", { class: "name", x: (margin.left + width - margin.right) / 2, y: height - 6, "text-anchor": "middle" }, x.label),
    s("text", { class: "name", transform: `translate(13 ${(margin.top + height - margin.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, y.label));
  svg.append(grid);
  return { svg, sx, sy, margin };
}

/** @param {number[]} values @param {boolean} [zero] include 0 @returns {[number, number]} */
export function extent(values, zero = false) {
  const finite = values.filter(Number.isFinite);
  let low = Math.min(...finite, ...(zero ? [0] : []));
  let high = Math.max(...finite, ...(zero ? [0] : []));
  if (!finite.length) [low, high] = [0, 1];
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  return [zero && low === 0 ? 0 : low - pad, zero && high === 0 ? 0 : high + pad];
}

/** @param {{width: number, height: number, label: string, series: Series[], x: string, y: string,
 *   yDomain?: [number, number], xDomain?: [number, number], early?: boolean, mark?: number, dots?: boolean}} setup */
export function lineChart({ width, height, label, series, x, y, yDomain, xDomain, early, mark, dots }) {
  const points = series.flatMap((r) => r.points);
  const xs = points.map((p) => p.x);
  const f = frame({ width, height, label,
    x: { label: x, early, domain: xDomain ?? [Math.min(...xs), Math.max(...xs)] },
    y: { label: y, domain: yDomain ?? extent(points.map((p) => p.y)) } });
  if (mark !== undefined) {
    f.svg.append(s("line", { class: "mark", x1: f.sx(mark), x2: f.sx(mark), y1: f.margin.top, y2: height - f.margin.bottom }));
  }
  for (const r of series) {
    const path = r.points.map((p, i) => `${i ? "L" : "M"}${f.sx(p.x).toFixed(1)} ${f.sy(p.y).toFixed(1)}`).join("");
    f.svg.append(s("path", { class: `line ${r.tone}`, d: path, "stroke-dasharray": r.dashed ? "5 4" : undefined }));
    if (dots) for (const p of r.points) f.svg.append(s("circle", { class: `dot ${r.tone}`, cx: f.sx(p.x), cy: f.sy(p.y), r: 2.5 }));
    const at = mark === undefined ? undefined : r.points.find((p) => p.x === mark);
    if (at) f.svg.append(s("circle", { class: `dot ${r.tone}`, cx: f.sx(at.x), cy: f.sy(at.y), r: 4.5 }));
  }
  return f;
}

/** Which line is which. @param {Series[]} series */
export function keys(series) {
  return h("ul", { class: "keys" }, series.map((r) => h("li", {},
    s("svg", { width: 26, height: 10, "aria-hidden": "true" },
      s("line", { class: `line ${r.tone}`, x1: 1, x2: 25, y1: 5, y2: 5, "stroke-dasharray": r.dashed ? "5 4" : undefined })),
    r.name)));
}

const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "opacity", "text-anchor"];

/** A picture of its own from a chart on the page: computed styles become attributes.
 * @param {SVGElement} svg @returns {string} */
export function svgText(svg) {
  const copy = /** @type {SVGElement} */ (svg.cloneNode(true));
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const key of STYLED) {
      const value = style.getPropertyValue(key);
      if (value) to[i].setAttribute(key, value);
    }
    to[i].removeAttribute("class");
    to[i].removeAttribute("tabindex");
  });
  const [, , width, height] = (svg.getAttribute("viewBox") ?? "0 0 640 400").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--surface").trim() || "white";
  copy.prepend(s("rect", { width, height, fill: paper }));
  return new XMLSerializer().serializeToString(copy);
}

/** @param {(string | number)[][]} rows */
export function csvText(rows) {
  const field = (/** @type {string | number} */ v) => {
    const text = String(v);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((r) => r.map(field).join(",")).join("\r\n") + "\r\n";
}

/** @param {string} name @param {string} type @param {string} text */
function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A titled chart with its downloads. `draw(width)` gives the SVG; it is called again when the width or the
 * theme changes, and by `refresh`. @param {{title: string, note?: string, file: string,
 *   draw?: (width: number) => SVGElement, svg?: () => SVGElement, csv: () => (string | number)[][],
 *   below?: () => (Node | null)}} setup */
export function figure({ title, note, file, draw, svg, csv, below }) {
  const body = h("div", { class: "chart" });
  const foot = h("div", { class: "chart-below" });
  /** @type {SVGElement | null} */
  let shown = null;
  const button = (/** @type {string} */ kind, /** @type {() => void} */ click) =>
    h("button", { type: "button", class: "save", "aria-label": `Save ${title} as ${kind}`, onclick: click }, kind);
  const element = h("figure", {},
    h("figcaption", {}, h("h3", {}, title),
      h("span", { class: "saves" },
        button("SVG", () => {
          const node = svg ? svg() : shown;
          if (!node) return;
          // Off the page a picture has no computed style: it is put in for the moment.
          const loose = !node.isConnected;
          if (loose) body.append(node);
          const text = svgText(node);
          if (loose) node.remove();
          save(`${file}.svg`, "image/svg+xml", text);
        }),
        button("CSV", () => save(`${file}.csv`, "text/csv", csvText(csv()))))),
    note ? h("p", { class: "muted note" }, note) : null, body, foot);
  let width = 0;
  const refresh = () => {
    if (!draw || width === 0) return;
    const focused = shown?.contains(document.activeElement);
    const next = draw(width);
    body.replaceChildren(next);
    shown = next;
    if (focused) /** @type {any} */ (next.matches("[tabindex]") ? next : next.querySelector("[tabindex]"))?.focus();
    if (below) foot.replaceChildren(below() ?? "");
  };
  if (draw) {
    new ResizeObserver(() => {
      const now = Math.floor(body.clientWidth);
      if (now > 0 && now !== width) {
        width = now;
        refresh();
      }
    }).observe(body);
  }
  return { element, body, refresh };
}
