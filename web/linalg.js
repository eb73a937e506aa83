// The linear algebra that the page does itself: products, one eigenvector at a known eigenvalue, the strongest
// eigenvector of an operator, angles between subspaces.

/** y = W x (+ b). @param {Float32Array} w row-major @param {number} rows @param {number} cols
 * @param {ArrayLike<number>} x @param {ArrayLike<number>} [bias] @returns {Float64Array} */
export function matvec(w, rows, cols, x, bias) {
  const y = new Float64Array(rows);
  const whole = cols - (cols % 4);
  for (let i = 0; i < rows; i++) {
    const at = i * cols;
    let a = 0, b = 0, c = 0, d = 0;
    for (let j = 0; j < whole; j += 4) {
      a += w[at + j] * x[j];
      b += w[at + j + 1] * x[j + 1];
      c += w[at + j + 2] * x[j + 2];
      d += w[at + j + 3] * x[j + 3];
    }
    for (let j = whole; j < cols; j++) a += w[at + j] * x[j];
    y[i] = a + b + (c + d) + (bias ? bias[i] : 0);
  }
  return y;
}

/** y = W' x. @param {Float32Array} w @param {number} rows @param {number} cols @param {ArrayLike<number>} x
 * @returns {Float64Array} */
export function matvecTransposed(w, rows, cols, x) {
  const y = new Float64Array(cols);
  for (let i = 0; i < rows; i++) {
    const s = x[i];
    if (s === 0) continue;
    const at = i * cols;
    for (let j = 0; j < cols; j++) y[j] += s * w[at + j];
  }
  return y;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  let sum = 0;
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/** @param {Float64Array} v */
export function normalise(v) {
  const length = Math.sqrt(dot(v, v));
  if (length > 0) for (let i = 0; i < v.length; i++) v[i] /= length;
  return length;
}

const NORM_EPS = 1e-8;

/** The RMS norm, as glint/nn/norm.h. @param {Float64Array} x */
export function normed(x) {
  const inverse = 1 / Math.sqrt(dot(x, x) / x.length + NORM_EPS);
  return x.map((v) => v * inverse);
}

/** The entry of the largest magnitude becomes positive, as in the program. @param {Float64Array} v */
export function fixSign(v) {
  let top = 0;
  for (const x of v) top = Math.max(top, Math.abs(x));
  const first = v.find((x) => Math.abs(x) >= top * (1 - 1e-9)) ?? 0;
  if (first < 0) for (let i = 0; i < v.length; i++) v[i] = -v[i];
  return v;
}

/** Numbers in (-1, 1) that are the same every time. @param {number} n */
export function fixedNoise(n) {
  const out = new Float64Array(n);
  let state = 0x2545f491;
  for (let i = 0; i < n; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    out[i] = (state >>> 0) / 2 ** 31 - 1;
  }
  return out;
}

/** The eigenvector of a symmetric matrix whose eigenvalue is nearest to `value`, by inverse iteration.
 * @param {Float64Array} matrix [n, n] @param {number} n @param {number} value @returns {Float64Array} */
export function eigenvectorAt(matrix, n, value) {
  let scale = 0;
  for (let i = 0; i < n * n; i++) scale = Math.max(scale, Math.abs(matrix[i]));
  const lu = Float64Array.from(matrix);
  // A little off the eigenvalue, so that the matrix to solve with is near to singular but not singular.
  const shift = value + scale * 1e-10;
  for (let i = 0; i < n; i++) lu[i * n + i] -= shift;
  const order = new Int32Array(n);
  const tiny = scale * 1e-15 || 1e-300;
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(lu[i * n + k]) > Math.abs(lu[pivot * n + k])) pivot = i;
    order[k] = pivot;
    if (pivot !== k) {
      for (let j = 0; j < n; j++) [lu[k * n + j], lu[pivot * n + j]] = [lu[pivot * n + j], lu[k * n + j]];
    }
    if (Math.abs(lu[k * n + k]) < tiny) lu[k * n + k] = tiny;
    const inverse = 1 / lu[k * n + k];
    const top = k * n;
    for (let i = k + 1; i < n; i++) {
      const row = i * n;
      const factor = (lu[row + k] *= inverse);
      if (factor !== 0) for (let j = k + 1; j < n; j++) lu[row + j] -= factor * lu[top + j];
    }
  }
  const v = fixedNoise(n);
  normalise(v);
  for (let round = 0; round < 4; round++) {
    for (let k = 0; k < n; k++) [v[k], v[order[k]]] = [v[order[k]], v[k]];
    for (let i = 1; i < n; i++) for (let j = 0; j < i; j++) v[i] -= lu[i * n + j] * v[j];
    for (let i = n - 1; i >= 0; i--) {
      for (let j = i + 1; j < n; j++) v[i] -= lu[i * n + j] * v[j];
      v[i] /= lu[i * n + i];
    }
    normalise(v);
  }
  return fixSign(v);
}

/** The eigenvalue of the largest magnitude of a symmetric operator and its eigenvector: Lanczos with full
 * orthogonalisation, started again from the best vector until the residual is small.
 * @param {(x: Float64Array) => Float64Array} apply @param {number} n @param {number} steps */
export function strongestEigenpair(apply, n, steps = 40) {
  /** @type {Float64Array} */
  let vector = fixedNoise(n);
  let value = 0;
  normalise(vector);
  for (let round = 0; round < 8; round++) {
    const best = lanczosRound(apply, vector, Math.min(steps, n));
    [value, vector] = [best.value, best.vector];
    if (best.residual <= 1e-7 * Math.abs(value)) break;
  }
  return { value, vector: fixSign(vector) };
}

/** @param {(x: Float64Array) => Float64Array} apply @param {Float64Array} start @param {number} steps */
function lanczosRound(apply, start, steps) {
  const n = start.length;
  const basis = [];
  const rows = [];
  let v = start;
  let left = 0;
  for (let k = 0; k < steps; k++) {
    basis.push(v);
    const w = apply(v);
    rows.push(basis.map((b) => dot(b, w)));
    for (let pass = 0; pass < 2; pass++) {
      for (const b of basis) {
        const s = dot(b, w);
        for (let i = 0; i < n; i++) w[i] -= s * b[i];
      }
    }
    left = normalise(w);
    if (left < 1e-14 * Math.abs(rows[0][0] || 1)) break;
    v = w;
  }
  const m = basis.length;
  const small = new Float64Array(m * m);
  for (let i = 0; i < m; i++) for (let j = 0; j <= i; j++) small[i * m + j] = small[j * m + i] = rows[i][j];
  const { values, vectors } = jacobi(small, m);
  let best = 0;
  for (let k = 1; k < m; k++) if (Math.abs(values[k]) > Math.abs(values[best])) best = k;
  const vector = new Float64Array(n);
  for (let k = 0; k < m; k++) for (let i = 0; i < n; i++) vector[i] += vectors[k * m + best] * basis[k][i];
  normalise(vector);
  return { value: values[best], vector, residual: left * Math.abs(vectors[(m - 1) * m + best]) };
}

/** All eigenpairs of a small symmetric matrix; vectors are columns. @param {Float64Array} input
 * @param {number} n */
export function jacobi(input, n) {
  const a = Float64Array.from(input);
  const v = new Float64Array(n * n);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  for (let sweep = 0; sweep < 30; sweep++) {
    let off = 0;
    let all = 0;
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
      all += a[i * n + j] ** 2;
      if (i !== j) off += a[i * n + j] ** 2;
    }
    if (off <= 1e-30 * all) break;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const apq = a[p * n + q];
        if (apq === 0) continue;
        const theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (let k = 0; k < n; k++) {
          const x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x - s * y;
          a[k * n + q] = s * x + c * y;
        }
        for (let k = 0; k < n; k++) {
          const x = a[p * n + k], y = a[q * n + k];
          a[p * n + k] = c * x - s * y;
          a[q * n + k] = s * x + c * y;
          const vx = v[k * n + p], vy = v[k * n + q];
          v[k * n + p] = c * vx - s * vy;
          v[k * n + q] = s * vx + c * vy;
        }
      }
    }
  }
  const values = new Float64Array(n);
  for (let i = 0; i < n; i++) values[i] = a[i * n + i];
  return { values, vectors: v };
}

/** An orthonormal basis of the span of some vectors, by Gram and Schmidt twice; rank may be smaller.
 * @param {Float64Array[]} rows @returns {Float64Array[]} */
export function orthonormal(rows) {
  /** @type {Float64Array[]} */
  const basis = [];
  for (const row of rows) {
    const v = Float64Array.from(row);
    const before = Math.sqrt(dot(v, v));
    for (let pass = 0; pass < 2; pass++) {
      for (const b of basis) {
        const s = dot(b, v);
        for (let i = 0; i < v.length; i++) v[i] -= s * b[i];
      }
    }
    if (normalise(v) > 1e-10 * before) basis.push(v);
  }
  return basis;
}

/** Principal angles between the spans of two sets of vectors, in degrees, smallest first. Cosines are the
 * singular values of the product of the bases, sines those of what the first leaves over of the second; each
 * angle comes from the one that is accurate for it. @param {Float64Array[]} a @param {Float64Array[]} b */
export function principalAngles(a, b) {
  const [large, small] = [orthonormal(a), orthonormal(b)].sort((x, y) => y.length - x.length);
  const n = small.length;
  const rest = small.map((row) => {
    const v = Float64Array.from(row);
    for (const q of large) {
      const s = dot(q, row);
      for (let i = 0; i < v.length; i++) v[i] -= s * q[i];
    }
    return v;
  });
  const cosines = new Float64Array(n * n);
  const sines = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      for (const q of large) cosines[i * n + j] += dot(small[i], q) * dot(small[j], q);
      sines[i * n + j] = dot(rest[i], rest[j]);
    }
  }
  const root = (/** @type {Float64Array} */ m) =>
    Array.from(jacobi(m, n).values, (x) => Math.min(1, Math.sqrt(Math.max(0, x))));
  const c = root(cosines).sort((x, y) => y - x);
  const s = root(sines).sort((x, y) => x - y);
  return c.map((cosine, i) => (180 / Math.PI) * (s[i] < 0.7 ? Math.asin(s[i]) : Math.acos(cosine)));
}
