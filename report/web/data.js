"use strict";
/* What the page holds: recordings, their metrics and rows, and series that are unpacked when they are drawn. */
const data = JSON.parse(document.getElementById("data").textContent);
const numbers = (() => {
	const place = document.getElementById("numbers");
	const text = atob(place.textContent);
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	place.remove();
	return bytes;
})();

/* Series by "metric\nrow label", and by metric, one map a recording; a series knows where its numbers lie. */
for (const rec of data.recordings) {
	rec.find = new Map();
	rec.byName = new Map(rec.metrics.map((m, i) => [m.name, i]));
	rec.nearBy = new Map();
	rec.farBy = new Map();
	for (const [set, by] of [[rec.near, rec.nearBy], [rec.far, rec.farBy]]) {
		const size = set.buckets * set.bytes * (set.band ? 3 : 1);
		set.list = set.list.map(([metric, row, low, high, mean], i) => {
			const s = { set, metric, row, low, high, mean, at: set.offset + i * size };
			rec.find.set(rec.metrics[metric].name + "\n" + rec.rows[row].label, s);
			if (!by.has(metric))
				by.set(metric, []);
			by.get(metric).push(s);
			return s;
		});
	}
}
const longest = Math.max(...data.recordings.map((rec) => rec.duration), 1e-9);

/* The numbers of one kind (0 mean, 1 lowest, 2 highest) as values; null where there is none. */
function unpack(s, kind) {
	const { buckets, bytes, band } = s.set, out = new Array(buckets), most = bytes === 1 ? 254 : 65534;
	let at = s.at + (band ? kind : 0) * buckets * bytes;
	for (let i = 0; i < buckets; i++, at += bytes) {
		const n = bytes === 1 ? numbers[at] : numbers[at] | numbers[at + 1] << 8;
		out[i] = n ? s.low + (n - 1) / most * (s.high - s.low) : null;
	}
	return out;
}
/* Middles of the buckets, seconds from the start; one bucket alone is drawn from end to end. */
function times(set) {
	if (!set.times) {
		set.times = [];
		for (let i = 0; i < set.buckets; i++)
			set.times.push((i + .5) * set.width);
	}
	return set.times;
}

const shortNumber = (v) => {
	const size = Math.abs(v);
	if (size >= 1e5) {
		for (const [limit, letter] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
			if (size >= limit)
				return trimmed(v / limit) + letter;
	}
	return trimmed(v);
};
function trimmed(v) {
	if (v === 0)
		return "0";
	const text = Math.abs(v) >= 1000 ? v.toFixed(0) : v.toPrecision(4);
	return text.includes("e") ? text : text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
/* Labels of an axis: of one size, and so exact that no two look alike. */
function axisNumbers(at) {
	const most = Math.max(...at.map(Math.abs)), step = at.length > 1 ? Math.abs(at[1] - at[0]) : most || 1;
	const [by, letter] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]].find(([limit]) => most >= limit) || [1, ""];
	const unit = letter === "k" ? 1e3 : by, digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9)));
	return at.map((v) => v === 0 ? "0" : (v / unit).toFixed(digits + (Math.abs(step / unit * 10 ** digits % 1) > 1e-6 ? 1 : 0)) + letter);
}
const timeSteps = [];
for (let power = 1e-6; power < .9; power *= 10)
	timeSteps.push(power, 2 * power, 5 * power);
timeSteps.push(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800);

const withUnit = (v, unit) => v == null ? "no value" : shortNumber(v) + (unit && unit !== "1" ? " " + unit : "");
function clock(s, step) {
	const digits = step === undefined || step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step)));
	const sign = s < 0 ? "\u2212" : "";
	s = Math.abs(s);
	if (longest < 120)
		return sign + s.toFixed(digits) + " s";
	const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60, rest = (s % 60).toFixed(digits);
	const two = (n) => String(n).padStart(2, "0");
	return sign + (longest >= 3600 ? h + ":" + two(m) : String(h * 60 + m)) + ":" +
		rest.padStart(digits ? 3 + digits : 2, "0");
}
/* With the wall time of the first recording, if it has one. */
function moment(s, step) {
	const start = data.recordings[0].start;
	let text = clock(s, step);
	if (start && data.recordings.length === 1)
		text += "  " + new Date(start + s * 1000).toISOString().replace("T", " ").replace(/\.(\d+)Z/, step < 1 ? ".$1Z" : "Z");
	return text;
}

/* ---- making elements: text is always text ---- */
function make(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name === "class")
			e.className = value;
		else if (name.startsWith("on"))
			e.addEventListener(name.slice(2), value);
		else if (value !== false && value != null)
			e.setAttribute(name, value === true ? "" : value);
	}
	e.append(...children.filter((c) => c != null));
	return e;
}
const byId = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const color = (i) => style("--s" + i % 8);
/* #rrggbb with less of it. */
const faint = (hex, part) => hex + Math.round(part * 255).toString(16).padStart(2, "0");

/* ---- the time range that all charts show ---- */
const range = { from: 0, to: longest, watchers: new Set() };
function setRange(from, to) {
	const least = longest / 1e5;
	if (!(to - from > least)) {
		const middle = (from + to) / 2;
		from = middle - least / 2;
		to = middle + least / 2;
	}
	const width = Math.min(to - from, longest);
	from = Math.max(0, Math.min(from, longest - width));
	to = from + width;
	if (from === range.from && to === range.to)
		return;
	range.from = from;
	range.to = to;
	for (const watcher of range.watchers)
		watcher();
}
function zoom(how) {
	const width = range.to - range.from, middle = (range.from + range.to) / 2;
	const moves = {
		in: () => setRange(middle - width / 4, middle + width / 4),
		out: () => setRange(middle - width, middle + width),
		left: () => setRange(range.from - width / 4, range.to - width / 4),
		right: () => setRange(range.from + width / 4, range.to + width / 4),
		all: () => setRange(0, longest),
	};
	moves[how]();
}
const zoomKeys = { "+": "in", "=": "in", "-": "out", "\u2212": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" };

/* The moment that was asked for last, which charts show. */
const asked = { from: 0, to: 0 };

/* What happened: lines for moments, stretches where nothing was recorded. */
const happened = data.recordings.flatMap((rec, which) =>
	rec.events.map(([at, until, type, cpu, text]) => ({ at, until, type, cpu, text, which })));
const eventKind = (e) => e.type === "marker" ? "marker" : e.type.startsWith("cpu-") ? "hotplug" : e.type === "lost" || e.until > e.at ? "lost" : "other";
const eventKinds = {
	marker: ["marker", "--s3"], hotplug: ["CPU came or went", "--warn"], lost: ["nothing was recorded", "--bad"], other: ["other event", "--soft"],
};
const eventColor = (e) => style(eventKinds[eventKind(e)][1]);
