// The eigenvalues of a form as a chart in which one is chosen, by pointer or keys.
import { number, s } from "glint/dom";
import { extent, figure, frame } from "glint/chart";

/** @param {{file: string, name: () => string, values: () => ArrayLike<number>, rank: () => number, go: (rank: number) => void,
 *   kept?: () => Set<number>}} setup `kept`: the ranks that are drawn in full colour; all when it is not given */
export function spectrumPlot({ file, name, values, rank, go, kept }) {
  return figure({ title: "Eigenvalues", file,
    note: "Largest first. Point at one, or focus the plot and use the arrow keys.",
    csv: () => {
      const keep = kept?.();
      return [["rank", "eigenvalue", ...(keep ? ["kept"] : [])],
        ...Array.from(values(), (v, i) => [i + 1, v, ...(keep ? [keep.has(i) ? 1 : 0] : [])])];
    },
    draw: (width) => {
      const v = Array.from(values());
      const w = v.length;
      const height = Math.max(220, Math.min(430, width * 0.52));
      const f = frame({ width, height, label: `Eigenvalues of ${name()}`,
        x: { label: "rank", domain: [0.5, w + 0.5] }, y: { label: "eigenvalue λ", domain: extent(v, true) } });
      const keep = kept?.();
      const stems = s("g", {});
      const bar = Math.max(1, Math.min(6, (width - 76) / w - 0.6));
      v.forEach((value, i) => {
        const y0 = f.sy(0), y1 = f.sy(value);
        stems.append(s("rect", { class: `${value < 0 ? "neg" : "pos"}${!keep || keep.has(i) ? "" : " faint"}`,
          x: f.sx(i + 1) - bar / 2, width: bar, y: Math.min(y0, y1), height: Math.max(0.8, Math.abs(y1 - y0)) }));
      });
      const i = rank();
      const x = f.sx(i + 1);
      f.svg.append(stems,
        s("line", { class: "mark", x1: x, x2: x, y1: f.margin.top, y2: height - f.margin.bottom }),
        s("circle", { class: `dot ${v[i] < 0 ? "neg" : "pos"}`, cx: x, cy: f.sy(v[i]), r: 5 }));
      const to = (/** @type {number} */ n) => go(Math.max(0, Math.min(w - 1, n)));
      const at = (/** @type {PointerEvent} */ e) => {
        const box = f.svg.getBoundingClientRect();
        const px = ((e.clientX - box.left) / box.width) * width;
        const share = (px - f.margin.left) / (width - f.margin.left - f.margin.right);
        const next = Math.max(0, Math.min(w - 1, Math.floor(share * w)));
        if (next !== rank()) go(next);
      };
      const svg = f.svg;
      svg.setAttribute("role", "slider");
      svg.setAttribute("tabindex", "0");
      svg.setAttribute("class", "interactive");
      svg.setAttribute("aria-label", `Eigenvalues of ${name()}, choose one`);
      svg.setAttribute("aria-valuemin", "1");
      svg.setAttribute("aria-valuemax", String(w));
      svg.setAttribute("aria-valuenow", String(i + 1));
      svg.setAttribute("aria-valuetext", `number ${i + 1}, eigenvalue ${number(v[i])}`);
      svg.addEventListener("pointermove", at);
      svg.addEventListener("pointerdown", at);
      svg.addEventListener("keydown", (e) => {
        const next = { ArrowRight: i + 1, ArrowUp: i + 1, ArrowLeft: i - 1, ArrowDown: i - 1, PageUp: i + 10, PageDown: i - 10, Home: 0, End: w - 1 }[e.key];
        if (next === undefined) return;
        e.preventDefault();
        to(next);
      });
      return svg;
    } });
}
