#!/usr/bin/env bats
# pmrep check: every damage is found, named by its bytes, and the exit code is 0, 1 or 2.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
}

record() {
	"$bin/pmrec" --quiet --overwrite --sources=stat,interrupts -i 10ms -n "${2:-50}" -o "$1"
}

field() {
	python3 -c 'import json,sys
for key in sys.argv[1].split("."):
    d = d[int(key) if key.isdigit() else key] if "d" in dir() else json.load(sys.stdin)[key]
print(json.dumps(d))' "$1"
}

@test "a good recording is good" {
	record good.pmr
	run "$bin/pmrep" check good.pmr
	[ "$status" -eq 0 ]
	[[ $output == "good.pmr: good: $(stat -c %s good.pmr) bytes, "* ]]
	run "$bin/pmrep" check -q good.pmr
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	"$bin/pmrep" check --format=json good.pmr >good.json
	[ "$(field good <good.json)" = true ]
	[ "$(field ended <good.json)" = true ]
	# A busy machine may have cost some of the ticks: then the recording says how many.
	"$bin/pmrep" info --format=json good.pmr >info.json
	[ $(($(field snapshots <good.json) + $(field lost_ticks <info.json))) = 51 ]
	[ "$(field damage <good.json)" = "[]" ]
}

@test "a cut recording is said to be cut, and the bytes of the cut are named" {
	record whole.pmr
	size=$(stat -c %s whole.pmr)
	head -c $((size - 30)) whole.pmr >cut.pmr
	run "$bin/pmrep" check --format=json cut.pmr
	[ "$status" -eq 1 ]
	[ "$(field good <<<"$output")" = false ]
	offset=$(field damage.0.offset <<<"$output")
	length=$(field damage.0.length <<<"$output")
	[ $((offset + length)) -eq $((size - 30)) ]
	run "$bin/pmrep" check cut.pmr
	[ "$status" -eq 1 ]
	[[ $output == "cut.pmr: cut: "*"bytes $offset to $((size - 30))"* ]]
}

@test "a recording that is being written is good" {
	begin --quiet --sources=stat -i 5ms -o growing.pmr
	await holds growing.pmr 1
	run "$bin/pmrep" check growing.pmr
	kill -TERM $pid
	wait $pid || true
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
	[[ $output == *"still being written"* ]]
	run "$bin/pmrep" check growing.pmr
	[ "$status" -eq 0 ]
}

@test "what is no recording is exit 2 with a sentence that says what it is" {
	: >empty.pmr
	mkdir directory.pmr
	printf 'PERFILE2aaaaaaaaaaaaaaaaaaaaaaaa' >perf.data
	printf '\0\0\0\204\x50\x05\x26\x02aaaaaaaaaaaa' >archive.0
	cp archive.0 archive.index
	head -c 4096 /dev/urandom >random.pmr
	for file in empty.pmr directory.pmr perf.data archive.0 archive random.pmr missing.pmr; do
		run --separate-stderr "$bin/pmrep" check "$file"
		[ "$status" -eq 2 ] || { echo "$file: $status"; return 1; }
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ] || { echo "$file: $stderr"; return 1; }
		[[ $stderr == *"$file"* ]]
	done
	run "$bin/pmrep" check empty.pmr
	[[ $output == *empty* ]]
	run "$bin/pmrep" check directory.pmr
	[[ $output == *directory* ]]
	run "$bin/pmrep" check perf.data
	[[ $output == *perf* ]]
	run "$bin/pmrep" archive
	[ "$status" -eq 2 ]
	[[ $output == *"Performance Co-Pilot"* ]]
	run "$bin/pmrep" check archive.0
	[[ $output == *"Performance Co-Pilot"* || $output == *PCP* ]]
}

@test "of several files the worst decides" {
	record one.pmr 5
	head -c 1000 one.pmr >two.pmr
	run "$bin/pmrep" check one.pmr two.pmr
	[ "$status" -eq 1 ]
	run "$bin/pmrep" check one.pmr two.pmr missing.pmr
	[ "$status" -eq 2 ]
}

@test "damage inside gzip is named too" {
	record plain.pmr
	gzip -c plain.pmr >whole.pmr.gz
	run "$bin/pmrep" check whole.pmr.gz
	[ "$status" -eq 0 ]
	head -c $(($(stat -c %s whole.pmr.gz) / 2)) whole.pmr.gz >cut.pmr.gz
	run "$bin/pmrep" check cut.pmr.gz
	[ "$status" -eq 1 ]
	python3 - whole.pmr.gz flipped <<-'PYTHON'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	data[len(data) - 300] ^= 0x10
	open(sys.argv[2], "wb").write(data)
	PYTHON
	run "$bin/pmrep" check flipped
	[ "$status" -eq 1 ] || { echo "$status: $output"; return 1; }
}

@test "what follows compressed data is told, and read if it can be; zeros fill up" {
	record plain.pmr
	gzip -c <plain.pmr >whole
	cat whole whole >two
	{ cat whole; head -c 5000 /dev/zero; } >padded
	{ cat whole; echo "no member"; } >text
	{ cat whole; printf x; } >byte
	{ cat whole; head -c 9 whole; } >cut
	cp two damaged
	head -c 90 /dev/zero | dd of=damaged bs=1 seek=$(($(stat -c %s whole) + 4)) conv=notrunc status=none
	values=$("$bin/pmrep" check plain.pmr | grep -o '[0-9]* values')
	for file in whole padded two; do
		"$bin/pmrep" check $file
	done
	for file in text byte cut damaged; do
		run "$bin/pmrep" check $file
		[ "$status" -eq 1 ] || { echo "$file: $status: $output"; return 1; }
		[[ $output == *" $values"* && $output == *"not a frame"* ]] || { echo "$file: $output"; return 1; }
		run --separate-stderr "$bin/pmrep" show --format=csv $file
		[ "$status" -eq 3 ] && [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$file: $status: $stderr"; return 1; }
		cmp <("$bin/pmrep" show --format=csv plain.pmr | cut -d, -f2-) <(printf '%s\n' "${lines[@]}" | cut -d, -f2-)
	done
}

@test "a damaged beginning of the second of two recordings in a file costs no value" {
	samples=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples
	cat "$samples/idle.pmr" "$samples/loaded.pmr" >two.pmr
	whole=$("$bin/pmrep" check two.pmr | grep -o '[0-9]* values, 2 recordings')
	dd if=/dev/zero of=two.pmr bs=1 seek="$(stat -c %s "$samples/idle.pmr")" count=512 conv=notrunc 2>/dev/null
	run "$bin/pmrep" check two.pmr
	[ "$status" -eq 1 ]
	[[ $output == *" $whole"* ]]
}

@test "where only an event is damaged no time is without values" {
	cp "${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples/offline.pmr" event.pmr
	at=$("$bin/pmrep" dump --no-values event.pmr | grep -m1 'kind=event' | grep -o ' offset=[0-9]*' | cut -d= -f2)
	values=$("$bin/pmrep" check event.pmr | grep -o '[0-9]* values')
	printf '\xff\xff' | dd of=event.pmr bs=1 seek=$((at + 24)) conv=notrunc status=none
	run "$bin/pmrep" check event.pmr
	[ "$status" -eq 1 ]
	[[ $output == *"$values"*"; no value is lost; 1 frame lost" ]]
	"$bin/pmrep" incidents --top=0 --format=json event.pmr >got || [ $? -eq 3 ]
	run ! grep 'is damaged' got
	[ -s got ]
	"$bin/pmrep" html -o page.html event.pmr || [ $? -eq 3 ]
	run ! grep -o 'damaged: [a-z]' page.html
}

@test "where definitions are damaged that are repeated, or a fact, no time is without values" {
	samples=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/samples
	values=$("$bin/pmrep" check "$samples/idle.pmr" | grep -o '[0-9]* values')
	"$bin/pmrep" dump --no-values "$samples/idle.pmr" | grep 'kind=definition\|kind=chunk' |
		sed '/kind=chunk/q' | grep -o ' offset=[0-9]*' | cut -d= -f2 >at
	[ "$(wc -l <at)" -ge 7 ]
	while read -r at; do
		cp "$samples/idle.pmr" one.pmr
		printf '\xff\xff' | dd of=one.pmr bs=1 seek=$((at + 60)) conv=notrunc status=none
		run "$bin/pmrep" check one.pmr
		[ "$status" -eq 1 ]
		if [ "$at" = "$(tail -n 1 at)" ]; then
			[[ $output != *"no value is lost"* ]]
		else
			[[ $output == *" $values"*"; no value is lost; 1 frame lost" ]] || { echo "$at: $output"; return 1; }
		fi
	done <at
}

@test "hostile file names do not reach the terminal" {
	: >$'bad\e[31m.pmr'
	run "$bin/pmrep" check $'bad\e[31m.pmr'
	[ "$status" -eq 2 ]
	[[ $output != *$'\e'* ]]
}
