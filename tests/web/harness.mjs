// What the tests of the page share: a browser, pages opened from disk that must stay silent, and named checks.
import { readFileSync, existsSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
export const SKIPPED = 77;

/** Ends the test as skipped, with the reason. @param {string} reason */
export function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(SKIPPED);
}

export async function openBrowser() {
  let playwright;
  try {
    playwright = require("playwright-core");
  } catch {
    skip("playwright-core is not installed; scripts/setup test installs it with npm");
  }
  const executablePath = [process.env.GLINT_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    .find((p) => p && existsSync(p));
  if (!executablePath) skip("there is no Chromium; scripts/setup test installs it, or GLINT_CHROMIUM names one");
  try {
    return await playwright.chromium.launch({ executablePath, headless: true, timeout: 600000, args: ["--no-sandbox", "--disable-gpu",
      "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
  } catch (error) {
    return skip(`Chromium does not start: ${String(error).split("\n")[0]}`);
  }
}

let failures = 0;

/** @param {string} name @param {() => Promise<string | void>} body */
export async function check(name, body) {
  try {
    const note = await body();
    console.log(`ok      ${name}${note ? `: ${note}` : ""}`);
  } catch (error) {
    failures++;
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message.split("\n").slice(0, 6).join("\n        ") : error}`);
  }
}

/** @param {boolean} condition @param {string} message */
export function expect(condition, message) {
  if (!condition) throw new Error(message);
}

export function finish() {
  process.exit(failures ? 1 : 0);
}

/** A page from disk. Whatever it says on the console, throws, asks for on the network or is refused by its
 * policy ends up in `trouble`, which must stay empty.
 * @param {import("playwright-core").Browser} browser @param {string} file @param {string} [hash] @param {object} [options] */
export async function open(browser, file, hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  context.setDefaultTimeout(600000); // a guard against hangs: how fast the machine is does not matter
  const page = await context.newPage();
  /** @type {string[]} */
  const trouble = [];
  page.on("console", (m) => trouble.push(`console ${m.type()}: ${m.text().slice(0, 300)}`));
  page.on("pageerror", (e) => trouble.push(`error: ${e.message}`));
  page.on("dialog", (d) => { trouble.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => { if (!/^(file|data|blob):/.test(r.url())) trouble.push(`request: ${r.url()}`); });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  await page.goto(`file://${encodeURI(file).replaceAll("#", "%23").replaceAll("?", "%3F")}${hash}`);
  await page.waitForFunction(() => performance.getEntriesByName("glint-ready").length > 0);
  return { page, trouble, close: () => context.close() };
}

/** Strokes over the pad in parts of its width and height. @param {any} page @param {[number, number][]} points */
export async function stroke(page, points) {
  await page.locator(".pad").scrollIntoViewIfNeeded();
  const box = await page.locator(".pad").boundingBox();
  const [first, ...rest] = points.map(([x, y]) => [box.x + x * box.width, box.y + y * box.height]);
  await page.mouse.move(first[0], first[1]);
  await page.mouse.down();
  for (const [x, y] of rest) await page.mouse.move(x, y, { steps: 4 });
  await page.mouse.up();
}

/** What axe finds that is serious, as text. @param {any} page */
export async function axeFindings(page) {
  await page.evaluate(axeSource());
  return page.evaluate(async () => {
    // @ts-ignore axe was put into the page
    const r = await window.axe.run(document, { resultTypes: ["violations"] });
    return { passes: r.passes.length, bad: r.violations.filter((/** @type {any} */ v) => ["serious", "critical"].includes(v.impact))
      .map((/** @type {any} */ v) => `${v.id}: ${v.nodes.slice(0, 3).map((/** @type {any} */ n) => n.html.slice(0, 100)).join(" | ")}`) };
  });
}

/** @param {string[]} trouble */
export function expectQuiet(trouble) {
  expect(trouble.length === 0, `the page is not silent:\n${trouble.slice(0, 5).join("\n")}`);
}

const axeSource = () => readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
