/* DuckDB and ClickHouse on files of pmrep --format=parquet: sums as those of its csv, types, missing values, names. */
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { execFileSync, spawnSync } = require("node:child_process");
const { engines } = require("./engine.cjs");

const [pmrep, samples, out] = process.argv.slice(2);
const hostile = path.join(out, "hostile.pmr");
const name = "=\x1b]0;owned\x07\x1b[2J\x1b[31m\u009b5m\u202e\u{e0041}\x07\r\nnext";
const words = ["--show=all", "--hide=topology", "--all"];
const types = {
	DuckDB: { recording: "VARCHAR", run: "BIGINT", time: "TIMESTAMP WITH TIME ZONE", duration_ns: "BIGINT", cpu: "BIGINT",
		task: "VARCHAR", metric: "VARCHAR", value: "DOUBLE", status: "VARCHAR", coverage: "DOUBLE", host: "VARCHAR" },
	ClickHouse: { recording: "Nullable(String)", run: "Nullable(Int64)", time: "Nullable(DateTime64(6, 'UTC'))",
		duration_ns: "Nullable(Int64)", cpu: "Nullable(Int64)", task: "Nullable(String)", metric: "Nullable(String)",
		value: "Nullable(Float64)", status: "Nullable(String)", coverage: "Nullable(Float64)", host: "Nullable(String)" },
};

function run(args) {
	const done = spawnSync(pmrep, args, { maxBuffer: 1 << 30 });
	assert.ok(done.status === 0 || done.status === 3, `${args.join(" ")}: ${done.stderr}`);
	return done.stdout.toString();
}

function parse(line) {
	return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((m) => m[1]?.replaceAll('""', '"') ?? m[2]);
}

/* By recording, scope, metric and status: rows, values that are there, their sum, CPUs that are named. */
function sums(csv) {
	const all = new Map();
	const [head, ...lines] = csv.trimEnd().split("\n").map(parse);
	for (const l of lines) {
		const r = Object.fromEntries(head.map((h, i) => [h, l[i]]));
		const key = [r.recording, r.scope, r.metric, r.status].join("\t");
		const s = all.get(key) ?? { n: 0, there: 0, sum: 0, cpus: 0, ns: 0, size: 0 };
		const v = Number(r.value);
		s.n++;
		s.there += r.value !== "";
		s.cpus += r.cpu !== "";
		s.ns += Number(r.duration_ns);
		s.sum += r.value === "" ? 0 : v;
		s.size += Math.abs(v);
		all.set(key, s);
	}
	return all;
}

async function compare(engine, file, expected) {
	const got = await engine.ask(`select recording, scope, metric, status, count(*) as n, count(value) as there,
		coalesce(sum(value), 0) as sum, count(cpu) as cpus, cast(sum(duration_ns) as double) as ns
		from ${engine.file(file)} group by recording, scope, metric, status`);
	assert.equal(got.length, expected.size, engine.name);
	for (const g of got) {
		const e = expected.get([g.recording, g.scope, g.metric, g.status].join("\t"));
		assert.ok(e, `${engine.name}: ${JSON.stringify(g)}`);
		assert.deepEqual([g.n, g.there, g.cpus, Number(g.ns)], [e.n, e.there, e.cpus, e.ns], `${engine.name}: ${JSON.stringify(g)}`);
		assert.ok(Math.abs(g.sum - e.sum) <= 1e-9 * e.size, `${engine.name}: ${JSON.stringify(g)}, csv ${e.sum}`);
	}
}

async function main() {
	const files = fs.readdirSync(samples).filter((f) => f.endsWith(".pmr")).map((f) => path.join(samples, f));
	const one = path.join(out, "one.parquet"), bad = path.join(out, "bad.parquet"), each = path.join(out, "each");
	fs.mkdirSync(each, { recursive: true });
	const csv = sums(run([...words, "--format=csv", ...files]));
	run([...words, "--format=parquet", "--overwrite", "-o", one, ...files]);
	run([...words, "--format=parquet", "--overwrite", `--output-dir=${each}`, ...files]);
	execFileSync("/usr/bin/python3", [path.join(__dirname, "../golden/encode.py"), "hostile", hostile]);
	run(["--format=parquet", "--overwrite", "-o", bad, hostile, files[0]]);
	for (const engine of await engines()) {
		await compare(engine, one, csv);
		await compare(engine, path.join(each, "*.parquet"), csv);
		const found = await engine.ask(`describe ${engine.name === "DuckDB" ? `select * from ${engine.file(one)}` : `table ${engine.file(one)}`}`);
		const type = Object.fromEntries(found.map((r) => [r.column_name ?? r.name, r.column_type ?? r.type]));
		for (const [column, wanted] of Object.entries(types[engine.name]))
			assert.equal(type[column], wanted, `${engine.name}: ${column}`);
		const [b] = await engine.ask(`select * from ${engine.file(bad)} where recording = 'hostile.pmr' limit 1`);
		assert.equal(b.metric, `c${name}`, engine.name);
		assert.equal(b.unit, name, engine.name);
		assert.equal(b.host, name, engine.name);
		assert.equal(b[`label_k${name}`], name, engine.name);
		const [none] = await engine.ask(`select count(*) as n, count("label_k${name}") as labels from ${engine.file(bad)}
			where recording <> 'hostile.pmr'`);
		assert.ok(none.n > 0 && none.labels === 0, engine.name);
		console.log(`${engine.name}: ${csv.size} sums as in csv`);
	}
}

main().catch((e) => { console.error(e); process.exit(1); });
