// Which reading of the weights is shown: the choice that several views share.
import { segmented } from "glint/dom";

/** @typedef {import("./app.js").Context} Context */

/** The form of the state; the last one, which is nearest to the model, when none is named. @param {Context} context
 * @param {import("./model.js").Model} [model] @returns {import("./data.js").Form} */
export function formOf(context, model = context.model) {
  const { forms } = model.run;
  return forms.find((f) => f.name === context.state.form) ?? forms[forms.length - 1];
}

/** @param {Context} context */
export function formChoice(context) {
  return segmented({ label: "Reading", value: formOf(context).name,
    options: context.model.run.forms.map((f) => ({ value: f.name, text: f.name })),
    change: (form) => context.set({ form }) });
}

/** Class choice as chips. @param {Context} context @param {(c: number) => void} change */
export function classChoice(context, change) {
  return segmented({ label: "Class", value: "0",
    options: context.model.run.classNames.map((n, c) => ({ value: String(c), text: n })),
    change: (c) => change(Number(c)) });
}
