#!/usr/bin/env bats
# Counting by BPF programs: what they count beside ordinary events, windows nested both ways; that recorders share
# events; and what is said where it cannot be. While other BPF programs run (-b): here as far as the kernel lets
# anybody attach to them, and in the guests of tests/rig/guest.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	here=$BATS_TEST_DIRNAME
	cd "$BATS_TEST_TMPDIR"
	groups=()
	pids=()
	export id=$$
}

teardown() {
	for p in "${pids[@]}"; do
		kill -KILL "$p" 2>/dev/null || true
	done
	remove_groups "${groups[@]}"
	[ -z "${mounted:-}" ] || umount "$mounted"
}

need_bpf() {
	[ "$(id -u)" = 0 ] || skip "not root"
	may_count
	"$here/bpf_programs.py" >look || skip "bpf(2) is not permitted"
	"$bin/pmrec" doctor >doctor
	grep -q 'perf: --bpf-counters works here$' doctor || skip "$(grep bpf-counters doctor)"
}

perf() {
	"$bin/pmrec" --quiet --overwrite --sources=perf "$@"
}

bpf() {
	perf --bpf-counters "$@"
}

# count FILE EVENT: as recorded, all of it.
count() {
	"$bin/pmrep" stat -x, "$1" | awk -F, -v e="$2" '$3 == e { printf "%.0f", $1 * ($2 == "msec" ? 1000 : 1) }'
}

# Whether the first number is not more than the second, but for a share of it and so much beside.
at_most() {
	echo "$1 <= $2 (and $3 %, $4)"
	awk -v a="$1" -v b="$2" -v share="$3" -v slack="$4" 'BEGIN { exit !(a <= b * (1 + share / 100) + slack) }'
}

# Touches that many pages.
touch_pages() {
	/usr/bin/python3 -c "
import mmap
m = mmap.mmap(-1, $1 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range($1):
    m[i * mmap.PAGESIZE] = 1"
}
export -f touch_pages

# A place for shared events, mounted for this test alone.
need_bpffs() {
	mkdir bpffs
	mount -t bpf bpf bpffs 2>/dev/null || skip "no BPF file system can be mounted"
	mounted=$PWD/bpffs
	map=$mounted/events
}

@test "a command and its children: no less than an ordinary event inside, no more than one outside" {
	need_bpf
	work='for i in 1 2 3; do (touch_pages 10000) & done; wait'
	events=minor-faults,task-clock,cs
	bpf -i 0 -e $events -o alone.pmr -- bash -c "$work"
	[ "$(count alone.pmr minor-faults)" -ge 30000 ]
	[ "$(count alone.pmr minor-faults)" -le 60000 ]
	"$bin/pmrep" dump alone.pmr | grep '^counter' | grep -q 'perf_bpf='
	bpf -i 0 -e $events -o outer.pmr -- "$bin/pmrec" -q --sources=perf -i 0 -e $events -o inner.pmr -- \
		bash -c "$work"
	for e in ${events//,/ }; do
		at_most "$(count inner.pmr "$e")" "$(count outer.pmr "$e")" 1 2000
	done
	perf -i 0 -e $events -o outer.pmr -- "$bin/pmrec" -q --sources=perf --bpf-counters -i 0 -e $events \
		-o inner2.pmr -- bash -c "$work"
	for e in ${events//,/ }; do
		at_most "$(count inner2.pmr "$e")" "$(count outer.pmr "$e")" 1 2000
	done
	[ "$(count inner2.pmr minor-faults)" -ge 30000 ]
}

@test "without what children do: --no-inherit" {
	need_bpf
	bpf --no-inherit -i 0 -e minor-faults -o x.pmr -- bash -c '(touch_pages 20000); :'
	[ "$(count x.pmr minor-faults)" -lt 15000 ]
}

@test "processes and threads: nested beside ordinary events" {
	need_bpf
	bash -c 'while :; do :; done' 3>&- &
	pids+=($!)
	bash -c 'while :; do sleep 0.001; done' 3>&- &
	pids+=($!)
	for option in -p -t; do
		list=${pids[0]},${pids[1]}
		perf $option "$list" -i 0 -e task-clock -o outer.pmr -- \
			"$bin/pmrec" -q --sources=perf --bpf-counters $option "$list" -i 0.1 -n 6 --overwrite -e task-clock,cs -o inner.pmr
		inner=$(count inner.pmr task-clock)
		at_most "$inner" "$(count outer.pmr task-clock)" 2 3000
		[ "$inner" -gt 10000 ]
		bpf $option "$list" -i 0 -e task-clock -o outer.pmr -- "$bin/pmrec" -q --sources=perf $option \
			"$list" -i 0 --timeout 600 --overwrite -e task-clock -o inner.pmr
		at_most "$(count inner.pmr task-clock)" "$(count outer.pmr task-clock)" 2 3000
	done
}

@test "the system and single CPUs: nested beside ordinary events, CPU by CPU" {
	need_bpf
	events=cpu-clock,cs
	[ ! -e /sys/bus/event_source/devices/msr/events/tsc ] || events=$events,msr/tsc/
	for target in -a -C0; do
		perf $target -i 0 -e $events -o outer.pmr -- "$bin/pmrec" -q --sources=perf --bpf-counters \
			$target -i 0.1 -n 5 --overwrite -e $events -o inner.pmr
		"$bin/pmrep" stat -A -x, inner.pmr >inner
		"$bin/pmrep" stat -A -x, outer.pmr >outer
		[ "$(wc -l <inner)" = "$(wc -l <outer)" ]
		awk -F, 'NR == FNR { outer[$1, $4] = $2; next } $2 > outer[$1, $4] { print; bad = 1 }
			END { exit bad }' outer inner
		# Half a second, and what it took to begin and end.
		[ "$(count inner.pmr cpu-clock)" -ge 450000 ]
	done
	[ "$(cut -d, -f1 inner | sort -u)" = CPU0 ]
}

@test "the modifier b: one event by BPF, the other as ever" {
	need_bpf
	perf -i 0 -e minor-faults:b,minor-faults -o x.pmr -- bash -c 'touch_pages 20000'
	"$bin/pmrep" dump x.pmr | grep '^counter' >counters
	[ "$(grep -c perf_bpf counters)" = 1 ]
	grep perf_bpf counters | grep -q 'name=minor-faults:b'
	[ "$(count x.pmr minor-faults:b)" -ge 20000 ]
	at_most "$(count x.pmr minor-faults)" "$(count x.pmr minor-faults:b)" 5 200
	at_most "$(count x.pmr minor-faults:b)" "$(count x.pmr minor-faults)" 5 200
}

@test "the events of a group are counted one by one, which is said" {
	need_bpf
	run "$bin/pmrec" --sources=perf --bpf-counters -i 0 -e '{cs,minor-faults}' -o x.pmr true
	[ "$status" = 0 ]
	[[ $output == *"pmrec: BPF counts events of a group one by one"* ]]
	[ "$(count x.pmr minor-faults)" -gt 0 ]
}

@test "cgroups: each its own, those above with it, and no descriptor for any of their events" {
	need_bpf
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$root" ] || skip "no cgroup2 is mounted"
	! grep -q '^[^ ]* [^ ]* cgroup [^ ]*perf_event' /proc/mounts || skip "perf_event is in version 1"
	for g in a a/b c; do
		mkdir "$root/pm-$id-$g" 2>/dev/null || skip "no cgroup can be made"
		groups=("$root/pm-$id-$g" "${groups[@]}")
	done
	into='echo $$ >'"$root/pm-$id-"
	work="bash -c '${into}a/b/cgroup.procs; touch_pages 20000' &
		bash -c '${into}c/cgroup.procs; touch_pages 5000' & wait"
	bpf -i 0 --privacy=full -e minor-faults,cs,task-clock --for-each-cgroup="pm-$id-a,pm-$id-a/b,pm-$id-c" \
		-o x.pmr -- bash -c "$work; ls -l /proc/\$PPID/fd" >fds
	run ! grep -q perf_event fds
	"$bin/pmrep" stat -x, x.pmr >out
	cat out
	# Of the event, then by cgroup.
	faults() {
		"$bin/pmrep" stat -x, -G "$1" x.pmr | awk -F, '$3 == "minor-faults" { print $1 }'
	}
	[ "$(faults "pm-$id-a/b")" -ge 20000 ]
	[ "$(faults "pm-$id-a/b")" -lt 25000 ]
	[ "$(faults "pm-$id-a")" -ge "$(faults "pm-$id-a/b")" ]
	[ "$(faults "pm-$id-a")" -lt 25000 ]
	[ "$(faults "pm-$id-c")" -ge 5000 ]
	[ "$(faults "pm-$id-c")" -lt 10000 ]
	bpf -i 0 --privacy=full -e minor-faults -G "pm-$id-c" -o x.pmr -- bash -c "$work"
	"$bin/pmrep" stat -x, x.pmr >out
	cat out
	[ "$(faults "pm-$id-c")" -ge 5000 ]
	[ "$(faults "pm-$id-c")" -lt 10000 ]
	# A cgroup has its count by each of its names.
	bpf -i 0 --privacy=full -e minor-faults --for-each-cgroup="pm-$id-c,/pm-$id-c" -o x.pmr -- bash -c "$work"
	[ "$(faults "pm-$id-c")" -ge 5000 ]
	[ "$(faults "/pm-$id-c")" = "$(faults "pm-$id-c")" ]
}

@test "two recorders share one event, and a third can tell when they have been killed" {
	need_bpf
	need_bpffs
	before=$("$here/bpf_programs.py" on_switch)
	# Not by a function: the shell's own copy would be killed in place of pmrec.
	"$bin/pmrec" -q --sources=perf --bpf-counters --bpf-attr-map="$map" -a -e cpu-clock,cs -i 0.1 \
		-o one.pmr 3>&- &
	pids+=($!)
	await test -s one.pmr
	"$bin/pmrec" -q --sources=perf --bpf-counters --bpf-attr-map="$map" -a -e cs,cpu-clock,minor-faults -i 0.1 \
		-o two.pmr 3>&- &
	pids+=($!)
	await test -s two.pmr
	# Five are asked for, and three of them differ.
	[ "$("$here/bpf_programs.py" on_switch)" = $((before + 3)) ]
	# The first ends: what the second shares with it goes on.
	kill -KILL "${pids[0]}"
	await holds two.pmr 10 # two's own counting is what is looked at
	[ "$("$here/bpf_programs.py" on_switch)" = $((before + 3)) ]
	kill -TERM "${pids[1]}"
	wait "${pids[1]}"
	"$bin/pmrep" dump two.pmr | grep '^counter' | grep -c perf_bpf=shared | grep -x 3
	"$bin/pmrep" check two.pmr
	# The last interval may be short.
	"$bin/pmrep" stat -I 100 -x, -e cpu-clock two.pmr | awk -F, '$2 >= 50 { n++ } END { exit n < 7 || n < NR - 1 }'
	gone() { [ "$("$here/bpf_programs.py" on_switch)" = "$before" ]; }
	await gone
	# Nothing is left but the name.
	[ "$(find "$mounted" -type f -name events)" = "$map" ]
	bpf --bpf-attr-map="$map" -a -e cpu-clock,cs -i 0.1 -n 3 -o three.pmr
	[ "$(count three.pmr cpu-clock)" -ge 250000 ]
}

@test "events that cannot be shared are counted, which is said; a wrong map is a mistake" {
	need_bpf
	grep -q ' /sys/fs/bpf bpf ' /proc/mounts || {
		run "$bin/pmrec" --sources=perf --bpf-counters -e cs -a -i 0 --timeout 50 -o x.pmr
		[ "$status" = 0 ]
		[[ ${lines[0]} == *"not shared"*"mount -t bpf"* ]]
		"$bin/pmrep" dump x.pmr | grep -q perf_bpf=alone
	}
	run "$bin/pmrec" --bpf-counters --bpf-attr-map="$PWD/map" -e cs -a -o y.pmr
	[ "$status" = 125 ]
	[ "${#lines[@]}" = 1 ]
	[[ $output == *"--bpf-attr-map: "*"not a BPF file system"*"mount -t bpf"* ]]
	need_bpffs
	run "$bin/pmrec" --bpf-counters --bpf-attr-map="$mounted/none/map" -e cs -a -o y.pmr
	[ "$status" = 125 ]
	[[ $output == *"No such file"* ]]
}

@test "without the rights: one line that says which" {
	[ "$(id -u)" = 0 ] || skip "not root"
	[ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled)" != 0 ] || skip "unprivileged BPF is on"
	cp "$bin/pmrec" . && chmod 755 pmrec . .. && chmod 777 .
	for options in "--bpf-counters -e cs" "-e cs:b" "-b 1 -e cs"; do
		# shellcheck disable=SC2086
		run setpriv --reuid=65534 --clear-groups ./pmrec $options -o y.pmr true
		[ "$status" = 125 ] || { [[ $output == *"setpriv"* ]] && skip "$output"; }
		[ "${#lines[@]}" = 1 ]
		[[ $output == *"CAP_BPF and CAP_PERFMON"*"setcap"* ]]
		[ ! -e y.pmr ]
	done
}

@test "-b: a program that is not there, one without BTF, and one where the kernel lets nobody attach" {
	need_bpf
	run "$bin/pmrec" -b 4000000000 -e cpu-clock -o y.pmr
	[ "$status" = 125 ]
	[ "$output" = 'pmrec: -b 4000000000: there is no such BPF program; `bpftool prog` lists them' ]
	cc -o bpfwork "$here/../rig/bpfwork.c" 2>/dev/null || skip "no compiler"
	mkfifo hold
	./bpfwork load plain <hold >plain 3>&- &
	exec 8>hold
	./bpfwork load <hold >work 3>&- 8>&- &
	await test -s plain
	await test -s work
	run "$bin/pmrec" -b "$(cat plain)" -e cpu-clock -o y.pmr
	[ "$status" = 125 ]
	[[ $output == *"without BTF"*"clang -g"* ]]
	run "$bin/pmrec" -q --sources=perf --overwrite -i 0 -b "$(cat work)" -e cpu-clock -o y.pmr \
		./bpfwork run "$(cat work)" 1000
	exec 8>&-
	if [ "$status" = 125 ]; then
		[[ $output == *"lets nobody attach"* || $output == *"cannot attach"* ]]
		skip "counting in programs: $output"
	fi
	read -r runs busy_ns <<<"$output"
	[ "$runs" = 1000 ]
	at_most "$((busy_ns / 1000))" "$(count y.pmr cpu-clock)" 0 0
	at_most "$(count y.pmr cpu-clock)" "$((busy_ns / 1000))" 300 100000
}
