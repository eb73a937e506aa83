// Training: how loss and accuracy went, and everything that is needed to train the same model again; of a model
// that came without a record of that, only what the page knows.
import { h, percent, whole } from "glint/dom";
import { figure, keys, lineChart } from "glint/chart";

/** @param {any} value */
function shown(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Only what is known; null when that is nothing. @param {string} title @param {[string, any][]} rows @param {string} [layout] */
function table(title, rows, layout = "") {
  const known = rows.filter(([, v]) => v !== null && v !== undefined);
  if (!known.length) return null;
  return h("div", { class: "card" }, h("h3", {}, title), h("dl", { class: `pairs ${layout}` },
    known.map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, shown(v))))));
}

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const { data, model } = context;
  const several = data.runs.length > 1;
  const { run: info } = model.run;
  const options = info.identity?.options ?? {};
  const machine = info.machine ?? {};
  const result = info.result ?? {};

  /** @param {string} what @param {number} factor @returns {import("./chart.js").Series[]} */
  const series = (what, factor) => data.runs.flatMap((r, i) => ["train", "test"].map((split) => ({
    name: `${several ? `${"AB"[i]} ` : ""}${split}`, tone: i === 0 ? "ink" : "accent", dashed: split === "train",
    points: r.metrics.filter((m) => typeof m[`${split}_${what}`] === "number" && typeof m.step === "number")
      .map((m) => ({ x: m.step, y: factor * m[`${split}_${what}`] })) }))).filter((r) => r.points.length);

  /** @param {string} title @param {string} what @param {number} factor @param {string} y */
  const curve = (title, what, factor, y) => {
    const list = series(what, factor);
    return !list.length ? null : figure({ title, file: `glint-${what}`,
      csv: () => [["series", "step", what], ...list.flatMap((r) => r.points.map((p) => [r.name, p.x, p.y / factor]))],
      draw: (width) =>
        lineChart({ width, height: 260, label: title, series: list, x: "step", y, dots: list[0].points.length < 40 }).svg,
      below: () => keys(list) });
  };
  const loss = curve("Loss", "loss", 1, "cross-entropy");
  const accuracy = curve("Accuracy", "accuracy", 100, "%");

  const curves = [loss, accuracy].filter((c) => c !== null);
  /** @type {number | undefined} */
  const measured = data.kind === "image" ? model.run.forms[0]?.fidelity?.accuracyModel : undefined;
  const unrecorded = data.runs.filter((r) => !r.metrics.length).map((r) => r.name);
  const lead = (!curves.length ? "No record of the training came with this model. "
    : "How loss and accuracy went while the model learned" +
      (data.kind === "image" ? "; the training curves include the noise that was put on the images. " : ". Accuracy is the share of next tokens that the model has first. ") +
      (unrecorded.length ? `No record came with ${unrecorded.join(" and ")}. ` : "")) +
    (Object.keys(options).length ? "With the recipe and the seed below, the program trains exactly the same weights again."
      : curves.length ? `How to train ${model.run.name} again is not known.` : "Its curves, its recipe and its seed are not known; the weights are all that there is.");

  const element = h("section", { "aria-labelledby": "training-title" },
    h("h2", { id: "training-title" }, "Training"),
    h("p", { class: "lead" }, lead),
    curves.length ? h("div", { class: "pair even" }, curves.map((c) => h("div", { class: "card" }, c.element))) : null,
    h("div", { class: "tables" }, h("div", { class: "column" },
      table("Result", [["run", model.run.name], ["test accuracy", typeof result.test_accuracy === "number" ? percent(result.test_accuracy, 2) : null],
        ["right on the test images, measured for this page", typeof result.test_accuracy !== "number" && measured !== undefined ? percent(measured, 2) : null],
        ["test loss", typeof result.test_loss === "number" ? result.test_loss.toFixed(4) : null],
        ["parameters", whole(model.run.parameters)], ["steps", info.steps],
        ["seconds", typeof info.seconds === "number" ? info.seconds.toFixed(1) : null], ["written", info.written]]),
      table("Seed and machine", [["seed", options.seed], ...Object.entries(machine)])),
      table("Recipe", Object.entries(options).filter(([k]) => k !== "seed"), "two")),
    model.run.halfDeviation === undefined ? null : h("p", { class: "muted note" },
      `To keep this file small its weights are rounded to 16 bits. That changes the logits ${data.kind === "image" ? "of the test images in it" : "at the first validation stories"} by at most ${model.run.halfDeviation.toPrecision(2)}.`));

  return {
    element,
    update() {
      for (const c of curves) c.refresh();
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const trainingView = { id: "training", title: "Training", fits: (data) => data.kind !== "readings", make };
