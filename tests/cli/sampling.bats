#!/usr/bin/env bats
# Who reads perf events at short intervals: the kernel's clock or readers. Both have to find the same.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	# A container may run on some of the machine's CPUs only.
	cpus=$(/usr/bin/python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep=",")')
	"$bin/pmrec" -q --sources=perf -C "$cpus" -e cpu-clock -n 1 -i 0.1 -o try.pmr 2>err || skip "no perf events: $(cat err)"
}

# METRIC's total on each CPU, as CPU,VALUE.
totals() {
	"$bin/pmrep" --total --per-cpu --format=csv --show="$2" "$1" | awk -F, -v m="$2" '$16 == m { print $12 "," $17 "," $19 }'
}

# Something to do for each CPU: not every kernel samples the clock of one that is idle.
keep_busy() {
	local cpu
	for cpu in ${cpus//,/ }; do
		taskset -c "$cpu" nice -n 19 timeout "$1" bash -c 'while :; do :; done' 3>&- &
	done
}

@test "the kernel samples: clocks of each CPU add up to the time" {
	keep_busy 3
	tsc=
	[ ! -e /sys/bus/event_source/devices/msr/events/tsc ] || tsc=,msr/tsc/
	"$bin/pmrec" -q --sources=perf -C "$cpus" -e cpu-clock,task-clock,context-switches$tsc -i 2ms --timeout=1500 \
		--sampling=kernel -o k.pmr
	"$bin/pmrep" check k.pmr
	"$bin/pmrep" info k.pmr | grep -i 'sampled by the kernel'
	# Of each CPU from its own first reading to its last: on a busy machine one begins late.
	"$bin/pmrep" dump --counter=cpu-clock k.pmr |
		sed -nE 's/^value .* number=([0-9]+) .* status=ok begin=([0-9]+) .*/\1 \2/p' |
		awk '!($1 in first) { first[$1] = $2 } { last[$1] = $2 } END { for (c in last) print c "," (last[c] - first[c]) / 1e6 }' |
		sort >times
	totals k.pmr cpu-clock | sort | join -t, - times >both
	[ "$(wc -l <both)" = "$(nproc)" ]
	awk -F, '$2 < $NF * 0.97 || $2 > $NF * 1.03 || $NF < 700 { bad = 1; print } END { exit bad }' both
	# Values never go back, and what was recorded of each CPU has its own time.
	for cpu in ${cpus//,/ }; do
		"$bin/pmrep" dump --counter=cpu-clock k.pmr | grep "^value .* number=$cpu .*status=ok" |
			grep -oE ' value=[0-9]+' | tr -dc '0-9\n' >values
		[ "$(wc -l <values)" -gt 10 ]
		sort -nc values
	done
}

@test "without being asked the kernel samples at short intervals, and info says so" {
	"$bin/pmrec" -q --sources=perf -C "$cpus" -e cpu-clock,context-switches -i 2ms --timeout=100 -o a.pmr
	"$bin/pmrep" info a.pmr >info
	grep -E "^sampled by the kernel +$(nproc) groups" info
}

@test "no readings of an idle CPU are missed, whatever the kernel samples" {
	for sampling in auto kernel auto kernel; do
		"$bin/pmrec" -q --sources=perf -C "$cpus" -e cpu-clock,context-switches -i 5ms --timeout=500 --overwrite \
			--sampling=$sampling -o a.pmr
		"$bin/pmrep" check a.pmr
		"$bin/pmrep" dump --counter=cpu-clock a.pmr | grep '^value' >values
		for cpu in ${cpus//,/ }; do
			ok=$(grep -c " number=$cpu .*status=ok" values) all=$(grep -c " number=$cpu " values)
			[ "$ok" -gt $((all * 3 / 4)) ] || { echo "CPU $cpu: $ok of $all"; return 1; }
		done
	done
}

@test "readers read where they are asked to, at long intervals, and for commands" {
	"$bin/pmrec" -q --sources=perf -C "$cpus" -e cpu-clock -i 2ms --timeout=100 --sampling=reader -o r.pmr
	"$bin/pmrec" -q --sources=perf -C "$cpus" -e cpu-clock -i 0.5 -n 1 -o s.pmr
	"$bin/pmrec" -q --sources=perf -e task-clock -i 2ms -o t.pmr -- sleep 0.1
	for f in r.pmr s.pmr t.pmr; do
		run "$bin/pmrep" info $f
		[[ $output != *"sampled by the kernel"* ]]
	done
}

@test "a recorder that stands still for longer than the kernel keeps samples has missed ticks, and the output is not blamed" {
	"$bin/pmrec" -q --sources=perf -a -e cpu-clock -i 1ms --timeout=60000 --sampling=kernel -o k.pmr 3>&- &
	pid=$!
	until [ -s k.pmr ] && "$bin/pmrep" dump k.pmr 2>/dev/null | grep -q ^snapshot; do sleep 0.05; done
	kill -STOP $pid
	# A ring holds 2 s, and what is left of its last page.
	sleep 5
	kill -CONT $pid
	kill -TERM $pid
	wait $pid || [ $? = 143 ]
	"$bin/pmrep" check k.pmr
	"$bin/pmrep" dump k.pmr | grep event=lost >lost
	awk '{ sub(/.*count=/, ""); n += $1 } END { exit n < 1000 }' lost
	# 5: missed; 7: dropped.
	! grep -v ' reason=5$' lost || false
	run "$bin/pmrep" info k.pmr
	[[ $output == *"ticks were lost"*"readers were late by "[4-6].*" s: they waited for a CPU, or pmrec was stopped"* ]] || { echo "$output"; return 1; }
	[[ $output != *"the output was too slow"* ]]
}

@test "what a reader missed while the kernel sampled for others is told" {
	"$bin/pmrec" -q --sources=perf,stat -a -e cpu-clock -i 10ms --timeout=60000 --sampling=kernel -o k.pmr 3>&- &
	pid=$!
	await holds k.pmr 20
	kill -STOP $pid
	sleep 0.8
	kill -CONT $pid
	await holds k.pmr 120
	kill -TERM $pid
	wait $pid || [ $? = 143 ]
	"$bin/pmrep" info k.pmr >info
	missed=$("$bin/pmrep" dump --no-definitions --counter=stat.ctxt k.pmr | grep -c status=missed)
	lost=$(awk '/^lost ticks/ { print $3 }' info)
	told=$(awk '/^missed readings/ { print $3 }' info)
	echo "$missed readings and $lost ticks are missing"
	[ "$missed" -ge 50 ]
	# Who is told to stop before it comes to read does not know what it has missed since the last time.
	[ "$told" -ge $((missed * 3 / 4)) ]
	[ "$told" -le $((missed + lost)) ]
	# Where the machine let readers wait for longer than that, it is said of them.
	grep -E "^ticks were lost +readers were late by " info
}

@test "what recording cost is in the file, and info says it" {
	"$bin/pmrec" -q --sources=stat,vmstat -i 5ms --timeout=500 -o x.pmr
	"$bin/pmrep" info x.pmr | grep -E '^cost +[0-9.]+ % of a CPU, [0-9]+ wake-ups per second, [0-9.]+ MB'
	# Not less than two thirds of its ticks woke somebody, and that took some time.
	"$bin/pmrep" dump x.pmr >dump
	for name in cpu_ns wakeups memory_kib bytes; do
		grep "pmrec\.cost\.$name .*value=[1-9]" dump
	done
	for name in stalls dropped; do
		grep "pmrec.cost.$name" dump
	done
}
