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

function heatDraw() {
	const rows = heat.rows = heatRows(), set = heat.rec.far, { canvas } = heat;
	const first = Math.max(0, Math.floor(range.from / set.width)), last = Math.min(set.buckets, Math.ceil(range.to / set.width));
	heat.first = first;
	heat.columns = Math.max(last - first, 1);
	canvas.width = heat.columns;
	canvas.height = Math.max(rows.length, 1);
	const high = Math.min(Math.max(rows.length * 3, 90), 640);
	canvas.style.height = Math.max(high, rows.length < 20 ? rows.length * 22 : 0) + "px";
	const low = Math.min(...rows.map((s) => s.low)), most = Math.max(...rows.map((s) => s.high));
	const base = low >= 0 && (low < most / 2 || low === most) ? 0 : low;
	heat.base = base;
	heat.most = most;
	const ctx = canvas.getContext("2d"), image = ctx.createImageData(heat.columns, canvas.height);
	const lut = [];
	for (let i = 0; i < 256; i++)
		lut.push(rampAt(i / 255));
	rows.forEach((s, y) => {
		const values = unpack(s, 0);
		for (let i = first; i < last; i++) {
			const at = (y * heat.columns + i - first) * 4, v = values[i];
			if (v === null)
				continue;
			const c = lut[most > base ? Math.round((v - base) / (most - base) * 255) : 0];
			image.data.set([c[0], c[1], c[2], 255], at);
		}
	});
	ctx.putImageData(image, 0, 0);
	const labels = [], every = Math.max(1, Math.ceil(rows.length / (parseInt(canvas.style.height, 10) / 14)));
	rows.forEach((s, y) => {
		if (y % every)
			return;
		const label = make("span", { class: "rows" }, heat.rec.rows[s.row].label);
		label.style.top = `calc(${(y + .5) / rows.length * 100}% - 6px)`;
		labels.push(label);
	});
	heat.labels.replaceChildren(...labels);
	heat.times.replaceChildren(...[0, .25, .5, .75, 1].map((part) =>
		make("span", null, clock(range.from + (range.to - range.from) * part, (range.to - range.from) / 8))));
	const ends = axisNumbers([base, most]), { unit } = heat.rec.metrics[heat.metric];
	heat.lowText.textContent = `${ends[0]} ${unit === "1" ? "" : unit}`;
	heat.highText.textContent = `${ends[1]} ${unit === "1" ? "" : unit}`;
	canvas.setAttribute("aria-label", `${heat.rec.metrics[heat.metric].display} of ${rows.length} CPUs over time. ` +
		"Arrow keys move, Enter shows the CPU.");
	heatMark(null);
}

function heatMark(cell) {
	heat.cell = cell;
	heat.cursor.hidden = !cell;
	if (!cell) {
		heat.read.textContent = "\u00a0";
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

function heatBuild() {
	const metrics = data.recordings[0].metrics.map((m, i) => i).filter((i) => {
		heat.metric = i;
		return heatRows().length > 0;
	});
	const place = byId("heat-place");
	if (!metrics.length) {
		place.append(make("p", null, data.reducedFar ? "Single CPUs were left out to keep the page small." :
			"No metric that is drawn was recorded of single CPUs."));
		return;
	}
	const preferred = metrics.find((i) => ["util", "busy"].includes(data.recordings[0].metrics[i].name));
	heat.metric = preferred === undefined ? metrics[0] : preferred;
	heat.canvas = make("canvas", { tabindex: "0", role: "img" });
	heat.labels = make("div");
	heat.cursor = make("div", { class: "cursor", hidden: true });
	heat.times = make("div", { class: "times", "aria-hidden": "true" });
	heat.read = make("div", { class: "read", "aria-live": "polite" }, "\u00a0");
	heat.lowText = make("span");
	heat.highText = make("span");
	const key = make("canvas", { width: "256", height: "1", "aria-hidden": "true" });
	const ctx = key.getContext("2d");
	for (let i = 0; i < 256; i++) {
		ctx.fillStyle = `rgb(${rampAt(i / 255).join()})`;
		ctx.fillRect(i, 0, 1, 1);
	}
	place.append(make("div", { class: "heat" }, make("div", { class: "area" }, heat.canvas, heat.labels, heat.cursor), heat.times,
		make("div", { class: "key" }, heat.lowText, key, heat.highText), heat.read));
	const select = byId("heat-metric");
	select.append(...metrics.map((i) => make("option", { value: String(i), selected: i === heat.metric },
		data.recordings[0].metrics[i].display)));
	select.addEventListener("change", () => {
		const name = data.recordings[0].metrics[Number(select.value)].name;
		const metric = heat.rec.metrics.findIndex((m) => m.name === name);
		if (metric >= 0) {
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
			const metric = rec.metrics.findIndex((m) => m.name === name);
			if (metric < 0 || !rec.farBy.has(metric)) {
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
			openRow(heat.rec.rows[heat.rows[cell.y].row].label);
	});
	heat.canvas.addEventListener("keydown", (event) => {
		const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
		if (event.key === "Enter" && heat.cell) {
			openRow(heat.rec.rows[heat.rows[heat.cell.y].row].label);
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
