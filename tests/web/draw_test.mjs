// The view Draw in a real browser: on a phone, with an empty pad, with strange drawings, with a hundred classes, and
// with eigenvectors taken away. Arguments: the folder of pages that page_test.sh made, and a page of 100 classes.
import { readFileSync, writeFileSync } from "node:fs";
import { axeFindings, check, expect, expectQuiet, finish, open, openBrowser, stroke } from "./harness.mjs";

const [folder, hundred] = process.argv.slice(2);
const browser = await openBrowser();
const main = `${folder}/main.html`;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const text = async (/** @type {any} */ page, /** @type {string} */ selector) => (await page.locator(selector).first().textContent()) ?? "";
const hash = (/** @type {any} */ page) => page.evaluate(() => location.hash);
const click = (/** @type {any} */ page, /** @type {string} */ name) => page.getByRole("button", { name, exact: true }).click();
const logits = (/** @type {any} */ page) => page.locator(".class-row .logit").allTextContents();

await check("a phone shows the pad and the whole answer on its first screen", async () => {
  for (const name of ["main", "both"]) {
    const { page, trouble, close } = await open(browser, `${folder}/${name}.html`, "", PHONE);
    const place = async (/** @type {any} */ l) => /** @type {any} */ (await l.boundingBox());
    const pad = await place(page.locator(".pad"));
    const verdict = await place(page.locator(".verdict"));
    const last = await place(page.locator(".class-row").last());
    expect(pad.y > 0 && pad.width >= 200, `the pad is ${pad.width} wide at ${pad.y}`);
    expect(verdict.y >= pad.y + pad.height && last.y + last.height <= 844,
      `${name}: pad ${pad.y}, answer ${verdict.y} to ${last.y + last.height} of 844`);
    expectQuiet(trouble);
    await close();
  }
});

await check("no column is cut on a phone, and 100.0 % stays on one line", async () => {
  for (const view of ["draw", "spectra", "compare", "training", "math"]) {
    const { page, close } = await open(browser, `${folder}/both.html`, `#view=${view}`, PHONE);
    const found = await page.evaluate(() => {
      for (const share of document.querySelectorAll(".share")) share.textContent = "100.0 %";
      const lines = (/** @type {Element} */ e) => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return new Set([...range.getClientRects()].map((r) => r.top)).size;
      };
      const wide = [...document.querySelectorAll("main *")].filter((e) => {
        const style = getComputedStyle(e);
        return e.getClientRects().length > 0 && !e.closest("math, svg, .hidden") && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && style.overflowX !== "visible";
      });
      return { lines: Math.max(1, ...[...document.querySelectorAll(".share")].map(lines)),
        wide: wide.map((e) => `${e.tagName}.${e.className}: ${e.scrollWidth} in ${e.clientWidth}`),
        out: [...document.querySelectorAll("main td, main th")].filter((e) => e.getBoundingClientRect().right > innerWidth).length };
    });
    expect(found.lines === 1, "100.0 % is broken over two lines");
    expect(found.wide.length === 0, `${view}: ${found.wide.slice(0, 3).join("; ")}`);
    expect(found.out === 0, `${view}: ${found.out} cells are outside of the screen`);
    await close();
  }
});

await check("undo takes back stroke by stroke, the clearing, and the first stroke on a test image", async () => {
  const { page, trouble, close } = await open(browser, main, "#image=5");
  const undo = page.getByRole("button", { name: "Undo" });
  expect((await undo.getAttribute("aria-disabled")) === "true", "there is nothing to undo at first");
  const seen = () => page.locator(".pad").evaluate((/** @type {HTMLCanvasElement} */ c) => c.toDataURL());
  const picked = await seen();
  await stroke(page, [[0.3, 0.2], [0.3, 0.8]]);
  const [one, oneHash] = [await seen(), await hash(page)];
  await stroke(page, [[0.3, 0.5], [0.7, 0.5]]);
  const two = await seen();
  expect(two !== one && one !== picked, "strokes show");
  await click(page, "Undo");
  expect((await seen()) === one && (await hash(page)) === oneHash, "the second stroke is gone, on the pad and in the address");
  await stroke(page, [[0.3, 0.5], [0.7, 0.5]]);
  await click(page, "Clear");
  expect(/empty/.test(await text(page, ".source")), "the pad is empty");
  await click(page, "Undo");
  expect((await seen()) === two, "the clearing is undone");
  await page.locator(".pad").focus();
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await page.locator(".pad").blur();
  expect((await seen()) === picked && /image=5/.test(await hash(page)), `the test image is back: ${await hash(page)}`);
  expect(/^Test image 5/.test(await text(page, ".source")), await text(page, ".source"));
  expect((await undo.getAttribute("aria-disabled")) === "true", "all is undone");
  expectQuiet(trouble);
  await close();
});

await check("an empty pad has no answer", async () => {
  const { page, trouble, close } = await open(browser, main, "#ink=-");
  expect(/no answer/.test(await text(page, ".verdict")), await text(page, ".verdict"));
  expect((await page.locator(".class-row .share").allTextContents()).every((/** @type {string} */ t) => t === "–"), "no class has a probability");
  expect((await page.locator(".class-row input:checked").count()) === 0, "no class is explained");
  expect(!(await page.locator(".term").first().isVisible()) && !(await page.locator(".trusted").isVisible()), "nothing is explained");
  expect(!(await page.locator(".likeness").isVisible()), "it is not like or unlike anything");
  const { bad } = await axeFindings(page);
  expect(bad.length === 0, bad.join("\n"));
  await stroke(page, [[0.5, 0.2], [0.5, 0.8]]);
  expect(/^1, .* sure$/.test(await text(page, ".verdict")) && (await page.locator(".term").first().isVisible()), "a stroke is answered");
  expectQuiet(trouble);
  await close();
});

await check("a drawing unlike the training data says so", async () => {
  const { page, trouble, close } = await open(browser, main);
  expect(!(await page.locator(".likeness.unlike").isVisible()) && (await page.locator(".likeness").isVisible()), "a test image is like them");
  await click(page, "Clear");
  await page.locator("#pen").fill("48");
  await stroke(page, Array.from({ length: 12 }, (_, i) => [i % 2 ? 0.95 : 0.05, 0.04 + i * 0.085]));
  expect(/^Unlike the training images: \d+\.\d times as far/.test(await text(page, ".likeness")), await text(page, ".likeness"));
  expect((await page.locator(".likeness.unlike").count()) === 1, "it stands out");
  const { bad } = await axeFindings(page);
  expect(bad.length === 0, bad.join("\n"));
  // The limit is what 99 % of the test images stay within.
  const share = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const [{ readData }, { Model }, { Drawing }] = [glint.data, glint.model, glint.drawing];
    const data = await readData();
    const drawing = new Drawing({ model: new Model(data.runs[0], 28, 28), state: {} });
    const count = data.images.labels.values.length;
    let far = 0;
    for (let i = 0; i < count; i++) {
      drawing.pixels = Float32Array.from(data.images.pixels.values.subarray(i * 784, (i + 1) * 784), (v) => v / 255);
      drawing.read();
      if (drawing.strangeness() > 1) far++;
    }
    return far / count;
  });
  expect(share > 0 && share < 0.03, `${100 * share} % of the test images are called unlike`);
  expectQuiet(trouble);
  await close();
});

await check("a hundred classes: sorted by probability, the chosen one pinned, why beside it", async () => {
  const { page, trouble, close } = await open(browser, hundred, "#image=3&class=77");
  const rows = await page.evaluate(() => [...document.querySelectorAll(".class-row")].map((r) => ({
    name: r.querySelector(".class-name")?.textContent, p: parseFloat(r.querySelector(".share")?.textContent ?? "") })));
  expect(rows.length === 100 && rows[0].name === "77", `the chosen class is first: ${rows[0].name}`);
  expect(rows.slice(2).every((r, i) => r.p <= rows[i + 1].p), "the others are sorted");
  const box = async (/** @type {string} */ s) => /** @type {any} */ (await page.locator(s).first().boundingBox());
  const [list, why] = [await box(".classes"), await box(".why")];
  expect(list.height < 400, `the list is ${list.height} high`);
  expect(why.x >= list.x + list.width && why.y < list.y + list.height, "why is beside the list");
  expect(/Why 77\?/.test(await text(page, ".why h3")), await text(page, ".why h3"));
  // Pinned: it stays in sight when the list is scrolled.
  await page.locator(".classes").evaluate((e) => { e.scrollTop = 600; });
  const pinned = await box(".class-row.chosen");
  expect(pinned.y >= list.y - 1 && pinned.y < list.y + 30, `pinned at ${pinned.y}, the list begins at ${list.y}`);
  // Keys walk over the list as it is sorted, and keep the focus.
  await page.locator(".class-row input:checked").focus();
  await page.keyboard.press("ArrowDown");
  expect(new RegExp(`class=${rows[1].name}(&|$)`).test(await hash(page)), `the next class is the most likely one, ${rows[1].name}: ${await hash(page)}`);
  expect(await page.evaluate(() => document.activeElement?.matches(".class-row.chosen input") ?? false), "the focus stays on the chosen class");
  const { bad } = await axeFindings(page);
  expect(bad.length === 0, bad.join("\n"));
  expectQuiet(trouble);
  await close();
  const phone = await open(browser, hundred, "#image=3", PHONE);
  const [pad, top] = await Promise.all([".pad", ".class-row.decided"].map((s) => phone.page.locator(s).first().boundingBox()));
  expect(/** @type {any} */ (pad).y > 0 && /** @type {any} */ (top).y + 20 < 844, "the answer is on the first screen of a phone");
  expect((await phone.page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "nothing is cut off");
  await phone.close();
});

await check("eigenvectors taken away: the model itself answers without them, and they come back", async () => {
  for (const [name, read] of [["main", "weights"], ["main", "scaled"], ["shrunk", "scaled"], ["silu", "weights"]]) {
    const { page, trouble, close } = await open(browser, `${folder}/${name}.html`, `#image=7&form=${read}&class=2`);
    const before = await logits(page);
    const buttons = page.locator(".side.for .take");
    await buttons.nth(0).click();
    await buttons.nth(1).click();
    const after = await logits(page);
    expect(after.some((v, c) => v !== before[c]), `${name}: the answer changes`);
    const result = await page.evaluate(async (/** @type {string} */ read) => {
      // @ts-ignore the page's own modules
      const [{ readData }, { Model }, { gates }] = [glint.data, glint.model, glint.gates];
      const data = await readData();
      const model = new Model(data.runs[0], 28, 28);
      const pixels = Float32Array.from(data.images.pixels.values.subarray(7 * 784, 8 * 784), (v) => v / 255);
      const form = data.runs[0].forms.find((/** @type {any} */ f) => f.name === read);
      const pass = model.forward(pixels);
      // By hand: x less its projection on the plane of the two strongest, then the last layer and the head.
      const x = Float64Array.from(pass.layers[model.last].u);
      const d = x.length, h = model.hidden;
      const inner = (/** @type {ArrayLike<number>} */ a, /** @type {ArrayLike<number>} */ b) => {
        let sum = 0;
        for (let j = 0; j < d; j++) sum += a[j] * b[j];
        return sum;
      };
      const [v, w] = [0, 1].map((rank) => model.pairs(pass, form, 2)[rank].vector);
      const [vv, vw, ww, vx, wx] = [inner(v, v), inner(v, w), inner(w, w), inner(v, x), inner(w, x)];
      const [a, b] = [(vx * ww - wx * vw) / (vv * ww - vw * vw), (wx * vv - vx * vw) / (vv * ww - vw * vw)];
      for (let j = 0; j < d; j++) x[j] -= a * v[j] + b * w[j];
      const weight = model.weight(`blocks.${model.last}`), bias = model.bias(`blocks.${model.last}`), head = model.weight("head");
      const row = (/** @type {number} */ k) => {
        let sum = bias ? bias[k] : 0;
        for (let j = 0; j < d; j++) sum += weight[k * d + j] * x[j];
        return sum;
      };
      const y = Array.from({ length: h }, (_, k) => gates[model.config.gate](row(k), model.config) * row(k + h) + (model.config.residual ? pass.layers[model.last].x[k] : 0));
      const hand = Array.from({ length: model.classes }, (_, c) => y.reduce((a, v, k) => a + head[c * h + k] * v, model.bias("head")?.[c] ?? 0));
      return { hand: hand.map((v) => v.toFixed(2)), gone: [...document.querySelectorAll(".term.gone .value")].map((e) => e.textContent),
        words: document.querySelector(".ablation")?.textContent ?? "" };
    }, read);
    const shown = after.map((t) => t.replace("−", "-"));
    const off = Math.max(...result.hand.map((v, c) => Math.abs(Number(v) - Number(shown[c]))));
    expect(off <= 0.0101, `${name}: the page says ${shown}, by hand ${result.hand}`);
    expect(result.gone.length === 2 && result.gone.every((t) => t === "removed"), `${name}: ${result.gone}`);
    expect(new RegExp(`^Without 2 directions the model .* Logit of 2: .* the ${read} reading expects `).test(result.words), result.words);
    expect(/without 2 eigenvectors; with all: /.test(await text(page, ".removed")), await text(page, ".removed"));
    const link = await hash(page);
    const { bad } = await axeFindings(page);
    expect(bad.length === 0, bad.join("\n"));
    await buttons.nth(1).click();
    expect((await page.locator(".term.gone").count()) === 1, "one comes back by a click");
    await click(page, "Put all back");
    expect((await logits(page)).join() === before.join() && !/off=/.test(await hash(page)), `${name}: all is as before`);
    expectQuiet(trouble);
    await close();
    const again = await open(browser, `${folder}/${name}.html`, link);
    expect((await logits(again.page)).join() === after.join(), `${name}: the link shows the same`);
    await again.close();
  }
});

await check("what is explained stays when the answer changes", async () => {
  const { page, close } = await open(browser, main, "#image=7&form=weights");
  const [why, answer] = [await text(page, ".why h3"), (await text(page, ".verdict")).split(",")[0]];
  for (let i = 0; i < 8 && (await text(page, ".verdict")).startsWith(`${answer},`); i++) await page.locator(".side.for .take").nth(i).click();
  expect(!(await text(page, ".verdict")).startsWith(`${answer},`), `without its eigenvectors for ${answer} the model still says so`);
  expect((await text(page, ".why h3")) === why && (await page.locator(".term.gone").count()) > 0, await text(page, ".why h3"));
  await close();
});

await check("every reading of an image is the program's to 1e-4", async () => {
  const forms = new Set();
  let most = 0, same = 0;
  for (const name of ["main", "gelu", "silu", "shrunk"]) {
    const { page, close } = await open(browser, `${folder}/${name}.html`);
    for (const image of [0, 7, 11]) {
      const own = await page.evaluate(async (/** @type {number} */ i) => {
        // @ts-ignore the page's own modules
        const [{ readData }, { Model }, { Drawing }] = [glint.data, glint.model, glint.drawing];
        const data = await readData();
        const model = new Model(data.runs[0], 28, 28);
        const pass = model.forward(Float32Array.from(data.images.pixels.values.subarray(i * 784, (i + 1) * 784), (v) => v / 255));
        const terms = Array.from({ length: model.classes }, (_, c) => {
          const drawing = new Drawing({ model, state: { class: String(c) } });
          drawing.pixels = Float32Array.from(data.images.pixels.values.subarray(i * 784, (i + 1) * 784), (v) => v / 255);
          drawing.read();
          return [1, -1].flatMap((sign) => drawing.side(sign)).map((t) => ({ rank: t.rank + 1, contribution: t.contribution }));
        });
        return { terms, ...Object.fromEntries(model.run.forms.map((/** @type {any} */ f) => [f.name, [...model.readLogits(pass, f)]])) };
      }, image);
      const { terms } = own;
      for (const c of JSON.parse(readFileSync(`${folder}/${name}-${image}.json`, "utf8")).classes) {
        for (const form of ["weights", "scaled", "calibrated"].filter((f) => f in c)) {
          expect(form in own, `${name}: the page lacks the ${form} reading`);
          most = Math.max(most, Math.abs(own[form][c.index] - c[form].total) / Math.max(1, Math.abs(c[form].total)));
          forms.add(form);
        }
        // The terms of the program's form, one by one: those of a scaled form are at the image's own size.
        const [shown, size] = [terms[c.index], c.terms.reduce((/** @type {number} */ a, /** @type {any} */ t) => a + Math.abs(t.contribution), 0)];
        for (const t of c.terms) {
          const here = shown.find((/** @type {any} */ s) => s.rank === t.rank);
          if (!here) continue; // the program lists what counts here, the page what has large eigenvalues
          most = Math.max(most, Math.abs(here.contribution - t.contribution) / size);
          same++;
        }
      }
    }
    await close();
  }
  expect(forms.has("weights") && forms.has("calibrated"), `only ${[...forms]} were read`);
  expect(same > 200, `only ${same} terms were compared`);
  expect(most <= 1e-4, `a reading or a term differs by ${most}`);
  return `${[...forms].join(", ")}: at most ${most.toExponential(1)}`;
});

await check("gains that depend on the input's size are those of this very input", async () => {
  for (const name of ["main", "shrunk"]) {
    const { page, close } = await open(browser, `${folder}/${name}.html`);
    const off = await page.evaluate(async () => {
      // @ts-ignore the page's own modules
      const [{ readData }, { Model }, { dot }] = [glint.data, glint.model, glint.linalg];
      const data = await readData();
      const model = new Model(data.runs[0], 28, 28);
      const weights = data.runs[0].forms[0];
      const power = 1.5;
      const slope = Float32Array.from({ length: model.hidden }, (_, k) => 0.05 + 0.01 * (k % 7));
      const form = { ...weights, name: "test", slope: { values: slope, shape: [model.hidden] }, power, size: 4 };
      const pass = model.forward(Float32Array.from(data.images.pixels.values.subarray(7 * 784, 8 * 784), (v) => v / 255));
      const { u } = pass.layers[model.last];
      const s = Math.sqrt(u.reduce((a, v) => a + v * v, 0));
      // The same as a plain form whose gains were computed for this size.
      const gain = Float64Array.from(slope, (t, k) => weights.gain.values[k] / (1 + (t * s) ** power) ** (1 / power));
      const plain = { ...weights, name: "plain", gain: { values: gain, shape: [model.hidden] } };
      const q = model.interaction(plain, 3), x = model.formInput(pass), w = x.length;
      const value = (/** @type {ArrayLike<number>} */ v) => Array.from(v).reduce((a, t, i) => a + t * dot(q.subarray(i * w, (i + 1) * w), v), 0);
      const pair = model.pairs(pass, form, 3)[2 * model.run.strongest - 2];
      const v = pair.vector;
      const quick = model.quickPairs(pass, form, 3)[2 * model.run.strongest - 2];
      const scale = Math.abs(weights.values.values[3 * w]);
      return { s, logits: Math.max(...model.readLogits(pass, form).map((t, c) => Math.abs(t - model.readLogits(pass, plain)[c]))),
        form: Math.abs(value(x) - model.quadraticPart(pass, form, 3)), eigenvalue: Math.abs(value(v) - pair.value) / scale,
        quick: quick.vector === v ? Math.abs(quick.value - value(v)) / scale : 1,
        same: Math.abs(model.readLogits(pass, form)[3] - model.readLogits(pass, weights)[3]) };
    });
    expect(off.s > 0 && off.same > 0.01, `${name}: the size changes the reading`);
    expect(off.logits < 1e-9 && off.form < 1e-9 && off.eigenvalue < 1e-9 && off.quick < 1e-9, `${name}: ${JSON.stringify(off)}`);
    await close();
  }
});

await check("controls, even share and the share of the linear part are shown beside the readings", async () => {
  // Numbers that are known, in the place of the program's.
  const [start, end] = ['id="glint-data">', "</script>"];
  const html = readFileSync(main, "utf8");
  const from = html.indexOf(start) + start.length;
  const data = JSON.parse(html.slice(from, html.indexOf(end, from)));
  const run = data.runs[0];
  run.controls = { linear: { r2: 0.123, r2Scaled: 0.234, agreement: 0.345 }, untrained: { calibrated: { r2: -0.456, r2Scaled: 0.067, agreement: 0.178 } } };
  const calibrated = run.forms.find((/** @type {any} */ f) => f.name === "calibrated");
  Object.assign(calibrated.fidelity, { r2Scaled: 0.876, evenShare: 0.654 });
  calibrated.linearShare = run.classNames.map((/** @type {string} */ _, /** @type {number} */ c) => 0.1 * c);
  const file = `${folder}/known-controls.htm`;
  writeFileSync(file, html.slice(0, from) + JSON.stringify(data).replaceAll("<", "\\u003c") + html.slice(html.indexOf(end, from)));
  const { page, trouble, close } = await open(browser, file, "#image=7&form=calibrated&class=4");
  const rows = (await page.locator(".judged tbody tr").allTextContents()).join("|");
  expect(/control: linear map34\.5 %0\.1230\.234/.test(rows) && /control: untrained17\.8 %−0\.4560\.067/.test(rows) && /0\.876/.test(rows), rows);
  expect(/Even share 65\.4 %/.test(await text(page, ".judged .note")), await text(page, ".judged .note"));
  expect(/makes 40 % of what varies/.test(await text(page, ".side.linear")), await text(page, ".side.linear"));
  await page.evaluate(() => { location.hash = "#view=spectra&form=calibrated&class=3"; });
  await page.waitForFunction(() => /makes 30 %/.test(document.querySelector(".linear-box")?.textContent ?? ""));
  expectQuiet(trouble);
  await close();
});

await check("a bilinear model loses exactly what its reading expects", async () => {
  const { page, close } = await open(browser, `${folder}/identity.html`, "#image=7&class=2");
  await page.locator(".side.for .take").first().click();
  const words = await text(page, ".ablation");
  const [, change, expected] = /a change of ([+−\d.]+); the weights reading expects ([+−\d.]+)\./.exec(words) ?? [];
  expect(change !== undefined && change === expected && change.startsWith("−"), words);
  await close();
});

await check("names of removed eigenvectors that make no sense are passed over", async () => {
  const { page, trouble, close } = await open(browser, main, "#image=7&off=weights.99.1,weights.2.0,weights.2.1e3,nothing.2.1,,weights.2,weights.2.60");
  expect(!(await page.locator(".removed").isVisible()), "nothing is removed");
  expectQuiet(trouble);
  await close();
});

await check("compare says how far each side is its model", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/both.html`, "#view=compare");
  const lines = () => page.locator(".side .fidelity").allTextContents();
  const [sqs, bilinear] = await lines();
  const share = (/** @type {string} */ line) => Number(/^Agrees with its model on ([0-9.]+) %, R² centred −?[0-9.]+\./.exec(line)?.[1]);
  expect(share(sqs) > 0 && share(sqs) < 100, `the weights of SQS are not the model: ${sqs}`);
  expect(/^Agrees with its model on 100\.0 %, R² centred 1\.000\./.test(bilinear), `a bilinear model is its weights: ${bilinear}`);
  for (const line of [sqs, bilinear]) expect(/Controls: linear map [0-9.]+ %.*; untrained [0-9.]+ %/.test(line), line);
  await page.getByLabel("calibrated").check();
  const [calibrated] = await lines();
  expect(calibrated !== sqs && share(calibrated) > 0, `another reading has a number of its own: ${calibrated}`);
  expectQuiet(trouble);
  await close();
});

await check("compare opens with the same reading on both sides", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/both.html`, "#view=compare&form=calibrated");
  const titles = await page.locator(".side h4").allTextContents();
  expect(titles.length === 2 && titles.every((t) => /, weights$/.test(t)), titles.join(" | "));
  await page.getByLabel("calibrated").check();
  const other = await page.locator(".side h4").allTextContents();
  expect(/, calibrated$/.test(other[0]) && /, weights, which is exact here$/.test(other[1]), other.join(" | "));
  expectQuiet(trouble);
  await close();
});

await browser.close();
finish();
