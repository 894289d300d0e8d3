/*
 * One chart: lines with bands over time. uPlot draws it where the page has that, else an inline SVG; both show the same
 * and obey the same range.
 */
const hasPlot = typeof uPlot === "function";
const drawn = new Set(); /* charts that are on the page, to be drawn anew when colors change */

/* lines: [{ label, color (number), series: [mean, low, high] or [mean], x, on }] */
function mergeLines(lines, width) {
	const shown = lines.filter((l) => l.on), fitted = shown.map((l) => coarser(l, width));
	if (!shown.length)
		return { x: [0, longest], columns: [], shown };
	if (fitted.every((l) => l.x === fitted[0].x || same(l.x, fitted[0].x)))
		return { x: fitted[0].x, columns: fitted.map((l) => l.series), shown };
	/* Different buckets: every line keeps its own times, and between them it goes on (undefined), where a gap of
	 * its own is null. */
	const all = [...new Set(fitted.flatMap((l) => l.x))].sort((a, b) => a - b);
	const columns = fitted.map((l) => {
		const at = new Map(l.x.map((t, i) => [t, i]));
		return l.series.map((values) => all.map((t) => at.has(t) ? values[at.get(t)] : undefined));
	});
	return { x: all, columns, shown };
}
/* More points than pixels hide what they should show: buckets in range become fewer, with bands. */
function coarser(line, width) {
	const { x } = line;
	let first = 0, last = x.length;
	while (first < last && x[first] < range.from)
		first++;
	while (last > first && x[last - 1] > range.to)
		last--;
	const n = Math.floor((last - first) / Math.max(width / 2, 50));
	if (n < 2)
		return line;
	const mean = line.series[0], low = line.series[1] || mean, high = line.series[2] || mean, out = [[], [], []], times = [];
	for (let i = Math.max(0, Math.floor(first / n) - 1) * n; i < Math.min(last + n, x.length); i += n) {
		const end = Math.min(i + n, x.length);
		let sum = 0, count = 0, least = Infinity, most = -Infinity;
		for (let k = i; k < end; k++) {
			if (mean[k] === null)
				continue;
			sum += mean[k];
			count++;
			least = Math.min(least, low[k]);
			most = Math.max(most, high[k]);
		}
		times.push((x[i] + x[end - 1]) / 2);
		out[0].push(count ? sum / count : null);
		out[1].push(count ? least : null);
		out[2].push(count ? most : null);
	}
	return { x: times, series: out };
}
const same = (a, b) => a.length === b.length && a.every((v, i) => v === b[i]);

/* Lowest and highest of what is in range; a little room, and 0 if it is near. */
function extent(x, columns, from, to, unit) {
	let low = Infinity, high = -Infinity;
	for (const column of columns)
		for (const values of column)
			for (let i = 0; i < x.length; i++) {
				const v = values[i];
				if (v == null || x[i] < from || x[i] > to)
					continue;
				if (v < low)
					low = v;
				if (v > high)
					high = v;
			}
	if (low > high)
		return [0, 1];
	if (low >= 0 && low < high / 2)
		low = 0;
	if (high <= 0 && high > low / 2)
		high = 0;
	/* Shares of time reach to 100 % and no further. */
	if (unit === "%" && low >= 0 && high > 94 && high <= 100)
		return [low < 50 || low === high ? 0 : low - (100 - low) * .06, 100];
	if (low === high) {
		const room = Math.abs(low) / 10 || 1;
		return [low === 0 ? 0 : low - room, high + room];
	}
	const room = (high - low) * .06;
	return [low === 0 ? 0 : low - room, high === 0 ? 0 : high + room];
}

/* ---- with uPlot ---- */
function eventsPlugin() {
	return { hooks: { drawClear: [(u) => {
		const { ctx, bbox } = u;
		ctx.save();
		ctx.beginPath();
		ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
		ctx.clip();
		if (asked.to > asked.from) {
			const x = u.valToPos(asked.from, "x", true);
			ctx.fillStyle = faint(style("--accent"), .13);
			ctx.fillRect(x, bbox.top, u.valToPos(asked.to, "x", true) - x, bbox.height);
		}
		for (const e of happened) {
			const x = u.valToPos(e.at, "x", true);
			ctx.strokeStyle = ctx.fillStyle = eventColor(e);
			if (e.until > e.at) {
				const to = u.valToPos(e.until, "x", true);
				ctx.globalAlpha = .18;
				ctx.fillRect(x, bbox.top, Math.max(to - x, 2), bbox.height);
				ctx.globalAlpha = 1;
				continue;
			}
			ctx.lineWidth = devicePixelRatio;
			ctx.setLineDash(e.type === "marker" ? [] : [4, 3]);
			ctx.beginPath();
			ctx.moveTo(x, bbox.top);
			ctx.lineTo(x, bbox.top + bbox.height);
			ctx.stroke();
		}
		ctx.restore();
	}] } };
}

const labelRoom = (names) => Math.max(40, ...(names || []).map((name) => name.length * 6.4 + 16));
/* Several bands over each other have to let each other through. */
const bandPart = (shown) => shown.length > 2 ? .12 : .2;

function plotUplot(chart) {
	const { x, columns, shown } = mergeLines(chart.lines, chart.plot.clientWidth - 62);
	const series = [{}], bands = [], values = [x];
	shown.forEach((line, i) => {
		const stroke = color(line.color);
		const points = { show: x.length <= 40, size: 5 };
		series.push({ label: line.label, stroke, width: 1.6, points });
		values.push(columns[i][0]);
		if (columns[i].length === 3) {
			series.push({ stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } });
			values.push(columns[i][2], columns[i][1]);
			bands.push({ series: [series.length - 2, series.length - 1], fill: faint(stroke, bandPart(shown)) });
		}
	});
	const soft = style("--soft"), grid = { stroke: style("--grid"), width: 1 };
	const options = {
		width: Math.max(chart.plot.clientWidth, 120), height: chart.plot.clientHeight || 190, legend: { show: false },
		padding: [8, 24, 0, 0], series, bands, plugins: [eventsPlugin()],
		cursor: { sync: { key: "time", setSeries: false }, points: { size: 6 }, drag: { x: true, y: false, setScale: false },
			bind: { dblclick: () => () => { zoom("all"); return null; } } },
		scales: { x: { time: false, range: () => [range.from, range.to] },
			y: { range: () => extent(x, columns, range.from, range.to, chart.unit) } },
		axes: [
			{ stroke: soft, grid, ticks: grid, size: 26, font: "11px sans-serif", space: 80, incrs: timeSteps,
				values: (u, at, axis, space, step) => at.map((t) => clock(t, step)) },
			{ stroke: soft, grid, ticks: grid, size: (u, names) => labelRoom(names), font: "11px sans-serif",
				values: (u, at) => axisNumbers(at) },
		],
		hooks: {
			setSelect: [(u) => {
				if (u.select.width > 3)
					setRange(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
				u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
			}],
			setCursor: [(u) => readOut(chart, x, columns, shown, u.cursor.idx)],
		},
	};
	if (chart.u)
		chart.u.destroy();
	chart.u = new uPlot(options, values, chart.plot);
}

/* ---- with inline SVG: markup of our own numbers only ---- */
function ticks(from, to, most) {
	const raw = (to - from) / most, power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
	return { at: multiples(from, to, step), step };
}
function multiples(from, to, step) {
	const out = [];
	for (let t = Math.ceil(from / step) * step; t <= to + step / 1e6; t += step)
		out.push(Math.abs(t) < step / 1e6 ? 0 : t);
	return out;
}
function timeTicks(from, to, most) {
	const step = timeSteps.find((n) => (to - from) / n <= most) || timeSteps[timeSteps.length - 1];
	return { at: multiples(from, to, step), step };
}

function plotSvg(chart) {
	const { x, columns, shown } = mergeLines(chart.lines, chart.plot.clientWidth - 62);
	const width = Math.max(chart.plot.clientWidth, 120), height = chart.plot.clientHeight || 190;
	const right = 24, top = 8, bottom = 24;
	const [low, high] = extent(x, columns, range.from, range.to, chart.unit);
	const over = timeTicks(range.from, range.to, Math.max(2, width / 90)), up = ticks(low, high, 5), names = axisNumbers(up.at);
	const left = labelRoom(names);
	const px = (t) => left + (t - range.from) / (range.to - range.from) * (width - left - right);
	const py = (v) => height - bottom - (v - low) / (high - low) * (height - top - bottom);
	const f = (n) => n.toFixed(1), out = [];
	const span = (a, b, fill, part) => out.push(`<rect x="${f(px(a))}" y="${top}" width="${f(Math.max(px(b) - px(a), 2))}" height="${
		height - top - bottom}" fill="${fill}" fill-opacity="${part}"/>`);
	const across = (t, stroke, dash) => out.push(`<line x1="${f(px(t))}" x2="${f(px(t))}" y1="${top}" y2="${height - bottom}" stroke="${
		stroke}"${dash ? ' stroke-dasharray="4 3"' : ""}/>`);
	const id = "clip" + chart.number;
	out.push(`<clipPath id="${id}"><rect x="${left}" y="${top}" width="${width - left - right}" height="${height - top - bottom}"/></clipPath>`);
	up.at.forEach((v, i) =>
		out.push(`<line x1="${left}" x2="${width - right}" y1="${f(py(v))}" y2="${f(py(v))}" stroke="${style("--grid")}"/>` +
			`<text x="${left - 6}" y="${f(py(v) + 4)}" text-anchor="end">${names[i]}</text>`));
	for (const t of over.at) {
		across(t, style("--grid"), false);
		out.push(`<text x="${f(px(t))}" y="${height - 6}" text-anchor="middle">${clock(t, over.step)}</text>`);
	}
	out.push(`<g clip-path="url(#${id})" fill="none">`);
	if (asked.to > asked.from)
		span(asked.from, asked.to, style("--accent"), .13);
	for (const e of happened) {
		if (e.until > e.at)
			span(e.at, e.until, eventColor(e), .18);
		else
			across(e.at, eventColor(e), e.type !== "marker");
	}
	shown.forEach((line, i) => {
		const stroke = color(line.color), [mean, lows, highs] = columns[i];
		if (lows)
			for (const [a, b] of stretches(mean)) {
				const there = [];
				for (let k = a; k <= b; k++)
					if (lows[k] != null)
						there.push(k);
				out.push(`<path fill="${stroke}" fill-opacity="${bandPart(shown)}" d="M${there.map((k) => f(px(x[k])) + " " + f(py(highs[k]))).join("L")}L${
					there.reverse().map((k) => f(px(x[k])) + " " + f(py(lows[k]))).join("L")}Z"/>`);
			}
		for (const [a, b] of stretches(mean)) {
			const points = [];
			for (let k = a; k <= b; k++)
				if (mean[k] != null)
					points.push(f(px(x[k])) + " " + f(py(mean[k])));
			out.push(`<path stroke="${stroke}" stroke-width="1.6" d="M${points.join("L")}"/>`);
		}
		if (x.length <= 40)
			mean.forEach((v, k) => v != null && out.push(`<circle cx="${f(px(x[k]))}" cy="${f(py(v))}" r="2.5" fill="${stroke}"/>`));
	});
	out.push(`</g><rect class="drag" y="${top}" height="${height - top - bottom}" width="0" fill="${style("--accent")}" fill-opacity=".18"/>`);
	chart.plot.innerHTML = `<svg viewBox="0 0 ${width} ${height}" aria-hidden="true" focusable="false">${out.join("")}</svg>`;
	chart.atPixel = (p) => range.from + (p - left) / (width - left - right) * (range.to - range.from);
	chart.nearest = (p) => {
		const t = chart.atPixel(p);
		let best = null;
		x.forEach((v, k) => { if (best === null || Math.abs(v - t) < Math.abs(x[best] - t)) best = k; });
		readOut(chart, x, columns, shown, best);
	};
}
/* From where to where a line is unbroken: null breaks it, undefined does not. */
function stretches(values) {
	const out = [];
	let from = null;
	for (let i = 0; i <= values.length; i++) {
		if (i < values.length && values[i] !== null)
			from = from === null ? i : from;
		else if (from !== null) {
			out.push([from, i - 1]);
			from = null;
		}
	}
	return out;
}
function dragSvg(chart) {
	let start = null;
	const at = (event) => event.clientX - chart.plot.getBoundingClientRect().left;
	chart.plot.addEventListener("pointerdown", (event) => { start = at(event); chart.plot.setPointerCapture(event.pointerId); });
	chart.plot.addEventListener("pointermove", (event) => {
		chart.nearest(at(event));
		const box = chart.plot.querySelector(".drag");
		if (start !== null && box) {
			box.setAttribute("x", Math.min(start, at(event)));
			box.setAttribute("width", Math.abs(at(event) - start));
		}
	});
	chart.plot.addEventListener("pointerup", (event) => {
		const from = start, to = at(event);
		start = null;
		if (from !== null && Math.abs(to - from) > 3)
			setRange(chart.atPixel(Math.min(from, to)), chart.atPixel(Math.max(from, to)));
		else if (chart.plot.querySelector(".drag"))
			chart.plot.querySelector(".drag").setAttribute("width", "0");
	});
	chart.plot.addEventListener("pointerleave", () => readOut(chart));
	chart.plot.addEventListener("dblclick", () => zoom("all"));
}

/* ---- around both ---- */
function readOut(chart, x, columns, shown, i) {
	if (i == null || !shown) {
		chart.read.textContent = "";
		return;
	}
	const step = x.length > 1 ? x[1] - x[0] : longest, near = (range.to - range.from) / 100;
	const told = happened.filter((e) => x[i] >= e.at - near && x[i] <= Math.max(e.at, e.until) + near).slice(0, 3).map((e) => e.text);
	chart.read.textContent = moment(x[i], step) + "  " + shown.map((line, k) => {
		const column = columns[k], v = column[0][i];
		if (v === undefined)
			return null;
		const reach = column[1] && v !== null && column[2][i] - column[1][i] > 1e-9 * Math.abs(v) ?
			" (" + shortNumber(column[1][i]) + " to " + shortNumber(column[2][i]) + ")" : "";
		return line.label + " " + withUnit(v, chart.unit) + reach;
	}).filter(Boolean).concat(told).join(", ");
}

function drawChart(chart) {
	if (hasPlot)
		plotUplot(chart);
	else
		plotSvg(chart);
	chart.legend.replaceChildren(...chart.lines.map((line) => {
		const mark = make("i");
		mark.style.background = color(line.color);
		return make("li", null, make("button", { type: "button", "aria-pressed": String(line.on), onclick: () => {
			line.on = !line.on;
			drawChart(chart);
		} }, mark, line.label, " ", make("b", null, withUnit(line.mean, chart.unit))));
	}));
}

function fillTable(chart, place) {
	if (!chart.lines)
		chart.lines = chart.makeLines();
	const { x, columns, shown } = mergeLines(chart.lines, 400);
	const inside = x.map((t, i) => i).filter((i) => x[i] >= range.from && x[i] <= range.to);
	const every = Math.ceil(inside.length / 200) || 1, step = x.length > 1 ? x[1] - x[0] : longest;
	const head = make("tr", null, make("th", { scope: "col" }, "At"), ...shown.map((l) => make("th", { scope: "col" }, l.label)));
	const rows = inside.filter((i, k) => k % every === 0).map((i) => make("tr", null, make("th", { scope: "row" }, clock(x[i], step)),
		...columns.map((c) => make("td", { class: "n" }, c[0][i] == null ? "-" : shortNumber(c[0][i])))));
	place.replaceChildren(make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": chart.title + " as a table" },
		make("table", null, make("thead", null, head), make("tbody", null, ...rows))));
}

let charts = 0;
const seen = new IntersectionObserver((entries) => {
	for (const entry of entries) {
		const chart = entry.target.chart;
		chart.visible = entry.isIntersecting;
		if (chart.visible && chart.stale)
			refresh(chart);
	}
}, { rootMargin: "900px" });
function refresh(chart) {
	if (!chart.lines)
		chart.lines = chart.makeLines();
	chart.stale = false;
	drawChart(chart);
}
/* A figure for a metric; `makeLines` is asked when it is first seen. */
function makeChart(metric, makeLines, describe) {
	const { display: title, unit, help } = metric;
	const chart = { metric, title, unit, makeLines, stale: true, visible: false, number: ++charts };
	chart.plot = make("div", { class: "plot", tabindex: "0", role: "img", "aria-label": describe });
	chart.legend = make("ul", { class: "legend" });
	chart.read = make("div", { class: "read", "aria-hidden": "true" });
	const body = make("div"), table = make("details", { ontoggle: () => table.open && fillTable(chart, body) },
		make("summary", { "aria-label": `${title} as a table` }, "as a table"), body);
	chart.figure = make("figure", { "aria-label": title }, make("figcaption", null, make("h3", { title }, title),
		make("span", { class: "unit" }, unit === "1" ? "" : unit), help ? make("span", { class: "help", title: help }, help) : null),
	chart.plot, chart.legend, chart.read, table);
	chart.figure.chart = chart;
	chart.plot.addEventListener("keydown", (event) => {
		const how = zoomKeys[event.key];
		if (!how || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		zoom(how);
	});
	if (!hasPlot)
		dragSvg(chart);
	drawn.add(chart);
	seen.observe(chart.figure);
	return chart;
}
function dropChart(chart) {
	seen.unobserve(chart.figure);
	drawn.delete(chart);
	if (chart.u)
		chart.u.destroy();
	chart.figure.remove();
}
function redrawAll(also) {
	for (const chart of drawn) {
		if (chart.visible || (also && chart.figure.isConnected))
			refresh(chart);
		else
			chart.stale = true;
	}
}
