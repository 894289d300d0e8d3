#!/usr/bin/env bats
# info, list and dump: what they say is compared with the machine and with each other.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
}

record() {
	"$bin/pmrec" --quiet --overwrite -i 50ms -n 4 -o r.pmr "$@"
}

field() {
	python3 -c 'import json,sys
d = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    d = d[int(key) if key.isdigit() else key]
print(d if isinstance(d, str) else json.dumps(d))' "$1"
}

@test "info counts what was recorded" {
	record --sources=stat,softirqs,interrupts
	"$bin/pmrep" info --format=json r.pmr >info.json
	[ "$(wc -l <info.json)" -eq 1 ]
	# A busy machine may have lost ticks.
	[ $(($(field snapshots <info.json) + $(field lost_ticks <info.json))) = 5 ]
	[ "$(field readers <info.json)" -ge 1 ]
	[ "$(field bytes <info.json)" = "$(stat -c %s r.pmr)" ]
	[ "$(field interval_ns <info.json)" = 50000000 ]
	[ "$(field duration_ns <info.json)" -ge 190000000 ]
	[ "$(field ended <info.json)" = true ]
	[ "$(field damage <info.json)" = "[]" ]
}

@test "the topology is that of lscpu" {
	command -v lscpu >/dev/null || skip "no lscpu"
	record --sources=stat
	"$bin/pmrep" info --format=json r.pmr >info.json
	lscpu -p=CPU,SOCKET,NODE | grep -v '^#' >cpus
	[ "$(field topology.cpus <info.json)" = "$(wc -l <cpus)" ]
	[ "$(field topology.packages <info.json)" = "$(cut -d, -f2 cpus | sort -u | wc -l)" ]
	lscpu -p=CORE,SOCKET | grep -v '^#' | sort -u >cores
	[ "$(field topology.cores <info.json)" = "$(wc -l <cores)" ]
	if [ -n "$(cut -d, -f3 cpus | head -1)" ] && [ -d /sys/devices/system/node/node0 ]; then
		[ "$(field topology.nodes <info.json)" = "$(cut -d, -f3 cpus | sort -u | wc -l)" ]
	fi
	[ "$(field host.kernel <info.json)" = "$(cat /proc/sys/kernel/osrelease)" ]
	[ "$(field host.arch <info.json)" = "$(uname -m)" ]
}

@test "start and end are wall time" {
	before=$(date -u +%Y-%m-%dT%H:%M:%S)
	record --sources=stat
	after=$(date -u +%Y-%m-%dT%H:%M:%S.999999999Z)
	start=$("$bin/pmrep" info --format=json r.pmr | field start)
	[[ ! $start < $before ]]
	[[ ! $start > $after ]]
}

@test "what a file reveals is marked, and strict privacy reveals no names" {
	host=$(uname -n)
	record --sources=stat --label who=me
	run "$bin/pmrep" info r.pmr
	[ "$status" -eq 0 ]
	[[ $output =~ host\ +"$host"\ +"[machine]" ]]
	[[ $output == *"[person]"* ]]
	[[ $output == *"[time]"* ]]
	"$bin/pmrep" info --format=json r.pmr >info.json
	[[ $(field reveals.machine <info.json) == *host* ]]
	[[ $(field reveals.person <info.json) == *labels* ]]
	[ "$(field labels.who <info.json)" = me ]
	record --sources=stat --privacy=strict
	"$bin/pmrep" info --format=json r.pmr >info.json
	[ "$(field reveals.machine <info.json)" = "[]" ]
	[ "$(field reveals.person <info.json)" = "[]" ]
	run ! grep -F "\"$host\"" info.json
}

@test "the command and its end are told" {
	"$bin/pmrec" --quiet -i 0.1 --sources=stat -o c.pmr -- sh -c 'sleep 0.3; exit 3' || [ $? -eq 3 ]
	"$bin/pmrep" list --format=json events c.pmr >events
	grep -q '"event":"child-start"' events
	grep '"event":"child-exit"' events | grep -q 'exit=3'
	"$bin/pmrep" info c.pmr | grep -q 'command  *sh'
	"$bin/pmrep" info c.pmr | grep 'child-exit' | grep -qE 'elapsed=[0-9.]+ m?s'
}

@test "text of a recording never controls the terminal" {
	record --sources=stat --label "$(printf 'x=\033[31mred\007\302\233')"
	for command in info "info --all" "info --format=json" "dump --no-values" "dump --format=json" "list events"; do
		# shellcheck disable=SC2086
		"$bin/pmrep" $command r.pmr >out
		! LC_ALL=C grep -q -e $'\033' -e $'\007' -e $'\302\233' out || { echo "$command"; return 1; }
	done
}

@test "list and dump agree with info" {
	record --sources=stat,interrupts
	"$bin/pmrep" info --format=json r.pmr >info.json
	counters=$(python3 -c 'import json; print(len(json.load(open("info.json"))["counters"]))')
	[ "$("$bin/pmrep" list --format=json r.pmr | wc -l)" -eq "$counters" ]
	[ "$("$bin/pmrep" list --format=json counters 'stat.*' r.pmr | wc -l)" -lt "$counters" ]
	"$bin/pmrep" dump --format=json r.pmr >dump
	python3 -c 'import json
for line in open("dump"): json.loads(line)'
	[ "$(grep -c '"is":"snapshot"' dump)" -eq 5 ]
	[ "$(grep -c '"is":"counter"' dump)" -eq "$counters" ]
	values=$(grep -c '"is":"value"' dump)
	[ "$values" -eq "$(field values <info.json)" ]
	[ "$("$bin/pmrep" dump --format=json --counter='stat.user' r.pmr | grep -c '"is":"value"')" -eq \
		"$(grep -c '"counter":"stat.user"' dump)" ]
	for what in metrics events instances; do
		"$bin/pmrep" list "$what" r.pmr >/dev/null
	done
	run "$bin/pmrep" list countres r.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"countres"*"list of counters"* ]]
	run "$bin/pmrep" list metrics 'nothing*' r.pmr
	[ "$status" -eq 2 ]
	run "$bin/pmrep" dump --counter='stat.usre' --no-definitions r.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"no counter is named 'stat.usre'"* ]]
}

@test "the frames of dump cover the file without a gap" {
	record --sources=stat
	"$bin/pmrep" dump --format=json --no-values --no-definitions r.pmr >frames
	python3 - "$(stat -c %s r.pmr)" <<-'PYTHON'
	import json, sys
	at = 0
	for line in open("frames"):
	    frame = json.loads(line)
	    if frame["is"] == "frame":
	        assert frame["offset"] == at, (frame, at)
	        at += frame["length"]
	assert at == int(sys.argv[1]), at
	PYTHON
}

@test "raw values of dump are those of the kernel" {
	read -r _ _ _ _ idle_before _ < <(grep '^cpu0 ' /proc/stat)
	record --sources=stat
	read -r _ _ _ _ idle_after _ < <(grep '^cpu0 ' /proc/stat)
	"$bin/pmrep" dump --format=json --counter=stat.idle r.pmr |
		python3 -c 'import json,sys
for line in sys.stdin:
    d = json.loads(line)
    if d["is"] == "value" and d.get("number") == 0:
        # The kernel corrects the idle time of a CPU that is idle: by a tick or two it may go back.
        assert int(sys.argv[1]) - 2 <= d["value"] <= int(sys.argv[2]) + 2, d
        print("ok")' "$idle_before" "$idle_after" >values
	[ "$(grep -c ok values)" -ge 2 ]
}

@test "numbers of the header have units, and one of a thing is one" {
	"$bin/pmrec" --quiet --sources=stat,vmstat -i 0.05 -n 1 -o one.pmr
	"$bin/pmrep" info one.pmr >out
	grep -E '^interval +50\.000 ms' out
	[ "$(grep -cE '^interval +50000000' out)" = 0 ]
	kib=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
	want=$(python3 -c 'import sys
v, i = int(sys.argv[1]) * 1024, 0
while v >= 999.95: v /= 1000; i += 1
print("%.1f %sB" % (v, " kMGTP"[i]))' "$kib")
	grep -E "^memory +$want" out
	[ "$(grep -cE '(^|[ (])1 (bytes|frames|chunks|snapshots)' out)" = 0 ]
	# Cut before the second chunk.
	second=$("$bin/pmrep" dump one.pmr | grep kind=chunk | sed -n '2s/.*offset=\([0-9]*\).*/\1/p')
	head -c "$second" one.pmr >cut.pmr
	"$bin/pmrep" check cut.pmr >check || [ $? = 1 ]
	grep -E ', 1 chunk, 1 snapshot, [0-9]+ values$' check
	"$bin/pmrep" info cut.pmr >out || true
	grep -E '^size .*, 1 chunk$' out
}

@test "info of a long recording reads some of it, and counts all of it" {
	"$PM_TESTS/sample_tool" live=30,2,3,1500,0 long.pmr
	"$bin/pmrep" info --format=json long.pmr >info.json
	"$bin/pmrep" check --format=json long.pmr >check.json
	[ "$(field snapshots <info.json)" = 1500 ]
	[ "$(field chunks <info.json)" = 1500 ]
	[ "$(field duration_ns <info.json)" = 1499000000000 ]
	[ "$(field bytes <info.json)" = "$(stat -c %s long.pmr)" ]
	"$bin/pmrep" info long.pmr | grep -q " $(field frames <check.json) frames, 1500 chunks"
	[ "$(field segments <info.json)" = 1 ]
	[ "$(field ended <info.json)" = true ]
	sampled=$(field sampled_snapshots <info.json)
	[ "$sampled" -gt 100 ] && [ "$sampled" -lt 300 ]
	[ "$(field values <info.json)" = null ]
	[ "$(field sources.0.groups <info.json)" = 1 ]
	[ "$(field sources.0.columns <info.json)" = 60 ]
	# All who came and went are counted: 30 at first, and those who were gone at the end.
	gone=$(python3 -c 'import json; print(sum(e["event"] == "gone" for e in json.load(open("info.json"))["events"]))')
	"$bin/pmrep" info long.pmr | grep -q "instances: comm ($((30 + gone)))"
	# The index of a damaged file is not believed.
	head -c -64 long.pmr >cut.pmr
	run -3 "$bin/pmrep" info --format=json cut.pmr
	"$bin/pmrep" info --format=json cut.pmr 2>/dev/null >cut.json || true
	[ "$(field sampled_snapshots <cut.json)" = 1500 ]
	[ "$(field values <cut.json)" = 90000 ]
}

@test "the last minute of a long recording is had without the rest" {
	command -v strace >/dev/null || skip "no strace"
	"$PM_TESTS/sample_tool" live=500,5,0,2000,0 day.pmr
	# Leaks cannot be looked for below strace.
	ASAN_OPTIONS=detect_leaks=0 strace -f -P "$PWD/day.pmr" -e trace=read -o reads "$bin/pmrep" cut --since=-60 -o minute.pmr "$PWD/day.pmr"
	[ "$("$bin/pmrep" info --format=json minute.pmr | field snapshots)" = 61 ]
	bytes=$(awk -F'= ' '/read\(/ { n += $NF } END { print n }' reads)
	[ $((bytes * 10)) -lt "$(stat -c %s day.pmr)" ]
}
