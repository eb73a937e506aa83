// The explorer in a real browser, opened from disk. Arguments: the folder of pages that page_test.sh made.
import { readFileSync, readdirSync } from "node:fs";
import { axeFindings, check, expect, expectQuiet, finish, open, openBrowser, stroke } from "./harness.mjs";

const folder = process.argv[2];
const browser = await openBrowser();
const main = `${folder}/main.html`;
const both = `${folder}/both.html`;

const text = (/** @type {any} */ page, /** @type {string} */ selector) => page.locator(selector).first().textContent();
const prediction = async (/** @type {any} */ page) => (await text(page, ".verdict"))?.split(",")[0];

const median = (/** @type {number[]} */ v) => v.slice().sort((a, b) => a - b)[Math.floor(v.length / 2)];

await check("opens from disk and stays silent", async () => {
  const { page, trouble, close } = await open(browser, main);
  const ready = await page.evaluate(() => performance.getEntriesByName("glint-ready")[0].startTime);
  expect((await page.locator(".class-row").count()) === 10, "ten classes are shown");
  expectQuiet(trouble);
  await close();
  return `first view after ${ready.toFixed(0)} ms`;
});

await check("a digit drawn by pointer is read at every stroke", async () => {
  const { page, trouble, close } = await open(browser, main);
  await page.getByRole("button", { name: "Clear" }).click();
  await stroke(page, [[0.5, 0.15], [0.5, 0.5], [0.5, 0.85]]);
  expect((await prediction(page)) === "1", `a vertical line is read as ${await prediction(page)}`);
  await page.getByRole("button", { name: "Clear" }).click();
  await stroke(page, Array.from({ length: 25 }, (_, i) => [0.5 + 0.24 * Math.sin((i * Math.PI) / 12), 0.5 - 0.34 * Math.cos((i * Math.PI) / 12)]));
  expect((await prediction(page)) === "0", `a circle is read as ${await prediction(page)}`);
  const times = await page.evaluate(() => performance.getEntriesByName("glint-stroke").map((e) => e.duration));
  expect(times.length > 20, "strokes are answered while they are drawn");
  // The drawing is in the address: the same address shows the same answer.
  const hash = await page.evaluate(() => location.hash);
  expect(hash.includes("ink="), "the drawing is in the address");
  expectQuiet(trouble);
  await close();
  const again = await open(browser, main, hash);
  expect((await prediction(again.page)) === "0", "a linked drawing gives another answer");
  await again.close();
  const late = times.filter((t) => t > 30).length;
  return `median ${median(times).toFixed(1)} ms, slowest ${Math.max(...times).toFixed(1)} ms, ${late} of ${times.length} above 30 ms`;
});

await check("the drawing is centred as MNIST's digits are", async () => {
  const { page, close } = await open(browser, main);
  const result = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const { centred, averaged, inkText, inkFromText } = glint.pad;
    const ink = new Float32Array(280 * 280);
    for (let y = 20; y < 60; y++) for (let x = 10; x < 25; x++) ink[y * 280 + x] = y < 40 ? 1 : 0.5;
    const out = centred(ink, 280, 280, 28, 28);
    let mass = 0, mx = 0, my = 0, top = 28, bottom = -1;
    for (let i = 0; i < 28; i++) for (let j = 0; j < 28; j++) {
      const v = out[i * 28 + j];
      mass += v; mx += v * (j + 0.5); my += v * (i + 0.5);
      if (v > 1e-6) { top = Math.min(top, i); bottom = Math.max(bottom, i); }
    }
    const levels = Float32Array.from(out, (v) => Math.round(Math.min(1, v) * 63) / 63);
    const back = inkFromText(inkText(out), 784);
    const flat = averaged(ink, 28, 28);
    return { mass, cx: mx / mass, cy: my / mass, rows: bottom - top + 1, top: Math.max(...out),
      link: Math.max(...levels.map((v, i) => Math.abs(v - back[i]))), flat: flat[2 * 28 + 1], other: flat[0] };
  });
  // 40 x 15 ink becomes 20 x 7.5: full ink on half of it, half ink on the rest. The box of 20 rows lies across
  // 21 when its centre of mass is not at half a pixel.
  expect(Math.abs(result.mass - 0.75 * 20 * 7.5) < 1e-3, `mass ${result.mass}`);
  expect(Math.abs(result.cx - 14) < 1e-4 && Math.abs(result.cy - 14) < 1e-4, `centre ${result.cx}, ${result.cy}`);
  expect(result.rows >= 20 && result.rows <= 21, `${result.rows} rows`);
  expect(Math.abs(result.top - 1) < 1e-5, `largest ink ${result.top}`);
  expect(result.link < 1e-6, `a link changes the ink by ${result.link}`);
  expect(result.flat === 1 && result.other === 0, `plain averages ${result.flat}, ${result.other}`);
  await close();
});

await check("by keyboard alone: pad, classes, images, every view", async () => {
  const { page, trouble, close } = await open(browser, both);
  const reach = async (/** @type {string} */ selector) => {
    for (let i = 0; i < 120; i++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((s) => document.activeElement?.matches(s), selector)) return;
    }
    throw new Error(`Tab does not reach ${selector}`);
  };
  await reach(".pad");
  await page.keyboard.press("Delete");
  for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Space");
  for (let i = 0; i < 18; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  expect((await prediction(page)) === "1", `a line drawn by keys is read as ${await prediction(page)}`);
  await reach(".class-row input");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  expect(/class=3/.test(await page.evaluate(() => location.hash)), "arrow keys choose a class");
  expect(((await text(page, "figure h3 >> text=Why 3")) ?? "").length > 0, "the chosen class is explained");
  await page.evaluate(() => document.body.focus());
  await reach(".thumb");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  expect(/image=\d+/.test(await page.evaluate(() => location.hash)), "Enter picks an image");
  for (const [view, title] of [["spectra", "Spectra"], ["compare", "Compare"], ["training", "Training"], ["math", "What am I looking at?"], ["draw", "Draw"]]) {
    await reach(`nav a[data-view=${view}]`);
    await page.keyboard.press("Enter");
    await page.waitForFunction((t) => document.querySelector("main h2")?.textContent === t, title);
    if (view === "spectra") {
      await reach("svg[role=slider]");
      await page.keyboard.press("Home");
      for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
      expect((await page.locator("svg[role=slider]").getAttribute("aria-valuenow")) === "4", "arrow keys walk over the eigenvalues");
      expect(await page.evaluate(() => document.activeElement?.matches("svg[role=slider]") ?? false), "the plot keeps the focus");
      await reach("#keep");
      await page.keyboard.press("Home");
      expect(((await text(page, ".keep .said")) ?? "").startsWith("k = 0"), "the slider says k = 0");
    }
  }
  expectQuiet(trouble);
  await close();
});

await check("the spectrum: every eigenvalue draws its eigenvector, kept terms have their accuracy", async () => {
  const { page, trouble, close } = await open(browser, main, "#view=spectra&class=2");
  const result = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const [{ readData }, { Model }, { dot }] = [glint.data, glint.model, glint.linalg];
    const data = await readData();
    const model = new Model(data.runs[0], 28, 28);
    const w = model.formWidth;
    let stored = 0, computed = 0, off = 0;
    for (const form of data.runs[0].forms) {
      const q = model.interaction(form, 2);
      const scale = Math.abs(form.values.values[2 * w]);
      for (const rank of [0, 5, w - 1, w - 6, 8, 20, Math.floor(w / 2), w - 20]) {
        const v = model.eigenvector(form, 2, rank);
        const lambda = form.values.values[2 * w + rank];
        let residual = 0;
        for (let i = 0; i < w; i++) residual = Math.max(residual, Math.abs(dot(q.subarray(i * w, (i + 1) * w), v) - lambda * v[i]));
        off = Math.max(off, residual / scale, Math.abs(dot(v, v) - 1));
        if (model.isStored(rank)) stored++; else computed++;
      }
    }
    return { stored, computed, off };
  });
  expect(result.stored > 0 && result.computed > 0, "both kinds are looked at");
  // Eigenvalues and stored vectors are f32: 6e-8 relative each; sums over 128 entries add an order.
  expect(result.off < 2e-6, `residual |Qv - λv| ${result.off} of the largest eigenvalue`);
  const before = await page.locator("canvas.big").evaluate((/** @type {HTMLCanvasElement} */ c) => c.toDataURL());
  const box = /** @type {any} */ (await page.locator("svg[role=slider]").boundingBox());
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const after = await page.locator("canvas.big").evaluate((/** @type {HTMLCanvasElement} */ c) => c.toDataURL());
  expect(before !== after, "pointing at an eigenvalue draws another eigenvector");
  const said = async (/** @type {number} */ k) => {
    await page.locator("#keep").fill(String(k));
    return Number(/: ([\d.]+) %/.exec((await text(page, ".keep .said")) ?? "")?.[1]);
  };
  const [none, all] = [await said(0), await said(128)];
  expect(all > 90 && none < all, `accuracy ${none} % with no term, ${all} % with all`);
  expectQuiet(trouble);
  await close();
  return `residual ${result.off.toExponential(1)}`;
});

await check("contributions add up to the reading at the image's own size, the local one is exact", async () => {
  let sized = 0;
  for (const name of ["main", "shrunk", "silu"]) {
    const { page, close } = await open(browser, `${folder}/${name}.html`, "#view=draw&image=7");
    const off = await page.evaluate(async () => {
      // @ts-ignore the page's own modules
      const [{ readData }, { Model }, { Drawing }, { symmetricEigen }] = [glint.data, glint.model, glint.drawing, glint.eigen];
      const data = await readData();
      const model = new Model(data.runs[0], 28, 28);
      const pixels = Float32Array.from(data.images.pixels.values.subarray(7 * 784, 8 * 784), (v) => v / 255);
      const pass = model.forward(pixels);
      const x = model.formInput(pass);
      const w = model.formWidth;
      const dot = (/** @type {ArrayLike<number>} */ v) => Array.from(v).reduce((a, t, j) => a + t * x[j], 0);
      let sum = 0, shown = 0, parts = 0, sized = 0, local = 0;
      for (const form of model.run.forms) {
        // All eigenpairs: of a form whose gains depend on the size of the input, those at the size of this image.
        const own = form.slope ? symmetricEigen(model.interaction({ ...form, name: "own", size: model.size(pass) }, 3), w) : null;
        const terms = Array.from({ length: w }, (_, k) =>
          (own ? own.values[k] : form.values.values[3 * w + k]) * dot(own ? own.vectors[k] : model.eigenvector(form, 3, k)) ** 2);
        const total = terms.reduce((a, t) => a + t, 0), size = terms.reduce((a, t) => a + Math.abs(t), 0);
        sum = Math.max(sum, Math.abs(total - model.quadraticPart(pass, form, 3)) / size);
        // What the page shows are these very terms, and what it calls the others is the sum of the others.
        const drawing = new Drawing({ model, state: { form: form.name, class: "3" } });
        drawing.pixels = pixels;
        drawing.read();
        let rest = total;
        for (const t of [...drawing.side(1), ...drawing.side(-1)]) {
          shown = Math.max(shown, Math.abs(t.contribution - terms[t.rank]) / size);
          rest -= terms[t.rank];
        }
        const said = drawing.parts();
        parts = Math.max(parts, Math.abs(said.rest - rest) / size, Math.abs(said.plus + said.minus + said.rest + said.aside - said.reading));
        if (form.slope && Math.abs(model.size(pass) / form.size - 1) > 0.01) sized++;
        const linear = model.linearPart(form, 3);
        const whole = model.quadraticPart(pass, form, 3) + (linear ? dot(linear.vector) : 0) + model.aside(pass, 3);
        local = Math.max(local, Math.abs(whole - model.readLogits(pass, form)[3]));
      }
      const exact = model.readLogits(pass, null);
      return { sum, shown, parts, sized, local: Math.max(local, ...exact.map((v, c) => Math.abs(v - pass.logits[c]))) };
    });
    // f32 eigenvalues and vectors; the 128 terms are taken relative to the sum of their magnitudes.
    expect(off.sum < 1e-4, `${name}: the terms miss the quadratic form by ${off.sum}`);
    // The page's own eigenvectors have residuals of 1e-6 of the largest value; gaps between eigenvalues are some
    // percent of it.
    expect(off.shown < 1e-4, `${name}: a term that is shown differs by ${off.shown}`);
    expect(off.parts < 1e-4, `${name}: the parts miss the reading by ${off.parts}`);
    sized += off.sized;
    expect(off.local < 1e-9, `${name}: parts or the local reading are off by ${off.local}`);
    await close();
  }
  expect(sized === 2, "the size of the image is another than the usual one");
});

const pages = readdirSync(folder).filter((f) => f.endsWith(".html") && f !== "hostile.html").sort();
for (const name of pages) {
  const claim = name === "half.html" ? "logits differ from the program's by what it states" : "logits of its images equal the program's to 1e-4";
  await check(`${name}: ${claim}`, async () => {
    const { page, trouble, close } = await open(browser, `${folder}/${name}`);
    const result = await page.evaluate(async () => {
      // @ts-ignore the page's own modules
      const [{ readData }, { Model }] = [glint.data, glint.model];
      const data = await readData();
      const out = [];
      for (const run of data.runs) {
        const model = new Model(run, data.images.height, data.images.width);
        const n = run.config.inputs;
        let most = 0, top = 0;
        for (let i = 0; i < data.images.labels.values.length; i++) {
          const pixels = Float32Array.from(data.images.pixels.values.subarray(i * n, (i + 1) * n), (v) => v / 255);
          model.forward(pixels).logits.forEach((v, c) => {
            const own = run.logits.values[i * model.classes + c];
            most = Math.max(most, Math.abs(v - own));
            top = Math.max(top, Math.abs(own));
          });
        }
        out.push({ most, top, count: data.images.labels.values.length, half: run.halfDeviation });
      }
      return out;
    });
    for (const r of result) {
      expect(r.count === 1000, `${r.count} images, not 1000`);
      if (r.half === undefined) expect(r.most <= 1e-4, `a logit differs by ${r.most} (largest logit ${r.top})`);
      // f16 weights: the page states how far its logits are off, and they are.
      else expect(r.half > 1e-4 && Math.abs(r.most - r.half) <= 1e-4, `states ${r.half}, is ${r.most}`);
    }
    if (name === "half.html") expect(result[0].half !== undefined, "the small page has f16 weights");
    expectQuiet(trouble);
    await close();
    return result.map((r) => `${r.most.toExponential(1)} of ${r.top.toFixed(1)}`).join(", ");
  });
}

await check("a page with f16 weights says so and how far it is off", async () => {
  const { page, close } = await open(browser, `${folder}/half.html`, "#view=training");
  expect(/rounded to 16 bits.*at most 0\.\d+/.test((await text(page, "main")) ?? ""), "the training view says it");
  await close();
});

await check("a model without a record of its training shows only what is known", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/foreign.html`, "#view=training");
  const said = (await text(page, "main")) ?? "";
  expect(/No record of the training/.test(said), `it says that nothing is recorded: ${said}`);
  expect(!/trains exactly the same weights/.test(said), "it does not promise to train it again");
  expect((await page.locator("main svg").count()) === 0, "no curve is drawn");
  expect(!/–|undefined|null|NaN/.test(said), `no row stands empty: ${said}`);
  expect(/parameters/.test(said) && /measured for this page/.test(said), "what is known is shown");
  expect(!/unnamed data/.test((await text(page, "header")) ?? ""), "unknown data are not named");
  expectQuiet(trouble);
  await close();
  const both = await open(browser, `${folder}/half-known.html`, "#view=training");
  const words = (await text(both.page, "main")) ?? "";
  expect(/No record came with foreign/.test(words), `it says which run has no record: ${words}`);
  expect((await both.page.locator("main figure svg").count()) >= 2, "the curves of the other run are drawn");
  expectQuiet(both.trouble);
  await both.close();
});

await check("the linear part is named where eigenvectors are counted", async () => {
  const { page, trouble, close } = await open(browser, main, "#view=spectra&form=calibrated&k=0");
  const said = (await text(page, ".keep .said")) ?? "";
  expect(/^k = 0: .*The linear part alone, k = 0:/.test(said), `k = 0 is the linear part: ${said}`);
  expect(/linear part/.test((await text(page, "figure:has(h3:text('Keep only'))")) ?? ""), "the chart says it too");
  await page.evaluate(() => { location.hash = "#view=spectra&form=weights&k=0"; });
  await page.waitForFunction(() => !/linear part alone/.test(document.querySelector(".keep .said")?.textContent ?? ""));
  expectQuiet(trouble);
  await close();
});

await check("the scaled reading says that its terms are those of one size", async () => {
  const { page, trouble, close } = await open(browser, main, "#view=spectra&form=scaled");
  expect(/the reading, at each image's own size: [0-9.]+ %/.test((await text(page, ".keep .said")) ?? ""), (await text(page, ".keep .said")) ?? "");
  await page.evaluate(() => { location.hash = "#view=spectra&form=weights"; });
  await page.waitForFunction(() => !/own size/.test(document.querySelector(".keep .said")?.textContent ?? ""));
  expectQuiet(trouble);
  await close();
});

await check("comparing: a run with itself has likeness 1 and angles 0", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/same.html`, "#view=compare&class=4");
  const numbers = async () => page.evaluate(() => ({
    likeness: document.querySelector("[aria-label^='Likeness of']")?.getAttribute("aria-label") ?? "",
    angles: document.querySelector("[aria-label^='Principal angles:']")?.getAttribute("aria-label") ?? "",
    said: document.querySelector("main .said")?.textContent ?? "" }));
  const n = await numbers();
  expect(/is 1\.00 on average/.test(n.said), n.said);
  expect(/: (0°, )*0°$/.test(n.angles), n.angles);
  await page.getByLabel("responses to images").check();
  const m = await numbers();
  expect(/is 1\.00 on average/.test(m.said), m.said);
  expectQuiet(trouble);
  await close();
});

await check("the best partners are the best of all pairings", async () => {
  const { page, close } = await open(browser, main);
  const worst = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const [{ bestPairing }, { fixedNoise }] = [glint.view_compare, glint.linalg];
    const noise = fixedNoise(400);
    const all = (/** @type {number[]} */ left) => left.length === 0 ? [[]] : left.flatMap((j) => all(left.filter((x) => x !== j)).map((r) => [j, ...r]));
    let off = 0;
    for (let t = 0; t < 10; t++) {
      const w = Array.from({ length: 5 }, (_, i) => Array.from({ length: 5 }, (_, j) => Math.abs(noise[t * 25 + i * 5 + j])));
      const sum = (/** @type {number[]} */ p) => p.reduce((a, j, i) => a + w[i][j], 0);
      const most = Math.max(...all([0, 1, 2, 3, 4]).map(sum));
      const mine = bestPairing(w);
      if (new Set(mine).size !== 5) return Infinity;
      off = Math.max(off, most - sum(mine));
    }
    return off;
  });
  expect(worst < 1e-12, `a pairing is ${worst} below the best`);
  await close();
});

await check("principal angles of known subspaces", async () => {
  const { page, close } = await open(browser, main);
  const angles = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const { principalAngles } = glint.linalg;
    const a = [[1, 0, 0, 0], [0, 1, 0, 0]].map((r) => Float64Array.from(r));
    const t = 1e-7;
    const b = [[2 * Math.cos(t), 0, 2 * Math.sin(t), 0], [0, Math.cos(1), 0, Math.sin(1)]].map((r) => Float64Array.from(r));
    return principalAngles(a, b).map((x) => (x * Math.PI) / 180);
  });
  expect(Math.abs(angles[0] - 1e-7) < 1e-13 && Math.abs(angles[1] - 1) < 1e-13, `angles ${angles}`);
  await close();
});

await check("every chart is saved as SVG and CSV", async () => {
  let count = 0;
  for (const view of ["draw", "spectra", "compare", "training"]) {
    const { page, trouble, close } = await open(browser, both, `#view=${view}&class=3`);
    for (const button of await page.locator("button.save").all()) {
      const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
      const content = readFileSync(/** @type {string} */ (await download.path()), "utf8");
      const label = await button.getAttribute("aria-label");
      if (download.suggestedFilename().endsWith(".svg")) {
        expect(/^<svg[^>]* xmlns="http:\/\/www\.w3\.org\/2000\/svg"/.test(content) && content.endsWith("</svg>"), `${label}: no SVG`);
        expect(!/class=|var\(|color-mix/.test(content), `${label}: needs the page's styles`);
        expect(/<(rect|path|image)[\s\S]*<(rect|path|image)/.test(content), `${label}: an empty picture`);
      } else {
        const rows = content.trim().split("\r\n").map((r) => r.replaceAll(/"([^"]|"")*"/g, "quoted").split(","));
        expect(rows.length > 1 && rows.every((r) => r.length === rows[0].length), `${label}: not a table`);
      }
      count++;
    }
    expectQuiet(trouble);
    await close();
  }
  expect(count >= 20, `only ${count} downloads`);
  return `${count} files`;
});

await check("no serious finding of axe in any view, light and dark", async () => {
  let passes = 0;
  for (const colorScheme of ["light", "dark"]) {
    for (const view of ["draw", "spectra", "compare", "training", "math"]) {
      const { page, close } = await open(browser, both, `#view=${view}`, { colorScheme });
      await page.waitForTimeout(150);
      const result = await axeFindings(page);
      expect(result.bad.length === 0, `${view}, ${colorScheme}: ${result.bad.join("\n")}`);
      passes += result.passes;
      await close();
    }
  }
  return `${passes} rules passed`;
});

await check("nothing is cut off on a phone", async () => {
  for (const view of ["draw", "spectra", "compare", "training", "math"]) {
    const { page, trouble, close } = await open(browser, both, `#view=${view}`, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide <= 360, `${view} is ${wide} wide`);
    if (view === "draw") {
      const box = /** @type {any} */ (await page.locator(".pad").boundingBox());
      await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
      expect((await text(page, ".source")) === "Your drawing.", "a touch draws");
    }
    expectQuiet(trouble);
    await close();
  }
});

await check("names from a run are text, whatever they hold", async () => {
  for (const view of ["draw", "spectra", "compare", "training", "math"]) {
    const { page, trouble, close } = await open(browser, `${folder}/hostile.html`, `#view=${view}`);
    const found = await page.evaluate(() => ({
      // @ts-ignore what a name that became markup would set
      owned: window.owned, images: document.querySelectorAll("img, iframe, main script").length,
      text: document.body.innerText, title: document.title }));
    expect(found.owned === undefined && found.images === 0, `${view}: a name became markup`);
    expect(found.title.includes("<img src=x onerror=owned=1>"), `the title is ${found.title}`);
    if (view === "draw") {
      expect(found.text.includes("</script><script>owned=2</script>"), "the class name is shown as it is");
      expect(await page.evaluate(() => document.body.textContent?.includes("a\u2028b") ?? false), "U+2028 is kept");
      expect(found.text.includes("{{data}}"), "a name like a place of the template stays a name");
    }
    expectQuiet(trouble);
    await close();
  }
});

await check("an address that makes no sense shows the first view", async () => {
  const { page, trouble, close } = await open(browser, main, "#view=nowhere&class=99&image=-1&rank=x&k=1e9&ink=%00%ff&form=__proto__");
  expect((await text(page, "main h2")) === "Draw", "the first view");
  await page.evaluate(() => { location.hash = "#view=spectra&class=1e1&rank=0&k=-5"; });
  await page.waitForFunction(() => document.querySelector("main h2")?.textContent === "Spectra");
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("main h2")?.textContent === "Draw");
  expectQuiet(trouble);
  await close();
});

await browser.close();
finish();
