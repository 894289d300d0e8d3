#!/usr/bin/env bats
# CPUs that go offline and come back while they are recorded. Changes the machine for some seconds, so it asks for it:
# the last CPU, and only where the kernel lets it go.

load lib

setup() {
	cd "$BATS_TEST_TMPDIR"
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
	switch=/sys/devices/system/cpu/cpu$last/online
	[ "$last" -gt 0 ] || skip "one CPU only"
	[ -w "$switch" ] || skip "no permission to take CPU $last offline"
	(echo 0 >"$switch") 2>/dev/null || skip "the kernel does not let CPU $last go offline"
	echo 1 >"$switch"
}

teardown() {
	[ -z "${switch:-}" ] || [ ! -w "$switch" ] || echo 1 >"$switch" || true
}

@test "a CPU goes offline and comes back: recorded, the others go on, nothing is invented" {
	"$bin/pmrec" --quiet -i 0.1 -n 70 -o cpu.pmr &
	recorder=$!
	sleep 2
	echo 0 >"$switch"
	sleep 2.5
	echo 1 >"$switch"
	wait "$recorder"
	"$bin/pmrep" check cpu.pmr
	"$bin/pmrep" dump cpu.pmr >dump.txt
	grep -q cpu-offline dump.txt
	grep -q cpu-online dump.txt
	# CPU 0 has a value in every interval; the other one has none for about 25 of them, and never a 0 in place of one.
	"$bin/pmrep" --format=csv --all --per-cpu --show=irq cpu.pmr | sed 's/,doubtful,/,ok,/' >irq.csv
	[ "$(awk -F, '$12 == 0 && $19 == "ok"' irq.csv | wc -l)" -ge 65 ]
	awk -F, -v cpu="$last" '$12 == cpu' irq.csv >last.csv
	valid=$(grep -c ',ok,1$' last.csv)
	[ "$valid" -ge 25 ]
	[ "$valid" -le 55 ]
	[ "$(awk -F, '$19 != "ok" && $17 != ""' last.csv | wc -l)" = 0 ]
	# Counting goes on after the return.
	tail -n 5 last.csv | grep -q ',ok,1$'
}

@test "events of a CPU that is away have no value, not the one before, and go on when it is back" {
	"$bin/pmrec" --quiet --sources=perf -a -e cpu-clock,user_time -i 0.1 -n 45 -o cpu.pmr &
	recorder=$!
	sleep 1
	echo 0 >"$switch"
	sleep 1.5
	echo 1 >"$switch"
	wait "$recorder"
	"$bin/pmrep" check cpu.pmr
	"$bin/pmrep" dump cpu.pmr | grep "^value counter=cpu-clock scope=cpu number=$last " >values
	# From the first look after it went.
	[ "$(grep -c status=offline values)" -ge 12 ]
	[ "$(grep -o ' value=[0-9]*' values | uniq -d | wc -l)" = 0 ]
	# On a busy machine a reading may be missed.
	grep -v status=missed values | tail -1 | grep status=ok || { tail -5 values; return 1; }
}

@test "a CPU that is back is read again at once, not a second later" {
	"$bin/pmrec" --quiet --sources=perf -a -e cpu-clock -i 0.05 -n 60 -o cpu.pmr &
	recorder=$!
	sleep 1
	begin=$(date +%s%N)
	echo 0 >"$switch"
	sleep 0.5
	echo 1 >"$switch"
	away=$((($(date +%s%N) - begin) / 50000000))
	wait "$recorder"
	"$bin/pmrep" dump cpu.pmr | grep "^value counter=cpu-clock scope=cpu number=$last " >values
	# Half a second is ten readings, less those missed on a busy machine; the kernel takes its time for either way.
	[ "$(grep -cE 'status=(offline|missed)' values)" -ge 8 ]
	[ "$(grep -c status=offline values)" -le $((away + 4)) ]
}

@test "a CPU that is away for less time than anybody looks: its events are opened anew" {
	"$bin/pmrec" --quiet --sources=perf -a -e cpu-clock -i 0.1 -n 40 -o cpu.pmr &
	recorder=$!
	sleep 1.2
	for _ in 1 2 3; do
		echo 0 >"$switch"
		echo 1 >"$switch"
		sleep 0.1
	done
	wait "$recorder"
	"$bin/pmrep" dump cpu.pmr >dump.txt
	grep "^value counter=cpu-clock scope=cpu number=$last " dump.txt >values
	[ "$(grep -v status=missed values | tail -n 12 | grep -c status=ok)" = 12 ] || { tail -n 15 values; return 1; }
	grep -E 'event=(note.*briefly offline|cpu-online)' dump.txt
	# The clock of the CPU went on from where it was.
	grep -oE ' value=[0-9]+' values | tr -dc '0-9\n' | sort -nc
}

@test "a CPU that was not there at the start is counted from when it comes, with its times" {
	echo 0 >"$switch"
	"$bin/pmrec" --quiet --sources=perf -a -e cpu-clock,user_time,system_time -i 0.1 -n 35 -o cpu.pmr &
	recorder=$!
	sleep 0.5
	echo 1 >"$switch"
	sleep 1.2
	timeout 1 taskset -c "$last" sh -c 'while :; do :; done' || true
	wait "$recorder"
	"$bin/pmrep" check cpu.pmr
	"$bin/pmrep" dump cpu.pmr | grep event=cpu-online
	"$bin/pmrep" --format=csv --total --per-cpu cpu.pmr >total.csv
	# Less than of a CPU that was there all the time, of which a busy machine may lose a reading.
	awk -F, -v cpu="$last" '$16 == "cpu-clock" && $12 != "" { c[$12] = $17 }
		END { exit !(c[cpu] > 1000 && c[cpu] < c[0] - 100) }' total.csv
	awk -F, -v cpu="$last" '$12 == cpu && $16 ~ /_time/ { s += $17 } END { exit !(s > 6e8) }' total.csv
}

# Two threads of half a second, a child of one, all begun on the CPU.
begins_there='
import os, sys, threading, time
def work(s):
    t = time.thread_time()
    while time.thread_time() - t < s: pass
while True:
    try:
        os.sched_setaffinity(0, {int(sys.argv[1])})
        break
    except OSError:
        time.sleep(0.02)
ts = [threading.Thread(target=work, args=(0.5,)) for _ in range(2)]
[t.start() for t in ts]; [t.join() for t in ts]
if os.fork() == 0:
    work(1); os._exit(0)
os.wait()
'

# Of the threads in FILE, how many ran about that many ms; a busy machine takes its time to open their events.
about() {
	"$bin/pmrep" --format=csv --total --per-task "$1" |
		awk -F, -v ms="$2" '$16 == "task-clock" && $17 > ms * 0.6 && $17 < ms * 1.1 + 20' | wc -l
}

@test "--per-thread: what a task begins on a CPU that came later is followed" {
	echo 0 >"$switch"
	(sleep 1; echo 1 >"$switch") &
	"$bin/pmrec" --quiet --sources=perf -i 0.1 --per-thread -e task-clock,user_time,system_time -o task.pmr -- \
		/usr/bin/python3 -c "$begins_there" "$last"
	"$bin/pmrep" check task.pmr
	[ "$(about task.pmr 500)" = 2 ]
	[ "$(about task.pmr 1000)" = 1 ]
	# Beside that, by the clock's ticks, which may be lost at both ends.
	"$bin/pmrep" --format=csv --total --per-task task.pmr |
		awk -F, '$16 ~ /_time/ && $17 > 0 { s[$14] += $17 } END { for (t in s) n += s[t] > 2.5e8; exit n < 3 }'
}

@test "--per-thread of the system: what begins on a CPU that came later is followed" {
	[ "$(id -u)" = 0 ] || skip "not root"
	echo 0 >"$switch"
	begin --quiet --sources=perf -i 0.1 --per-thread -e task-clock -o task.pmr
	sleep 1
	echo 1 >"$switch"
	sleep 1.3
	/usr/bin/python3 -c "$begins_there" "$last"
	sleep 0.3
	say stop
	wait "$pid"
	"$bin/pmrep" dump task.pmr | grep event=cpu-online
	[ "$(about task.pmr 500)" -ge 2 ]
	[ "$(about task.pmr 1000)" -ge 1 ]
}
