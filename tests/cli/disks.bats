#!/usr/bin/env bats
# Disks beside the numbers that iostat -x makes of the same lines.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	mkdir -p m/proc m/sys/devices/system/cpu m/sys/block/sda
	echo 0 | tee m/sys/devices/system/cpu/online >m/sys/devices/system/cpu/present
}

teardown() {
	kill ${pid:-} 2>/dev/null || true
}

record() { # LINE LINE: what the file says of sda at two snapshots; a partition of it says the same
	local line
	begin --root=m -i 100 --sources=diskstats -o t.pmr 2>/dev/null || return 1
	for line in "$1" "$2"; do
		printf '   8 0 sda %s\n   8 1 sda1 %s\n' "$line" "$line" >m/proc/diskstats
		say snapshot
	done
	kill -INT "$pid"
	wait "$pid"
}

value() { # METRIC
	"$bin/pmrep" show --total --per-device --show="$1" --format=csv t.pmr | awk -F, '$13 == "sda" { print $17 + 0 }'
}

@test "counts, bytes and waiting are those of each kind of request, discards and flushes too" {
	printf '   8 0 sda 100 0 800 50 200 0 1600 90 0 10 140 5 0 40 1 7 2\n' >m/proc/diskstats
	record "100 0 800 50 200 0 1600 90 0 10 140 5 0 40 1 7 2" "160 3 1280 80 300 5 3600 290 0 30 480 25 1 2040 11 17 42"
	[ "$(value diskstats.reads)" = 60 ]
	[ "$(value diskstats.write_bytes)" = $((2000 * 512)) ]
	[ "$(value disk.read_await)" = 0.5 ]
	[ "$(value disk.write_await)" = 2 ]
	[ "$(value diskstats.discards)" = 20 ]
	[ "$(value diskstats.discard_bytes)" = $((2000 * 512)) ]
	[ "$(value disk.discard_await)" = 0.5 ]
	[ "$(value diskstats.flushes)" = 10 ]
	[ "$(value disk.flush_await)" = 4 ]
	run ! grep -q sda1 <("$bin/pmrep" dump t.pmr)
}

@test "a kernel that counts no discards has none" {
	printf '   8 0 sda 100 0 800 50 200 0 1600 90 0 10 140\n' >m/proc/diskstats
	record "100 0 800 50 200 0 1600 90 0 10 140" "160 3 1280 80 300 5 3600 290 0 30 480"
	[ "$(value diskstats.reads)" = 60 ]
	[ "$(value disk.write_await)" = 2 ]
	run ! grep -q discard <("$bin/pmrep" dump t.pmr)
}
