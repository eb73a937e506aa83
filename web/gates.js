// The gates of a GLU, y = gate(l) * r, and the words that their code is made of. The code itself comes from
// glint/kernels/gates.h: glint fills the table in when it makes a page.

/** @typedef {{c: number, lambda: number, p: number}} GateParams */

const { abs } = Math;

/** @param {number} x */
function sign(x) {
  return x < 0 ? -1 : 1;
}

/** @param {number} x */
function relu(x) {
  return x <= 0 ? 0 : x;
}

/** @param {number} x */
function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/** (1 + t^p)^(1/p) for t >= 0, without overflow. @param {number} t @param {number} p */
export function shrink(t, p) {
  if (p === 1) return 1 + t;
  const more = Math.max(t, 1);
  return more * (1 + (Math.min(t, 1) / more) ** p) ** (1 / p);
}

/** The Gauss error function's complement: a continued fraction where it is small, else a series of positive terms.
 * @param {number} x @returns {number} */
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x > 27) return 0;
  if (x > 2.5) {
    let fraction = 0;
    for (let k = 60; k > 0; k--) fraction = (k / 2) / (x + fraction);
    return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
  }
  let term = x;
  let sum = x;
  for (let n = 1; n < 60; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** @type {Record<string, (h: number, g: GateParams) => number>} */
export const gates = {
  // {{gates}}
};
