#!/usr/bin/env bats
# Counts beside perf's, windows nested both ways, for every way to add them up. tests/cli/perf_counts.py says how.

load lib

# Tracepoints are only seen where tracefs is mounted.
setup_file() {
	if [ "$(id -u)" = 0 ] && [ ! -e /sys/kernel/tracing/events ] &&
		mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; then
		export MOUNTED_TRACEFS=1
	fi
}

teardown_file() {
	[ -z "${MOUNTED_TRACEFS:-}" ] || umount /sys/kernel/tracing
}

setup() {
	may_count
	export PM_BIN=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
}

# MODE: pmrec inside perf's window, then perf inside pmrec's.
both_ways() {
	for inside in pmrec perf; do
		run timeout 60 python3 "$BATS_TEST_DIRNAME/perf_counts.py" "$1" "$inside"
		echo "$output"
		[ "$status" != 77 ] || skip "${output##*skipped: }"
		[ "$status" = 0 ]
	done
}

@test "processes and all their threads: the same counts as perf" {
	both_ways process
}

@test "each thread: the same counts as perf" {
	both_ways thread
}

@test "cgroups: the same counts as perf" {
	both_ways cgroup
}

@test "the whole system: what is inside is not more" {
	both_ways system
}

@test "each CPU: what is inside is not more" {
	both_ways cpu
}

@test "each core: what is inside is not more" {
	both_ways core
}

@test "each package: what is inside is not more" {
	both_ways socket
}

@test "each node: what is inside is not more" {
	both_ways node
}

@test "-r: perf's mean of the runs, times their number, is within what pmrec counts around it" {
	command -v perf >/dev/null || skip "there is no perf"
	cd "$BATS_TEST_TMPDIR"
	run "$PM_BIN/pmrec" -q -i 0 --sources=perf -e page-faults:u -o x.pmr -- \
		perf stat -r 5 -x, -o perf.csv -e page-faults:u -- sh -c 'sleep 0.01'
	[ "$status" = 0 ]
	inner=$(awk -F, '/page-faults/ { printf "%d", $1 * 5 }' perf.csv)
	outer=$("$PM_BIN/pmrep" --format=csv --total --per-system x.pmr | awk -F, '/page-faults/ { printf "%d", $17 }')
	[ "$inner" -gt 100 ]
	[ "$inner" -le "$outer" ]
	# And the other way round: each run of pmrec is one result; perf sees all of them and pmrec itself.
	perf stat -x, -o perf.csv -e page-faults:u -- \
		"$PM_BIN/pmrec" -q --overwrite -r 5 -i 0 --sources=perf -e page-faults:u -o x.pmr -- sh -c 'sleep 0.01'
	outer=$(awk -F, '/page-faults/ { printf "%d", $1 }' perf.csv)
	"$PM_BIN/pmrep" dump x.pmr | grep '^value counter=page-faults' | grep -oE 'value=[0-9]+' | cut -d= -f2 >values
	# First and last of each run: a run begins at 0.
	[ "$(wc -l <values)" = 10 ]
	[ "$(awk 'NR % 2 { s += $1 } END { print s + 0 }' values)" = 0 ]
	inner=$(awk '{ s += $1 } END { print s }' values)
	[ "$inner" -gt 100 ]
	[ "$inner" -lt "$outer" ]
}
