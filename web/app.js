// The page: reads its data, offers the views that fit it and shows the one that the address names.
import { h, percent, select, whole } from "glint/dom";
import { readData } from "glint/data";
import { Model } from "glint/model";
import { onThemeChange, theme } from "glint/color";
import { onHashChange, readHash, toHash, writeHash } from "glint/state";
import { drawView } from "glint/view_draw";
import { spectraView } from "glint/view_spectra";
import { compareView } from "glint/view_compare";
import { trainingView } from "glint/view_training";
import { mathView } from "glint/view_math";
import { tokensView } from "glint/view_tokens";
import { sentenceView } from "glint/view_sentence";
import { ReadingModel, readingsView } from "glint/view_readings";
import { explainedView } from "glint/view_explained";
import { LanguageModel } from "glint/language";

/**
 * @typedef {import("./state.js").State} State
 * @typedef {{data: import("./data.js").PageData, models: Model[], model: Model, state: State,
 *   set: (patch: Record<string, string | null>) => void,
 *   href: (patch: Record<string, string | null>) => string}} Context
 * @typedef {{element: HTMLElement, update: () => void}} View
 * @typedef {{id: string, title: string, short?: string, fits: (data: import("./data.js").PageData) => boolean,
 *   make: (context: Context) => View}} ViewKind
 */

/** Every view, in the order of the menu. One for another kind of run is one more line. @type {ViewKind[]} */
const VIEWS = [drawView, spectraView, compareView, tokensView, sentenceView, readingsView, explainedView, trainingView, mathView];

/** @param {Model | LanguageModel | ReadingModel} model */
function summary(model) {
  if (model instanceof ReadingModel) return model.run.text;
  const { config, run } = model;
  const result = run.run.result;
  const accuracy = result && typeof result.test_accuracy === "number"
    ? ` · ${percent(result.test_accuracy, 2)} of the ${model instanceof LanguageModel ? "next tokens" : "test images"} right` : "";
  return `${run.gate.title} gate · ${config.layers} ${config.layers === 1 ? "layer" : "layers"} · width ${model.hidden} · ` +
    `${whole(run.parameters)} parameters${run.data ? ` · trained on ${run.data}` : ""}${accuracy}` +
    (run.halfDeviation === undefined ? "" : " · weights rounded to 16 bits");
}

/** @param {import("./data.js").PageData} data */
function start(data) {
  // A page has runs of one kind, and its views are made for that kind: theirs is the type of the models.
  const models = data.kind === "readings"
    ? /** @type {Model[]} */ (/** @type {unknown} */ (data.runs.map((run) => new ReadingModel(/** @type {any} */ (run)))))
    : data.kind === "language"
    ? /** @type {Model[]} */ (/** @type {unknown} */ ([new LanguageModel(/** @type {any} */ (data.runs[0]))]))
    : data.runs.map((run) => new Model(run, data.images.height, data.images.width));
  const kinds = VIEWS.filter((v) => v.fits(data));
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  const nav = /** @type {HTMLElement} */ (document.getElementById("nav"));
  const about = /** @type {HTMLElement} */ (document.getElementById("about"));
  /** @type {Map<string, View>} */
  const made = new Map();
  /** @type {HTMLElement[]} */
  const links = [];
  let shown = "";

  /** @type {Context} */
  const context = {
    data, models, model: models[0], state: readHash(),
    set(patch) {
      context.state = /** @type {State} */ ({ ...context.state, ...patch });
      writeHash(toHash(context.state));
      context.state = readHash();
      show();
    },
    href: (patch) => toHash({ ...context.state, ...patch }),
  };

  const runChoice = models.length < 2 || data.kind === "readings" ? null : select({
    label: "Run", value: "a",
    options: data.runs.map((r, i) => ({ value: "ab"[i], text: `${"AB"[i]}: ${r.name}` })),
    change: (run) => context.set({ run }) });
  const name = h("span", { class: "run-name" });
  const facts = h("p", { class: "facts" });
  about.replaceChildren(h("div", { class: "run-line" }, runChoice ? runChoice.element : name), facts);

  for (const kind of kinds) {
    const link = h("a", { href: "#view=" + kind.id, "data-view": kind.id }, kind.short
      ? [h("span", { class: "long" }, kind.title), h("span", { class: "short" }, kind.short)] : kind.title);
    links.push(link);
    nav.append(link);
  }

  const show = () => {
    const run = context.state.run === "b" && models.length > 1 ? 1 : 0;
    context.model = models[run];
    runChoice?.set("ab"[run]);
    const both = data.kind === "readings" && models.length > 1;
    name.textContent = both ? models.map((m) => m.run.name).join(" and ") : context.model.run.name;
    facts.textContent = both ? models.map(summary).join(" · ") : summary(context.model);
    const kind = kinds.find((v) => v.id === context.state.view) ?? kinds[0];
    const key = `${kind.id} ${run}`;
    let view = made.get(key);
    if (!view) {
      view = kind.make(context);
      made.set(key, view);
    }
    if (shown !== key) {
      main.replaceChildren(view.element);
      shown = key;
      for (const link of links) {
        if (link.dataset.view === kind.id) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
    }
    for (const link of links) link.setAttribute("href", context.href({ view: link.dataset.view ?? "" }));
    view.update();
  };

  onHashChange(() => {
    context.state = readHash();
    show();
  });
  onThemeChange(() => {
    made.clear();
    shown = "";
    show();
  });
  const toggle = /** @type {HTMLElement} */ (document.getElementById("theme"));
  const label = () => toggle.setAttribute("aria-label", theme() === "dark" ? "Use light colours" : "Use dark colours");
  toggle.addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    label();
  });
  label();
  /** @type {HTMLElement} */ (document.getElementById("version")).textContent = data.version;
  show();
  performance.mark("glint-ready");
}

readData().then(start).catch((error) => {
  const main = document.getElementById("main");
  main?.replaceChildren(h("p", { class: "problem", role: "alert" },
    `This page cannot be shown: ${error.message}. It needs a browser from 2023 or later.`));
  throw error;
});
