// The page in the frame of a notebook, by srcdoc: it has no address of its own there, and must navigate all the
// same. Arguments: a page of page_test.sh, and a folder for the notebook.
import { readFileSync, writeFileSync } from "node:fs";
import { check, expect, expectQuiet, finish, openBrowser } from "./harness.mjs";

const [file, folder] = process.argv.slice(2);
const browser = await openBrowser();
const escaped = readFileSync(file, "utf8").replaceAll("&", "&amp;").replaceAll('"', "&quot;");
const notebook = `${folder}/notebook.html`;
writeFileSync(notebook, `<!doctype html><title>Notebook</title><h1>cell</h1>
<iframe style="width:1200px;height:800px" srcdoc="${escaped}"></iframe>`);

await check("links and choices work inside a frame, and the notebook stays where it is", async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(600000);
  const page = await context.newPage();
  /** @type {string[]} */
  const trouble = [];
  page.on("pageerror", (e) => trouble.push(`error: ${e.message}`));
  page.on("console", (m) => { if (m.type() === "error") trouble.push(`console: ${m.text().slice(0, 300)}`); });
  await page.goto(`file://${notebook}`);
  const frame = /** @type {any} */ (await (await page.waitForSelector("iframe")).contentFrame());
  await frame.waitForFunction(() => performance.getEntriesByName("glint-ready").length > 0);
  const current = () => frame.locator("nav a[aria-current=page], #nav a[aria-current=page]").getAttribute("data-view");
  const first = await current();
  for (const view of ["spectra", "math", "draw"]) {
    await frame.locator(`#nav a[data-view=${view}]`).click();
    await frame.waitForFunction((/** @type {string} */ v) => document.querySelector("#nav a[aria-current=page]")?.getAttribute("data-view") === v, view);
  }
  // A control that writes the state: replaceState would throw here.
  await frame.locator("#nav a[data-view=spectra]").click();
  const slider = frame.locator("main input[type=range]:visible").first();
  await slider.fill("3");
  await frame.waitForFunction(() => /[&#]k=3(&|$)/.test(document.querySelector("#nav a[data-view=math]")?.getAttribute("href") ?? ""));
  expect(first !== null, "no view was current at first");
  expect((await frame.locator("h1", { hasText: "cell" }).count()) === 0, "the notebook was loaded into its frame");
  expect(page.url() === `file://${notebook}`, `the notebook went to ${page.url()}`);
  expectQuiet(trouble);
  await context.close();
});

await browser.close();
finish();
