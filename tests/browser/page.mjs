// Pages in a browser: nothing is loaded and nothing complained of, charts are there, show what was recorded, and obey.
//
//   PM_CHROMIUM=... PM_MODULES=.../node_modules node page.mjs FOLDER
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const modules = createRequire(path.join(process.env.PM_MODULES, "x.js"));
const { chromium } = modules("playwright-core");
const axe = fs.readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const folder = path.resolve(process.argv[2]);
const browser = await chromium.launch({ executablePath: process.env.PM_CHROMIUM,
	args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-precise-memory-info"] });
let failed = 0, passed = 0;

// Opens a page; what the browser says and asks for is kept, and must be nothing.
async function open(name, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
	const page = await context.newPage();
	page.said = [];
	page.asked = [];
	page.on("console", (m) => page.said.push(`${m.type()}: ${m.text()}`));
	page.on("pageerror", (e) => page.said.push(`error: ${e.message}`));
	page.on("dialog", (d) => { page.said.push("dialog"); d.dismiss(); });
	page.on("request", (r) => page.asked.push(r.url()));
	await page.goto("file://" + path.join(folder, name));
	if (options.javaScriptEnabled !== false)
		await page.waitForSelector("html[data-ready]", { timeout: 20000 });
	return page;
}
async function silent(page) {
	assert.deepEqual(page.said, []);
	assert.equal(page.asked.length, 1, page.asked.join(" "));
	await page.context().close();
}
const shown = (page) => page.evaluate(async () => {
	document.querySelectorAll("details.constant").forEach((d) => { d.open = true; });
	for (let y = 0; y < document.body.scrollHeight; y += 600) {
		scrollTo({ top: y, behavior: "instant" });
		await new Promise((done) => setTimeout(done, 50));
	}
	scrollTo({ top: 0, behavior: "instant" });
	await new Promise((done) => setTimeout(done, 100));
});
async function picture(page, name) {
	await shown(page);
	await page.screenshot({ path: path.join(folder, name + ".png"), fullPage: true });
}
const range = (page) => page.evaluate(() => [range.from, range.to]);
async function test(name, body) {
	try {
		await body();
		passed++;
		console.log(`ok ${name}`);
	} catch (e) {
		failed++;
		console.log(`not ok ${name}\n${e.stack}`);
	}
}

// The page of the recording, and the same without uPlot.
const withPlot = fs.readFileSync(path.join(folder, "even.html"), "utf8").includes("uPlot=");
for (const name of fs.readdirSync(folder).filter((n) => n.endsWith(".html") && !n.startsWith("svg-"))) {
	const text = fs.readFileSync(path.join(folder, name), "utf8");
	fs.writeFileSync(path.join(folder, "svg-" + name), text.replace(/<script>[^<]*uPlot=[^]*?<\/script>/, ""));
}
console.log(withPlot ? "with uPlot and with SVG" : "with SVG only: this build has no uPlot");

for (const kind of withPlot ? ["", "svg-"] : ["svg-"]) {
	const drawing = kind ? ".plot svg" : ".plot canvas";

	await test(`${kind}charts are there and show what was recorded`, async () => {
		const page = await open(kind + "even.html");
		assert.equal(await page.locator("#chart-list figure").count(), 4);
		await picture(page, kind + "even");
		assert.equal(await page.locator(`#chart-list ${drawing}`).count(), 4);
		assert.equal(await page.locator(`#one ${drawing}`).count(), 4);
		const truth = await page.evaluate(() => {
			const rec = data.recordings[0], of = (metric, row) => rec.find.get(metric + "\n" + row);
			const gone = unpack(of("bench.level", "CPU 5"), 0), lost = unpack(of("bench.level", "CPU 4"), 0);
			const at = (values, s, t) => values[Math.floor(t / s.set.width)];
			return {
				even: of("bench.even", "CPU 11").mean, others: of("bench.even", "CPU 3").mean,
				system: of("bench.even", "system").mean, one: of("bench.even", "package 1").mean,
				wave: [of("bench.wave", "CPU 0").low, of("bench.wave", "CPU 0").high],
				offline: at(gone, of("bench.level", "CPU 5"), 180.5), back: at(gone, of("bench.level", "CPU 5"), 250.5),
				lost: at(lost, of("bench.level", "CPU 4"), 315.5),
				// A canvas is drawn if it has more than one color.
				ink: [...document.querySelectorAll("#chart-list .plot canvas")].map((c) => new Set(new Uint32Array(
					c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size > 3),
			};
		});
		assert.equal(truth.even, 5000);
		assert.equal(truth.others, 1000);
		// CPU 5 was away for a fifth of the time.
		assert.ok(truth.system > 19700 && truth.system <= 20000, truth.system);
		assert.equal(truth.one, 12000);
		assert.deepEqual(truth.wave, [100, 1000]);
		assert.equal(truth.offline, null);
		assert.ok(Math.abs(truth.back - 45) < .01);
		assert.ok(truth.lost === null || Math.abs(truth.lost - 44) < .01);
		assert.ok(truth.ink.every(Boolean));
		await silent(page);
	});

	await test(`${kind}dragging zooms all charts, double-click goes back, keys work`, async () => {
		const page = await open(kind + "even.html");
		const plot = page.locator("#chart-list .plot").first();
		await plot.scrollIntoViewIfNeeded();
		await page.waitForSelector(drawing);
		const box = await plot.boundingBox();
		await page.mouse.move(box.x + box.width * .4, box.y + box.height / 2);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * .5, box.y + box.height / 2, { steps: 4 });
		await page.mouse.move(box.x + box.width * .6, box.y + box.height / 2, { steps: 4 });
		await page.mouse.up();
		const zoomed = await range(page);
		assert.ok(zoomed[0] > 120 && zoomed[0] < 260 && zoomed[1] > 300 && zoomed[1] < 420, String(zoomed));
		assert.match(await page.locator("#range").textContent(), / to /);
		if (!kind)
			assert.deepEqual(await page.evaluate(() => [...drawn].filter((c) => c.u && c.visible).map((c) => c.u.scales.x.min === range.from)
				.filter((same) => !same)), []);
		await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
		await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
		assert.deepEqual(await range(page), [0, 600]);
		await plot.focus();
		await page.keyboard.press("+");
		assert.deepEqual(await range(page), [150, 450]);
		await page.keyboard.press("ArrowRight");
		assert.deepEqual(await range(page), [225, 525]);
		await page.keyboard.press("-");
		await page.keyboard.press("0");
		assert.deepEqual(await range(page), [0, 600]);
		await page.getByRole("button", { name: "Zoom in" }).click();
		assert.deepEqual(await range(page), [150, 450]);
		await silent(page);
	});

	await test(`${kind}CPUs: from an incident, from the picture, by key`, async () => {
		const page = await open(kind + "even.html");
		const first = page.locator("#incidents tbody tr", { hasText: "throughout" }).first();
		assert.match(await first.textContent(), /CPU 11 bench\.even 5,000\/s \(its peers 1,000\/s\)/);
		await first.locator("button").click();
		assert.equal(await page.locator("#one-row").inputValue(), "CPU 11");
		assert.match(await page.locator("#one-where").textContent(), /package 1/);
		await page.waitForSelector(`#one ${drawing}`);
		await page.getByRole("button", { name: "next" }).click();
		assert.equal(await page.locator("#one-row").inputValue(), "CPU 12");
		await page.locator("#heat-metric").selectOption({ label: "bench.level" });
		const canvas = page.locator("#heat-place .area canvas:not(.marks)");
		await canvas.scrollIntoViewIfNeeded();
		const box = await canvas.boundingBox();
		await page.mouse.move(box.x + box.width * .9, box.y + box.height * 3.5 / 16);
		assert.match(await page.locator("#heat-place .read").textContent(), /CPU 3 .*43/);
		await page.mouse.click(box.x + box.width * .9, box.y + box.height * 3.5 / 16);
		assert.equal(await page.locator("#one-row").inputValue(), "CPU 3");
		await canvas.focus();
		await page.mouse.move(1, 1);
		await page.waitForFunction(() => heat.cell === null);
		for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"])
			await page.keyboard.press(key);
		assert.equal(await page.locator("#one-row").inputValue(), "CPU 2");
		await silent(page);
	});

	await test(`${kind}an incident: said first, and a click away, with its charts`, async () => {
		const page = await open(kind + "even.html");
		const said = page.locator("#glance #incidents tbody tr", { hasText: "bench.spike" });
		assert.match(await said.first().textContent(), /\+399 s for 1 s2026-09-21 14:36:39CPU 9 bench\.spike 500 \(usually 50\.1\)$/);
		await said.locator("button").first().click();
		const [from, to] = await range(page);
		assert.ok(from > 300 && from < 399 && to > 400 && to < 500, `${from} to ${to}`);
		assert.match(await page.locator("figure.called h3").textContent(), /bench\.spike/);
		assert.match(await page.locator("#chart-list figure h3").first().textContent(), /bench\.spike/);
		assert.equal(await page.evaluate(() => document.activeElement.closest("figure").chart.metric.name), "bench.spike");
		await page.locator("#events button", { hasText: "60" }).first().click();
		assert.ok((await range(page))[0] < 60 && (await range(page))[1] < 120);
		await silent(page);
	});

	await test(`${kind}markers, hotplug and lost ticks`, async () => {
		const page = await open(kind + "even.html");
		const kinds = await page.evaluate(() => happened.map((e) => [e.type, Math.round(e.at), Math.round(e.until)]));
		assert.deepEqual(kinds, [["marker", 60, 60], ["cpu-offline", 120, 120], ["cpu-online", 240, 240], ["lost", 300, 330]]);
		const text = await page.locator("#events").textContent();
		for (const word of ["phase two", "cpu-offline CPU 5", "lost"])
			assert.ok(text.includes(word), word);
		if (kind) {
			await page.waitForSelector(drawing);
			const svg = await page.locator("#chart-list .plot svg").first().innerHTML();
			assert.ok(svg.includes("stroke-dasharray") && svg.includes('fill-opacity="0.18"'));
		}
		await silent(page);
	});

	await test(`${kind}hostile texts stay texts`, async () => {
		const page = await open(kind + "hostile.html");
		await picture(page, kind + "hostile");
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.equal(await page.locator("img").count(), 0);
		assert.ok((await page.locator("h1").textContent()).includes("</script><script>window.pwned=1"));
		assert.ok((await page.locator("#identity").textContent()).includes("\\u2028\\x1b[31m"));
		assert.ok((await page.locator("#chart-list h3").first().textContent()).includes("onerror="));
		await silent(page);
	});

	await test(`${kind}two recordings over each other`, async () => {
		const page = await open(kind + "samples.html");
		await picture(page, kind + "two");
		const legend = await page.locator("#chart-list .legend").first().textContent();
		assert.ok(legend.includes("idle.pmr") && legend.includes("loaded.pmr"), legend);
		assert.ok(await page.locator("#verdicts tbody tr").count() > 5);
		assert.match(await page.locator("#verdicts").textContent(), /INCONCLUSIVE|REGRESSED|SAME/);
		await page.locator("#heat-recording").selectOption({ label: "loaded.pmr" });
		await silent(page);
		const other = await open(kind + "two.html");
		assert.ok(await other.locator("#chart-list figure").count() > 10);
		await silent(other);
	});

	await test(`${kind}a long recording: bands, and finer when zoomed`, async () => {
		const page = await open(kind + "long.html");
		await picture(page, kind + "long");
		const bands = await page.evaluate(() => {
			const s = data.recordings[0].find.get("bench.wave\nsystem");
			const [mean, low, high] = [0, 1, 2].map((k) => unpack(s, k));
			return { n: mean.length, width: s.set.width, ordered: mean.every((v, i) => v === null || (low[i] <= v + 1 && v <= high[i] + 1)),
				open: high.some((v, i) => v > low[i]) };
		});
		assert.ok(bands.n > 1000 && bands.n <= 2048 && bands.width === 16, JSON.stringify(bands));
		assert.ok(bands.ordered && bands.open);
		await silent(page);
	});
}

await test("filters, and a table in place of a chart", async () => {
	const page = await open("even.html");
	await page.getByLabel("Metrics").fill("wave");
	await page.waitForFunction(() => document.querySelectorAll("#chart-list figure").length === 1);
	await page.getByLabel("Filter").fill("level");
	const visible = await page.locator("table.every tbody tr:visible").allTextContents();
	assert.ok(visible.length > 0 && visible.every((row) => row.includes("bench.level")), visible.join());
	/* Drawing the chart moves what is below it. */
	await shown(page);
	await page.locator("#chart-list summary").first().click();
	await page.waitForFunction(() => document.querySelectorAll("#chart-list details tbody tr").length > 50);
	await silent(page);
});

await test("what a screen reader needs", async () => {
	const page = await open("samples.html");
	await shown(page);
	const faults = await page.evaluate(() => {
		const out = [], ids = new Set();
		for (const e of document.querySelectorAll("[id]")) {
			if (ids.has(e.id) && !e.closest("svg"))
				out.push("id twice: " + e.id);
			ids.add(e.id);
		}
		for (const e of document.querySelectorAll(".plot, .heat .area canvas:not(.marks)"))
			if (!e.getAttribute("aria-label") || e.getAttribute("role") !== "img" || e.tabIndex !== 0)
				out.push("a picture without a name: " + e.className);
		for (const e of document.querySelectorAll("input, select"))
			if (!e.labels.length && !e.getAttribute("aria-label"))
				out.push("no label: " + e.id);
		for (const e of document.querySelectorAll("button"))
			if (!e.textContent.trim())
				out.push("a button without a name");
		for (const e of document.querySelectorAll("table"))
			if (![...e.querySelectorAll("th")].every((th) => th.scope))
				out.push("a head without scope");
		for (const e of document.querySelectorAll("section"))
			if (!document.getElementById(e.getAttribute("aria-labelledby")))
				out.push("a section without a name: " + e.id);
		if (document.documentElement.lang !== "en" || document.querySelectorAll("h1").length !== 1)
			out.push("language or heading");
		return out;
	});
	assert.deepEqual(faults, []);
	await silent(page);
});

// WCAG 2.2 at levels A and AA, as far as a program can tell: roles, names, contrast, order of headings.
for (const [name, colorScheme] of [["even", "light"], ["even", "dark"], ["samples", "dark"], ["hostile", "light"], ["svg-even", "light"]])
	await test(`axe has nothing against ${name}, ${colorScheme}`, async () => {
		const page = await open(name + ".html", { colorScheme });
		await shown(page);
		await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
		await page.waitForTimeout(300);
		await page.evaluate(axe);
		const { violations, passes } = await page.evaluate(() => axe.run(document, {
			runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] }));
		assert.ok(passes.length > 20, "axe looked at nothing");
		assert.deepEqual(violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " +
			n.failureSummary).join(" | ")}`), []);
		await silent(page);
	});

await test("dark, and on paper", async () => {
	const page = await open("even.html", { colorScheme: "dark" });
	await picture(page, "dark");
	assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 24, 31)");
	await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
	await page.emulateMedia({ media: "print" });
	assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
	assert.equal(await page.locator("#tools").isVisible(), false);
	await page.screenshot({ path: path.join(folder, "paper.png"), fullPage: true });
	const cut = await page.evaluate(() => [...document.querySelectorAll("#chart-list .plot, .heat")].filter((box) =>
		[...box.querySelectorAll("canvas, svg")].some((c) => c.getBoundingClientRect().right > box.getBoundingClientRect().right + 1)).length);
	assert.equal(cut, 0, "charts are cut on paper");
	assert.ok(await page.evaluate(() => document.body.clientWidth <= 700));
	await silent(page);
	const narrow = await open("even.html", { viewport: { width: 390, height: 800 } });
	await picture(narrow, "narrow");
	assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the screen");
	const hidden = await narrow.evaluate(() => [...document.querySelectorAll("#incidents .what")].filter((cell) =>
		cell.getBoundingClientRect().width < 200 || cell.getBoundingClientRect().right > innerWidth).length);
	assert.equal(hidden, 0, "incidents beside the screen");
	await silent(narrow);
	const phone = await open("samples.html", { viewport: { width: 390, height: 800 } });
	await shown(phone);
	const beside = await phone.evaluate(() => [...document.querySelectorAll("#summary tbody tr")].filter((row) => {
		const mean = row.querySelector("td.n");
		return mean && mean.getBoundingClientRect().right > innerWidth;
	}).length);
	assert.equal(beside, 0, "means beside the screen");
	const short = await phone.evaluate(() => [...document.querySelectorAll("figcaption .help")].filter((help) =>
		help.clientWidth && help.scrollWidth > help.clientWidth).length);
	assert.equal(short, 0, "descriptions of charts are cut");
	await silent(phone);
});

await test("without scripts the tables are there", async () => {
	const page = await open("even.html", { javaScriptEnabled: false });
	assert.ok(await page.locator("#summary tbody tr").count() === 4);
	assert.ok(await page.locator("#every tbody tr").count() >= 3);
	assert.ok(await page.locator("noscript").isVisible());
	await page.context().close();
});

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
