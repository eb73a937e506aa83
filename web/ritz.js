// Eigenpairs at both ends of the spectrum of a symmetric operator, from vectors that are near to them: block Lanczos
// with full orthogonalisation.
import { symmetricEigen } from "glint/eigen";
import { dot, fixSign, normalise } from "glint/linalg";

/** @typedef {{value: number, vector: Float64Array}} Pair */

/** Residuals |Qv - λv| end below this part of the largest |λ|: values are then right to its square. */
const ACCURACY = 1e-6;
/** The basis has so many blocks at most before it begins again from the best vectors. */
const BLOCKS = 10;
const ROUNDS = 30;

/** What is left of some vectors beside an orthonormal basis, made orthonormal; what is nothing but rounding is dropped.
 * @param {Float64Array[]} rows changed in place @param {Float64Array[]} basis */
function beside(rows, basis) {
  /** @type {Float64Array[]} */
  const out = [];
  for (const v of rows) {
    if (normalise(v) === 0) continue;
    let left = 1;
    for (let pass = 0; pass < 2; pass++) {
      for (const b of [...basis, ...out]) {
        const s = dot(b, v);
        for (let i = 0; i < v.length; i++) v[i] -= s * b[i];
      }
      left *= normalise(v);
    }
    if (left > 1e-10) out.push(v);
  }
  return out;
}

/** sum_k weights[k] rows[k]. @param {ArrayLike<number>} weights @param {Float64Array[]} rows */
function combined(weights, rows) {
  const out = new Float64Array(rows[0].length);
  for (let k = 0; k < rows.length; k++) {
    const s = weights[k];
    const row = rows[k];
    for (let i = 0; i < out.length; i++) out[i] += s * row[i];
  }
  return out;
}

/** The `count` largest eigenvalues, then the `count` smallest, both in descending order, with their eigenvectors.
 * @param {(block: Float64Array[]) => Float64Array[]} apply the operator, on several vectors at once
 * @param {ArrayLike<number>[]} start near the eigenvectors that are wanted @param {number} count at most half the width
 * @returns {Pair[]} */
export function endPairs(apply, start, count) {
  const n = start[0].length;
  /** @type {Float64Array[]} */
  let basis = [];
  /** @type {Float64Array[]} */
  let images = [];
  /** The operator between the vectors of the basis. @type {number[][]} */
  let small = [];
  let more = beside(start.map((v) => Float64Array.from(v)), basis);
  for (let round = 0; ; round++) {
    const first = basis.length;
    basis = [...basis, ...more];
    images = [...images, ...apply(more)];
    const m = basis.length;
    for (let i = first; i < m; i++) small.push(Array.from({ length: i + 1 }, (_, j) => dot(basis[j], images[i])));
    const matrix = new Float64Array(m * m);
    for (let i = 0; i < m; i++) for (let j = 0; j <= i; j++) matrix[i * m + j] = matrix[j * m + i] = small[i][j];
    const { values, vectors } = symmetricEigen(matrix, m);
    const wanted = Array.from({ length: Math.min(2 * count, m) }, (_, i) => (i < count ? i : m - 2 * count + i));
    const best = wanted.map((k) => combined(vectors[k], basis));
    const mapped = wanted.map((k) => combined(vectors[k], images));
    const limit = ACCURACY * Math.max(Math.abs(values[0]), Math.abs(values[m - 1]));
    const rests = wanted.map((k, i) => mapped[i].map((y, j) => y - values[k] * best[i][j]))
      .filter((r) => Math.sqrt(dot(r, r)) > limit);
    if (m + rests.length > BLOCKS * 2 * count) {
      [basis, images] = [best, mapped];
      small = wanted.map((k, i) => Array.from({ length: i + 1 }, (_, j) => (i === j ? values[k] : 0)));
    }
    more = beside(rests, basis).slice(0, n - basis.length);
    if (more.length === 0 || round === ROUNDS) return wanted.map((k, i) => ({ value: values[k], vector: fixSign(best[i]) }));
  }
}
