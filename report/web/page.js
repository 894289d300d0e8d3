/* The page: a chart for every metric, the CPUs, one CPU, and the tools beside them. */
const MOST_CHARTS = 200;
const two = data.recordings.length > 1;

/* Rows of a metric that stand on their own: the system, packages, devices; `rows` of all recordings. */
function linesOf(name, wanted) {
	const lines = [];
	data.recordings.forEach((rec, which) => {
		if (!rec.byName.has(name))
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
	return makeChart(m, () => widen(paint(linesOf(m.name, nearRows))), describe(rec, metric, nearRows(rec)));
}
/* The value that series have at all times, all of them; null: they do not. */
function constant(seriesOf) {
	let value = null;
	for (const s of data.recordings.flatMap(seriesOf)) {
		if (s.mean === null)
			continue;
		if (s.low !== s.high || (value !== null && value !== s.low))
			return null;
		value = s.low;
	}
	return value;
}

/* Metrics of all recordings that have series at places of that kind, each once. */
function metricsWith(set) {
	const out = [], names = new Set();
	for (const rec of data.recordings) {
		const there = set === "near" ? rec.nearBy : rec.farBy;
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
/* Metrics of the incident that was asked for last: their charts come first. */
let picked = [];
/* Fills a grid with charts of what moves; what did not stands behind a line that says what it was. `wanted` has
 * { metric, value (null: it moves), make() } each. */
function placeCharts(wanted, grid, rest) {
	const still = wanted.filter((one) => one.value !== null), moving = wanted.filter((one) => one.value === null);
	const charts = [], place = (list, where) => list.slice(0, MOST_CHARTS).forEach((one) => {
		const chart = one.make();
		charts.push(chart);
		where.append(chart.figure);
	});
	place(moving, grid);
	place(still, rest.lastElementChild);
	rest.hidden = !still.length;
	rest.firstElementChild.textContent = `${still.length} ${moving.length ? "more " : ""}did not change: ` +
		still.slice(0, 12).map((one) => `${one.metric.display} ${withUnit(one.value, one.metric.unit)}`).join(", ") +
		(still.length > 12 ? ", \u2026" : "");
	return charts;
}
function listCharts(filter) {
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	const wanted = metricsWith("near").filter(([rec, i]) => {
		const text = `${rec.metrics[i].name} ${rec.metrics[i].display} ${rec.metrics[i].help}`.toLowerCase();
		return words.every((word) => text.includes(word));
	});
	const place = ([rec, i]) => picked.includes(rec.metrics[i].name) ? picked.indexOf(rec.metrics[i].name) : picked.length;
	wanted.sort((a, b) => place(a) - place(b));
	for (const chart of listed.splice(0))
		dropChart(chart);
	listed.push(...placeCharts(wanted.map(([rec, i]) => ({ metric: rec.metrics[i], make: () => metricChart(rec, i),
		value: words.length ? null : constant((r) => r.nearBy.get(r.byName.get(rec.metrics[i].name)) || []) })),
	byId("chart-list"), byId("chart-constant")));
	const more = byId("chart-more"), moving = words.length ? wanted.length : byId("chart-list").childElementCount;
	more.hidden = wanted.length > 0 && wanted.length <= MOST_CHARTS;
	more.textContent = moving ? `${wanted.length - MOST_CHARTS} more: narrow the list with a part of a name.` :
		words.length ? "No metric that is drawn has that in its name; the table of every metric may have it." :
			"No metric was recorded of the system, packages or devices that could be drawn.";
}
/* Shows a chart to whoever asked for it, and where the keyboard is from then on. */
function call(chart) {
	if (!chart)
		return;
	const around = chart.figure.closest("details");
	if (around)
		around.open = true;
	for (const other of document.querySelectorAll("figure.called"))
		other.classList.remove("called");
	chart.figure.classList.add("called");
	chart.figure.scrollIntoView({ block: "center" });
	chart.plot.focus({ preventScroll: true });
}
function callMetrics(names) {
	picked = names;
	byId("chart-filter").value = "";
	listCharts("");
	const charts = names.map((name) => listed.find((chart) => chart.metric.name === name)).filter(Boolean);
	call(charts[0]);
	for (const chart of charts)
		chart.figure.classList.add("called");
	return charts.length > 0;
}
function callMetric(name) {
	if (!listed.some((chart) => chart.metric.name === name)) {
		byId("chart-filter").value = "";
		listCharts("");
	}
	call(listed.find((chart) => chart.metric.name === name));
}
/* With what was before and after, so that it can be seen against that. */
function zoomTo(from, to) {
	const room = Math.max((to - from) * 4, data.recordings[0].near.width * 15, longest / 200);
	asked.from = from;
	asked.to = to;
	setRange(from - room, to + room);
	redrawAll(false);
}

/* ---- one CPU ---- */
const one = { charts: [], labels: [] };
function openRow(label, stay, metric) {
	const select = byId("one-row");
	if (!one.labels.includes(label))
		return;
	select.value = label;
	for (const chart of one.charts.splice(0))
		dropChart(chart);
	const wanted = [];
	for (const [rec, i] of metricsWith("far")) {
		const m = rec.metrics[i];
		const rowsOf = (r) => r.rows.map((row, k) => k).filter((k) => r.rows[k].far && r.rows[k].label === label);
		const seriesOf = (r) => r.find.get(m.name + "\n" + label) || [];
		const lines = () => {
			const out = widen(linesOf(m.name, rowsOf));
			out.forEach((line) => { line.color = line.which; line.on = true; });
			return out;
		};
		if (data.recordings.some((r) => r.find.has(m.name + "\n" + label)))
			wanted.push({ metric: m, value: constant(seriesOf), make: () => makeChart(m, lines, describe(rec, i, rowsOf(rec))) });
	}
	one.charts = placeCharts(wanted, byId("one-list"), byId("one-constant"));
	const row = data.recordings.flatMap((r) => r.rows).find((r) => r.label === label);
	byId("one-where").textContent = row && row.place ? row.place : "";
	if (metric) {
		call(one.charts.find((chart) => chart.metric.name === metric));
	} else if (!stay) {
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
		byId("one-none").hidden = false;
		byId("one-none").textContent = data.reducedFar ? "Single CPUs were left out to keep the page small." :
			"Nothing that is drawn was recorded of single CPUs, cores or tasks.";
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
	byId("chart-tools").hidden = false;
	byId("every-tools").hidden = false;
	for (const [kind, [name]] of Object.entries(eventKinds))
		if (happened.some((e) => eventKind(e) === kind))
			byId("event-keys").append(make("li", null, make("i", { class: kind }), name));
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
	document.addEventListener("click", (event) => {
		const button = event.target.closest("button.open");
		if (!button)
			return;
		const { metric, metrics, row, from, to } = button.dataset;
		if (from !== undefined)
			zoomTo(Number(from), Number(to));
		const several = (metrics || "").split("\t").filter(Boolean);
		if (row !== undefined)
			openRow(row, false, metric || several[0]);
		else if (several.length && callMetrics(several))
			return;
		else if (metric !== undefined)
			callMetric(metric);
		else
			byId("charts").scrollIntoView();
	});
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

/* Colors, or the room that there is, have changed. */
function redrawPage(also) {
	redrawAll(also);
	if (heat.canvas)
		heatDraw();
}
let resizing = 0;
addEventListener("resize", () => {
	clearTimeout(resizing);
	resizing = setTimeout(() => redrawPage(false), 100);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawPage(false));
addEventListener("beforeprint", () => {
	document.documentElement.dataset.print = "yes";
	redrawPage(true);
});
addEventListener("afterprint", () => {
	delete document.documentElement.dataset.print;
	redrawPage(true);
});
