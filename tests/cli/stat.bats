#!/usr/bin/env bats
# stat: on recordings with known truth (tests/unit/lib/stat_worlds.h says which), and beside perf itself. Lines of most
# options are in tests/unit/report/test_stat_lines.c.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	cd "$BATS_TEST_TMPDIR"
	export TZ=UTC PERF_CONFIG=/dev/null
	unset NO_COLOR
}

stat() {
	"$bin/pmrep" stat "$@"
}

# -x without the metrics behind the counts, which tests/unit/report/test_stat_lines.c has.
bare() {
	sed -E 's/([,;@])[^,;@]*[,;@][^,;@]*$/\1\1/'
}
counts() {
	stat "$@" >counted || return
	bare <counted
}

# The line of `event` in what follows: expect EVENT LINE OPTIONS... A line of -x without metric says nothing of it.
expect() {
	local event=$1 line=$2
	shift 2
	run --separate-stderr stat "$@"
	[ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
	grep -F -- "$event" <<<"$output" | head -1 >got
	[[ $line != *[,\;@][,\;@] ]] || { bare <got >bare && mv bare got; }
	[ "$(cat got)" = "$line" ] || { echo "have: $(cat got)"; echo "want: $line"; return 1; }
}

@test "a CPU that did not count is named, and spoils nothing but itself" {
	"$tests/make_stat" all all.pmr
	run --separate-stderr counts -x, -e cycles all.pmr
	[[ $stderr == *"cycles of CPU 0: not-counted in some intervals"* ]]
	run --separate-stderr counts -A -x, -e cycles all.pmr
	[ "${lines[0]}" = "CPU0,<not counted>,,cycles,0,0.00,," ]
	[ "${lines[1]}" = "CPU1,32000,,cycles,1000000000,25.00,," ]
	[ -z "$stderr" ]
	run stat --strict -q -e cycles all.pmr
	[ "$status" -eq 3 ]
	run stat --strict -q -e branches all.pmr
	[ "$status" -eq 0 ]
}

@test "an event of the core counts for both threads, unless each is to be shown" {
	"$tests/make_stat" all all.pmr
	run counts -x@ -A --percore-show-thread -e core/ev,percore/ all.pmr
	[ "${lines[7]}" = "CPU7@60@@core/ev,percore/@8000000000@100.00@@" ]
}

@test "fields are quoted where the separator is in them, strings are escaped" {
	"$tests/make_stat" all all.pmr
	expect a, '3200,,"a,""b""",32000000000,100.00,,' -x, -e 'a*' all.pmr
	expect a, '3200;;"a,""b""";32000000000;100.00;;' '-x;' -e 'a*' all.pmr
	stat -j all.pmr >all.json 2>/dev/null
	python3 - <<-'EOF'
		import json
		lines = [json.loads(line) for line in open("all.json")]
		assert len(lines) == 12, len(lines)
		assert lines[10]["event"] == 'a,"b"', lines[10]
		assert lines[10]["counter-value"] == "3200.000000" and lines[10]["pcnt-running"] == 100
	EOF
	for locale in $(locale -a | grep -i '^de_DE' | head -1); do
		LC_ALL=$locale stat -j all.pmr 2>/dev/null | diff - all.json
	done
}

@test "JSON has perf's keys in perf's order" {
	"$tests/make_stat" all all.pmr
	stat -j all.pmr >none.json 2>/dev/null
	stat -j -I 1000 all.pmr >interval.json 2>/dev/null
	stat -j -A all.pmr >cpu.json 2>/dev/null
	stat -j --per-core all.pmr >core.json 2>/dev/null
	python3 - <<-'EOF'
		import json
		common = ["counter-value", "unit", "event", "event-runtime", "pcnt-running", "metric-value", "metric-unit"]
		for name, first in (("none", []), ("interval", ["interval"]), ("cpu", ["cpu"]), ("core", ["core", "aggregate-number"])):
		    for line in open(name + ".json"):
		        o = json.loads(line)
		        if "core" in o and "aggregate-number" not in o:
		            continue
		        if name == "cpu" and "core" in o:  # percore
		            o["cpu"] = o.pop("core")
		            o = {k: o[k] for k in ["cpu"] + common}
		        assert list(o) == first + common, (name, list(o))
		        assert isinstance(o["counter-value"], str) and isinstance(o["event-runtime"], int)
	EOF
}

@test "what is summed up behind the first intervals is their time, metrics included" {
	local sample=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples/command.pmr
	stat -x, --until=0.3 "$sample" >until
	awk -F, '$3 == "context-switches" { n++; bad = ($6 * ($7 == "K/sec" ? 1000 : 1) - $1 / $4 * 1e9) ^ 2 > 1 } END { exit n != 1 || bad }' until
	stat -I 100 --interval-count=3 --summary -x, "$sample" | sed -n 's/^ *summary,//p' >first
	diff until first
	stat -I 300 --interval-count=1 --summary -x, "$sample" | sed -n 's/^ *summary,//p' | diff until -
}

@test "runs have a mean and its standard deviation" {
	"$tests/make_stat" runs runs.pmr
	# 1, 2, 3: the deviation is 1, of the mean 1 / sqrt 3; 10, 20, 60: sqrt(700 / 3) of 30
	run stat --table runs.pmr
	[ "${lines[0]}" = " Performance counter stats for 'true' (3 runs):" ]
	[ "${lines[1]}" = "              2.00 msec task-clock                       #    0.002 CPUs utilized            ( +- 28.87% )" ]
	[[ $output == *"1.000 (-1.000) "#* ]]
	[[ $output == *" 2.000 +- 0.577 seconds time elapsed  ( +- 28.87% )"* ]]
	# With -I the intervals of each run by themselves, and the sum of all: snapshots are at 0 and 1, 2 and 3, 4 and 5 s.
	run counts -x, -I 10000 --summary -e task-clock runs.pmr
	[ "${lines[0]}" = "     1.000000000,1.00,msec,task-clock,1000000,100.00,," ]
	[ "${lines[1]}" = "     3.000000000,2.00,msec,task-clock,2000000,100.00,," ]
	[ "${lines[2]}" = "     5.000000000,3.00,msec,task-clock,3000000,100.00,," ]
	[ "${lines[3]}" = "         summary,6.00,msec,task-clock,6000000,100.00,," ]
	[ "${#lines[@]}" -eq 4 ]
}

@test "columns of metrics: a line a cgroup, no two members of a name, and -G" {
	may_count
	"$tests/make_stat" cgroups cg.pmr
	# 84 switches in 8 ms and 164 in 16 ms.
	[ "$(stat --metric-only -M cs_per_second -j cg.pmr)" = '{"cgroup" : "a", "1/s  cs_per_second" : "10500.0"}
{"cgroup" : "b,c", "1/s  cs_per_second" : "10250.0"}' ]
	[ "$(stat --metric-only -M cs_per_second -x, cg.pmr | tail -1)" = '"b,c",10250.0,' ]
	[ "$(stat -M cs_per_second -G a -x, cg.pmr)" = "8.00,msec,task-clock,a,8000000000,100.00,10500.0,1/s  cs_per_second
84,,cs,a,8000000000,100.00,," ]
	# Behind the line of a cgroup stands what is made of its own events.
	stat -x, -e cs cg.pmr >out
	[ "$(cut -d, -f7 out | head -1) $(tail -1 out | grep -o '[0-9.]*,K/sec')" = "10.500 10.250,K/sec" ]
	stat --per-core --metric-only -j cg.pmr | python3 -c '
import json, sys
for line in sys.stdin:
    list = json.loads(line, object_pairs_hook=lambda pairs: pairs)
    assert len(list) == len(dict(list)) == 6, list'
	# Two clocks in one recording.
	"$bin/pmrec" -q -o two.pmr --sources=perf -a -e task-clock,cpu-clock -- true
	stat --metric-only -j two.pmr >out
	python3 - <<-'END'
	import json
	def pairs(list):
	    assert len(dict(list)) == len(list) == 2, list
	    return dict(list)
	json.loads(open("out").read(), object_pairs_hook=pairs)
	END
}

@test "threads of the whole machine that did nothing have no line" {
	may_count
	"$bin/pmrec" -q -o all.pmr --sources=perf --per-thread -a -e task-clock --timeout 200
	stat --per-thread -x, all.pmr >out
	[ -s out ]
	# Beside 0.00 for a few microseconds.
	run ! grep -E 'not counted|^[^,]*,0(\.00)?,[^,]*,[^,]*,0,' out
	# Of threads that were named none is left out.
	sleep 100 3>&- &
	"$bin/pmrec" -q -o one.pmr --sources=perf --per-thread -p $! -e task-clock --timeout 200
	[ "$(stat --per-thread -x, one.pmr | grep -c 'not counted')" -eq 1 ]
	kill $!
}

@test "what would be ignored, or could not be read back, is refused" {
	"$tests/make_stat" all all.pmr
	refused() {
		local what=$1
		shift
		run stat "$@" all.pmr
		[ "$status" -eq 2 ] && [[ $output == *"$what"* ]] || { echo "$* $status: $output"; return 1; }
	}
	refused "occurs in numbers" -x 1
	refused "occurs in numbers" -x .
	refused "occurs in numbers" -x '5%'
	refused "-x and -j are mutually exclusive" -x, -j
	refused "-x and -j are mutually exclusive" -j -x,
	refused "-M: no column is named 'insn_per_cycl'; did you mean 'insn_per_cycle'?" -M insn_per_cycl
	refused "and pmrec vendor import DIR adds the CPU vendor's)" --topdown --td-level=3
	refused "--event: an empty list" -e ''
	refused "--metrics: an empty list" -M ,
	refused "--cgroup: an empty list" -G ''
	run --separate-stderr stat --table all.pmr
	[[ $stderr == *"--table: the recording has only one run"* ]]
	# Words that the separator is part of are quoted, perf's own too.
	[ "$(stat -x ' ' -e broken all.pmr)" = '"<not supported>"  broken 0 100.00  ' ]
	[ "$(stat -x 't' -e broken all.pmr)" = '"<not supported>"ttbrokent0t100.00tt' ]
	[ "$(stat -x '<n' -e cycles -A all.pmr | head -1)" = 'CPU0<n"<not counted>"<n<ncycles<n0<n0.00<n<n' ]
}

@test "names of any letters keep the columns" {
	may_count
	"$bin/pmrec" -q -o u.pmr --sources=perf -a -e "cpu-clock/name='q\"u,o'/" -e 'task-clock/name=ünï/' -- true
	stat u.pmr >out
	stat --metric-only u.pmr >only
	# The signs stand in one column, counted in characters, and columns of metrics end where their heads do.
	python3 - <<-'END'
	lines = [l.rstrip() for l in open("out", encoding="utf-8")]
	signs = {l.index("#") for l in lines if "#" in l}
	assert len(signs) == 1, lines
	lines = [l.rstrip() for l in open("only", encoding="utf-8")]
	at = [i for i, l in enumerate(lines) if l.endswith("ünï")][0]
	assert len(lines[at]) == len(lines[at + 1]), lines
	END
	[ "$(stat -x, u.pmr | cut -d, -f3-4 | head -1)" = '"q""u,o"' ]
	# The clocks of the machine and the time are of the same time, however short the command was.
	cpus=$("$bin/pmrep" info --format=json u.pmr | python3 -c 'import json, sys; print(json.load(sys.stdin)["topology"]["cpus"])')
	stat -M CPUs_utilized -x, u.pmr | awk -F, -v n="$cpus" '$6 > 0 { exit !($6 < 1.5 * n) }'
}

@test "threads, and those that end" {
	"$tests/make_stat" tasks tasks.pmr
	run counts --per-thread -x, tasks.pmr
	[ "${lines[0]}" = "bash-10,12,,context-switches,4000000000,100.00,," ]
	[ "${lines[1]}" = "two words-11,10,,context-switches,2000000000,100.00,," ]
	run counts -x, -t 11 tasks.pmr
	[ "$output" = "10,,context-switches,2000000000,100.00,," ]
	run counts -x, -p 10 tasks.pmr
	[ "$output" = "22,,context-switches,6000000000,100.00,," ]
	# Nothing says on which CPUs the tasks were counted.
	run --separate-stderr counts -x, -C 1 tasks.pmr
	[ "$output" = "22,,context-switches,6000000000,100.00,," ]
	[[ $stderr == *"-C: events of tasks were counted wherever the tasks ran"* ]]
	run counts -x, -p 9 tasks.pmr
	[ "$status" -eq 2 ]
	# In the third second the second thread did nothing any more.
	run counts --per-thread -I 1000 -x, tasks.pmr
	[ "${lines[5]}" = "     3.000000000,two words-11,<not counted>,,context-switches,0,100.00,," ]
	run stat --per-socket tasks.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"--per-thread"* ]]
}

@test "BPF programs: one line for all of them, one each, or those that are named" {
	"$tests/make_stat" programs p.pmr
	# 8 CPUs, 4 s, two programs: of 1 and 10 a second, of 2 and 20. Times are added up as perf does.
	expect cs '352,,cs,64000000000,100.00,,' -x, p.pmr
	run counts -x, p.pmr
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[1]} == 704,,faults,* ]]
	run counts --no-merge -x, p.pmr
	[ "${#lines[@]}" -eq 4 ]
	[[ ${lines[0]} == '32,,cs [12 one],'* && ${lines[3]} == '640,,faults [7],'* ]]
	run counts -b 7 -x, p.pmr
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[0]} == 320,,cs,* ]]
	run stat -b 12,7 p.pmr
	[[ ${lines[0]} == *"stats for 'BPF program(s) 12,7':" ]]
	run counts -b 12 -A -x, p.pmr
	[ "${lines[0]%%,,*}" = CPU0,4 ]
	run -2 stat -b 13 p.pmr
	[[ $output == *"no event of that BPF program"* ]]
	run -2 stat -b x p.pmr
	[[ $output == *"not a list of ids"* ]]
}

@test "topdown" {
	"$tests/make_stat" topdown td.pmr
	stat -x, --topdown td.pmr >out
	for want in '70.0,%  tma_retiring' '10.0,%  tma_bad_speculation' '15.0,%  tma_frontend_bound' '5.0,%  tma_backend_bound'; do
		grep -q -- ",$want\$" out || { cat out; return 1; }
	done
	run stat --metric-only --topdown -A -j td.pmr
	[ "${#lines[@]}" -eq 8 ]
	[[ ${lines[7]} == '{"cpu" : "7", '*'"%  tma_retiring" : "70.0"'* ]] || { echo "${lines[7]}"; return 1; }
	# The Default metrics stand behind their events: (1 + ... + 8) x 4000 slots, which 8 CPUs counted for 4 s.
	stat -x, -M Default td.pmr >out
	grep -q '^144000,,slots,32000000000,100.00,' out
	[ "$(grep -c '%  tma_' out)" -eq 4 ]
	# Of older processors: 550 of 1000 slots wait for the back end, and no other share is above its bound.
	"$tests/make_stat" slots old.pmr
	run stat -M TopdownL1 -j old.pmr
	grep -qF '"metric-value" : 55.000000, "metric-unit" : "%  tma_backend_bound", "metric-threshold" : "bad"' <<<"$output"
	grep -qF '"metric-value" : 10.000000, "metric-unit" : "%  tma_bad_speculation", "metric-threshold" : "good"' <<<"$output"
	[ "$(grep -cF '"metric-threshold" : "good"' <<<"$output")" -eq 3 ]
	run "$bin/pmrep" show --format=json --per-system --show=tma_backend_bound old.pmr
	[[ $output == *'"threshold":"bad"'* ]] || { echo "$output"; return 1; }
	run stat -e topdown-retiring td.pmr
	[[ $output == *"#     70.0% Retiring"* ]]
	"$tests/make_stat" all all.pmr
	run stat --topdown all.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"needs 'topdown-"* ]]
}

@test "recordings made for the Default metrics have those of each kind of CPUs" {
	"$tests/make_stat" hybrid hybrid.pmr
	# 10 switches a second and CPU number from 1: 36 x 10 x 4 over 8 x 4 s of clock; slots of CPUs in a half of the time.
	stat -x, hybrid.pmr >out
	grep -qx '1440,,context-switches,32000000000,100.00,45.0,1/s  cs_per_second' out
	[ "$(grep -o '[0-9.]*,%  tma_retiring.*' out | tr '\n' ' ')" = "70.0,%  tma_retiring 40.0,%  tma_retiring " ] || { cat out; return 1; }
	[ "$(stat -x, --per-socket hybrid.pmr | grep -c tma_retiring)" -eq 2 ]
	[ "$(counts -x, -e cpu_atom/topdown-retiring/ hybrid.pmr | grep -c '^[0-9]')" -eq 1 ]
	[ "$(stat -x, -M tma_retiring hybrid.pmr | grep -c 'tma_retiring')" -eq 2 ]
	# A vendor's formulas for each kind of cores, whose names are the same; ours are not shown a second time.
	cat >adl.json <<-'END'
	[ { "MetricName": "tma_retiring", "Unit": "cpu_atom", "MetricGroup": "Default;TopdownL1", "ScaleUnit": "100%",
	    "MetricExpr": "cpu_atom@topdown\\-retiring@ / 1000 / 104" },
	  { "MetricName": "tma_retiring", "Unit": "cpu_core", "MetricGroup": "Default;TopdownL1", "ScaleUnit": "100%",
	    "MetricExpr": "cpu_core@topdown\\-retiring@ / cpu_core@slots@" } ]
	END
	stat -x, -M Default --metrics-file=adl.json hybrid.pmr >out
	# 26 times 400 a second for 4 seconds.
	[ "$(grep -o '[0-9.]*,%  tma_retiring.*' out | tr '\n' ' ')" = "70.0,%  tma_retiring cpu_core 40.0,%  tma_retiring cpu_atom " ] ||
		{ cat out; return 1; }
	# No object has two members of one name.
	stat -j --metric-only hybrid.pmr >out
	python3 - <<-'END'
	import json
	def pairs(list):
	    assert len(dict(list)) == len(list), list
	    return dict(list)
	d = json.loads(open("out").read(), object_pairs_hook=pairs)
	assert d["%  tma_retiring (cpu_core)"] == "70.0" and d["%  tma_retiring (cpu_atom)"] == "40.0", d
	END
}

# Behind the event that the fewest metrics share, and null for what could not be counted.
@test "metrics stand behind the event that is theirs, also without a value" {
	may_count
	"$bin/pmrec" -q -o m.pmr --sources=perf -a -M cs_per_second,page_faults_per_second,migrations_per_second -- true
	stat -x, m.pmr | cut -d, -f3,7 | sort >out
	diff out - <<-'END'
	context-switches,1/s  cs_per_second
	cpu-clock,
	cpu-migrations,1/s  migrations_per_second
	page-faults,1/s  page_faults_per_second
	END
	"$tests/make_stat" all all.pmr
	echo '[ { "MetricName": "Lost", "MetricExpr": "broken / branches", "MetricThreshold": "Lost > 1" } ]' >lost.json
	run stat -x, -M Lost --metrics-file=lost.json all.pmr
	[[ $output == *",,branches,32000000000,100.00,,Lost"*"<not supported>,,broken,0,100.00,,"* ]] || { echo "$output"; return 1; }
	run stat -j -M Lost --metrics-file=lost.json all.pmr
	[[ $output == *'"event" : "branches", "event-runtime" : 32000000000, "pcnt-running" : 100.00, "metric-value" : null, "metric-unit" : "Lost", "metric-threshold" : "unknown"}'* ]] ||
		{ echo "$output"; return 1; }
}

@test "what thresholds say stands in json" {
	# Of 1000 slots 550 wait for the back end: more than a fifth. The other shares are within their bounds.
	"$tests/make_stat" slots old.pmr
	"$bin/pmrep" show --total -S --show=tma_backend_bound,tma_retiring,topdown-total-slots --format=json old.pmr >json
	python3 - <<-'END'
	import json
	rows = {r["metric"]: r for r in map(json.loads, open("json"))}
	assert {name: r.get("threshold") for name, r in rows.items()} == {
	    "tma_backend_bound": "bad", "tma_retiring": "good", "topdown-total-slots": None}, rows
	assert abs(rows["tma_backend_bound"]["value"] - 55) < 1e-9, rows
	END
}

@test "what is made of readings has a line of its own" {
	cp "${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples/command.pmr" .
	run stat -M runq command.pmr
	[[ $output == *"#     7.19 RunQ"* ]] || { echo "$output"; return 1; }
	"$bin/pmrep" show --total -S --show=runq --format=csv command.pmr | grep -q ',runq,7'
	echo '[ { "MetricName": "Now", "MetricExpr": "stat.procs_running" },
	        { "MetricName": "Pkg", "MetricExpr": "no.such.thing" } ]' >now.json
	run stat -M Now --metrics-file=now.json command.pmr
	[[ $output == *" Now"* ]] || { echo "$output"; return 1; }
	run stat -M Pkg --metrics-file=now.json command.pmr
	[[ $output == *"'Pkg' needs 'no.such.thing'"* ]]
}

@test "files, descriptors, and perf's configuration" {
	"$tests/make_stat" all all.pmr
	stat -o out -x, -e branches all.pmr
	[ "$(sed -n 1p out)" = "# started on Mon Sep 21 14:13:20 2026" ]
	[ "$(sed -n 3p out | bare)" = "3200,,branches,32000000000,100.00,," ]
	stat -o out --append -x, -e branches all.pmr
	[ "$(grep -c branches out)" -eq 2 ]
	stat --log-fd 7 -x, -e branches all.pmr 7>seven
	[ "$(bare <seven)" = "3200,,branches,32000000000,100.00,," ]
	stat -o out.json -j -e branches all.pmr
	python3 -c 'import json; json.loads(open("out.json").read())'
	printf '[core]\n\tbig-num = true\n[stat]\n\tbig-num = false # none\n' >config
	PERF_CONFIG=config expect branches '              3200      branches                         #  100.000 /sec' -e branches all.pmr
	PERF_CONFIG=config expect branches '             3,200      branches                         #  100.000 /sec' -B -e branches all.pmr
	printf '[stat]\nbig-num = perhaps\n' >config
	PERF_CONFIG=config run stat -e branches all.pmr
	[[ $output == *"perhaps"* ]]
	run stat -o x --log-fd 1 all.pmr
	[ "$status" -eq 2 ]
}

@test "what is not there is named" {
	"$tests/make_stat" all all.pmr
	run stat -e brunches all.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"'branches'"* ]]
	run stat
	[ "$status" -eq 2 ]
	run stat -r 3 all.pmr
	[ "$status" -eq 2 ]
	run stat -C 77 all.pmr
	[ "$status" -eq 2 ]
}

@test "the lines of perf's own machine: beside perf, on the same tasks" {
	may_count
	command -v perf >/dev/null || skip "no perf on this machine"
	perf stat -e task-clock true >/dev/null 2>&1 || skip "perf may not count here"
	events=task-clock,context-switches,page-faults,emulation-faults
	"$bin/pmrec" -q -o live.pmr -e "$events" -- sleep 0.2 || skip "pmrec may not count here"
	for form in -x, -j; do
		perf stat "$form" -o perf.out -e "$events" sleep 0.2
		stat "$form" live.pmr >ours.out
		# The same fields, with digits for digits.
		sed '/^#/d; /^$/d; s/[0-9][0-9.]*/0/g; s/[KM]\/sec/\/sec/' \
			perf.out >perf.shape
		sed 's/[0-9][0-9.]*/0/g; s/[KM]\/sec/\/sec/' ours.out >ours.shape
		diff perf.shape ours.shape
	done
	for ways in -A --per-socket --per-core; do
		"$bin/pmrec" -q --overwrite -a -o live.pmr -e "$events" -- sleep 0.2
		perf stat -a "$ways" -x, -o perf.out -e "$events" sleep 0.2
		stat "$ways" -x, live.pmr | sed 's/[0-9][0-9.]*/0/g; s/[KM]\/sec/\/sec/' >ours.shape
		sed '/^#/d; /^$/d; s/[0-9][0-9.]*/0/g; s/[KM]\/sec/\/sec/' perf.out >perf.shape
		diff perf.shape ours.shape
	done
}

@test "pmrec prints it at the end" {
	may_count
	run --separate-stderr "$bin/pmrec" -q -e task-clock --report=stat -o r.pmr -- true
	[ "$status" -eq 0 ] || skip "pmrec may not count here"
	[[ $output == *"Performance counter stats for 'true'"* ]]
	[[ $output == *" msec task-clock "* ]]
}

@test "enabled time: what --control left out is no time" {
	may_count
	begin -q -i 0.05 -a -D -1 -e cpu-clock,faults,cs -o x.pmr
	sleep 0.3 # each of these is a stretch of the recording, counted or not
	say enable
	sleep 0.8
	say disable
	sleep 0.6
	say enable
	sleep 0.3
	say stop
	wait "$pid"
	# The clocks of all CPUs ran while anything counted: so long a time has passed, whatever the sleeps took.
	cpus=$("$bin/pmrep" info --format=json x.pmr | python3 -c 'import json, sys; print(json.load(sys.stdin)["topology"]["cpus"])')
	stat -x, -e cpu-clock x.pmr >line
	run -0 stat -e cpu-clock x.pmr
	seconds=$(sed -n 's/ *\([0-9.]*\) seconds time elapsed/\1/p' <<<"$output")
	awk -v s="$seconds" -v n="$cpus" -F, '$3 == "cpu-clock" { share = $1 / 1000 / n / s }
		END { exit !(s > 1 && share > 0.9 && share < 1.1) }' line || { echo "$seconds s"; cat line; return 1; }
}

# LINES of csv by show, and the words of -M: each metric with a value has it here, too, to six digits.
same_as_show() {
	local samples=$BATS_TEST_DIRNAME/../../samples
	"$bin/pmrep" show --total --show=all --format=csv "${@:2}" "$samples/$1" >show.csv
	python3 - "$bin/pmrep" "$samples/$1" "${@:2}" <<-'END'
		import csv, json, subprocess, sys
		pmrep, sample, options = sys.argv[1], sys.argv[2], sys.argv[3:]
		options = [o for o in options if o != "-S"]
		rows = [r for r in csv.DictReader(open("show.csv")) if r["value"]]
		bad, seen = [], 0
		for metric in sorted({r["metric"] for r in rows}):
		    wanted = [float(r["value"]) for r in rows if r["metric"] == metric]
		    out = subprocess.run([pmrep, "stat", "-j", *options, "-M", metric, sample], capture_output=True, text=True)
		    found = []
		    for line in out.stdout.splitlines():
		        words = json.loads(line)
		        if words.get("metric-unit") and words["metric-value"] is not None:
		            found.append(float(words["metric-value"]))
		    seen += len(found)
		    if len(found) == len(wanted):
		        bad += [f"{metric}: {w} and {v}" for w, v in zip(wanted, found) if abs(w - v) > 2e-6 * abs(w) + 1e-6]
		print(*bad, sep="\n")
		sys.exit(bool(bad) or seen < 20)
	END
}

@test "a metric has the value that show gives it" {
	for sample in offline loaded; do
		same_as_show $sample.pmr -S
		same_as_show $sample.pmr --per-core
	done
	# Of one CPU it is that of the CPU.
	sample=$BATS_TEST_DIRNAME/../../samples/offline.pmr
	want=$("$bin/pmrep" show --total --per-cpu --cpu=1 --show=irq --format=csv "$sample" | sed -n 2p | cut -d, -f17)
	stat -C 1 -M irq -j "$sample" | grep -qF "\"metric-value\" : $(printf %.6f "$want"),"
}

@test "a missed reading loses no count, and the percentage tells" {
	# CPU 1 of two, which count 100 a second each, was not read at 3, 4 and 8 s.
	"$tests/make_stat" missed missed.pmr
	run --separate-stderr counts -e cycles -I 1000 -x, missed.pmr
	[ "${lines[1]}" = "     2.000000000,200,,cycles,2000000000,100.00,," ]
	[ "${lines[2]}" = "     3.000000000,100,,cycles,1000000000,50.00,," ]
	[ "${lines[3]}" = "     4.000000000,100,,cycles,1000000000,50.00,," ]
	[ "${lines[4]}" = "     5.000000000,400,,cycles,4000000000,100.00,," ]
	[ "${lines[7]}" = "     8.000000000,100,,cycles,1000000000,50.00,," ]
	# Of 16 s one is lost for good; perf drops the fraction.
	run --separate-stderr counts -e cycles -x, missed.pmr
	[ "$output" = "1500,,cycles,15000000000,93.00,," ]
}

@test "a clock that was counted in two modes is a share of the time, whichever comes first" {
	may_count
	for events in cpu-clock:u,cpu-clock cpu-clock,cpu-clock:u task-clock:u,task-clock; do
		"$bin/pmrec" perfstat -C 0 -e "$events" -x, sleep .2 2>out
		cat out
		awk -F, '$6 < .9 || $6 > 1.1 { bad = 1 } END { exit bad || NR != 2 }' out
	done
}
