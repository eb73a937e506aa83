// The choices that the views of a language run share: layer, output token, reading; and how good the reading is.
import { fixed, h, percent, segmented, select, uid, whole } from "glint/dom";
import { languageOf } from "glint/language";
import { wholeIn } from "glint/state";

/** @typedef {import("./app.js").Context} Context @typedef {import("./language.js").Direction} Direction */

/** @param {Context} context */
export function layerOf(context) {
  const { layers } = languageOf(context).config;
  return wholeIn(context.state.layer, 1, layers, layers) - 1;
}

/** @param {Context} context @returns {import("./data.js").LanguageForm} */
export function languageForm(context) {
  const { forms, form } = languageOf(context).run;
  return forms.find((f) => f.name === context.state.form) ?? forms.find((f) => f.name === form) ?? forms[forms.length - 1];
}

/** A token to begin with: one that people know, or the first that is a word. @param {Context} context */
function firstToken(context) {
  const { tokenizer } = languageOf(context);
  const known = ["happy", "sad", "big", "girl"].find((w) => tokenizer.find(w) !== null);
  const word = tokenizer.pieces.findIndex((p) => /^\u2581\p{L}{3,}$/u.test(p));
  return known ?? `#${Math.max(0, word)}`;
}

/** @param {Context} context @returns {Direction | string} */
export function directionOf(context) {
  return languageOf(context).direction(context.state.token ?? firstToken(context));
}

/** @param {Context} context */
export function languageControls(context) {
  const model = languageOf(context);
  const { layers } = model.config;
  const options = Array.from({ length: layers }, (_, i) => ({ value: String(i + 1), text: String(i + 1) }));
  const change = (/** @type {string} */ layer) => context.set({ layer });
  const layer = (layers > 8 ? select : segmented)({ label: "Layer", options, value: String(layerOf(context) + 1), change });
  const form = segmented({ label: "Reading", value: languageForm(context).name,
    options: model.run.forms.map((f) => ({ value: f.name, text: f.name })), change: (name) => context.set({ form: name }) });
  const id = uid("token"), list = uid("pieces"), note = uid("token-note");
  const { tokenizer } = model;
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "text", id, list, class: "token-input", autocomplete: "off", spellcheck: "false",
    "aria-describedby": note, onchange: () => context.set({ token: input.value }) }));
  // A piece that its own spelling does not find is named by its number.
  const spelled = tokenizer.pieces.map((p, t) => {
    const plain = p.replace(/^\u2581/, "");
    const word = [plain, tokenizer.shown(t)].find((w) => w !== "" && !/[\s#]/.test(w) && tokenizer.find(w) === t);
    return h("option", { value: word ?? `#${t}` }, tokenizer.shown(t));
  });
  const said = h("p", { class: "said", id: note, "aria-live": "polite" });
  const element = h("div", { class: "card" }, h("div", { class: "controls" }, layer.element,
    h("div", { class: "field" }, h("label", { for: id }, "Output token"), input, h("datalist", { id: list }, spelled)), form.element), said);
  return {
    element,
    update() {
      const at = layerOf(context), chosen = languageForm(context), direction = directionOf(context);
      layer.set(String(at + 1));
      form.set(chosen.name);
      if (document.activeElement !== input) input.value = context.state.token ?? firstToken(context);
      if (typeof direction === "string") {
        input.setAttribute("aria-invalid", "true");
        said.textContent = direction;
        return;
      }
      input.removeAttribute("aria-invalid");
      const { fidelity, shift, tokenR2, tokenEigenvectorsR2, tokenLinearShare } = chosen.lines[at];
      // The eigenvectors are not the whole reading where it has a linear part.
      const parts = (/** @type {number | undefined} */ r2, /** @type {number | undefined} */ share) => !shift || r2 === undefined || share === undefined ? ""
        : ` (the eigenvectors alone ${fixed(r2, 3)}; the linear part has ${percent(Math.round(1000 * share) / 1000 || 0)} of the reading’s variance)`;
      const id = direction.terms[0].id;
      const one = direction.terms.length === 1
        ? `R² ${fixed(tokenR2.values[id], 3)} for ${direction.name}${parts(tokenEigenvectorsR2?.values[id], tokenLinearShare?.values[id])}; ` : "";
      const more = [fidelity.r2Scaled === undefined ? "" : `R² ${fixed(fidelity.r2Scaled, 3)} after the best single factor, `,
        fidelity.evenShare === undefined ? "" : `even share of the layer ${percent(fidelity.evenShare)}, `].join("");
      const control = model.run.controls?.[at];
      const bare = control?.untrained[chosen.name];
      const controls = control ? ` Controls: R² ${fixed(control.linear.r2, 3)} of the best linear map${bare ? `, ${fixed(bare.r2, 3)} of this reading of an untrained model` : ""}.` : "";
      said.replaceChildren(h("strong", {}, `${chosen.name} reading of layer ${at + 1}`),
        `: ${one}R² ${fixed(fidelity.r2, 3)}${one ? "" : parts(fidelity.eigenvectorsR2, fidelity.linearShare)}, ${more}correlation ${fixed(fidelity.correlation, 3)} ` +
        `over all that the layer adds, at ${whole(fidelity.inputs)} tokens of validation stories.${controls}`);
    },
  };
}
