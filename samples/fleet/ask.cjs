/* Asks DuckDB and ClickHouse the questions of questions.sql: node ask.cjs FILE.parquet [OUT.json]; '*' in FILE stands for
 * several. NODE_PATH says where the engines are (tests/engines/run knows). */
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { engines } = require("../../tests/engines/engine.cjs");

async function main() {
	const [file, out] = process.argv.slice(2), answers = {};
	const questions = fs.readFileSync(path.join(__dirname, "questions.sql"), "utf8").split(/;\n/).map((q) => q.trim()).filter(Boolean);
	for (const engine of await engines()) {
		console.log(`== ${engine.name}`);
		answers[engine.name] = [];
		for (const q of questions) {
			const sql = q.replace(/^--.*\n/, "").replaceAll("FLEET", engine.file(file)), begin = process.hrtime.bigint();
			const rows = await engine.ask(sql), ms = Number(process.hrtime.bigint() - begin) / 1e6;
			answers[engine.name].push(rows);
			console.log(`${q.split("\n")[0]}  ${ms.toFixed(0)} ms`);
			for (const r of rows)
				console.log("     ", Object.entries(r).map(([k, v]) => `${k} ${typeof v === "number" ? Number(v.toPrecision(4)) : v}`).join("  "));
		}
	}
	if (out)
		fs.writeFileSync(out, JSON.stringify(answers));
}

main().catch((e) => { console.error(e); process.exit(1); });
