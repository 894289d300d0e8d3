#!/usr/bin/env bats
# pmrep cut and pmrep merge: what is carried over is what it was, byte for byte in csv.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	cd "$BATS_TEST_TMPDIR"
}

# All that a recording shows, but for its name; more arguments select.
csv() {
	"$bin/pmrep" show --debug --all --format=csv "$@" 2>notes | sed 's/^[^,]*,//'
}

cut_to() {
	local out=$1
	shift
	"$bin/pmrep" cut --overwrite -o "$out" "$@" 2>cut.err
}

@test "without limits every sample gives the same metrics, byte for byte" {
	for sample in "$source"/samples/*.pmr; do
		# A damaged or cut sample is carried over as far as it can be read.
		run cut_to out.pmr "$sample"
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
		csv "$sample" >want.csv || true
		csv out.pmr >have.csv
		[ "$(wc -l <want.csv)" -gt 3 ]
		cmp want.csv have.csv || { echo "$sample"; return 1; }
		"$bin/pmrep" check -q out.pmr
	done
}

@test "a window has the intervals of that window" {
	cut_to part.pmr --since=1.5 --until=3.5 "$source/samples/idle.pmr"
	csv --since=1.5 --until=3.5 --time=epoch-ns "$source/samples/idle.pmr" >want.csv
	csv --time=epoch-ns part.pmr >have.csv
	[ "$(wc -l <want.csv)" -gt 3 ]
	cmp want.csv have.csv
	"$bin/pmrep" info part.pmr | grep -q 'cut --since=1.5 --until=3.5'
	# The input is told by no part of what was done.
	run ! grep -a -q idle.pmr part.pmr
}

@test "sources, counters and CPUs" {
	cut_to part.pmr --sources=cpuidle,stat "$source/samples/idle.pmr"
	"$bin/pmrep" list counters --format=json part.pmr | python3 -c '
import json, sys
sources = {json.loads(line)["source"] for line in sys.stdin}
assert sources == {"cpuidle", "stat"}, sources'
	cut_to part.pmr --sources=-cpuidle "$source/samples/idle.pmr"
	run ! grep -q '"source": *"cpuidle"' <("$bin/pmrep" list counters --format=json part.pmr)
	cut_to part.pmr --counter='stat.*' --cpu=1 "$source/samples/idle.pmr"
	csv --per-cpu part.pmr | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert {r["cpu"] for r in rows if r["scope"] == "cpu"} == {"1"}'
	run "$bin/pmrep" cut -o no.pmr --cpu=99 "$source/samples/idle.pmr"
	[ "$status" -eq 2 ]
	run "$bin/pmrep" cut -o no.pmr --counter='nothing*' "$source/samples/idle.pmr"
	[ "$status" -eq 2 ]
	[[ $output == *"no counter is left"* ]]
	[ ! -e no.pmr ]
}

@test "one snapshot in ten: the total stays, to the last count" {
	"$bin/pmrec" -q --overwrite --sources=stat,interrupts,softirqs -i 10ms -n 95 -o fine.pmr
	cut_to coarse.pmr --every=10 fine.pmr
	csv --total fine.pmr | cut -d, -f3- >want.csv
	csv --total coarse.pmr | cut -d, -f3- >have.csv
	python3 - <<-'EOT'
	import csv
	want, have = (list(csv.DictReader(open(f))) for f in ("want.csv", "have.csv"))
	# Levels (of processes) are means by time, for which every snapshot counts.
	counts = [r for r in want if r["unit"] == "1" and r["metric"].startswith(("softirqs.", "interrupts.", "stat.")) and
	          not r["metric"].startswith("stat.procs_")]
	assert len(counts) > 10, len(counts)
	key = lambda r: (r["scope"], r["cpu"], r["metric"])
	values = {key(r): r["value"] for r in have}
	for r in counts:
	    assert values[key(r)] == r["value"], (r, values[key(r)])
	EOT
	[ "$(stat -c %s coarse.pmr)" -lt "$(stat -c %s fine.pmr)" ]
	snapshots() {
		"$bin/pmrep" info --format=json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["snapshots"])'
	}
	# Where a busy machine has cost ticks, stretches end, and their ends stay.
	few=$(snapshots coarse.pmr) many=$(snapshots fine.pmr)
	[ $((few * 10)) -ge "$many" ]
	[ $((few * 4)) -lt "$many" ]
}

@test "a time that nothing lies in makes no recording" {
	run -2 "$bin/pmrep" cut --since=1000 -o none.pmr "$source/samples/idle.pmr"
	[[ $output == *"no snapshot in that time"* ]]
	[ ! -e none.pmr ]
}

@test "parts that share a snapshot merge to the whole" {
	cut_to a.pmr --until=2.2 "$source/samples/idle.pmr"
	cut_to b.pmr --since=1.5 "$source/samples/idle.pmr"
	ends=$("$bin/pmrep" info --format=json "$source/samples/idle.pmr" | python3 -c 'import json,sys; print(json.load(sys.stdin)["snapshots"])')
	[ "$ends" -gt 4 ]
	run "$bin/pmrep" merge -o whole.pmr b.pmr a.pmr
	if [ "$status" -ne 0 ]; then
		# Their windows share more than one snapshot: that is no sequence.
		[[ $output == *overlap* ]]
	fi
	cut_to a.pmr --until=2 "$source/samples/idle.pmr"
	cut_to b.pmr --since=2 "$source/samples/idle.pmr"
	"$bin/pmrep" merge --overwrite -o whole.pmr b.pmr a.pmr 2>err
	csv "$source/samples/idle.pmr" >want.csv
	csv whole.pmr >have.csv
	if grep -q ' 0 gaps' err; then
		cmp want.csv have.csv
	else
		# The interval between them is lost, and only that.
		[ "$(wc -l <have.csv)" -lt "$(wc -l <want.csv)" ]
	fi
}

@test "a gap stays a gap" {
	"$bin/pmrec" -q --overwrite --sources=stat -i 20ms -n 5 -o a.pmr
	sleep 0.3 # the gap
	"$bin/pmrec" -q --overwrite --sources=stat -i 20ms -n 5 -o b.pmr
	"$bin/pmrep" merge --overwrite -o both.pmr a.pmr b.pmr 2>err
	grep -q ' 1 gaps\| 1 gap' err
	"$bin/pmrep" show --all --format=csv --show=ctxsw_per_s both.pmr 2>/dev/null |
		python3 -c '
import csv, sys
longest = max(int(r["duration_ns"]) for r in csv.DictReader(sys.stdin))
assert longest < 200e6, longest' || {
		"$bin/pmrep" show --all --format=csv both.pmr | python3 -c '
import csv, sys
longest = max(int(r["duration_ns"]) for r in csv.DictReader(sys.stdin))
assert longest < 200e6, longest'
	}
}

@test "what does not belong together is refused" {
	# Samples say no boot; the clocks of these two show that they are of different ones.
	run "$bin/pmrep" merge -o both.pmr "$source/samples/idle.pmr" "$source/samples/grace.pmr"
	[ "$status" -eq 2 ]
	[[ $output == *"cannot tell"*"same boot"* ]]
	"$bin/pmrec" -q --overwrite --sources=stat -i 20ms -n 5 -o a.pmr
	run "$bin/pmrep" merge -o both.pmr "$source/samples/grace.pmr" a.pmr
	[ "$status" -eq 2 ]
	run "$bin/pmrep" merge -o both.pmr a.pmr a.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"the same recording"* ]]
	[ ! -e both.pmr ]
}

@test "damage: what is readable goes over, and no difference crosses it" {
	"$bin/pmrec" -q --overwrite --sources=stat,softirqs -i 5ms -n 1000 -o good.pmr
	cp good.pmr bad.pmr
	size=$(stat -c %s bad.pmr)
	printf 'XXXXXXXX' | dd of=bad.pmr bs=1 seek=$((size / 2)) conv=notrunc status=none
	run "$bin/pmrep" cut --overwrite -o out.pmr bad.pmr
	[ "$status" -eq 3 ]
	[[ $output == *"damaged"* ]]
	"$bin/pmrep" check -q out.pmr
	"$bin/pmrep" dump --no-values out.pmr | grep -q 'could not be used'
	csv --format=csv out.pmr | cut -d, -f2- | sort -u >have.csv
	csv good.pmr | cut -d, -f2- | sort -u >want.csv
	# No value that the undamaged recording does not have: a difference over the hole would be one.
	python3 - <<-'EOT'
	import csv
	want, have = (list(csv.reader(open(f))) for f in ("want.csv", "have.csv"))
	longest = max(int(r[1]) for r in want if r[1].isdigit())
	assert max(int(r[1]) for r in have if r[1].isdigit()) <= longest
	assert len(have) > 100
	EOT
}

@test "outputs: no input, no surprise" {
	cp "$source/samples/idle.pmr" in.pmr
	run "$bin/pmrep" cut --overwrite -o in.pmr in.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"input"* ]]
	cmp in.pmr "$source/samples/idle.pmr"
	echo old >out.pmr
	run "$bin/pmrep" cut -o out.pmr in.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"--overwrite"* ]]
	[ "$(cat out.pmr)" = old ]
	run "$bin/pmrep" cut in.pmr
	[ "$status" -eq 2 ]
	"$bin/pmrep" cut -o - in.pmr 2>/dev/null | "$bin/pmrep" check -q -
	gzip -k in.pmr
	"$bin/pmrep" cut -o from-gz.pmr in.pmr.gz 2>/dev/null
	"$bin/pmrep" check -q from-gz.pmr
	for command in cut merge redact bundle html; do
		run "$bin/pmrep" $command -o /dev/full in.pmr
		[ "$status" -eq 2 ]
		[ "$output" = "pmrep $command: /dev/full: No space left on device" ]
		run bash -c '"$1" "$2" -o - in.pmr 2>&1 >/dev/full' - "$bin/pmrep" $command
		[ "$status" -eq 2 ]
		[ "$output" = "pmrep $command: stdout: No space left on device" ]
	done
	run ! ls out.pmr.*
}

@test "each command says what it has made, in one line" {
	"$bin/pmrec" --quiet --sources=stat -i 50ms -n 1 -o in.pmr
	run "$bin/pmrep" cut --until=0 --counter=stat.ctxt -o one.pmr in.pmr
	[[ $output =~ ^"pmrep cut: 1 snapshot, 1 of "[0-9]+" counters, "[0-9]+" bytes"$ ]]
	run "$bin/pmrep" merge -o merged.pmr one.pmr
	[ "$output" = "pmrep merge: 1 recording, 1 snapshot, 0 gaps, $(stat -c %s merged.pmr) bytes" ]
	run "$bin/pmrep" bundle -o one.pmr.gz one.pmr
	[[ $output == "pmrep bundle: one.pmr.gz: $(stat -c %s one.pmr.gz) bytes, 1 of 1 snapshot; "* ]]
	"$bin/pmrep" redact -o redacted.pmr one.pmr
	# What there is none of is not said.
	run "$bin/pmrep" redact -o again.pmr redacted.pmr
	[ "$output" = "pmrep redact: again.pmr: 1 snapshot" ]
	run "$bin/pmrep" html -o page.html in.pmr
	[ "$output" = "pmrep html: page.html: $((($(stat -c %s page.html) + 999) / 1000)) kB, 1 recording" ]
	run "$bin/pmrep" html -o page.html --overwrite "$source/samples/idle.pmr" "$source/samples/loaded.pmr"
	[ "$output" = "pmrep html: page.html: $((($(stat -c %s page.html) + 999) / 1000)) kB, 2 recordings" ]
}

@test "two recordings of one file stay two, whichever is earlier" {
	cat "$source/samples/idle.pmr" "$source/samples/loaded.pmr" >two.pmr
	"$bin/pmrep" show --format=csv two.pmr | cut -d, -f2- >want
	for command in cut redact repair 'bundle --no-redact'; do
		"$bin/pmrep" $command --overwrite -o copy.pmr two.pmr
		[[ $("$bin/pmrep" check copy.pmr) == *": good: "*", 2 recordings" ]]
		"$bin/pmrep" show --format=csv copy.pmr | cut -d, -f2- | cmp - want
	done
	run "$bin/pmrep" merge -o merged.pmr two.pmr
	[ "$status" -eq 2 ] && [ ! -e merged.pmr ]
	[[ $output == *"two.pmr: its recordings overlap in time: they are not consecutive" ]]
	# Each has its own time.
	for window in --until=4 '--since=2 --until=4' '--since=-3 --until=-1'; do
		for file in idle loaded; do
			"$bin/pmrep" show $window --format=csv "$source/samples/$file.pmr" | cut -d, -f2- | tail -n +2
		done >want
		[ "$(wc -l <want)" -gt 100 ]
		"$bin/pmrep" show $window --format=csv two.pmr | cut -d, -f2- | tail -n +2 | cmp - want
		"$bin/pmrep" cut $window --overwrite -o copy.pmr two.pmr 2>said
		"$bin/pmrep" show --format=csv copy.pmr | cut -d, -f2- | tail -n +2 | cmp - want
	done
	grep -q ', 255 of 255 counters, ' said
	# What is one stretch of time to incidents has no wall clock then.
	"$bin/pmrep" incidents --format=json two.pmr >two
	[ "$(wc -l <two)" -gt 2 ]
	run ! grep -v '"from":null,' two
	cat "$source/samples/loaded.pmr" "$source/samples/idle.pmr" >ordered.pmr
	"$bin/pmrep" incidents --format=json ordered.pmr >ordered
	[ "$(grep -c '"from":"2026-' ordered)" -gt 2 ]
}

@test "times before the end, from a pipe and from a compressed file" {
	"$bin/pmrec" --quiet --sources=stat -i 50ms -n 12 -o in.pmr
	"$bin/pmrep" cut --since=-0.22 --until=-0.08 -o want.pmr in.pmr
	count=$("$bin/pmrep" info --format=json want.pmr | python3 -c 'import json,sys; print(json.load(sys.stdin)["snapshots"])')
	[ "$count" -ge 2 ] && [ "$count" -le 5 ]
	# shellcheck disable=SC2002 # a pipe is what is tested
	cat in.pmr | "$bin/pmrep" cut --since=-0.22 --until=-0.08 -o got.pmr -
	gzip -k in.pmr
	"$bin/pmrep" cut --since=-0.22 --until=-0.08 -o gz.pmr in.pmr.gz
	for name in want got gz; do
		"$bin/pmrep" show --all --show=all --format=csv $name.pmr | cut -d, -f2- >$name
	done
	[ "$(wc -l <want)" -gt 10 ]
	cmp want got
	cmp want gz
	# shellcheck disable=SC2002
	run --separate-stderr bash -c 'cat in.pmr | "$1" show --since=-0.2 -' - "$bin/pmrep"
	[ "$status" -eq 2 ]
	[[ $stderr == *"needs an uncompressed file"* ]]
}

@test "sources that are none, and those of other machines" {
	"$bin/pmrec" --quiet --sources=stat -i 50ms -n 3 -o in.pmr
	run "$bin/pmrep" cut --sources=stat,stta -o x.pmr in.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"no source 'stta'"* ]]
	[ ! -e x.pmr ]
	"$bin/pmrep" cut --sources=stat,msr,-hwmon -o x.pmr in.pmr
}

@test "the output is a link: what it leads to is written" {
	"$bin/pmrec" --quiet --sources=stat -i 50ms -n 3 -o in.pmr
	: >there.pmr
	ln -s there.pmr link.pmr
	"$bin/pmrep" cut -o link.pmr in.pmr
	[ -L link.pmr ]
	"$bin/pmrep" check --quiet there.pmr
}

@test "merge: from a pipe, and one recording twice" {
	"$bin/pmrec" --quiet --sources=stat -i 50ms -n 3 -o a.pmr
	"$bin/pmrec" --quiet --sources=stat -i 50ms -n 3 -o b.pmr
	"$bin/pmrep" merge -o want.pmr a.pmr b.pmr
	"$bin/pmrep" merge -o got.pmr b.pmr - <a.pmr
	"$bin/pmrep" show --all --show=all --format=csv want.pmr | cut -d, -f2- >want
	"$bin/pmrep" show --all --show=all --format=csv got.pmr | cut -d, -f2- >got
	[ "$(wc -l <want)" -gt 10 ]
	cmp want got
	cp a.pmr copy.pmr
	run "$bin/pmrep" merge -o x.pmr a.pmr b.pmr copy.pmr
	[ "$status" -eq 2 ]
	[[ $output == *"the same recording"* ]]
	[ ! -e x.pmr ]
}
