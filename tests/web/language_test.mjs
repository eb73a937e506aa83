// The explorer of a language run in a real browser. Arguments: the folder that language_test.sh made: NAME.html,
// NAME.json (texts with their numbers of tokens and losses, and a spectrum, by the program), hostile.html.
import { readFileSync } from "node:fs";
import { axeFindings, check, expect, expectQuiet, finish, open, openBrowser } from "./harness.mjs";

const folder = process.argv[2];
const browser = await openBrowser();
const VIEWS = ["tokens", "sentence", "training", "math"];
const text = (/** @type {any} */ page, /** @type {string} */ selector) => page.locator(selector).first().textContent();

await check("opens from disk, offers the views of a language run and stays silent", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/bpe.html`);
  const offered = await page.locator("nav a").evaluateAll((links) => links.map((l) => /** @type {HTMLElement} */ (l).dataset.view));
  expect(offered.join(" ") === VIEWS.join(" "), `views ${offered}`);
  for (const view of VIEWS) {
    await page.locator(`nav a[data-view=${view}]`).click();
    await page.waitForFunction((v) => document.querySelector("nav a[aria-current]")?.getAttribute("data-view") === v, view);
  }
  expectQuiet(trouble);
  await close();
});

await check("all eigenpairs of symmetric matrices", async () => {
  const { page, close } = await open(browser, `${folder}/bpe.html`);
  const worst = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const [{ symmetricEigen }, { dot, fixedNoise }] = [glint.eigen, glint.linalg];
    const noise = fixedNoise(128 * 128);
    let off = 0;
    // Random, of rank 2 (a repeated eigenvalue 0), diagonal, zero.
    for (const kind of [0, 1, 2, 3]) for (const n of [1, 2, 3, 17, 128]) {
      const a = new Float64Array(n * n);
      for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
        a[i * n + j] = kind === 0 ? noise[i * n + j] + noise[j * n + i] : kind === 1 ? noise[i] * noise[j] - noise[n + i] * noise[n + j]
          : kind === 2 && i === j ? noise[i] : 0;
      }
      const { values, vectors } = symmetricEigen(a, n);
      const scale = Math.max(Math.abs(values[0]), Math.abs(values[n - 1])) || 1;
      for (let k = 0; k < n; k++) {
        if (k && values[k] > values[k - 1]) return Infinity;
        for (let i = 0; i < n; i++) off = Math.max(off, Math.abs(dot(a.subarray(i * n, (i + 1) * n), vectors[k]) - values[k] * vectors[k][i]) / scale);
        for (let l = 0; l <= k; l++) off = Math.max(off, Math.abs(dot(vectors[k], vectors[l]) - (k === l ? 1 : 0)));
      }
    }
    return off;
  });
  // Backward stable: a small multiple of n times the unit 1.1e-16.
  expect(worst < 128 * 8 * 1.2e-16, `off by ${worst}`);
  await close();
  return worst.toExponential(1);
});

for (const name of ["bpe", "half", "unigram"]) {
  await check(`${name}: tokens, losses and spectra are the program's`, async () => {
    const given = JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));
    const { page, trouble, close } = await open(browser, `${folder}/${name}.html`);
    const mine = await page.evaluate(async (given) => {
      // @ts-ignore the page's own modules
      const [{ readData }, { LanguageModel }] = [glint.data, glint.language];
      const model = new LanguageModel((await readData()).runs[0]);
      const { tokenizer } = model;
      const texts = given.texts.map((/** @type {any} */ t) => {
        const ids = tokenizer.encode(t.text);
        const pass = model.forward([tokenizer.end, ...ids]);
        const loss = [...ids, tokenizer.end].reduce((sum, id, i) => sum + model.loss(pass, i, id), 0);
        return { ids, loss: loss / (ids.length + 1) };
      });
      const { layer, form, unit } = given.spectrum;
      const direction = model.direction(given.spectrum.token);
      const chosen = model.run.forms.find((/** @type {any} */ f) => f.name === form), line = chosen.lines[layer - 1];
      const { values, vectors, hidden, linear } = model.spectrum(layer - 1, chosen, direction);
      const id = direction.terms[0].id;
      // The eigenvectors and the linear part are the whole reading; a sentence that grows is the sentence.
      const dot = (/** @type {any} */ a, /** @type {any} */ b) => a.reduce((/** @type {number} */ s, /** @type {number} */ v, /** @type {number} */ i) => s + v * b[i], 0);
      const all = [tokenizer.end, ...texts.flatMap((/** @type {any} */ t) => t.ids)].slice(0, model.config.context);
      const whole = model.forward(all);
      const grown = model.forward(all, model.forward([...all.slice(0, all.length >> 1), tokenizer.end, tokenizer.end]));
      let apart = 0, change = 0, size = 0;
      whole.inputs[layer - 1].forEach((/** @type {Float64Array} */ x, /** @type {number} */ t) => {
        const reading = dot(hidden, model.glu(layer - 1, x, line));
        const parts = values.reduce((/** @type {number} */ s, /** @type {number} */ l, /** @type {number} */ k) => s + l * dot(vectors[k], x) ** 2, dot(linear, x));
        apart = Math.max(apart, Math.abs(parts - reading));
        size = Math.max(size, Math.abs(reading));
        change = Math.max(change, Math.abs(model.loss(whole, t, 5) - model.loss(grown, t, 5)));
      });
      return { texts, values: Array.from(values), r2: line.tokenR2.values[id], alone: line.tokenEigenvectorsR2.values[id],
        share: line.tokenLinearShare.values[id], linear: Array.from(linear), apart: apart / size, change, unit,
        found: ["The", "·the", `#${id}`].every((w) => tokenizer.find(w) === id), cancelled: model.direction("the - the") };
    }, given);
    const bound = name === "half" ? 1e-3 : 1e-4;
    let off = 0;
    given.texts.forEach((/** @type {any} */ t, /** @type {number} */ i) => {
      // As many tokens with the same loss: other tokens would have another.
      expect(mine.texts[i].ids.length + 1 === t.tokens, `“${t.text}”: ${mine.texts[i].ids.length + 1} tokens, not ${t.tokens}`);
      off = Math.max(off, Math.abs(mine.texts[i].loss - t.loss));
    });
    expect(off < bound, `a loss is off by ${off}`);
    const theirs = given.spectrum.unit.eigenvalues;
    const scale = Math.max(...theirs.map(Math.abs));
    const apart = Math.max(...theirs.map((/** @type {number} */ v, /** @type {number} */ i) => Math.abs(v - mine.values[i]))) / scale;
    expect(theirs.length === mine.values.length && apart < (name === "half" ? 2e-3 : 1e-6), `an eigenvalue is off by ${apart} of the largest`);
    // Stored with 11 bits.
    expect(Math.abs(mine.r2 - given.spectrum.unit.r2) < 1e-3, `R² ${mine.r2}, not ${given.spectrum.unit.r2}`);
    expect(Math.abs(mine.alone - given.spectrum.unit.eigenvectors_r2) < 1e-3, `R² of the eigenvectors ${mine.alone}, not ${given.spectrum.unit.eigenvectors_r2}`);
    expect(Math.abs(mine.share - given.spectrum.unit.linear_share) < 1e-3, `linear share ${mine.share}, not ${given.spectrum.unit.linear_share}`);
    const w = given.spectrum.unit.linear.vector, long = Math.max(...w.map(Math.abs));
    expect(long > 0 && w.every((/** @type {number} */ v, /** @type {number} */ i) => Math.abs(v - mine.linear[i]) < (name === "half" ? 2e-3 : 1e-6) * long), "another linear part");
    expect(mine.apart < 1e-9, `eigenvectors and linear part miss the reading by ${mine.apart}`);
    expect(mine.change === 0, `a sentence that grows changes a loss by ${mine.change}`);
    expect(mine.found, "a token is found by its word in any case, by what is shown and by its number");
    expect(typeof mine.cancelled === "string", "a direction that cancels is refused");
    expectQuiet(trouble);
    await close();
    return `losses within ${off.toExponential(1)}, eigenvalues within ${apart.toExponential(1)}`;
  });
}

await check("a token, a difference, a word that is none; a sentence", async () => {
  const { page, trouble, close } = await open(browser, `${folder}/bpe.html`);
  const type = async (/** @type {string} */ what) => {
    await page.locator(".token-input").fill(what);
    await page.keyboard.press("Enter");
  };
  await type("big - little");
  expect(((await page.locator("svg[role=slider]").getAttribute("aria-label")) ?? "").includes("·big − ·little"), "the difference is shown");
  await page.locator("svg[role=slider]").focus();
  await page.keyboard.press("End");
  expect((await page.locator("svg[role=slider]").getAttribute("aria-valuenow")) === "32", "keys walk over the eigenvalues");
  await type("zyzzyva");
  expect(((await text(page, ".said")) ?? "").includes("is cut into"), "a word of several pieces is explained");
  await type("big");
  await page.locator("nav a[data-view=sentence]").click();
  expect(!(await page.locator("figure text").allTextContents()).includes("linear part"), "the form that the page opens with has no linear part");
  await page.evaluate(() => { location.hash += "&form=calibrated"; });
  await page.waitForFunction(() => [...document.querySelectorAll("figure text")].some((t) => t.textContent === "linear part"));
  const pieces = (/** @type {number} */ least, /** @type {number} */ most) => page.waitForFunction(([a, b]) => {
    const n = document.querySelectorAll(".token-chip").length;
    return n >= a && n <= b;
  }, [least, most]);
  // Keys that follow each other at once are read together.
  const passes = await page.evaluate(async () => {
    // @ts-ignore the page's own modules
    const { LanguageModel } = glint.language;
    const { forward } = LanguageModel.prototype;
    let calls = 0;
    LanguageModel.prototype.forward = function (/** @type {any[]} */ ...a) { calls++; return forward.apply(this, a); };
    const input = /** @type {HTMLInputElement} */ (document.getElementById("sentence"));
    for (const text of ["t", "th", "the", "the b", "the bi", "the big"]) {
      input.value = text;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    const before = calls;
    const pause = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));
    for (let i = 0; i < 6000 && calls === before; i++) await pause(100);
    await pause(600); // a second pass would come in this time
    LanguageModel.prototype.forward = forward;
    return { before, calls };
  });
  expect(passes.before === 0 && passes.calls === 1, `${passes.before} and ${passes.calls} passes`);
  await page.locator("#sentence").fill("the big dog");
  await pieces(4, 12);
  await page.waitForFunction(() => /loss \d/.test(document.querySelector(".sentence-card .said")?.textContent ?? ""));
  await page.locator(".token-chip").nth(1).click();
  expect(/pos=1/.test(await page.evaluate(() => location.hash)), "a token is chosen");
  await page.locator("#sentence").fill("");
  await pieces(1, 1);
  expectQuiet(trouble);
  await close();
});

await check("a page with rounded weights says what that does", async () => {
  for (const [name, says] of /** @type {[string, boolean][]} */ ([["half", true], ["bpe", false]])) {
    const { page, close } = await open(browser, `${folder}/${name}.html`, "#view=sentence");
    const said = (await text(page, ".sentence-card .said")) ?? "";
    expect(/rounded to 16 bits; logits within [\d.e−]+ of/.test(said) === says, `${name}: ${said}`);
    await close();
  }
});

await check("every chart is saved, nothing is cut off on a phone, axe finds nothing serious", async () => {
  let files = 0;
  for (const view of VIEWS) {
    const wide = await open(browser, `${folder}/bpe.html`, `#view=${view}`);
    for (const button of await wide.page.locator("button.save").all()) {
      const [download] = await Promise.all([wide.page.waitForEvent("download"), button.click()]);
      const content = readFileSync(/** @type {string} */ (await download.path()), "utf8");
      if (download.suggestedFilename().endsWith(".svg")) expect(/<(rect|path)[\s\S]*<(rect|path)/.test(content) && !/class=/.test(content), `${view}: an empty picture`);
      else expect(content.trim().split("\r\n").length > 1, `${view}: an empty table`);
      files++;
    }
    expectQuiet(wide.trouble);
    await wide.close();
    const phone = await open(browser, `${folder}/bpe.html`, `#view=${view}`, { viewport: { width: 360, height: 740 } });
    const width = await phone.page.evaluate(() => document.documentElement.scrollWidth);
    expect(width <= 360, `${view} is ${width} wide`);
    await phone.close();
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await open(browser, `${folder}/bpe.html`, `#view=${view}`, { colorScheme });
      await page.waitForTimeout(100);
      const { bad } = await axeFindings(page);
      expect(bad.length === 0, `${view}, ${colorScheme}: ${bad.join("\n")}`);
      await close();
    }
  }
  expect(files >= 12, `only ${files} downloads`);
  return `${files} files`;
});

await check("names and addresses are text, whatever they hold", async () => {
  for (const view of VIEWS) {
    const { page, trouble, close } = await open(browser, `${folder}/hostile.html`,
      `#view=${view}&token=${encodeURIComponent("<img src=x onerror=owned=5>")}&text=${encodeURIComponent("<script>owned=6</script> é ß ﬁ 你")}&layer=99&rank=-1&pos=1e9&form=__proto__`);
    const found = await page.evaluate(() => ({
      // @ts-ignore what a name that became markup would set
      owned: window.owned, images: document.querySelectorAll("img, iframe, main script").length, title: document.title }));
    expect(found.owned === undefined && found.images === 0 && found.title.includes("<img src=x onerror=owned=1>"), `${view}: a name became markup`);
    expectQuiet(trouble);
    await close();
  }
});

await browser.close();
finish();
