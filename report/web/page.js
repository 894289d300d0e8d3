/* The page: a chart for every metric, the CPUs, one CPU, and the tools beside them. */
const MOST_CHARTS = 200;
const two = data.recordings.length > 1;

/* Rows of a metric that stand on their own: the system, packages, devices; `rows` of all recordings. */
function linesOf(name, wanted) {
	const lines = [];
	data.recordings.forEach((rec, which) => {
		const metric = rec.metrics.findIndex((m) => m.name === name);
		if (metric < 0)
			return;
		for (const row of wanted(rec)) {
			const s = rec.find.get(name + "\n" + rec.rows[row].label);
			if (!s)
				continue;
			const many = s.set.band;
			lines.push({ label: two ? `${rec.name}: ${rec.rows[row].label}` : rec.rows[row].label, kind: rec.rows[row].kind, which,
				x: times(s.set), series: many ? [unpack(s, 0), unpack(s, 1), unpack(s, 2)] : [unpack(s, 0)],
				mean: s.mean, on: true, color: 0 });
		}
	});
	/* A band says nothing where every bucket holds one value. */
	for (const line of lines)
		if (line.series.length === 3 && line.series[1].every((v, i) => v === null || line.series[2][i] - v <= 1e-9 * Math.abs(v)))
			line.series.length = 1;
	return lines;
}
function paint(lines) {
	const packages = lines.some((l) => l.kind === "package");
	let others = 0;
	lines.forEach((line, i) => {
		line.color = two ? line.which + 2 * (line.kind === "system" ? 0 : 1 + others++ % 3) : i;
		/* Packages show what their sum hides, which is often of another size; of two recordings, the systems are compared. */
		if (two ? line.kind !== "system" && lines.some((l) => l.kind === "system") : packages && line.kind === "system")
			line.on = false;
		if (i > 12 && !two)
			line.on = false;
	});
	return lines;
}
/* A line that has one bucket only is a level from end to end. */
function widen(lines) {
	for (const line of lines) {
		if (line.x.length !== 1)
			continue;
		line.x = [0, data.recordings[line.which].duration];
		line.series = line.series.map((v) => [v[0], v[0]]);
	}
	return lines;
}
function describe(rec, metric, rows) {
	const m = rec.metrics[metric];
	const parts = rows.map((row) => [rec.rows[row], rec.find.get(m.name + "\n" + rec.rows[row].label)]).filter(([, s]) => s)
		.slice(0, 6).map(([row, s]) => `${row.label} mean ${withUnit(s.mean, m.unit)}, from ${shortNumber(s.low)} to ${shortNumber(s.high)}`);
	return `${m.display} over time: ${parts.join("; ")}`;
}
const nearRows = (rec) => rec.rows.map((row, i) => i).filter((i) => !rec.rows[i].far);

function metricChart(rec, metric) {
	const m = rec.metrics[metric];
	return makeChart(m.display, m.unit, m.help, () => widen(paint(linesOf(m.name, nearRows))), describe(rec, metric, nearRows(rec)));
}

/* Metrics of all recordings that have series at places of that kind, each once. */
function metricsWith(set) {
	const out = [], names = new Set();
	for (const rec of data.recordings) {
		const there = new Set(rec[set].list.map((s) => s.metric));
		rec.metrics.forEach((m, i) => {
			if (there.has(i) && !names.has(m.name)) {
				names.add(m.name);
				out.push([rec, i]);
			}
		});
	}
	return out;
}

const listed = [];
function listCharts(filter) {
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	const wanted = metricsWith("near").filter(([rec, i]) => {
		const text = `${rec.metrics[i].name} ${rec.metrics[i].display} ${rec.metrics[i].help}`.toLowerCase();
		return words.every((word) => text.includes(word));
	});
	for (const chart of listed.splice(0))
		dropChart(chart);
	for (const [rec, i] of wanted.slice(0, MOST_CHARTS)) {
		const chart = metricChart(rec, i);
		listed.push(chart);
		byId("chart-list").append(chart.figure);
	}
	const more = byId("chart-more");
	more.hidden = wanted.length > 0 && wanted.length <= MOST_CHARTS;
	more.textContent = !wanted.length ? "No metric has that in its name." :
		`${wanted.length - MOST_CHARTS} more: narrow the list with a part of a name.`;
}

/* ---- one CPU ---- */
const one = { charts: [], labels: [] };
function openRow(label, stay) {
	const select = byId("one-row");
	if (!one.labels.includes(label))
		return;
	select.value = label;
	for (const chart of one.charts.splice(0))
		dropChart(chart);
	const place = byId("one-list");
	for (const [rec, i] of metricsWith("far")) {
		const m = rec.metrics[i];
		const rowsOf = (r) => r.rows.map((row, k) => k).filter((k) => r.rows[k].far && r.rows[k].label === label);
		if (!data.recordings.some((r) => r.find.has(m.name + "\n" + label)))
			continue;
		const make = () => {
			const lines = widen(linesOf(m.name, rowsOf));
			lines.forEach((line) => { line.color = line.which; line.on = true; });
			return lines;
		};
		const chart = makeChart(m.display, m.unit, m.help, make, describe(rec, i, rowsOf(rec)));
		one.charts.push(chart);
		place.append(chart.figure);
	}
	const row = data.recordings.flatMap((r) => r.rows).find((r) => r.label === label);
	byId("one-where").textContent = row && row.place ? `${label}: ${row.place}` : label;
	if (!stay) {
		byId("one").scrollIntoView();
		byId("one").focus({ preventScroll: true });
	}
}
function buildOne() {
	const select = byId("one-row"), known = new Set();
	for (const rec of data.recordings)
		for (const s of rec.far.list)
			known.add(rec.rows[s.row].label);
	one.labels = [...known].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
	if (!one.labels.length) {
		byId("one-where").textContent = "No series of single CPUs are in this page.";
		return;
	}
	select.append(...one.labels.map((label) => make("option", { value: label }, label)));
	select.addEventListener("change", () => openRow(select.value, true));
	const step = (by) => openRow(one.labels[(one.labels.indexOf(select.value) + by + one.labels.length) % one.labels.length], true);
	byId("one-before").addEventListener("click", () => step(-1));
	byId("one-after").addEventListener("click", () => step(1));
	byId("one-tools").hidden = false;
	const cpu = one.labels.find((label) => label.startsWith("CPU"));
	openRow(cpu || one.labels[0], true);
}

/* ---- tools ---- */
function showRange() {
	const step = (range.to - range.from) / 100;
	byId("range").textContent = range.from === 0 && range.to === longest ? `all of ${clock(longest, 1)}` :
		`${clock(range.from, step)} to ${clock(range.to, step)}`;
	redrawAll(false);
}
function buildTools() {
	byId("tools").hidden = false;
	byId("every-tools").hidden = false;
	for (const button of document.querySelectorAll("[data-zoom]"))
		button.addEventListener("click", () => zoom(button.dataset.zoom));
	let waiting = 0;
	byId("chart-filter").addEventListener("input", (event) => {
		clearTimeout(waiting);
		waiting = setTimeout(() => listCharts(event.target.value), 120);
	});
	const rows = [...document.querySelectorAll("table.every tbody tr")], count = byId("every-count");
	const filter = (text) => {
		const words = text.toLowerCase().split(/\s+/).filter(Boolean);
		let n = 0;
		for (const row of rows) {
			const content = (row.textContent + " " + row.firstElementChild.title).toLowerCase();
			row.hidden = !words.every((word) => content.includes(word));
			n += !row.hidden;
		}
		count.textContent = `${n} of ${rows.length}`;
	};
	byId("every-filter").addEventListener("input", (event) => filter(event.target.value));
	count.textContent = `${rows.length}`;
	for (const button of document.querySelectorAll("button.open"))
		button.addEventListener("click", () => openRow(button.textContent));
}

listCharts("");
buildTools();
showRange();
range.watchers.add(showRange);
/* What is further down is made after the first picture. */
requestAnimationFrame(() => setTimeout(() => {
	heatBuild();
	buildOne();
	document.documentElement.dataset.ready = "yes";
}, 0));

let resizing = 0;
addEventListener("resize", () => {
	clearTimeout(resizing);
	resizing = setTimeout(() => redrawAll(false), 100);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawAll(false));
addEventListener("beforeprint", () => {
	document.documentElement.dataset.print = "yes";
	redrawAll(true);
});
addEventListener("afterprint", () => {
	delete document.documentElement.dataset.print;
	redrawAll(false);
});
