// What is shown, kept in the hash of the address so that a view can be linked: #view=draw&class=3&...

/** @typedef {Record<string, string>} State */

// In the frame of a notebook (srcdoc) the page has no address of its own: the hash is then kept here.
const framed = location.protocol === "about:";
let kept = "";

/** @returns {State} */
export function readHash() {
  return Object.fromEntries(new URLSearchParams((framed ? kept : location.hash).slice(1)));
}

/** @param {string} hash */
export function writeHash(hash) {
  if (framed) kept = hash;
  else history.replaceState(null, "", hash);
}

/** Calls `changed` after a link of the page was followed. @param {() => void} changed */
export function onHashChange(changed) {
  addEventListener("hashchange", changed);
  if (!framed) return;
  // The address of a frame is that of the notebook: a link would load the notebook into it.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
    if (!link || event.defaultPrevented) return;
    event.preventDefault();
    const hash = link.getAttribute("href") ?? "#";
    const place = document.getElementById(hash.slice(1));
    if (place) {
      place.scrollIntoView();
      place.focus();
      return;
    }
    kept = hash;
    changed();
  });
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
