/* CPUs over time as a picture, which can be walked with the keyboard and clicked through to one CPU. */
const ramp = ["#2b1f5c", "#3b4f9e", "#2f7fb0", "#2fa49a", "#63c06a", "#bcd43f", "#fbe34b"].map((hex) =>
	[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
function rampAt(part) {
	const at = Math.min(Math.max(part, 0), 1) * (ramp.length - 1), i = Math.min(Math.floor(at), ramp.length - 2);
	return ramp[i].map((v, k) => Math.round(v + (ramp[i + 1][k] - v) * (at - i)));
}

const heat = { rec: data.recordings[0], metric: null, cell: null };

function heatRows() {
	const list = heat.rec.farBy.get(heat.metric) || [];
	const rows = heat.rec.rows;
	return list.filter((s) => rows[s.row].kind === "cpu").sort((a, b) => rows[a.row].package - rows[b.row].package ||
		rows[a.row].cpu - rows[b.row].cpu);
}

/* The scale begins at 0 where values are not far from it. */
function heatScale(rows) {
	const low = Math.min(...rows.map((s) => s.low)), most = Math.max(...rows.map((s) => s.high));
	heat.base = low >= 0 && (low < most / 2 || low === most) ? 0 : low;
	heat.most = most;
}

function heatPaint(rows, first, last) {
	const { canvas, base, most } = heat;
	canvas.width = heat.columns;
	canvas.height = Math.max(rows.length, 1);
	canvas.style.height = Math.max(Math.min(Math.max(rows.length * 3, 90), 640), rows.length < 20 ? rows.length * 22 : 0) + "px";
	const ctx = canvas.getContext("2d"), image = ctx.createImageData(heat.columns, canvas.height), lut = [];
	for (let i = 0; i < 256; i++)
		lut.push(rampAt(i / 255));
	rows.forEach((s, y) => {
		const values = unpack(s, 0);
		for (let i = first; i < last; i++) {
			const v = values[i];
			if (v !== null)
				image.data.set([...lut[most > base ? Math.round((v - base) / (most - base) * 255) : 0], 255],
					(y * heat.columns + i - first) * 4);
		}
	});
	ctx.putImageData(image, 0, 0);
}

/* Names beside the rows, as many as there is room for, and a line between packages. */
function heatLabels(rows) {
	const labels = [], every = Math.max(1, Math.ceil(rows.length / (parseInt(heat.canvas.style.height, 10) / 14)));
	rows.forEach((s, y) => {
		const row = heat.rec.rows[s.row], top = `${y / rows.length * 100}%`;
		if (y && row.package !== heat.rec.rows[rows[y - 1].row].package) {
			const border = make("span", { class: "border" });
			border.style.top = top;
			labels.push(border);
		}
		if (y % every)
			return;
		const label = make("span", { class: "rows" }, row.label);
		label.style.top = `calc(${(y + .5) / rows.length * 100}% - 6px)`;
		labels.push(label);
	});
	heat.labels.replaceChildren(...labels);
}

/* What happened, above the picture; and round times beneath it. */
function heatTimes() {
	const width = heat.canvas.clientWidth || 600, { from, to } = heat.span, place = (t) => (t - from) / (to - from) * 100;
	heat.marks.width = width;
	const ctx = heat.marks.getContext("2d");
	for (const e of happened.filter((one) => data.recordings[one.which] === heat.rec)) {
		const x = place(e.at) / 100 * width;
		ctx.fillStyle = eventColor(e);
		if (e.until > e.at)
			ctx.fillRect(x, 3, Math.max((e.until - e.at) / (to - from) * width, 2), 5);
		else
			ctx.fillRect(x - 1, 0, 2, 10);
	}
	const { at, step } = timeTicks(from, to, Math.max(2, Math.min(10, width / 90)));
	heat.times.replaceChildren(...at.map((t) => {
		const name = make("span", null, clock(t, step));
		name.style.left = place(t) + "%";
		return name;
	}));
}

function heatDraw() {
	const rows = heat.rows = heatRows(), set = heat.rec.far;
	const first = Math.max(0, Math.floor(range.from / set.width + 1e-6)), last = Math.min(set.buckets, Math.ceil(range.to / set.width - 1e-6));
	heat.first = first;
	heat.columns = Math.max(last - first, 1);
	heat.span = { from: first * set.width, to: (first + heat.columns) * set.width };
	heatScale(rows);
	heatPaint(rows, first, last);
	heatLabels(rows);
	heatTimes();
	const metric = heat.rec.metrics[heat.metric], scale = [heat.base, (heat.base + heat.most) / 2, heat.most];
	heat.ends.replaceChildren(...axisNumbers(scale).map((text, i) => make("span", null, text + (i === 2 && metric.unit !== "1" ? " " + metric.unit : ""))));
	heat.canvas.setAttribute("aria-label", `${metric.display} of ${rows.length} CPUs over time, from ${
		withUnit(heat.base, metric.unit)} to ${withUnit(heat.most, metric.unit)}. Arrow keys move, Enter shows the CPU.`);
	heatMark(null);
}

function heatMark(cell) {
	heat.cell = cell;
	heat.cursor.hidden = !cell;
	if (!cell) {
		heat.read.textContent = "A click, or Enter, shows one CPU.";
		return;
	}
	const s = heat.rows[cell.y], set = heat.rec.far, v = unpack(s, 0)[heat.first + cell.x];
	const area = heat.canvas.getBoundingClientRect();
	heat.cursor.style.left = cell.x / heat.columns * area.width - 2 + "px";
	heat.cursor.style.top = cell.y / heat.rows.length * area.height - 2 + "px";
	heat.cursor.style.width = Math.max(area.width / heat.columns, 3) + 4 + "px";
	heat.cursor.style.height = Math.max(area.height / heat.rows.length, 3) + 4 + "px";
	const row = heat.rec.rows[s.row];
	heat.read.textContent = `${row.label}${row.place ? " (" + row.place + ")" : ""} at ${
		moment((heat.first + cell.x + .5) * set.width, set.width)}: ${withUnit(v, heat.rec.metrics[heat.metric].unit)}`;
}

function heatOpen(cell) {
	openRow(heat.rec.rows[heat.rows[cell.y].row].label);
}

function heatBuild() {
	const metrics = data.recordings[0].metrics.map((m, i) => i).filter((i) => {
		heat.metric = i;
		return heatRows().length > 0;
	});
	const place = byId("heat-place");
	if (!metrics.length) {
		place.append(make("p", { class: "empty" }, data.reducedFar ? "Single CPUs were left out to keep the page small." :
			"No metric that is drawn was recorded of single CPUs."));
		return;
	}
	const preferred = metrics.find((i) => ["util", "busy"].includes(data.recordings[0].metrics[i].name));
	heat.metric = preferred === undefined ? metrics[0] : preferred;
	heat.canvas = make("canvas", { tabindex: "0", role: "img" });
	heat.labels = make("div");
	heat.cursor = make("div", { class: "cursor", hidden: true });
	heat.marks = make("canvas", { class: "marks", height: "10", "aria-hidden": "true" });
	heat.times = make("div", { class: "times", "aria-hidden": "true" });
	heat.read = make("div", { class: "read", "aria-live": "polite" });
	heat.ends = make("div", { class: "ends" });
	const key = make("canvas", { width: "256", height: "1", "aria-hidden": "true" });
	const ctx = key.getContext("2d");
	for (let i = 0; i < 256; i++) {
		ctx.fillStyle = `rgb(${rampAt(i / 255).join()})`;
		ctx.fillRect(i, 0, 1, 1);
	}
	const marks = make("div", { class: "area" }, heat.marks);
	place.append(make("div", { class: "heat" }, marks, make("div", { class: "area" }, heat.canvas, heat.labels, heat.cursor), heat.times,
		make("div", { class: "foot" }, heat.read, make("div", { class: "key" }, key, heat.ends,
			make("div", { class: "none" }, make("i"), "no value")))));
	const select = byId("heat-metric");
	select.append(...metrics.map((i) => make("option", { value: String(i), selected: i === heat.metric },
		data.recordings[0].metrics[i].display)));
	select.addEventListener("change", () => {
		const name = data.recordings[0].metrics[Number(select.value)].name;
		const metric = heat.rec.byName.get(name);
		if (metric !== undefined) {
			heat.metric = metric;
			heatDraw();
		}
	});
	if (data.recordings.length > 1) {
		const which = byId("heat-recording");
		byId("heat-which").hidden = false;
		which.append(...data.recordings.map((rec, i) => make("option", { value: String(i) }, rec.name)));
		which.addEventListener("change", () => {
			const name = heat.rec.metrics[heat.metric].name, rec = data.recordings[Number(which.value)];
			const metric = rec.byName.get(name);
			if (!rec.farBy.has(metric)) {
				which.value = String(data.recordings.indexOf(heat.rec));
				heat.read.textContent = rec.name + " does not have this metric";
				return;
			}
			heat.rec = rec;
			heat.metric = metric;
			heatDraw();
		});
	}
	byId("heat-tools").hidden = false;
	const cellAt = (event) => {
		const area = heat.canvas.getBoundingClientRect();
		const x = Math.floor((event.clientX - area.left) / area.width * heat.columns);
		const y = Math.floor((event.clientY - area.top) / area.height * heat.rows.length);
		return x < 0 || y < 0 || x >= heat.columns || y >= heat.rows.length ? null : { x, y };
	};
	heat.canvas.addEventListener("pointermove", (event) => heatMark(cellAt(event)));
	heat.canvas.addEventListener("pointerleave", () => heatMark(null));
	heat.canvas.addEventListener("click", (event) => {
		const cell = cellAt(event);
		if (cell)
			heatOpen(cell);
	});
	heat.canvas.addEventListener("keydown", (event) => {
		const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
		if (event.key === "Enter" && heat.cell) {
			heatOpen(heat.cell);
		} else if (move) {
			const old = heat.cell || { x: 0, y: 0 };
			heatMark({ x: Math.min(Math.max(old.x + move[0], 0), heat.columns - 1),
				y: Math.min(Math.max(old.y + move[1], 0), heat.rows.length - 1) });
		} else {
			return;
		}
		event.preventDefault();
	});
	heatDraw();
	range.watchers.add(heatDraw);
}
