// The test images of the page as a wall of thumbnails: by class, wrong ones first.
import { h, percent, select, whole } from "glint/dom";
import { paintInk } from "glint/color";
import { argmax } from "glint/model";
import { wholeIn } from "glint/state";

const PER_PAGE = 36;

/** @param {import("./app.js").Context} context @param {(image: number) => void} choose */
export function picker(context, choose) {
  const { model, data } = context;
  const { images } = data;
  const labels = images.labels.values;
  const count = labels.length;
  const classes = model.classes;
  const logits = model.run.logits.values;
  const decided = Array.from({ length: count }, (_, i) => argmax(logits.subarray(i * classes, (i + 1) * classes)));
  const wrong = decided.filter((d, i) => d !== labels[i]).length;
  const names = model.run.classNames;

  const filter = select({ label: "Class", value: "",
    options: [{ value: "", text: "all" }, ...names.map((n, c) => ({ value: String(c), text: n }))],
    change: (show) => context.set({ show, page: null }) });
  const first = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox",
    onchange: () => context.set({ wrong: first.checked ? "1" : null, page: null }) }));
  const wall = h("div", { class: "wall", role: "group", "aria-label": "Test images", onkeydown: move });
  const where = h("span", { class: "muted" });
  const step = (/** @type {number} */ by) => () => context.set({ page: String(page() + by + 1) });
  const back = h("button", { type: "button", class: "button", "aria-label": "Earlier images", onclick: step(-1) }, "‹");
  const on = h("button", { type: "button", class: "button", "aria-label": "Later images", onclick: step(1) }, "›");
  const element = h("div", { class: "picker" }, h("h3", {}, "Test images"),
    h("p", { class: "muted note" }, `${images.what}: the model gets ${whole(wrong)} of ${whole(count)} wrong (${percent(wrong / count)}).`),
    h("div", { class: "controls" }, filter.element, h("label", { class: "check" }, first, h("span", {}, "Wrong ones first"))),
    wall, h("div", { class: "pager" }, back, where, on));

  const page = () => wholeIn(context.state.page, 1, 1e6, 1) - 1;

  function listed() {
    const only = wholeIn(context.state.show, 0, classes - 1, null);
    const list = [];
    for (let i = 0; i < count; i++) if (only === null || labels[i] === only) list.push(i);
    if (context.state.wrong !== "1") return list;
    const bad = (/** @type {number} */ i) => Number(decided[i] !== labels[i]);
    return list.sort((a, b) => bad(b) - bad(a) || a - b);
  }

  /** Arrow keys walk over the wall; it is one stop for the tab key. @param {KeyboardEvent} e */
  function move(e) {
    const buttons = /** @type {HTMLElement[]} */ ([...wall.children]);
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0) return;
    const across = Math.max(1, buttons.findIndex((b) => b.offsetTop > buttons[0].offsetTop));
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[e.key];
    if (by === undefined) return;
    e.preventDefault();
    const next = buttons[Math.max(0, Math.min(buttons.length - 1, at + by))];
    for (const b of buttons) b.tabIndex = b === next ? 0 : -1;
    next.focus();
  }

  let built = "";
  return {
    element,
    update() {
      filter.set(context.state.show ?? "");
      first.checked = context.state.wrong === "1";
      const list = listed();
      const pages = Math.max(1, Math.ceil(list.length / PER_PAGE));
      const at = Math.min(page(), pages - 1);
      const some = list.slice(at * PER_PAGE, (at + 1) * PER_PAGE);
      const key = some.join(" ");
      if (key !== built) {
        built = key;
        wall.replaceChildren(...some.map((i, k) => {
          const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
          paintInk(canvas, images.pixels.values.subarray(i * model.config.inputs, (i + 1) * model.config.inputs), model.height, model.width, 1 / 255);
          const bad = decided[i] !== labels[i];
          return h("button", { type: "button", class: bad ? "thumb bad" : "thumb", "data-image": i, tabindex: k === 0 ? 0 : -1,
            "aria-label": `Image ${i}, ${names[labels[i]]}${bad ? `, taken for ${names[decided[i]]}` : ""}`,
            title: `${names[labels[i]]}${bad ? ` → ${names[decided[i]]}` : ""}`, onclick: () => choose(i) }, canvas);
        }));
      }
      for (const b of /** @type {HTMLElement[]} */ ([...wall.children])) {
        b.setAttribute("aria-pressed", String(b.dataset.image === (context.state.image ?? (context.state.ink ? "" : "0"))));
      }
      where.textContent = list.length ? `${whole(at * PER_PAGE + 1)}–${whole(at * PER_PAGE + some.length)} of ${whole(list.length)}` : "none";
      back.toggleAttribute("disabled", at === 0);
      on.toggleAttribute("disabled", at >= pages - 1);
    },
  };
}
