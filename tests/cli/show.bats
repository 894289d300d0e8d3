#!/usr/bin/env bats
# show: on recordings with known truth (see tests/unit/tools/make_recording.c), and live.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	cd "$BATS_TEST_TMPDIR"
	export TZ=UTC
	unset NO_COLOR
}

make() {
	"$tests/make_recording" "${1:-r.pmr}" ${2:+"$2"}
}

show() {
	"$bin/pmrep" "$@"
}

# Makes a machine of files, and prints where.
machine() {
	"${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/sysroots/make" hybrid machine
	echo machine
}

@test "a table has the system first, then CPUs; package values stand in the first CPU's row" {
	make
	show r.pmr --total >out
	cat >expected <<-'END'
	Package  Node  Core  CPU    C1%  Temp  PkgWatt   IPC     cycles  instructions
	      -     -     -    -  25.00  41.0    30.00  0.50  720000000     360000000
	      0     0     0    0  25.00          10.00  0.50   20000000      10000000
	      0     0     0    1  25.00                 0.50   40000000      20000000
	      0     0     1    2  25.00                 0.50   60000000      30000000
	      0     0     1    3  25.00                 0.50   80000000      40000000
	      1     1     0    4  25.00          20.00  0.50  100000000      50000000
	      1     1     0    5  25.00                 0.50  120000000      60000000
	      1     1     1    6  25.00                 0.50  140000000      70000000
	      1     1     1    7  25.00                 0.50  160000000      80000000
	END
	diff expected out
}

@test "csv and json are what independent readers take them for, and equal" {
	make
	show r.pmr --all --format=csv >out.csv
	show r.pmr --all --format=json >out.json
	python3 - <<-'PYTHON'
	import csv, json
	rows = list(csv.DictReader(open("out.csv", newline="")))
	lines = [json.loads(line) for line in open("out.json")]
	# Each of 20 intervals: 6 of the system, 4 a CPU, 1 a package, 1 a zone.
	assert len(rows) == len(lines) == 20 * (6 + 8 * 4 + 2 + 2), (len(rows), len(lines))
	for row, line in zip(rows, lines):
	    # What was judged has one key more; csv has the columns of for ever.
	    assert line.pop("threshold", "good") in ("good", "bad"), line
	    assert list(row) == list(line)
	    for key, text in row.items():
	        value = line[key]
	        assert text == ("" if value is None else repr(value) if isinstance(value, float) else str(value)), (key, text, value)
	# What CPUs count adds up to what the system counts, in every interval.
	cpus, system = {}, {}
	for row in rows:
	    if row["metric"] != "cycles":
	        continue
	    if row["scope"] == "cpu":
	        cpus[row["time"]] = cpus.get(row["time"], 0) + int(row["value"])
	    elif row["scope"] == "system":
	        system[row["time"]] = int(row["value"])
	assert cpus == system and len(system) == 20, (cpus, system)
	PYTHON
}

@test "all levels have their rows" {
	make
	for pair in system:1 package:2 socket:2 die:2 cache:2 node:2 core:4 cpu:8 device:2; do
		level=${pair%:*} n=${pair#*:}
		metric=cycles
		[ $level = device ] && metric=temp
		rows=$(show r.pmr --total --per-$level --format=csv --show=$metric | tail -n +2 | wc -l)
		[ "$rows" -eq "$n" ] || { echo "--per-$level: $rows rows"; false; }
	done
}

@test "--cpu limits rows, and the summary stays over all" {
	make
	[ "$(show r.pmr --total -c 1,4..5 --show=cycles | awk '{ print $4, $5 }' | tail -n +2 | tr '\n' ';')" = \
		"- 720000000;1 40000000;4 100000000;5 120000000;" ]
	[ "$(show r.pmr --total --cpu=core --show=cycles | wc -l)" -eq 6 ]
	[ "$(show r.pmr --total --cpu=package --show=cycles | wc -l)" -eq 4 ]
	run -2 show r.pmr --cpu=x
}

@test "topology columns alone are a table of the places" {
	make
	[ "$(show r.pmr --total --quiet --show=CPU | tr -d ' ' | tr '\n' ' ')" = "CPU - 0 1 2 3 4 5 6 7 " ]
	[ "$(show r.pmr --total --quiet --show=Package,CPU --cpu=4 | awk '{ print $1, $2 }' | tr '\n' ';')" = \
		"Package CPU;- -;1 4;" ]
	# A metric beside them is a table as ever.
	[ "$(show r.pmr --total --quiet --show=CPU,cycles | head -1 | grep -c cycles)" -eq 1 ]
	run -2 show r.pmr --format=csv --show=CPU
	[[ $output == *"no column is left"* ]]
}

@test "intervals can be joined, limited and chosen" {
	make
	[ "$(show r.pmr --all -S --show=cycles | tail -n +2 | wc -l)" -eq 20 ]
	[ "$(show r.pmr -S --show=cycles | tail -n +2 | wc -l)" -eq 20 ]
	[ "$(show r.pmr -i 5 -S --show=cycles | awk 'NR > 1 { print $2 }' | sort -u)" = 180000000 ]
	[ "$(show r.pmr --every=5 -S --show=cycles | tail -n +2 | wc -l)" -eq 4 ]
	[ "$(show r.pmr -n 3 -S --show=cycles | tail -n +2 | wc -l)" -eq 3 ]
	[ "$(show r.pmr --since=2 --until=7 --total -S --show=cycles | tail -n 1)" = "180000000" ]
	[ "$(show r.pmr --since=-3 -S --show=cycles | tail -n +2 | wc -l)" -eq 3 ]
	[ "$(show r.pmr --since=2026-09-21T14:13:30Z -S --show=cycles | tail -n +2 | wc -l)" -eq 10 ]
	run -0 show r.pmr --since=1000000
	[[ $output == *"no interval in that time"* ]]
	run -2 show r.pmr --since=yesterday
	[[ $output == *"is not a time"* ]]
}

@test "columns are chosen as turbostat's are" {
	make
	[ "$(show r.pmr --total -S --show PkgWatt,C1%)" = "$(printf '  C1%%  PkgWatt\n25.00    30.00')" ]
	[ "$(show r.pmr --total -S -s pct_idle --enable cycles -q | head -n 1)" = "  C1%     cycles" ]
	[ "$(show r.pmr --total -S --hide perf,temp | head -n 1)" = "  C1%  PkgWatt" ]
	[ "$(show r.pmr --total -S -J --show power | head -n 1 | tr -s " ")" = "Temp Pkg_J" ]
	run -2 show r.pmr --show=cylces
	[[ $output == *"did you mean 'cycles'?"* ]]
	# What the recording cannot feed is named, and the rest is shown.
	run --separate-stderr -0 show r.pmr --total -S --show=Util%,cycles
	[[ $stderr == *"'Util%' needs 'stat.user'"* ]]
	[ "${lines[1]}" = "720000000" ]
	run -3 show r.pmr --total -S --strict --show=Util%,cycles
	show --list r.pmr | grep -q '^idle.c1.residency  *C1% '
	show --list | grep -q '^pkgwatt  *PkgWatt '
}

@test "--rate, and metrics of a vendor's file" {
	make
	[ "$(show r.pmr --total -S --rate --show=powercap.energy.package --format=csv | tail -n 1 | cut -d, -f16-)" = \
		"powercap.energy.package,30,J/s,ok,1" ]
	cat >vendor.json <<-'END'
	[ { "MetricName": "twice", "MetricExpr": "2 * instructions / cycles", "ScaleUnit": "1x",
	    "BriefDescription": "Two things at once" } ]
	END
	[ "$(show r.pmr --total -S --metrics-file=vendor.json --show=twice --format=csv | tail -n 1 | cut -d, -f16-17)" = twice,1 ]
	# What a metric of the file lacks is named as for a built-in one.
	echo '[ { "MetricName": "Lack", "MetricExpr": "no.such.event / cycles" } ]' >lack.json
	run --separate-stderr -0 show r.pmr --total -S --metrics-file=lack.json --show=Lack,cycles
	[[ $stderr == *"'Lack' needs 'no.such.event'"* ]]
	[[ $stderr != *"no column is named"* ]]
	# A formula that is none costs that metric alone.
	echo '[ { "MetricName": "Bad", "MetricExpr": "1 +" }, { "MetricName": "Fine", "MetricExpr": "cycles" } ]' >part.json
	run --separate-stderr -0 show r.pmr --total -S --metrics-file=part.json --show=Fine
	[ "$(grep -c . <<<"$stderr")" = 1 ]
	[[ $stderr == "pmrep: --metrics-file: metric Bad left out: "* ]]
	[ "${lines[1]}" = 720000000.00 ]
	run -0 show r.pmr --total -S --strict --metrics-file=vendor.json --show=cycles
	run -3 show r.pmr --total -S --strict --metrics-file=part.json --show=cycles
	echo '{' >broken.json
	run -2 show r.pmr --metrics-file=broken.json
}

@test "CPUs that the recording lacks are named" {
	make
	run --separate-stderr -0 show r.pmr --total --cpu=0,97-99 --show=cycles
	[[ $stderr == *"r.pmr: the recording has no CPU 97-99" ]]
	run --separate-stderr -0 show r.pmr --total --cpu=0 --show=cycles
	[ -z "$stderr" ]
	run --separate-stderr -2 show r.pmr --total --cpu=99 --show=cycles
	[[ $stderr == *"r.pmr: the recording has no CPU 99" ]]
	[ -z "$output" ]
}

@test "standard input, gzip, several files" {
	make
	make s.pmr 3
	show --total -S --show=cycles - <r.pmr | grep -q 720000000
	gzip -k r.pmr
	show --total -S --show=cycles r.pmr.gz | grep -q 720000000
	[ "$(show --total -S --show=cycles --format=csv r.pmr s.pmr | cut -d, -f1,17 | tail -n +2 | tr '\n' ';')" = \
		"r.pmr,720000000;s.pmr,72000000;" ]
}

@test "a cut recording: everything before is printed, the end is named, exit 3" {
	make r.pmr 201
	size=$(stat -c %s r.pmr)
	head -c $((size * 2 / 3)) r.pmr >cut.pmr
	run --separate-stderr -3 show cut.pmr -S --show=cycles --format=csv
	[ "${#lines[@]}" -gt 20 ]
	[ "${#lines[@]}" -lt 201 ]
	[ "$(printf '%s\n' "${lines[@]:1}" | cut -d, -f17 | sort -u)" = 36000000 ]
	[[ $stderr == *"cut.pmr: bytes "*" to "* ]]
}

@test "a broken recording: no difference across the gap, exit 3" {
	make r.pmr 401
	printf '\377\377\377\377' | dd of=r.pmr bs=1 seek=$(($(stat -c %s r.pmr) / 2)) conv=notrunc status=none
	run --separate-stderr -3 show r.pmr -S --show=cycles --format=csv
	[ "${#lines[@]}" -gt 100 ]
	[ "${#lines[@]}" -lt 401 ]
	[ "$(printf '%s\n' "${lines[@]:1}" | cut -d, -f17 | sort -u)" = 36000000 ]
	[[ $stderr == *"nothing from 2026-"* ]]
}

@test "what is no recording is said in one line, exit 2" {
	: >empty
	echo hello >text
	for f in empty text . missing.pmr; do
		run -2 show "$f"
		[ "${#lines[@]}" -eq 1 ]
	done
	run -2 show
}

@test "a full disk and a closed pipe" {
	make r.pmr 2001
	[ -w /dev/full ] || skip "no /dev/full"
	run -2 show r.pmr --format=csv -o /dev/full
	[[ $output == *"No space left"* ]]
	run -2 bash -c "'$bin/pmrep' r.pmr --format=csv >/dev/full"
	[[ $output == *"No space left"* ]]
	show r.pmr --format=csv 2>err | head -n 1 >/dev/null
	[ ! -s err ]
	run -2 show r.pmr -o /nonexistent/x
	show r.pmr --total -S --show=cycles -o text
	grep -q 72000000000 text
}

@test "letters of other programs are explained" {
	make
	run -2 show -I r.pmr
	[[ $output == *--show=IPC* ]]
	run -2 show -x , r.pmr
	[[ $output == *--format=csv* ]]
	run -0 show -D r.pmr
	[[ $output == *"cycles (cpu 1): "* ]]
	show --help | grep -q -- --per-
}

@test "live through a pipe" {
	"$bin/pmrec" --quiet -i 50ms --sources=stat -o - sleep 0.4 | show - --all -S --show=ctxsw >out
	[ "$(wc -l <out)" -gt 5 ]
}

@test "following a file that grows, to its end" {
	begin --quiet -i 20ms --sources=stat -o r.pmr
	recorder=$pid
	await holds r.pmr 2
	# A recording that is being written is good.
	show r.pmr -S --show=ctxsw >now
	show --follow r.pmr --all -S --show=ctxsw --time=relative >out 3>&- &
	follower=$!
	await lines out "$(($(wc -l <now) + 1))"
	say stop
	wait $recorder
	wait $follower
	[ "$(wc -l <out)" -gt "$(wc -l <now)" ]
	show r.pmr --all -S --show=ctxsw --time=relative >all
	[ "$(tail -n 1 out)" = "$(tail -n 1 all)" ]
	diff out all
}

@test "following a recorder that is killed: the end is named, exit 3" {
	begin --quiet -i 20ms --sources=stat -o r.pmr
	recorder=$pid
	await holds r.pmr 2
	"$bin/pmrep" --follow r.pmr --all -S --show=ctxsw >out 2>err 3>&- &
	follower=$!
	await test -s out
	kill -9 $recorder
	wait $recorder || true
	status=0
	wait $follower || status=$?
	[ "$status" -eq 3 ]
	grep -q "end frame" err
	run -3 show r.pmr -S --show=ctxsw
}

@test "several files in tables: each is named, and keeps its times" {
	make a.pmr 3
	make b.pmr 3
	show -S --show=cycles a.pmr b.pmr >out
	cat >expected <<-'END'
	==> a.pmr <==
	     UTC    cycles
	14:13:21  36000000
	14:13:22  36000000

	==> b.pmr <==
	     UTC    cycles
	14:13:21  36000000
	14:13:22  36000000
	END
	diff expected out
}

@test "a level that has no numbers shows none" {
	dir=$(machine)
	rm -r "$dir"/sys/devices/system/cpu/cpu*/topology/cluster_id
	"$bin/pmrec" --quiet -n 1 -i 50ms --sources=interrupts -o r.pmr --root "$dir"
	run -0 show r.pmr --total --per-cluster --show=irq
	[ "${#lines[@]}" -eq 3 ] # the head, the system, and a remark
	[[ $output == *"no cluster was recorded"* && $output != *429496* ]]
	run -0 show r.pmr --total --per-die --show=irq
	[[ $output == Die* ]]
}

@test "the machine keeps its row when all its numbers are missing" {
	dir=$(machine)
	begin --quiet -n 6 -i 100ms --sources=stat -o r.pmr --root "$dir"
	: >"$dir/proc/stat"
	wait $pid
	[ "$(show r.pmr --all -S --show=util | tail -n +2 | wc -l)" -eq 6 ]
	show r.pmr --all -S --format=csv --show=util >out
	grep -q ',,%,errno-61,$' out
}

@test "a count beside its rate has a head of its own" {
	show show "${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples/stories/slow.pmr" --total -S --show='*irq*,interrupts.*' >out
	head -n 1 out | tr -s ' ' '\n' >heads
	[ -z "$(sort heads | uniq -d)" ] || { cat out; return 1; }
	grep -qx irq.24 heads
	grep -qx interrupts.24 heads
	grep -qx interrupts.total heads
}

@test "a threshold judges its metric: in json by a word, in tables by a color, in csv not at all" {
	"$tests/make_stat" all all.pmr
	# 10 of 100 branches are missed, which is more than 5 %; no threshold is known of cycles.
	show all.pmr --total --show=branch_miss_rate,cycles --format=json >out
	[ "$(grep -c '"metric":"branch_miss_rate","value":10,"unit":"%","status":"ok","coverage":1,"threshold":"bad"}$' out)" -eq 9 ]
	[ "$(grep '"metric":"cycles"' out | grep -c threshold)" -eq 0 ]
	show all.pmr --total --show=branch_miss_rate --per-system --color=always >out
	grep -q $'\033\\[31m10[.0-9]*\033\\[m$' out
	[ "$(show all.pmr --total --show=branch_miss_rate --per-system --color=never | grep -c $'\033')" -eq 0 ]
	show all.pmr --total --show=branch_miss_rate --format=csv --color=always >out
	[ "$(grep -c -e $'\033' -e bad out)" -eq 0 ]
}

@test "columns that have no room go below the others, and nothing is lost" {
	file=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples/tegra410.pmr
	show "$file" -n 1 --width=0 >wide 2>/dev/null
	[ "$(awk '{ print length }' wide | sort -n | tail -n 1)" -gt 200 ]
	for width in 60 80 200; do
		show "$file" -n 1 --width=$width >folded 2>/dev/null
		[ "$(awk '{ print length }' folded | sort -n | tail -n 1)" -le $width ]
		python3 - <<-'PYTHON'
		import collections
		def words(path):
		    """What stands behind Time Package Node Core CPU, by these."""
		    rows = collections.defaultdict(list)
		    for line in open(path):
		        cell = line.split()
		        rows[tuple(cell[:5])] += cell[5:]
		    return rows
		wide, folded = words("wide"), words("folded")
		assert len(wide) == 10, wide
		assert wide == folded, (wide, folded)
		PYTHON
	done
	show "$file" -n 1 -S --width=80 --format=csv >a.csv
	show "$file" -n 1 -S --format=csv >b.csv
	cmp a.csv b.csv
	# Not narrower than one column, and no limit where nobody looks.
	show "$file" -n 1 -S --width=1 >/dev/null
	show "$file" -n 1 2>/dev/null | cmp - wide
	run -2 show "$file" --width=broad
}

@test "rows of a kind that a recording has none of are named" {
	run --separate-stderr -0 "$bin/pmrep" --per-task --total "$BATS_TEST_DIRNAME/../../samples/idle.pmr"
	[[ $stderr == *"no task was recorded"* ]]
	run --separate-stderr -0 "$bin/pmrep" --per-task --total "$BATS_TEST_DIRNAME/../../samples/stories/slow.pmr"
	[[ $stderr != *"was recorded"* ]]
}

@test "what the processor lacks is not said of rows of tasks and devices" {
	s=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples
	[[ $("$bin/pmrep" --total "$s/loaded.pmr" 2>&1 >/dev/null) == *"not shown: "* ]]
	for level in task device pmu cgroup; do
		run "$bin/pmrep" --total "--per-$level" "$s/loaded.pmr"
		[[ $output != *"not shown: "* ]] || { echo "$level: $output"; return 1; }
	done
}

@test "a task that has ended costs a total only what it comes to" {
	[ -z "$PM_SANITIZE" ] || skip "sanitizers have memory of their own"
	"$tests/sample_tool" live=1000,5,1000,30,0 churn.pmr
	"$bin/pmrep" show --total --format=csv churn.pmr >whole.csv
	(ulimit -v 43000 && "$bin/pmrep" show --total --format=csv churn.pmr) | cmp - whole.csv
}

@test "--until ends each recording of a file at its own time, in a pipe and compressed, too" {
	local s="${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples"
	# The second has a fault behind its end, which is not looked at.
	{
		cat "$s/plain.pmr" "$s/idle.pmr"
		head -c 12000 "$s/loaded.pmr"
		echo torn
		tail -c 3000 "$s/loaded.pmr"
		cat "$s/idle.pmr"
	} >four.pmr
	gzip -k four.pmr
	show --until=+1 --format=csv four.pmr | cut -d, -f2- >want
	[ "$(cut -d, -f2 want | sort -u | wc -l)" -ge 6 ]
	show --until=+1 --format=csv four.pmr.gz | cut -d, -f2- | cmp - want
	show --until=+1 --format=csv - <four.pmr | cut -d, -f2- | cmp - want
	cat four.pmr | show --until=+1 --format=csv - | cut -d, -f2- | cmp - want
	show cut --until=+1 -o file.pmr four.pmr
	cat four.pmr | show cut --until=+1 -o pipe.pmr -
	cmp <(show --format=csv file.pmr | cut -d, -f2-) <(show --format=csv pipe.pmr | cut -d, -f2-)
}
