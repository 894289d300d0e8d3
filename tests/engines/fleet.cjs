/* The questions of samples/fleet: both engines find what genfleet put into the recordings, and nothing else. */
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { execFileSync } = require("node:child_process");

const [pmrep, samples, out] = process.argv.slice(2);
const folder = path.join(out, "fleet"), file = path.join(out, "fleet.parquet"), answers = path.join(out, "fleet.json");
fs.rmSync(folder, { recursive: true, force: true });
fs.mkdirSync(folder, { recursive: true });
execFileSync(path.join(path.dirname(pmrep), "../tests/genfleet"), ["1000", folder]);
execFileSync(pmrep, ["--debug", "--format=parquet", "--overwrite", "-o", file, ...fs.readdirSync(folder).map((f) => path.join(folder, f))]);
execFileSync(process.execPath, [path.join(samples, "fleet/ask.cjs"), file, answers], { stdio: ["ignore", "inherit", "inherit"] });
for (const [engine, [lost, bandwidth, throttles, tail, missing]] of Object.entries(JSON.parse(fs.readFileSync(answers)))) {
	assert.deepEqual(lost.map((r) => r.host), ["node03", "node11", "node19", "node27", "node35"], engine);
	assert.ok(lost.every((r) => r.ipc_since / r.ipc_before > 0.88), engine);
	assert.deepEqual(bandwidth.map((r) => [r.rack, Math.round(r.gb_s / 2)]), [..."01234567"].map((n) => [`r${n}`, Number(n) + 1]), engine);
	assert.deepEqual(throttles.map((r) => r.host).sort(), ["node07", "node23"], engine);
	assert.deepEqual(tail.map((r) => r.build), ["b2", "b1"], engine);
	assert.ok(tail[0].p99_us > 2.5 * tail[1].p99_us && tail[0].p99_us < 3.5 * tail[1].p99_us, engine);
	assert.deepEqual(missing.map((r) => [r.metric, r.rack, r.status, r.hosts]),
		[["instructions", "r5", "not-supported", 5], ["throttle.core", "r2", "not-supported", 5]], engine);
}
