// What am I looking at: the mathematics. Its text is in index.html; what depends on the run is put in here.
import { h } from "glint/dom";

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const { model } = context;
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(context.data.kind === "language" ? "math-language" : "math"));
  const element = h("section", { "aria-labelledby": "math-title", class: "prose" });
  element.append(template.content.cloneNode(true));
  const put = (/** @type {string} */ name, /** @type {string} */ text) => {
    for (const place of element.querySelectorAll(`[data-put="${name}"]`)) place.textContent = text;
  };
  const { gate } = model.run;
  const { c, lambda, p } = model.config;
  put("gate", `${gate.title}: ${gate.value}${Object.keys(gate.options).length ? `, with c = ${c}, λ = ${lambda}, p = ${p}` : ""}`);
  const parts = [model.config.bias && "biases", model.config.residual && "a residual path", model.config.norm === "rms" && "a norm before every layer"].filter(Boolean);
  put("extras", parts.length ? `This model also has ${parts.join(" and ")}.` : "This model has no biases, no residual path and no norm.");
  const exact = model.config.gate === "identity";
  put("exact", exact ? "This model's gate is the identity, so the sum is the logit itself."
    : "This model's gate is not the identity, so the sum is an approximation, and this page says everywhere how good it is.");
  return { element, update() {} };
}

/** @type {import("./app.js").ViewKind} */
export const mathView = { id: "math", title: "What am I looking at?", short: "Help", fits: (data) => data.kind !== "readings", make };
