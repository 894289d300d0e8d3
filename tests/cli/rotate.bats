#!/usr/bin/env bats
# pmrec --rotate: files that follow each other, each complete, together without a gap.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
}

record() {
	"$bin/pmrec" -q --sources=softirqs,stat,interrupts "$@"
}

# In the background, as $pid.
start() {
	"$bin/pmrec" -q --sources=softirqs,stat,interrupts "$@" 3>&- &
	pid=$!
}

# Names in the order in which the files were written: what was killed before its first chunk is the last.
files() {
	local from
	for f in "$@"; do
		from=$("$bin/pmrep" dump --format=json --no-values "$f" |
			sed -n '/"kind":"chunk"/{s/.*"from_ns":\([0-9]*\).*/\1/p;q}')
		echo "${from:-9999999999999999999} $f"
	done | sort -n | cut -d' ' -f2
}

# What python says of the files behind the first argument, which pmrep merge makes of them.
whole() {
	local merged=$1
	shift
	"$bin/pmrep" merge -o "$merged" "$@" 2>merge.err || { cat merge.err; return 1; }
	grep -q ' 0 gaps' merge.err || { cat merge.err; return 1; }
	python3 "$BATS_TEST_DIRNAME/rotate.py" "$bin/pmrep" "$merged" $(files "$@")
}

@test "by time: merged they lack no interval and no count" {
	record -i 10ms -n 100 --rotate=250ms -o day.pmr
	set -- day-*.pmr
	[ $# -eq 4 ]
	for f; do
		[[ $f =~ ^day-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.pmr$ ]]
		"$bin/pmrep" check -q "$f"
		"$bin/pmrep" show --all "$f" >/dev/null
	done
	[ ! -e day.pmr ]
	whole all.pmr "$@"
	# On time: the first three hold 25 intervals, as far as no tick was lost.
	for f in $(files "$@" | head -3); do
		"$bin/pmrep" info --format=json "$f" >info.json
		"$bin/pmrep" dump --format=json --no-values "$f" | python3 -c '
import json, sys
lost = json.load(open("info.json"))["lost_ticks"]
chunks = [o for o in map(json.loads, sys.stdin) if o.get("kind") == "chunk"]
span = chunks[-1]["to_ns"] - chunks[0]["from_ns"]
assert 240e6 <= span <= 300e6 + lost * 10e6, (span, lost)'
	done
}

@test "by size: no file is larger, and together they are the whole" {
	record -i 1ms -n 3000 --rotate=12k -o s
	set -- s-*.pmr
	[ $# -ge 3 ]
	for f; do
		[ "$(stat -c %s "$f")" -le 12000 ] || { ls -l; return 1; }
		"$bin/pmrep" check -q "$f"
	done
	whole all.pmr "$@"
	# A size below that of the definitions still gives files with something in them.
	record -i 5ms -n 200 --rotate=4Ki -o t.pmr
	set -- t-*.pmr
	[ $# -ge 2 ]
	whole all-t.pmr "$@"
}

@test "one recording is no different from its files" {
	# They are of the same machine at different moments: what does not depend on the moment is compared.
	record -i 10ms -n 60 -o one.pmr
	record -i 10ms -n 60 --rotate=200ms -o many.pmr
	"$bin/pmrep" merge -o all.pmr many-*.pmr 2>/dev/null
	for f in one all; do
		"$bin/pmrep" list counters --format=json $f.pmr >$f.counters
		"$bin/pmrep" info --format=json $f.pmr | python3 -c '
import json, sys
o = json.load(sys.stdin)
print(o["topology"], o["sources"], o["snapshots"] + o["lost_ticks"] in (60, 61, 62))' >$f.info
	done
	cmp one.counters all.counters
	diff one.info all.info
}

@test "--keep removes the oldest of its own, and nothing else" {
	echo mine >k-20200101T000000Z.pmr
	record -i 10ms -n 100 --rotate=100ms --keep 3 -o k.pmr
	[ "$(cat k-20200101T000000Z.pmr)" = mine ]
	rm k-20200101T000000Z.pmr
	set -- k-*.pmr
	[ $# -eq 3 ]
	whole all.pmr "$@"
	# The newest stayed: the end of the recording is there.
	"$bin/pmrep" dump --format=json --no-definitions "$(files "$@" | tail -1)" | grep -q '"flags":"[^"]*last'
	# A file that somebody has put in the place of one of them is not its own.
	start -i 10ms --rotate=400ms --keep 1 -o x.pmr
	for _ in {1..100}; do
		[ -n "$(compgen -G 'x-*.pmr')" ] && break
		sleep 0.01
	done
	first=$(compgen -G 'x-*.pmr' | head -1)
	mv "$first" elsewhere
	echo other >"$first"
	await appeared 3 "x-*.pmr"
	kill -TERM $pid
	wait $pid
	[ "$(cat "$first")" = other ]
	"$bin/pmrep" check -q elsewhere
	rm "$first"
	set -- x-*.pmr
	[ $# -eq 1 ]
}

@test "SIGTERM and kill -9" {
	for signal in TERM KILL; do
		mkdir $signal
		start -i 5ms --rotate=200ms -o $signal/a.pmr
		await appeared 4 "$signal/a-*.pmr"
		kill -$signal $pid
		wait $pid || true
		set -- $signal/a-*.pmr
		[ $# -ge 3 ]
		# Only the last one may lack its end, or both if the kill came while one followed the other.
		for f in $(files "$@" | head -n $([ $signal = KILL ] && echo -2 || echo -1)); do
			"$bin/pmrep" check -q "$f"
		done
		[ $signal = KILL ] || whole all.pmr "$@"
		run "$bin/pmrep" merge -o $signal.pmr "$@"
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
		[[ $output == *" 0 gaps"* ]]
	done
}

@test "a command, runs, and counters that are off for a while" {
	mkfifo ctl
	start --control=fifo:ctl -i 5ms --rotate=100ms -o c.pmr
	sleep 0.3
	echo disable >ctl
	sleep 0.3
	echo enable >ctl
	sleep 0.3
	echo stop >ctl
	wait $pid
	for f in c-*.pmr; do
		"$bin/pmrep" check -q "$f"
	done
	"$bin/pmrep" merge -o all.pmr c-*.pmr 2>err
	grep -q ' 0 gaps' err || { cat err; return 1; }
	# The pause is no interval.
	"$bin/pmrep" show --debug --all --format=csv all.pmr | python3 -c '
import csv, sys
longest = max(int(r["duration_ns"]) for r in csv.DictReader(sys.stdin))
assert longest < 250e6, longest'
	run -7 "$bin/pmrec" -q --sources=stat -i 5ms --rotate=100ms -r 3 -o d.pmr -- sh -c 'sleep 0.2; exit 7'
	"$bin/pmrep" merge -o runs.pmr d-*.pmr 2>err
	"$bin/pmrep" check -q runs.pmr
	"$bin/pmrep" info --format=json runs.pmr >info
	"$bin/pmrep" dump --format=json --no-definitions runs.pmr | grep -c '"run-end"\|run-end' >ends || true
	[ "$(cat ends)" -eq 3 ]
}

@test "privacy: names say no host, and a failure says no path in the recording" {
	start -i 5ms --rotate=50ms --timeout=60000 --privacy=strict
	await appeared 2 'anon-*.pmr'
	kill -TERM "$pid"
	wait "$pid" || [ $? = 143 ]
	for f in *.pmr; do
		[[ $f == anon-* ]]
		run ! grep -q '"host"' <("$bin/pmrep" dump --format=json "$f")
	done
	[ "$(compgen -G 'anon-*.pmr' | wc -l)" -ge 2 ]
}

@test "no room for another file: the one that there is goes on, and it is said" {
	mkdir secret-folder
	"$bin/pmrec" --sources=stat -i 10ms --rotate=300ms -n 150 -o secret-folder/a.pmr 2>err 3>&- &
	pid=$!
	for _ in {1..100}; do
		[ -n "$(compgen -G 'secret-folder/a-*.pmr')" ] && break
		sleep 0.01
	done
	first=$(compgen -G 'secret-folder/a-*.pmr')
	mv secret-folder moved
	wait $pid
	set -- moved/*.pmr
	[ $# -eq 1 ]
	"$bin/pmrep" check -q "$1"
	grep -q 'could not start another file' err
	"$bin/pmrep" dump "$1" | grep -q 'could not start another file: No such file'
	run ! grep -a -q secret-folder "$1"
	# All of the time is there.
	"$bin/pmrep" info --format=json "$1" | python3 -c '
import json, sys
o = json.load(sys.stdin)
assert o["snapshots"] + o["lost_ticks"] in (150, 151, 152), o["snapshots"]'
}

@test "a full disk: with --keep the oldest files go first" {
	[ "$(id -u)" -eq 0 ] || skip "not root: no file system of its own"
	mkdir disk
	mount -t tmpfs -o size=96k tmpfs disk 2>/dev/null || skip "no tmpfs can be mounted here"
	run -0 "$bin/pmrec" --sources=softirqs,stat -i 1ms --rotate=24k --keep=50 --timeout=3000 -o disk/a.pmr 3>&-
	mkdir kept
	cp disk/* kept
	umount disk
	set -- kept/*
	[ $# -ge 2 ]
	[[ $output != *"sampling continues"* ]]
	for f; do
		"$bin/pmrep" check -q "$f"
	done
}

@test "a full disk: the files before are complete" {
	[ "$(id -u)" -eq 0 ] || skip "not root: no file system of its own"
	mkdir disk
	mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null || skip "no tmpfs can be mounted here"
	run "$bin/pmrec" --sources=softirqs,stat,interrupts -i 1ms --rotate=20k --timeout=20000 -o disk/a.pmr 3>&-
	cp disk/* .
	# With --keep, what fits in goes on for ever.
	rm disk/*
	run -0 "$bin/pmrec" -q --sources=softirqs,stat,interrupts -i 1ms --rotate=15k --keep 3 --timeout=3000 \
		-o disk/b.pmr 3>&-
	mkdir kept
	cp disk/* kept
	umount disk
	set -- $(files a-*.pmr)
	[ $# -ge 2 ]
	for f in "${@:1:$#-1}"; do
		"$bin/pmrep" check -q "$f"
	done
	run "$bin/pmrep" merge -o all.pmr "$@"
	[[ $output == *" 0 gaps"* ]]
	set -- kept/*
	[ $# -ge 2 ]
	whole all-kept.pmr "$@"
}

@test "what cannot be" {
	refused() {
		run "$bin/pmrec" "$@"
		[ "$status" -eq 125 ] || { echo "$* gave $status"; return 1; }
	}
	refused --rotate=1h -o -
	[[ $output == *"name them with -o FILE"* ]]
	refused --rotate=1h -o /dev/null
	refused --rotate=10 -o a.pmr
	[[ $output == *"unit"* ]]
	refused --rotate=-5m -o a.pmr
	refused --rotate= -o a.pmr
	refused --rotate=0s -o a.pmr
	refused --rotate=1k -o a.pmr
	refused --rotate=1s -i 2 -o a.pmr
	refused --rotate=1h --report -o a.pmr
	refused --keep 3 -o a.pmr
	[[ $output == *"--rotate"* ]]
	refused --rotate=1h --keep=0 -o a.pmr
	refused --rotate=1h --keep=many -o a.pmr
	refused --rotate=1h -o nowhere/a.pmr
	[ -z "$(compgen -G 'a*.pmr')" ]
}
