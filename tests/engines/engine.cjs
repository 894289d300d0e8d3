/* The two engines behind one face: ask(sql) gives the rows of a question as objects; FILE stands for the files. */
"use strict";
const { DuckDBInstance } = require("@duckdb/node-api");
const { query } = require("chdb");

/* Engines return 64-bit numbers as strings. */
function number(v) {
	return typeof v === "string" && /^-?[0-9]+$/.test(v) ? Number(v) : v;
}

function rows(list) {
	return list.map((r) => Object.fromEntries(Object.entries(r).map(([k, v]) => [k, number(v)])));
}

async function duckdb() {
	const db = await (await DuckDBInstance.create(":memory:")).connect();
	await db.run("set timezone='UTC'");
	return {
		name: "DuckDB",
		file: (path) => `read_parquet('${path}', union_by_name=true)`,
		ask: async (sql) => rows((await db.runAndReadAll(sql)).getRowObjectsJson()),
	};
}

async function clickhouse() {
	return {
		name: "ClickHouse",
		file: (path) => `file('${path}')`,
		ask: async (sql) => {
			const text = query(`${sql} settings schema_inference_mode='union', output_format_json_quote_64bit_integers=1`,
				"JSONEachRow").toString();
			return rows(text.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
		},
	};
}

exports.engines = async () => [await duckdb(), await clickhouse()];
