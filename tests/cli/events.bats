#!/usr/bin/env bats
# Events on the command line: those of the tool, the files of vendors, libpfm4, and what is said when one is wrong.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	cat > vendor.json <<-'EOF'
		[ { "EventName": "MY.TSC", "EventCode": "0x0", "Unit": "msr", "BriefDescription": "ticks" },
		  { "EventName": "MY.FAULTS", "ConfigCode": "2", "Unit": "software", "ScaleUnit": "4KiB" },
		  { "EventName": "NO.SUCH", "EventCode": "1", "MSRIndex": "0x123", "Unit": "msr" } ]
	EOF
}

# VALUE of the counter in the last snapshot, or with "first" in the first.
value() {
	"$bin/pmrep" dump "$1" | grep "^value counter=$2 " | { [ "${3-}" = first ] && head -n 1 || tail -n 1; } |
		sed -n 's/.* value=\([0-9]*\) .*/\1/p'
}

@test "tool events of a command: its time is its rusage" {
	"$bin/pmrec" -q -o t.pmr --sources=perf -i 0 -e duration_time,user_time,system_time -- \
		sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; sleep 0.2'
	duration=$(($(value t.pmr tool/duration_time/) - $(value t.pmr tool/duration_time/ first)))
	user=$(value t.pmr tool/user_time/)
	[ "$duration" -gt 200000000 ]
	[ "$user" -gt 0 ]
	# Of one task, on the clock of one CPU.
	[ "$user" -lt "$duration" ]
	# rusage has microseconds, the recording says what it was.
	[ $((user % 1000)) -eq 0 ]
	"$bin/pmrep" dump t.pmr | grep -q "^counter .*name=tool/user_time/ .*perf_pmu=tool"
}

@test "names of a vendor's file are taken, listed and recorded" {
	may_count
	[ -e /sys/bus/event_source/devices/software ] || skip "no software PMU"
	"$bin/pmrec" -q -o v.pmr --sources=perf -i 0 --events-file=vendor.json -e my.faults -- true
	"$bin/pmrep" dump v.pmr > dump
	grep "^counter " dump | grep "name=software/my.faults/" | grep "display=my.faults" | grep -q "unit=KiB"
	# What was used is described, the rest is not.
	grep "^pmu name=software" dump | grep -q "my.faults"
	run ! grep "^pmu name=msr.*my\.tsc" dump
	[ "$(value v.pmr software/my.faults/)" -gt 10 ]
	run "$bin/pmrec" list events --events-file=vendor.json my.faults
	[ "$status" -eq 0 ]
	[[ $output == *software/my.faults/*vendor*KiB* ]]
	[[ $output == *"NO.SUCH left out: the kernel has no term"* ]]
}

@test "a wrong file of a vendor ends before anything is recorded" {
	echo '[{]' > bad.json
	run --separate-stderr "$bin/pmrec" -o x.pmr --events-file=bad.json true
	[ "$status" -eq 125 ]
	[[ $stderr == *bad.json*"line 1"* ]]
	run --separate-stderr "$bin/pmrec" -o x.pmr --events-file=nowhere.json true
	[ "$status" -eq 125 ]
	[[ $stderr == *nowhere.json*"No such file"* ]]
	[ ! -s x.pmr ]
}

@test "libpfm4 names, or the cure where it is not built in" {
	may_count
	run --separate-stderr "$bin/pmrec" -q -o p.pmr --sources=perf -i 0 --pfm-events \
		'perf::PAGE-FAULTS:u,{perf::CONTEXT-SWITCHES,perf::MINOR-FAULTS}' -- true
	if [ "$status" -ne 0 ]; then
		[[ $stderr == *"libpfm4-dev"* ]]
		return
	fi
	"$bin/pmrep" dump p.pmr > dump
	grep "^counter " dump | grep "display=perf::PAGE-FAULTS:u" | grep -q "name=1:0x2:u"
	[ "$(grep "^counter " dump | grep -c "perf_group=2")" -eq 2 ]
	run --separate-stderr "$bin/pmrec" --pfm-events 'perf::PAGE-FAULTS,nonsense' true
	[ "$status" -eq 125 ]
	[[ $stderr == *'column 19: "nonsense"'* ]]
	# Its tables would be a third of the time in which pmrec starts, for all who do not ask for them.
	run ldd "$bin/pmrec"
	[[ $output != *libpfm* ]]
}

@test "mistakes are pointed at, with what is near" {
	run --separate-stderr "$bin/pmrec" -e 'page-faults,duration_tmie' true
	[ "$status" -eq 125 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *'column 13: there is no event "duration_tmie"; did you mean "duration_time"?'* ]]
	run --separate-stderr -125 "$bin/pmrec" -e wqxzj true
	[[ $stderr == *'there is no event "wqxzj"; `pmrec list events` lists them' ]]
}

# pmrec -e TEXT fails with one line, in which all of this stands: wrong TEXT SAYS...
wrong() {
	local said
	run --separate-stderr "$bin/pmrec" --overwrite -o wrong.pmr --sources=perf --timeout=50 -e "$1"
	echo "$1: $stderr"
	[ "$status" -eq 125 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	for said in "${@:2}"; do
		[[ $stderr == *"$said"* ]]
	done
}

@test "what is wrong with an event is said with its text, the column and what there is" {
	may_count
	wrong 'cs,' "-e 'cs,': column 4" "at the end"
	wrong 'cs,r12345678901234567' "column 4: a raw event has at most 16"
	wrong 'tool/duration/' 'column 6' 'did you mean "duration_time"?'
	wrong 'cs,duration_time:u' 'column 4' 'do not apply'
	wrong 'user_time/cpu=0/' 'column 1' 'do not apply'
	wrong 'mem:zzz' 'column 5' 'as in mem:0x1000/4:rw'
	wrong 'mem:0x1000/16' 'column 12: a breakpoint watches 1 to 8 bytes'
	wrong 'no_such_pmu/x/' 'column 1: there is no PMU "no_such_pmu"'
	wrong '99:1' 'devices/*/type'
	wrong 'software/cs,cpu=9999/' 'it counts on none of the recorded ones'
}

@test "what does not concern counting is accepted, and said" {
	may_count
	run -0 --separate-stderr "$bin/pmrec" -o x.pmr --sources=perf --timeout=50 -e cs/period=10/,cs:W,'{faults,duration_time}:u'
	[[ $stderr == *'period in "cs/period=10/" applies to sampling'* ]]
	[[ $stderr == *'W applies to groups, and "cs:W" is not one'* ]]
	[ "$(grep -c 'not recorded' <<<"$stderr")" = 0 ]
}

@test "breakpoints count accesses; those that the CPU cannot watch say what it can" {
	may_count
	cat >watched.c <<-'E'
		#include <stdio.h>
		static volatile long cell;
		int main(int argc, char **argv)
		{
			if (argc > 1)
				for (int i = 0; i < 1000; i++)
					cell = i;
			else
				printf("%p\n", (void *)&cell);
			return 0;
		}
	E
	gcc -O1 -static -no-pie -o watched watched.c 2>/dev/null || skip "no compiler"
	cell=$(./watched)
	"$bin/pmrec" -q -o b.pmr --sources=perf -i 0 -e "mem:$cell/8:w" -- ./watched now ||
		skip "no breakpoints here"
	[ "$(value b.pmr "mem:$cell/8:w")" -ge 1000 ]
	[ "$(value b.pmr "mem:$cell/8:w")" -lt 1010 ]
	run -125 "$bin/pmrec" -o c.pmr --sources=perf -i 0 -e mem:0x1001/4 -- true
	[[ $output == *"multiple of that"* ]]
}

@test "--filter: what it lets through is counted, and what is wrong with it is said" {
	may_count
	[ "$(id -u)" = 0 ] || skip "not root"
	mounted=
	if [ ! -e /sys/kernel/tracing/events ]; then
		mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null || skip "no tracefs"
		mounted=yes
	fi
	event=sched:sched_process_exit
	"$bin/pmrec" -q -o f.pmr --sources=perf -i 0 -a -e "$event" --filter 'comm == "pm-filtered"' -e "$event" -- \
		sh -c 'cp /bin/true pm-filtered; ./pm-filtered; ./pm-filtered; /bin/true'
	few=$("$bin/pmrep" --format=csv --total --per-system f.pmr | awk -F, -v m="$event" '$16 == m { print $17 }')
	all=$("$bin/pmrep" --format=csv --total --per-system f.pmr | awk -F, -v m="$event#2" '$16 == m { print $17 }')
	filter() {
		run --separate-stderr "$bin/pmrec" --overwrite -o wrong.pmr --sources=perf --timeout=50 -a -e "$event" --filter "$1"
		echo "$1: $stderr"
		[ "$status" -eq 125 ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == *"$2"* ]]
	}
	filter 'com=="x"' "its format file below /sys/kernel/tracing/events lists the fields"
	filter 'pid==' "does not understand it"
	filter '(pid>0' "does not understand it"
	event=tracepoint/config=$(cat /sys/kernel/tracing/events/sched/sched_process_exit/id)/
	filter 'pid==' "does not understand it"
	[ -z "$mounted" ] || umount /sys/kernel/tracing
	[ "$few" = 2 ]
	[ "$all" -ge 4 ]
}

@test "a CPU for which descriptors are too few is missing with its reason, and no sum is good" {
	may_count
	[ "$(nproc)" -ge 2 ] || skip "one CPU only"
	events=$(for _ in 1 2 3; do printf 'task-clock,page-faults,context-switches,minor-faults,major-faults,'; done)
	(ulimit -n 40; "$bin/pmrec" --sources=perf -C 0,1 -e "${events%,}" -n 1 -i 0.1 -o few.pmr 2>err)
	grep 'Too many open files.*ulimit' err
	"$bin/pmrep" --total --per-cpu --show=task-clock --format=csv few.pmr >out || true
	grep ',errno-24' out
	run -3 "$bin/pmrep" --strict --total --show=task-clock --format=csv few.pmr
}
