// The gates of a GLU, y = gate(l) * r, as glint/kernels/gates.h defines them.

/** @typedef {{c: number, lambda: number, p: number}} GateParams */

/** The Gauss error function's complement for x >= 0: a continued fraction where it is small, else a series.
 * @param {number} x */
function erfcPositive(x) {
  if (x > 27) return 0;
  if (x > 2.5) {
    let fraction = 0;
    for (let k = 60; k > 0; k--) fraction = (k / 2) / (x + fraction);
    return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
  }
  let term = x;
  let sum = x;
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return 1 - (2 / Math.sqrt(Math.PI)) * sum;
}

/** The share of a normal distribution below h. @param {number} h */
function normalBelow(h) {
  const tail = 0.5 * erfcPositive(Math.abs(h) / Math.SQRT2);
  return h < 0 ? tail : 1 - tail;
}

/** @param {number} h @param {GateParams} g */
function sqs(h, { c, lambda, p }) {
  const a = Math.abs(h);
  const t = lambda * a;
  const sign = h < 0 ? -1 : 1;
  if (lambda === 0) return sign * (a - c);
  if (p === 1 && a < 1e15) return (sign * (a - c)) / (1 + t);
  if (t <= 1) return (sign * (a - c)) / (1 + t ** p) ** (1 / p);
  return (sign * (1 / lambda - c / t)) / (1 + t ** -p) ** (1 / p);
}

/** @type {Record<string, (h: number, g: GateParams) => number>} */
export const gates = {
  sqs,
  identity: (h) => h,
  relu: (h) => Math.max(h, 0),
  gelu: (h) => h * normalBelow(h),
  silu: (h) => (h < -700 ? 0 : h / (1 + Math.exp(-h))),
};
