// The drawing pad: strokes by mouse, touch, pen or keys, and the image that the model is given, centred as the
// digits of MNIST are.
import { h } from "glint/dom";
import { paintInk, theme } from "glint/color";

const UNIT = 10; // pad pixels a model pixel

/** Fits ink into a box and puts its centre of mass into the middle: MNIST's digits are 20 x 20 boxes in 28 x 28
 * images. Every source pixel is spread over the area that it covers.
 * @param {ArrayLike<number>} ink 0..1 @param {number} rows @param {number} cols of the ink
 * @param {number} height @param {number} width of the image @returns {Float32Array} */
export function centred(ink, rows, cols, height, width) {
  const out = new Float32Array(height * width);
  let top = rows, bottom = -1, left = cols, right = -1, mass = 0, mx = 0, my = 0;
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < cols; x++) {
      const a = ink[y * cols + x];
      if (a <= 0) continue;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
      if (x < left) left = x;
      if (x > right) right = x;
      mass += a;
      mx += a * (x + 0.5);
      my += a * (y + 0.5);
    }
  }
  if (mass === 0) return out;
  const box = (20 / 28) * Math.min(height, width);
  const k = box / Math.max(bottom - top + 1, right - left + 1);
  const tx = width / 2 - (k * mx) / mass;
  const ty = height / 2 - (k * my) / mass;
  for (let y = top; y <= bottom; y++) {
    const y0 = y * k + ty, y1 = y0 + k;
    for (let x = left; x <= right; x++) {
      const a = ink[y * cols + x];
      if (a <= 0) continue;
      const x0 = x * k + tx, x1 = x0 + k;
      for (let i = Math.max(0, Math.floor(y0)); i < Math.min(height, y1); i++) {
        const dy = Math.min(y1, i + 1) - Math.max(y0, i);
        for (let j = Math.max(0, Math.floor(x0)); j < Math.min(width, x1); j++) {
          out[i * width + j] += a * dy * (Math.min(x1, j + 1) - Math.max(x0, j));
        }
      }
    }
  }
  return out;
}

/** The plain way: the mean of the ink in every pixel. @param {ArrayLike<number>} ink @param {number} height
 * @param {number} width @returns {Float32Array} */
export function averaged(ink, height, width) {
  const out = new Float32Array(height * width);
  const cols = width * UNIT;
  for (let y = 0; y < height * UNIT; y++) {
    for (let x = 0; x < cols; x++) out[Math.floor(y / UNIT) * width + Math.floor(x / UNIT)] += ink[y * cols + x];
  }
  return out.map((v) => v / (UNIT * UNIT));
}

/** @typedef {{x: number, y: number}} Place @typedef {{pen: number, points: Place[]}} Stroke */

const MOST_UNDONE = 100;

export class Pad {
  /** @param {{height: number, width: number, centre: boolean, changed: (done: boolean) => void}} setup */
  constructor({ height, width, centre, changed }) {
    this.height = height;
    this.width = width;
    this.centre = centre;
    this.pen = 22;
    this.changed = changed;
    /** The ink lives apart from what is shown. */
    this.ink = document.createElement("canvas");
    this.ink.width = width * UNIT;
    this.ink.height = height * UNIT;
    this.context = /** @type {CanvasRenderingContext2D} */ (this.ink.getContext("2d", { willReadFrequently: true }));
    this.context.lineCap = "round";
    this.context.lineJoin = "round";
    this.small = document.createElement("canvas");
    /** An image that was picked instead of drawn. @type {Float32Array | null} */
    this.picked = null;
    /** What was drawn. @type {Stroke[]} */
    this.strokes = [];
    /** What was there before each stroke, the last one at the end. @type {{picked: Float32Array | null, strokes: Stroke[]}[]} */
    this.past = [];
    this.drawing = false;
    this.cursor = { x: this.ink.width / 2, y: this.ink.height / 2, down: false, shown: false };
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "pad", tabindex: 0, role: "application",
      "aria-label": "Drawing pad. With the keyboard: arrows move the pen, Space puts it down or lifts it, Control and Z undo, Delete clears.",
      width: this.ink.width, height: this.ink.height,
      onpointerdown: (/** @type {PointerEvent} */ e) => this.down(e),
      onpointermove: (/** @type {PointerEvent} */ e) => this.move(e),
      onpointerup: () => this.up(), onpointercancel: () => this.up(),
      onkeydown: (/** @type {KeyboardEvent} */ e) => this.key(e),
      onblur: () => { this.cursor.shown = false; this.show(); } }));
  }

  /** @param {{clientX: number, clientY: number}} e */
  place(e) {
    const box = this.canvas.getBoundingClientRect();
    return { x: ((e.clientX - box.left) / box.width) * this.ink.width, y: ((e.clientY - box.top) / box.height) * this.ink.height };
  }

  /** @param {PointerEvent} e */
  down(e) {
    if (e.button !== 0) return;
    e.preventDefault();
    this.canvas.setPointerCapture(e.pointerId);
    this.cursor.shown = this.cursor.down = false;
    this.drawing = true;
    this.begin(this.place(e));
  }

  /** @param {PointerEvent} e */
  move(e) {
    if (!this.drawing) return;
    const events = e.getCoalescedEvents?.() ?? [];
    for (const one of events.length ? events : [e]) this.extend(this.place(one));
    this.show();
    this.changed(false);
  }

  up() {
    if (!this.drawing) return;
    this.drawing = false;
    this.changed(true);
  }

  /** Puts the pen down. A stroke on a picked image starts a drawing of its own. @param {Place} at */
  begin(at) {
    this.remember();
    if (this.picked) this.wipe();
    this.strokes = [...this.strokes, { pen: this.pen, points: [at] }];
    this.segment(this.pen, at, at);
    this.show();
    this.changed(false);
  }

  /** @param {Place} to */
  extend(to) {
    const { pen, points } = this.strokes[this.strokes.length - 1];
    this.segment(pen, points[points.length - 1], to);
    points.push(to);
  }

  remember() {
    this.past.push({ picked: this.picked, strokes: this.strokes });
    if (this.past.length > MOST_UNDONE) this.past.shift();
  }

  /** Takes the last stroke back, or the clearing. */
  undo() {
    const before = this.past.pop();
    if (!before) return;
    this.wipe();
    this.cursor.down = this.drawing = false;
    this.picked = before.picked;
    this.strokes = before.strokes;
    for (const { pen, points } of this.strokes) points.forEach((to, i) => this.segment(pen, points[Math.max(0, i - 1)], to));
    this.show();
    this.changed(true);
  }

  wipe() {
    this.picked = null;
    this.strokes = [];
    this.context.clearRect(0, 0, this.ink.width, this.ink.height);
  }

  clear() {
    if (!this.empty) this.remember();
    this.wipe();
    this.cursor.down = false;
    this.show();
    this.changed(true);
  }

  /** @param {number} pen @param {Place} from @param {Place} to */
  segment(pen, from, to) {
    this.context.lineWidth = pen;
    this.context.beginPath();
    this.context.moveTo(from.x, from.y);
    this.context.lineTo(to.x + (from.x === to.x && from.y === to.y ? 0.01 : 0), to.y);
    this.context.stroke();
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    const step = e.shiftKey ? 2 : UNIT;
    const c = this.cursor;
    const moves = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] });
    if (moves[e.key]) {
      c.x = Math.max(0, Math.min(this.ink.width, c.x + moves[e.key][0]));
      c.y = Math.max(0, Math.min(this.ink.height, c.y + moves[e.key][1]));
      if (c.down) {
        this.extend({ x: c.x, y: c.y });
        this.changed(false);
      }
    } else if (e.key === " ") {
      c.down = !c.down;
      if (c.down) {
        this.begin({ x: c.x, y: c.y });
      } else {
        this.changed(true);
      }
    } else if (e.key.toLowerCase() === "z" && (e.ctrlKey || e.metaKey)) {
      this.undo();
    } else if (e.key === "Delete" || e.key === "Backspace") {
      this.clear();
    } else {
      return;
    }
    e.preventDefault();
    c.shown = true;
    this.show();
  }

  /** Shows an image, or nothing; what was drawn before is forgotten. @param {Float32Array | null} pixels */
  pick(pixels) {
    this.wipe();
    this.past = [];
    this.picked = pixels;
    this.cursor.down = false;
    this.show();
  }

  /** The image for the model, 0..1. @returns {Float32Array} */
  pixels() {
    if (this.picked) return this.picked;
    const { width, height } = this.ink;
    const data = this.context.getImageData(0, 0, width, height).data;
    const ink = new Float32Array(width * height);
    for (let i = 0; i < ink.length; i++) ink[i] = data[4 * i + 3] / 255;
    return this.centre ? centred(ink, height, width, this.height, this.width) : averaged(ink, this.height, this.width);
  }

  get empty() {
    return !this.picked && this.strokes.length === 0;
  }

  show() {
    const { width, height } = this.ink;
    this.canvas.width = width;
    this.canvas.height = height;
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    if (this.picked) {
      paintInk(this.small, this.picked, this.height, this.width);
      context.imageSmoothingEnabled = false;
      context.drawImage(this.small, 0, 0, width, height);
    } else {
      context.drawImage(this.ink, 0, 0);
      context.globalCompositeOperation = "source-in";
      context.fillStyle = theme() === "dark" ? "#f0f0ec" : "#181b21";
      context.fillRect(0, 0, width, height);
    }
    if (!this.cursor.shown) return;
    context.globalCompositeOperation = "source-over";
    context.strokeStyle = this.cursor.down ? "#d6402b" : "#3478d8";
    context.lineWidth = 3;
    context.beginPath();
    context.arc(this.cursor.x, this.cursor.y, Math.max(this.pen / 2, 6), 0, 2 * Math.PI);
    context.stroke();
  }
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** An image as text for a link: a letter a pixel, 64 levels, runs of 0 as a point and their length.
 * @param {ArrayLike<number>} pixels */
export function inkText(pixels) {
  let out = "";
  let zeros = 0;
  const flush = () => {
    for (; zeros > 0; zeros -= 63) out += "." + DIGITS[Math.min(zeros, 63)];
    zeros = 0;
  };
  for (let i = 0; i < pixels.length; i++) {
    const level = Math.round(Math.max(0, Math.min(1, pixels[i])) * 63);
    if (level === 0) {
      zeros++;
    } else {
      flush();
      out += DIGITS[level];
    }
  }
  return out;
}

/** @param {string} text @param {number} count @returns {Float32Array | null} null for a text that is none */
export function inkFromText(text, count) {
  const out = new Float32Array(count);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const zero = text[i] === ".";
    if (zero) i++;
    const value = DIGITS.indexOf(text[i] ?? "");
    if (value < 0) return null;
    if (zero) at += value;
    else if (at < count) out[at++] = value / 63;
  }
  return at <= count ? out : null;
}
