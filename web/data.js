// Reads what the program put into the page: JSON in which arrays are base64, some of them deflated.

/**
 * @typedef {{dtype: "f32" | "f16" | "u8", shape: number[], deflate?: boolean, data: string}} PackedArray
 * @typedef {{values: Float32Array, shape: number[]}} Tensor
 * @typedef {{correlation: number, r2: number, agreement: number, accuracyModel: number, accuracyForm: number,
 *   unitR2: number[], inputs: number, r2Scaled?: number, centredR2?: number, evenShare?: number, mirroredAgreement?: number}} Fidelity
 * @typedef {{r2: number, r2Scaled?: number, centredR2?: number, agreement: number}} Control
 * @typedef {{name: string, gain: Tensor, shift?: Tensor, slope?: Tensor, power?: number, size?: number, below: Tensor[],
 *   values: Tensor, vectors: Tensor, pictures?: {values: Uint8Array, shape: number[]}, accuracy?: Tensor,
 *   agreement?: Tensor, fidelity: Fidelity, linearShare?: number[], linearPictures?: {values: Uint8Array, shape: number[]}}} Form
 * @typedef {{layers: number, d_model: number, d_hidden: number, inputs: number, classes: number, gate: string,
 *   c: number, lambda: number, p: number, bias: boolean, residual: boolean, norm: string}} Config
 * @typedef {{name: string, data: string, config: Config, parameters: number, classNames: string[],
 *   gate: {name: string, title: string, value: string, options: Record<string, number>}, halfDeviation?: number,
 *   tensors: Record<string, Tensor>, strongest: number, forms: Form[], form?: string, logits: Tensor,
 *   usual: {means: Tensor, limit: number}, controls?: {linear: Control, untrained: Record<string, Control>},
 *   run: Record<string, any>, metrics: Record<string, any>[]}} Run
 * @typedef {{gain: Tensor, shift?: Tensor, tokenR2: Tensor, tokenEigenvectorsR2?: Tensor, tokenLinearShare?: Tensor,
 *   fidelity: {correlation: number, r2: number, eigenvectorsR2: number, linearShare: number, inputs: number,
 *     r2Scaled?: number, evenShare?: number}}} GateLine
 * @typedef {{name: string, lines: GateLine[]}} LanguageForm one line a layer
 * @typedef {{name: string, data: string, parameters: number, gate: Run["gate"], halfDeviation?: number,
 *   config: {layers: number, d_model: number, d_hidden: number, heads: number, context: number, vocab: number, gate: string,
 *     c: number, lambda: number, p: number}, tensors: Record<string, Tensor>, tokenizer: {values: Uint8Array, shape: number[]},
 *   controls?: {linear: {r2: number}, untrained: Record<string, {r2: number}>}[],
 *   sample: string, forms: LanguageForm[], form?: string, run: Record<string, any>, metrics: Record<string, any>[]}} LanguageRun
 * @typedef {{what: string, total: number, height: number, width: number,
 *   pixels: {values: Uint8Array, shape: number[]}, labels: {values: Uint8Array, shape: number[]}}} Images
 * @typedef {{kind: string, version: string, linalg?: string, images: Images, runs: Run[]}} PageData
 */

/** @param {string} text @returns {Uint8Array} */
function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array>} */
async function inflate(bytes) {
  const stream = new Blob([/** @type {BlobPart} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {Uint16Array} half @returns {Float32Array} */
export function halfToFloat(half) {
  const out = new Float32Array(half.length);
  for (let i = 0; i < half.length; i++) {
    const exponent = (half[i] >> 10) & 31;
    const mantissa = half[i] & 1023;
    const magnitude = exponent === 0 ? mantissa * 2 ** -24
      : exponent === 31 ? (mantissa ? NaN : Infinity)
      : (mantissa + 1024) * 2 ** (exponent - 25);
    out[i] = half[i] & 0x8000 ? -magnitude : magnitude;
  }
  return out;
}

/** @param {PackedArray} packed */
async function unpack(packed) {
  let bytes = fromBase64(packed.data);
  if (packed.deflate) bytes = await inflate(bytes);
  const size = packed.shape.reduce((a, b) => a * b, 1);
  const values = packed.dtype === "u8" ? bytes
    : packed.dtype === "f16" ? halfToFloat(new Uint16Array(bytes.buffer, 0, bytes.length / 2))
    : new Float32Array(bytes.buffer, 0, bytes.length / 4);
  if (values.length !== size) throw new Error(`an array has ${values.length} values, not ${size}`);
  return { values, shape: packed.shape };
}

/** @param {any} value @returns {boolean} */
function isPacked(value) {
  return typeof value.dtype === "string" && typeof value.data === "string" && Array.isArray(value.shape);
}

/** Replaces every packed array below `node`. @param {any} node @returns {Promise<any>} */
async function unpackAll(node) {
  if (node === null || typeof node !== "object") return node;
  if (!Array.isArray(node) && isPacked(node)) return unpack(node);
  const jobs = Object.keys(node).map(async (key) => {
    // What the run wrote about itself is text to show, whatever its shape.
    if (key !== "run" && key !== "metrics") node[key] = await unpackAll(node[key]);
  });
  await Promise.all(jobs);
  return node;
}

/** @returns {Promise<PageData>} */
export async function readData() {
  const element = document.getElementById("glint-data");
  return unpackAll(JSON.parse(element?.textContent ?? ""));
}
