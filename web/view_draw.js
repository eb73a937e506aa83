// Draw: an image, what the model makes of it, and which eigenvectors speak for and against a class. The parts of
// the view are modules of their own; what they show is in a Drawing.
import { h, whole } from "glint/dom";
import { Drawing } from "glint/drawing";
import { padCard } from "glint/draw_pad";
import { FEW_CLASSES, answerCard } from "glint/draw_answer";
import { fidelityCard, trustCard } from "glint/draw_trust";
import { termsCard } from "glint/draw_terms";
import { picker } from "glint/picker";
import { wholeIn } from "glint/state";

/** @param {import("./app.js").Context} context @returns {import("./app.js").View} */
function make(context) {
  const { model, data } = context;
  const { images } = data;
  const { inputs } = model.config;
  const drawing = new Drawing(context);
  const pad = padCard(drawing, (done) => {
    const began = performance.now();
    respond(!done);
    performance.measure("glint-stroke", { start: began });
    if (done) context.set(pad.address());
  });
  const answer = answerCard(drawing);
  const trust = trustCard(drawing);
  const fidelity = fidelityCard(drawing);
  const terms = termsCard(drawing);
  const pick = picker(context, (i) => context.set({ image: String(i), ink: null }));

  const element = h("section", { "aria-labelledby": "draw-title", class: "draw" },
    h("h2", { id: "draw-title" }, "Draw"),
    h("p", { class: "lead" }, "Draw on the pad or pick a test image, and the model answers at every stroke. " +
      "Below it are the patterns in its weights that speak for and against the class you choose. Take some away, and see whether the answer needs them."),
    h("div", { class: "draw-grid" },
      h("div", { class: "column" }, pad.element, h("div", { class: "card picked" }, pick.element)),
      h("div", { class: model.classes > FEW_CLASSES ? "results many" : "results" }, answer.element, trust.element, terms.element, fidelity.element)));

  const picture = (/** @type {number} */ i) => Float32Array.from(images.pixels.values.subarray(i * inputs, (i + 1) * inputs), (v) => v / 255);

  /** Everything that depends on the image or on the class. @param {boolean} [moving] in the middle of a stroke */
  function respond(moving = false) {
    drawing.read(moving);
    pad.update();
    answer.update();
    terms.update();
    trust.update();
    fidelity.update();
  }

  /** What the address names, unless it is what is on the pad already. */
  let current = "";
  function load() {
    const { state } = context;
    const image = wholeIn(state.image, 0, images.labels.values.length - 1, null);
    const key = image !== null ? `image ${image}` : `ink ${state.ink ?? ""}`;
    if (key !== current) {
      if (image !== null) pad.pick(picture(image), { image: String(image), ink: null });
      else if (key !== `ink ${pad.text()}` && !pad.ink(state.ink)) pad.pick(picture(0), { image: null, ink: null });
      current = key;
    }
    return image ?? (state.ink ? null : 0);
  }

  return {
    element,
    update() {
      const image = load();
      pick.update();
      respond();
      if (image === null) pad.say(drawing.empty ? "The pad is empty." : "Your drawing.");
      else pad.say(`Test image ${whole(image)}: ${model.run.classNames[images.labels.values[image]]}. ` +
        `Logits here and in the program differ by at most ${drawing.offProgram(image).toExponential(0).replace("e-", "e−")}.`);
    },
  };
}

/** @type {import("./app.js").ViewKind} */
export const drawView = { id: "draw", title: "Draw", fits: (data) => data.kind === "image", make };
