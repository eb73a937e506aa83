// What is shown, kept in the hash of the address so that a view can be linked: #view=draw&class=3&...

/** @typedef {Record<string, string>} State */

/** @returns {State} */
export function readHash() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** The hash of a state; what is empty is left out. @param {Record<string, string | undefined | null>} state */
export function toHash(state) {
  const kept = Object.entries(state).filter(([, v]) => v !== undefined && v !== null && v !== "");
  return "#" + new URLSearchParams(/** @type {[string, string][]} */ (kept)).toString();
}

/** A whole number of the state inside its range, or the other. @template T @param {string | undefined} text
 * @param {number} low @param {number} high @param {T} otherwise @returns {number | T} */
export function wholeIn(text, low, high, otherwise) {
  const n = Number(text);
  return text !== undefined && text !== "" && Number.isInteger(n) && n >= low && n <= high ? n : otherwise;
}
