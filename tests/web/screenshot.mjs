// Draws a three on a page and takes its picture, as docs/explorer.png: node screenshot.mjs PAGE.html OUT.png
import { open, openBrowser } from "./harness.mjs";

const [file, out] = process.argv.slice(2);
const browser = await openBrowser();
const { page } = await open(browser, file, "", { viewport: { width: 1280, height: 1062 } });
await page.getByRole("button", { name: "Clear" }).click();
const box = /** @type {any} */ (await page.locator(".pad").boundingBox());
/** Two arcs: centre, radii, from and to. @type {[number, number, number, number, number, number][]} */
const arcs = [[0.46, 0.33, 0.19, 0.15, -2.5, 1.5], [0.45, 0.66, 0.22, 0.19, -1.5, 2.6]];
let down = false;
for (const [cx, cy, rx, ry, from, to] of arcs) {
  for (let t = from; t <= to; t += 0.15) {
    await page.mouse.move(box.x + box.width * (cx + rx * Math.cos(t)), box.y + box.height * (cy + ry * Math.sin(t)), { steps: 2 });
    if (!down) await page.mouse.down();
    down = true;
  }
}
await page.mouse.up();
await page.mouse.move(2, 2);
await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement)?.blur());
await page.waitForTimeout(300);
await page.screenshot({ path: out });
await browser.close();
