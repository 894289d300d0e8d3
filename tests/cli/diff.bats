#!/usr/bin/env bats
# diff: on recordings with known truth (tests/unit/lib/diff_world.h). Rates of error are in tests/bench/sim_diff.c, the
# statistics beside scipy in tests/unit/tools/statistics_diff.py.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	cd "$BATS_TEST_TMPDIR"
	export LC_ALL=C
	unset NO_COLOR
}

# make FILE [KEY=VALUE...]
make() {
	"$tests/make_diff" "$@"
}

# sides N KEY=VALUE...: a1.pmr ... aN.pmr as they are, b1.pmr ... bN.pmr with the given keys; runs vary by 0.5 %.
sides() {
	local n=$1 i
	shift
	for i in $(seq "$n"); do
		make "a$i.pmr" seed="$i" sd=0.005
		make "b$i.pmr" seed="$((100 + i))" sd=0.005 "$@"
	done
}

diff() {
	"$bin/pmrep" diff "$@"
}

# field METRIC COLUMN [PLACE] <csv
field() {
	python3 -c '
import csv, sys
metric, column, place = (sys.argv[1:] + [""])[:3]
print("\n".join(r[column] for r in csv.DictReader(sys.stdin) if r["metric"] == metric and r["place"] == place))' "$@"
}

@test "the numbers are those that show gives, and the statistics those of the runs" {
	sides 5 rate=1030
	diff --base a?.pmr --new b?.pmr --format=csv >out.csv || [ $? -eq 1 ]
	for f in a?.pmr b?.pmr; do
		"$bin/pmrep" show "$f" --total --per-system --show=irq --format=csv >"$f.csv"
	done
	/usr/bin/python3 - <<-'PYTHON'
	import csv, glob, math
	files = [sorted(glob.glob(side + "?.pmr.csv")) for side in "ab"]
	runs = [[float(next(csv.DictReader(open(f)))["value"]) for f in side] for side in files]
	row = next(r for r in csv.DictReader(open("out.csv")) if r["metric"] == "irq")
	assert row["runs"] == " | ".join(" ".join(repr(v).removesuffix(".0") for v in side) for side in runs), row["runs"]
	logs = [[math.log(v) for v in side] for side in runs]
	mean = [sum(side) / 5 for side in logs]
	var = [sum((v - m) ** 2 for v in side) / 4 / 5 for side, m in zip(logs, mean)]
	assert math.isclose(float(row["ratio"]), math.exp(mean[1] - mean[0]), rel_tol=1e-9)
	t = (mean[1] - mean[0]) / math.sqrt(sum(var))
	try:
	    from scipy import stats
	except ImportError:
	    raise SystemExit(0)
	df = sum(var) ** 2 / sum(v * v / 4 for v in var)
	# The order alone must say so, too: half of what it says, for it knows few values.
	ranks = stats.mannwhitneyu(*runs, method="exact").pvalue
	assert math.isclose(float(row["p"]), max(2 * stats.t.sf(abs(t), df), ranks / 2), rel_tol=1e-6)
	assert math.isclose(float(row["p_permutation"]), ranks, rel_tol=1e-6)
	half = stats.t.ppf(0.975, df) * math.sqrt(sum(var))
	assert math.isclose(float(row["low"]), math.exp(mean[1] - mean[0] - half), rel_tol=1e-6)
	PYTHON
}

@test "csv, json, markdown and the table say the same" {
	sides 4 rate=1200
	for format in csv json markdown table; do
		run -1 diff --base a?.pmr --new b?.pmr --format=$format
		echo "$output" >"out.$format"
	done
	python3 - <<-'PYTHON'
	import csv, json
	rows = list(csv.DictReader(open("out.csv")))
	results = json.load(open("out.json"))["results"]
	assert len(rows) == len(results) > 2
	for row, result in zip(rows, results):
	    for key in ("metric", "verdict", "unit", "place", "scope", "why"):
	        assert row[key] == result[key], key
	    for key in ("base", "new", "ratio", "low", "high", "p", "q", "n_base", "n_new", "margin"):
	        assert row[key] == "" and result[key] is None or float(row[key]) == result[key], (key, row[key], result[key])
	    words = f"{float(row['ratio']):.4f}"
	    name = row["metric"].replace("_", "\\_")
	    if row["verdict"] == "SAME":
	        assert any(l.startswith("SAME: ") and row["metric"] in l for l in open("out.table")), row
	        assert any(l.startswith("SAME: ") and name in l for l in open("out.markdown")), row
	        continue
	    for file, start in (("out.table", row["metric"] + " "), ("out.markdown", f"| {name} |")):
	        assert any(l.startswith(start) and words in l and row["verdict"] in l for l in open(file)), (file, row)
	PYTHON
	grep -q '^### pmrep diff: regressed' out.markdown
	grep -q ': regressed$' out.table
}

@test "sorted by the size of the effect, system first" {
	sides 4 rate=1300 ipc=0.55
	diff --base a?.pmr --new b?.pmr --per-package --format=csv >out.csv || [ $? -eq 1 ]
	python3 - <<-'PYTHON'
	import csv, math
	rows = list(csv.DictReader(open("out.csv")))
	scopes = [r["scope"] for r in rows]
	assert scopes == sorted(scopes, reverse=True) and set(scopes) == {"system", "package"}, scopes
	for scope in set(scopes):
	    effects = [abs(math.log(float(r["ratio"]))) for r in rows if r["scope"] == scope]
	    assert effects == sorted(effects, reverse=True), effects
	PYTHON
}

@test "one run a side gives no verdict, and exit 4" {
	make a.pmr seed=1 noise=0.05 rho=0.5 rows=600
	make b.pmr seed=2 noise=0.05 rho=0.5 rows=600 rate=1500
	run -4 diff a.pmr b.pmr --format=csv
	# half as much again: what runs would have to vary by for chance to explain it
	[ "$(field irq verdict <<<"$output")" = CHANGED ]
	python3 -c '
import math, sys
told, ratio = float(sys.argv[1].split()[-2]), float(sys.argv[2])
assert abs(told - 100 * math.expm1(math.log(ratio) / 1.959963985 / math.sqrt(2))) < 0.06, told' \
		"$(field irq why <<<"$output")" "$(field irq ratio <<<"$output")"
	run -4 diff a.pmr b.pmr --gate irq
	make c.pmr seed=3 noise=0.05 rho=0.5 rows=600 rate=1100
	run -4 diff a.pmr c.pmr --format=csv
	[ "$(field irq verdict <<<"$output")" = INCONCLUSIVE ]
	[[ "$(field irq why <<<"$output")" == *"--assume-run-sd"* ]]
	run -4 diff a.pmr c.pmr
	[[ "$output" == *$'\n'"INCONCLUSIVE: "*irq* ]]
	run -1 diff a.pmr b.pmr --gate irq --assume-run-sd=1%
	# The interval goes on where another counter comes.
	make late.pmr seed=3 noise=0.05 rho=0.5 rows=600 rate=1100 late=10
	run -4 diff a.pmr c.pmr --format=csv --show=irq
	[ -n "$(field irq low <<<"$output")" ]
	[ "$(diff a.pmr late.pmr --format=csv --show=irq)" = "$output" ]
	run -4 diff a.pmr b.pmr --format=json
	python3 -c '
import json, sys
r = next(r for r in json.load(sys.stdin)["results"] if r["metric"] == "irq")
assert r["low"] > 1.4 and r["high"] < 1.6, (r["low"], r["high"])' <<<"$output"
}

# record FILE RUNS COMMAND: runs of a command, with nothing beside its times.
record() {
	"$bin/pmrec" --quiet --overwrite -r "$2" --sources=stat -o "$1" -- sh -c "$3"
}

@test "runs whose command fails make no verdict: FAILED, named first, exit 1" {
	record good.pmr 4 'sleep 0.05'
	record bad.pmr 4 'exit 7' || [ $? -eq 7 ]
	run -1 diff good.pmr bad.pmr
	[[ "${lines[0]}" == "FAILED: 4 of 4 runs of the new side (bad.pmr: exit status 7"* ]]
	[[ "$output" != *IMPROVED* ]]
	run -1 diff good.pmr bad.pmr --gate elapsed --format=json
	python3 -c 'import json, sys; assert "4 of 4" in json.load(sys.stdin)["failures"]' <<<"$output"
	# one of five: the others are judged, and the exit code stays
	record some.pmr 4 'sleep 0.05'
	run -1 diff --base good.pmr --new some.pmr bad.pmr
	[[ "${lines[0]}" == "FAILED: 4 of 8 runs of the new side"* ]]
}

@test "a command has its gates by default, and all have to be decided" {
	local i=0 took
	for took in 1.0 1.4 0.8 1.2; do
		make "a$((++i)).pmr" seed="$i" command="$took"
		make "b$i.pmr" seed="1$i" command="$(awk "BEGIN { print 2.2 - $took }")"
	done
	# interrupts do not differ, and are not what a command is about
	run -4 diff --base a?.pmr --new b?.pmr
	[[ "${lines[-1]}" == *": undecided: command.elapsed"*"runs per side would decide" ]]
	[[ "$output" == *$'\n'"SAME: "*irq* ]]
	run -0 diff --base a1.pmr a2.pmr a3.pmr a4.pmr --new b?.pmr --gate irq
}

@test "--pairs takes out what drifts on both sides" {
	for i in 1 2 3 4 5 6; do
		make "a$i.pmr" seed="$i" rate="$((800 + 100 * i))"
		make "b$i.pmr" seed="$((50 + i))" rate="$(((800 + 100 * i) * 105 / 100))"
	done
	run -4 diff --base a?.pmr --new b?.pmr --gate irq
	run -1 diff --base a?.pmr --new b?.pmr --gate irq --pairs
}

@test "--assume-run-sd is the deviation of one run" {
	make a.pmr seed=1
	make b.pmr seed=2 rate=1100
	run -1 diff a.pmr b.pmr --gate irq --assume-run-sd=2% --format=csv
	python3 -c '
import math, sys
low, high = map(float, sys.argv[1:])
assert math.isclose(high / 1.1, math.exp(1.959963985 * 0.02 * math.sqrt(2)), rel_tol=1e-5), high
assert math.isclose(low / 1.1, math.exp(-1.959963985 * 0.02 * math.sqrt(2)), rel_tol=1e-5), low' \
		"$(field irq low <<<"$output")" "$(field irq high <<<"$output")"
	run -4 diff a.pmr b.pmr --gate irq --assume-run-sd=10%
}

@test "runs of one boot against those of another are two values; with both sides in each boot all count" {
	make a.pmr seed=1 runs=5 sd=0.005 boot_id=one
	make b.pmr seed=2 runs=5 sd=0.005 boot_id=two rate=1100
	make same.pmr seed=2 runs=5 sd=0.005 boot_id=one rate=1100
	run -4 diff a.pmr b.pmr --gate irq
	[[ "$output" == *$'\n'"Boots: 1 of the base, 1 of the new side; each counts as one run"*" 1+1 "*INCONCLUSIVE*"a boot counts as one run"*"about 4 boots per side"* ]]
	run -1 diff a.pmr same.pmr --gate irq
	[[ "$output" != *Boots* ]]
	run -1 diff a.pmr b.pmr --gate irq --assume-run-sd=1%
	# The second boot makes all slower by half.
	make a2.pmr seed=3 runs=5 sd=0.005 boot_id=two rate=1500
	make b2.pmr seed=4 runs=5 sd=0.005 boot_id=two rate=1650
	run -1 diff --base a.pmr a2.pmr --new same.pmr b2.pmr --gate irq --format=json
	python3 -c '
import json, sys
x = json.load(sys.stdin)
assert x["boots"] == {"base": 2, "new": 2, "shared": 2}, x["boots"]
r = x["results"][0]
assert r["n_base"] == 10 and 1.09 < r["low"] < 1.1 < r["high"] < 1.11, r' <<<"$output"
}

@test "that all runs of a side came first is said, and what takes turns needs less" {
	local i
	for i in 1 2 3 4; do
		make "a$i.pmr" seed="$i" sd=0.01 wall="${i}00"
		make "b$i.pmr" seed="1$i" sd=0.01 wall="${i}50" rate=1070
		make "c$i.pmr" seed="1$i" sd=0.01 wall="9${i}00" rate=1070
	done
	run -1 diff --base a?.pmr --new b?.pmr --gate irq
	[[ "$output" != *"came first"* ]]
	run -4 diff --base a?.pmr --new c?.pmr --gate irq
	[[ "$output" == *"All runs of the base came first"*"alternate the sides, as pmrec compare does"* ]]
	run diff --base c?.pmr --new a?.pmr --gate irq --format=markdown
	[[ "$output" == *"All runs of the new side came first"* ]]
}

@test "gates: their margins, their exit codes, and names that there are not" {
	sides 5 rate=1040
	run -1 diff --base a?.pmr --new b?.pmr --gate irq
	run -0 diff --base a?.pmr --new b?.pmr --gate irq:8%
	run -0 diff --base a?.pmr --new b?.pmr --gate irq:0.08,ipc
	run -1 diff --base a?.pmr --new b?.pmr --gate irq:8% --gate irq.count:1%
	run -0 diff --base a?.pmr --new b?.pmr --gate irq --margin 10%
	run -2 diff --base a?.pmr --new b?.pmr --gate irk
	[[ "$output" == *"did you mean 'irq'?"* ]]
	# A metric without a direction holds if it stays as it is.
	run -1 diff --base a?.pmr --new b?.pmr --gate interrupts.total
	run -0 diff --base a?.pmr --new b?.pmr --gate cycles
	# Only what is gated is printed.
	run -0 diff --base a?.pmr --new b?.pmr --gate cycles --format=csv
	[ "${#lines[@]}" -eq 2 ]
}

@test "folders are sides" {
	mkdir base new
	for i in 1 2 3 4; do
		make base/$i.pmr seed=$i sd=0.005
		make new/$i.pmr seed=1$i sd=0.005 rate=1200
	done
	run -1 diff base new --gate irq --format=csv
	[ "$(field irq n_base <<<"$output")" = 4 ]
	[ "$(field irq n_new <<<"$output")" = 4 ]
}

@test "a file on both sides, twice on one, or copied is refused" {
	sides 2
	run -2 diff a1.pmr a1.pmr
	[[ "$output" == *"on both sides"* ]]
	run -2 diff --base a1.pmr a1.pmr --new b1.pmr
	[[ "$output" == *"twice on one side"* ]]
	cp a1.pmr copy.pmr
	run -2 diff --force a1.pmr copy.pmr
	[[ "$output" == *"same recording"* ]]
	ln -s a1.pmr link.pmr
	run -2 diff a1.pmr link.pmr
}

@test "different units under one name are not compared" {
	for i in 1 2 3 4; do
		make a$i.pmr seed=$i name=bench.x unit=By
		make b$i.pmr seed=1$i name=bench.x unit=s rate=2000
	done
	run -4 --separate-stderr diff --base a?.pmr --new b?.pmr --format=csv --show=bench.x,cycles
	[[ "$stderr" == *"bench.x is in 'By/s' in some recordings and in 's/s' in others"* ]]
	[ "$(field bench.x verdict <<<"$output" | sort -u)" = ABSENT ]
	run -2 diff --base a?.pmr --new b?.pmr --show=bench.x
	[[ "$output" == *"no metric in common"* ]]
	run -2 diff --base a?.pmr --new b?.pmr --gate bench.x
}

@test "no metric in common is trouble" {
	for i in 1 2 3 4; do
		make a$i.pmr seed=$i name=bench.x
		make b$i.pmr seed=1$i name=bench.y
	done
	run -2 diff --base a?.pmr --new b?.pmr --show=bench.x,bench.y
	[[ "$output" == *"no metric in common"* ]]
}

@test "recordings without an interval are left out" {
	sides 4 rate=1200
	make empty.pmr seed=77 rows=1
	run -1 --separate-stderr diff --base a?.pmr empty.pmr --new b?.pmr --gate irq --format=csv
	[[ "$stderr" == *"empty.pmr: has no interval; left out"* ]]
	[ "$(field irq n_base <<<"$output")" = 4 ]
	run -2 diff empty.pmr b1.pmr
	[[ "$output" == *"no metric in common"* ]]
	: >nothing.pmr
	run -2 diff nothing.pmr b1.pmr
}

@test "damaged and cut recordings take part with what is readable: exit 3, unless something regressed" {
	sides 4
	make cut.pmr seed=9 rows=401 sd=0.005 open=1
	make big.pmr seed=8 rows=401 sd=0.005
	run -3 --separate-stderr diff --base a1.pmr a2.pmr a3.pmr a4.pmr --new b1.pmr b2.pmr b3.pmr cut.pmr --gate cycles
	[[ "$stderr" == *"cut.pmr: cut"* ]]
	[[ "$output" == *gaps* ]]
	cp big.pmr bad.pmr
	printf '\xff\xff\xff\xff' | dd of=bad.pmr bs=1 seek=$(($(stat -c %s bad.pmr) / 2)) conv=notrunc status=none
	run -3 --separate-stderr diff --base a?.pmr --new b1.pmr b2.pmr b3.pmr bad.pmr --gate cycles --format=csv
	[[ "$stderr" == *"bad.pmr"* ]]
	[ "$(field cycles n_new <<<"$output")" = 4 ]
	for i in 1 2 3 4; do make r$i.pmr seed=20$i rate=1500 open=1; done
	run -1 diff --base a?.pmr --new r?.pmr --gate irq
}

@test "a metric that some recordings lack says in how many it is" {
	sides 5 rate=1200
	for i in 1 2; do make x$i.pmr seed=30$i name=bench.other; done
	run -1 diff --base a?.pmr x1.pmr --new b?.pmr x2.pmr --gate irq --format=csv
	[[ "$(field irq why <<<"$output")" == *"in 5 of 6 and 5 of 6 runs"* ]]
}

@test "levels count with their mean over time, not with the last value" {
	for i in 1 2 3 4; do
		make a$i.pmr seed=$i level=10
		make b$i.pmr seed=1$i level=10
	done
	run diff --base a?.pmr --new b?.pmr --show=bench.level --format=csv
	# 20 for the last of 21 snapshots, which counts for the interval that it ends: (19 * 10 + 20) / 20.
	python3 -c '
import sys
assert 10.45 < float(sys.argv[1]) < 10.55, sys.argv[1]' "$(field bench.level base <<<"$output")"
}

@test "of a command its time is compared, and counts are totals" {
	for i in 1 2 3 4; do
		make a$i.pmr seed=$i command=10.0$i rate=1000
		make b$i.pmr seed=1$i command=12.0$i rate=1000 rows=25
	done
	run -1 diff --base a?.pmr --new b?.pmr --gate elapsed --format=csv
	[ "$(field command.elapsed verdict <<<"$output")" = REGRESSED ]
	run diff --base a?.pmr --new b?.pmr --show=interrupts.total --format=csv
	python3 -c 'import sys; assert abs(float(sys.argv[1]) - 1.2) < 1e-6, sys.argv[1]' \
		"$(field interrupts.total ratio <<<"$output")"
	run diff --base a?.pmr --new b?.pmr --show=interrupts.total --rate --format=csv
	python3 -c 'import sys; assert abs(float(sys.argv[1]) - 1) < 1e-6, sys.argv[1]' \
		"$(field interrupts.total ratio <<<"$output")"
}

@test "runs of other lengths do as much a second; what was only seen in part is no total" {
	for i in 1 2 3 4; do
		make a$i.pmr seed=$i sd=0.002
		make b$i.pmr seed=1$i sd=0.002 rows=81
	done
	run -0 diff --base a?.pmr --new b?.pmr --gate irq,irq.count --format=csv
	[ "$(field irq.count unit <<<"$output")" = 1/s ]
	python3 -c 'import sys; assert abs(float(sys.argv[1]) - 8000) < 100, sys.argv[1]' \
		"$(field irq.count base <<<"$output")"
	# Of commands counts are totals: a damaged recording has none, and its rates all the same.
	for i in 1 2 3 4; do
		make c$i.pmr seed=2$i rows=401 command=400
		make d$i.pmr seed=3$i rows=401 command=400
	done
	for i in 1 2 3 4; do
		printf '\xff\xff\xff\xff' | dd of=d$i.pmr bs=1 seek=$(($(stat -c %s d$i.pmr) / 2)) conv=notrunc status=none
	done
	run -3 --separate-stderr diff --base c?.pmr --new d?.pmr --gate irq,irq.count,elapsed --format=csv
	[ "$(field irq.count verdict <<<"$output")" = ABSENT ]
	[ "$(field irq verdict <<<"$output")" = SAME ]
	[ "$(field command.elapsed verdict <<<"$output")" = SAME ]
}

# rows <csv: all but what the recordings are called
rows() {
	python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
	print([v for k, v in r.items() if k != "recording"])'
}

@test "one side from a pipe" {
	make a.pmr seed=1 runs=4
	make b.pmr seed=2 runs=4 rate=1500
	diff --format=csv --gate irq a.pmr b.pmr >want || [ $? = 1 ]
	[ "$(rows <want | wc -l)" -ge 1 ]
	cat b.pmr | diff --format=csv --gate irq a.pmr - >got || [ $? = 1 ]
	cmp <(rows <want) <(rows <got)
	run -1 diff --gate irq --format=json a.pmr - < <(cat b.pmr)
	[[ "$output" == *'"standard input"'* ]]
}

@test "command lines that make no sense" {
	sides 2
	run -2 diff a1.pmr
	run -2 diff a1.pmr a2.pmr b1.pmr
	run -2 diff --base a1.pmr
	[[ "$output" == *"new side"* ]]
	run -2 diff --base --new b1.pmr
	run -2 diff a1.pmr none.pmr
	run -2 diff - - <a1.pmr
	[[ "$output" == *"standard input is given twice"* ]]
	run -2 diff - a1.pmr <a1.pmr
	[[ "$output" == *"same recording"* ]]
	run -2 diff - a1.pmr </dev/null
	run -2 diff --margin=x a1.pmr b1.pmr
	run -2 diff --assume-run-sd=0 a1.pmr b1.pmr
	run -2 diff --format=xml a1.pmr b1.pmr
	mkdir empty
	run -2 diff empty a1.pmr
	[[ "$output" == *"without recordings"* ]]
}

@test "colours and bars are for terminals that know them" {
	sides 4 rate=1500
	run -1 env LC_ALL=C.UTF-8 "$bin/pmrep" diff --color=always --base a?.pmr --new b?.pmr --gate irq
	[[ "$output" == *$'\e['* ]]
	[[ "$output" == *▁* ]]
	run -1 diff --base a?.pmr --new b?.pmr --gate irq
	[[ "$output" != *$'\e['* ]]
	[[ "$output" == *"REGRESSED 1"* ]]
}

@test "show puts recordings side by side in one csv" {
	make a.pmr seed=1 runs=2
	make b.pmr seed=2
	"$bin/pmrep" show a.pmr b.pmr --total --per-system --show=irq,cycles --format=csv >out.csv
	"$bin/pmrep" show a.pmr b.pmr --total --per-system --show=irq,cycles --format=json >out.json
	python3 - <<-'PYTHON'
	import csv, json
	rows = list(csv.DictReader(open("out.csv")))
	assert sorted({(r["recording"], r["run"]) for r in rows}) == [("a.pmr", "1"), ("a.pmr", "2"), ("b.pmr", "1")]
	assert len(rows) == 6
	assert [(r["recording"], str(r["run"]), r["metric"]) for r in map(json.loads, open("out.json"))] == \
	    [(r["recording"], r["run"], r["metric"]) for r in rows]
	assert sum(1 for line in open("out.csv") if line.startswith("recording,")) == 1
	PYTHON
}
