// All eigenpairs of a symmetric matrix: Householder's reduction to three diagonals, then QL steps with implicit
// shifts. About 4 n^3 operations: 128 rows take some ten milliseconds.
import { fixSign } from "glint/linalg";

/** Values descending; vectors are rows, the entry of the largest magnitude positive.
 * @param {Float64Array} input [n, n], symmetric @param {number} n */
export function symmetricEigen(input, n) {
  const z = Float64Array.from(input);
  const d = new Float64Array(n);
  const e = new Float64Array(n); // e[i] is beside d[i] and d[i + 1]
  // Reflections I - v v' / scale, stored in the columns of z below the diagonal.
  const scales = new Float64Array(n);
  for (let k = 0; k + 2 < n; k++) {
    let norm = 0;
    for (let i = k + 1; i < n; i++) norm = Math.hypot(norm, z[i * n + k]);
    const first = z[(k + 1) * n + k];
    const beta = first > 0 ? -norm : norm;
    e[k] = norm === 0 ? 0 : beta;
    scales[k] = norm === 0 ? 0 : norm * (norm + Math.abs(first));
    if (scales[k] === 0) continue;
    z[(k + 1) * n + k] = first - beta;
    // p = A v / scale, then A -= v w' + w v' with w = p - v (v.p) / (2 scale).
    const p = new Float64Array(n);
    for (let i = k + 1; i < n; i++) {
      let sum = 0;
      for (let j = k + 1; j < n; j++) sum += z[i * n + j] * z[j * n + k];
      p[i] = sum / scales[k];
    }
    let vp = 0;
    for (let i = k + 1; i < n; i++) vp += z[i * n + k] * p[i];
    const half = vp / (2 * scales[k]);
    for (let i = k + 1; i < n; i++) p[i] -= half * z[i * n + k];
    for (let i = k + 1; i < n; i++) {
      const vi = z[i * n + k], wi = p[i];
      for (let j = k + 1; j < n; j++) z[i * n + j] -= vi * p[j] + wi * z[j * n + k];
    }
  }
  if (n > 1) e[n - 2] = z[(n - 1) * n + n - 2];
  for (let i = 0; i < n; i++) d[i] = z[i * n + i];
  // Rows of q: what the reduction turned the axes into.
  const q = new Float64Array(n * n);
  for (let i = 0; i < n; i++) q[i * n + i] = 1;
  for (let k = n - 3; k >= 0; k--) {
    if (scales[k] === 0) continue;
    for (let r = k + 1; r < n; r++) {
      let sum = 0;
      for (let i = k + 1; i < n; i++) sum += q[r * n + i] * z[i * n + k];
      sum /= scales[k];
      for (let i = k + 1; i < n; i++) q[r * n + i] -= sum * z[i * n + k];
    }
  }
  // QL: `q` keeps an eigenvector a row.
  for (let l = 0; l < n; l++) {
    for (let round = 0; round < 60; round++) {
      let m = l;
      while (m + 1 < n && Math.abs(e[m]) > Number.EPSILON * (Math.abs(d[m]) + Math.abs(d[m + 1]))) m++;
      if (m === l) break;
      let g = (d[l + 1] - d[l]) / (2 * e[l]);
      g = d[m] - d[l] + e[l] / (g + (g < 0 ? -1 : 1) * Math.hypot(g, 1));
      let s = 1, c = 1, p = 0, i = m - 1;
      for (; i >= l; i--) {
        const f = s * e[i], b = c * e[i];
        const r = Math.hypot(f, g);
        e[i + 1] = r;
        if (r === 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        const t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        const top = i * n, next = top + n;
        for (let k = 0; k < n; k++) {
          const x = q[next + k], y = q[top + k];
          q[next + k] = s * y + c * x;
          q[top + k] = c * y - s * x;
        }
      }
      if (i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  const order = Array.from(d.keys()).sort((a, b) => d[b] - d[a] || a - b);
  return { values: Float64Array.from(order, (i) => d[i]), vectors: order.map((i) => fixSign(q.slice(i * n, (i + 1) * n))) };
}
