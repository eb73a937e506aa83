// The page of readings in a real browser. Argument: the folder that readings_test.sh made: one.html and one.json, what the
// program says of the same token and layer; two.html.
import { readFileSync } from "node:fs";
import { axeFindings, check, expect, expectQuiet, finish, open, openBrowser } from "./harness.mjs";

const folder = process.argv[2];
const browser = await openBrowser();

await check("one model: opens from disk, offers the readings alone and stays silent", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/one.html`);
  const offered = await page.locator("nav a").evaluateAll((links) => links.map((l) => /** @type {HTMLElement} */ (l).dataset.view));
  expect(offered.join(" ") === "readings sentences", `views ${offered}`);
  expect((await page.locator(".left-out").textContent())?.includes("Left out") === true, "the page does not say what was left out");
  expect(await page.locator(".vector-card").count() > 1, "no eigenvectors");
  expect(await page.locator(".passage .word").count() > 10, "no passages");
  expect(await page.locator(".passage .strongest").count() > 0, "no strongest word");
  expectQuiet(trouble);
  await close();
});

await check("one model: the numbers of the chosen layer and token are the program's", async () => {
  const given = JSON.parse(readFileSync(`${folder}/one.json`, "utf8"));
  const unit = given.units[0];
  const { page, trouble, close } = await open(browser, `${folder}/one.html`, `#layer=2&token=${encodeURIComponent(unit.name)}`);
  const mine = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const { readData } = glint.data;
    const run = /** @type {any} */ ((await readData()).runs[0]);
    const unit = run.readings[1].units[1];
    return { name: unit.name, r2: unit.r2, values: Array.from(unit.values.values), vectors: unit.vectors };
  });
  expect(mine.name === unit.name, `${mine.name} is not ${unit.name}`);
  expect(Math.abs(mine.r2 - unit.r2) < 1e-9, `R² ${mine.r2} is not ${unit.r2}`);
  mine.values.forEach((v, i) => expect(Math.abs(/** @type {number} */ (v) - unit.eigenvalues[i]) <= 1e-6 * Math.abs(unit.eigenvalues[i]) + 1e-12, `eigenvalue ${i}`));
  const card = await page.locator(".vector-card").first().textContent();
  expect(card?.includes(unit.vectors[0].along[0].token.replace("\u2581", "·")) === true, `the nearest token is not in ${card}`);
  // Colours follow the strength: the strongest word of a passage has one.
  const colour = await page.locator(".passage .strongest").first().evaluate((e) => getComputedStyle(e).backgroundColor);
  expect(colour !== "rgba(0, 0, 0, 0)", `no colour: ${colour}`);
  expectQuiet(trouble);
  await close();
});

await check("a sentence: the parts after its last token are the program's, every token and layer can be chosen", async () => {
  const given = JSON.parse(readFileSync(`${folder}/sentence.json`, "utf8"));
  const { page, trouble, close } = await open(browser, `${folder}/one.html`, "#view=sentences");
  const mine = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const run = /** @type {any} */ ((await glint.data.readData()).runs[0]);
    return { at: run.sentences[0].at.at(-1), tokens: run.sentences[0].tokens.length };
  });
  expect(mine.tokens === given.tokens.length - given.marks, `${mine.tokens} tokens`);
  const near = (/** @type {number} */ a, /** @type {number} */ b, /** @type {string} */ what) => expect(Math.abs(a - b) < 1e-4, `${what}: ${a}, not ${b}`);
  near(mine.at.logit, given.parts.logit, "logit");
  near(mine.at.embedding, given.parts.embedding, "embedding");
  given.parts.glu.forEach((/** @type {number} */ v, /** @type {number} */ i) => near(mine.at.glu[i], v, `GLU ${i + 1}`));
  for (const e of mine.at.layers) near(e.quadratic, given.layers.find((/** @type {any} */ l) => l.layer === e.layer).eigenvectors, `layer ${e.layer}`);
  const heading = () => page.locator(".explained h3").last().textContent();
  const before = await heading();
  await page.locator("button.part[aria-pressed=false]").first().click();
  expect(await heading() !== before, "another GLU has the same heading");
  await page.locator(".token").first().click();
  await page.waitForFunction(() => location.hash.includes("pos=0"));
  expect(await page.locator(".token[aria-pressed=true]").textContent() === await page.locator(".token").first().textContent(), "the token is not chosen");
  await page.setViewportSize({ width: 390, height: 844 });
  expect(!await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth + 1), "the page scrolls sideways on a phone");
  expectQuiet(trouble);
  await close();
});

await check("two models stand side by side, and below each other on a phone", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/two.html`);
  const boxes = async () => page.locator(".reading-column").evaluateAll((c) => c.map((e) => { const b = e.getBoundingClientRect(); return { x: b.x, y: b.y, w: b.width }; }));
  let [a, b] = await boxes();
  expect(a.y === b.y && b.x > a.x, "not side by side");
  await page.locator("select").last().selectOption({ index: 1 });
  await page.waitForFunction(() => location.hash.includes("token"));
  await page.setViewportSize({ width: 390, height: 844 });
  [a, b] = await boxes();
  expect(b.y > a.y && a.x === b.x, "not below each other");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth + 1);
  expect(!wide, "the page scrolls sideways on a phone");
  expectQuiet(trouble);
  await close();
});

for (const [colours, view] of [["light", ""], ["dark", ""], ["light", "#view=sentences"], ["dark", "#view=sentences"]]) {
  await check(`accessible, ${colours} ${view}`, async () => {
    const { page, close } = await open(browser, `${folder}/one.html`, view, { colorScheme: colours });
    const { bad: findings } = await axeFindings(page);
    expect(!findings.length, JSON.stringify(findings).slice(0, 600));
    await close();
  });
}

await browser.close();
finish();
