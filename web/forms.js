// Which reading of the weights is shown: the choice that several views share, and what is said of a reading.
import { percent, segmented, select } from "glint/dom";

/** @typedef {import("./app.js").Context} Context */

/** The form of the state; without one the form that the run opens with. @param {Context} context
 * @param {import("./model.js").Model} [model] @returns {import("./data.js").Form} */
export function formOf(context, model = context.model) {
  const { forms, form } = model.run;
  return forms.find((f) => f.name === context.state.form) ?? forms.find((f) => f.name === form) ?? forms[forms.length - 1];
}

/** @param {Context} context */
export function formChoice(context) {
  return segmented({ label: "Reading", value: formOf(context).name,
    options: context.model.run.forms.map((f) => ({ value: f.name, text: f.name })),
    change: (form) => context.set({ form }) });
}

/** Class choice as chips, or as a list when there are many. @param {Context} context @param {(c: number) => void} change */
export function classChoice(context, change) {
  const names = context.model.run.classNames;
  return (names.length > 30 ? select : segmented)({ label: "Class", value: "0",
    options: names.map((n, c) => ({ value: String(c), text: n })), change: (c) => change(Number(c)) });
}

/** What the linear part of a reading is, and how much of the class it makes. @param {import("./model.js").Model} model
 * @param {import("./data.js").Form} form @param {number} c */
export function linearWords(model, form, c) {
  const share = form.linearShare?.[c];
  return "This reading also has a part that is not squared, w·x" +
    (model.readsPixels ? ": ink on red speaks for the class, ink on blue against it."
      : ", in the input of the last layer. Its picture is the strongest pattern of the layers below that drives it.") +
    (share === undefined ? "" : ` Over the test images it makes ${percent(share, 0)} of what varies in this class's logit; no eigenvector explains that.`);
}
