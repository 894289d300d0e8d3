#!/usr/bin/env bats
# What perf events count and when: cgroups, threads, runs, --control, hooks, and what is refused.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	groups=()
	# The same in the shells that a test starts.
	export id=$$
	may_count mine
}

teardown() {
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
	remove_groups "${groups[@]}"
	if [ -n "${mounted:-}" ]; then
		umount "$mounted"
		# The hierarchy goes only once its last cgroup has been forgotten.
		sleep 0.3
		mount -t cgroup -o perf_event none "$mounted" 2>/dev/null && umount "$mounted"
	fi
}

perf() {
	"$bin/pmrec" --quiet --overwrite --sources=perf "$@"
}

need_cgroups() {
	[ "$(id -u)" = 0 ] || skip "not root"
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$root" ] || skip "no cgroup2 is mounted"
	! grep -q '^[^ ]* [^ ]* cgroup [^ ]*perf_event' /proc/mounts || skip "perf_event is in a hierarchy of version 1"
}

cgroup() {
	mkdir "$root/pm-$id-$1" 2>/dev/null || skip "no cgroup can be made"
	groups+=("$root/pm-$id-$1")
}

# Touches that many pages in the cgroup.
faults_in() {
	sh -c "echo \$\$ >'$root/pm-$id-$1/cgroup.procs'; exec /usr/bin/python3 -c '
import mmap
m = mmap.mmap(-1, $2 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range($2):
    m[i * mmap.PAGESIZE] = 1'"
}

# Sum of a counter over a column of the csv: total COLUMN VALUE METRIC FILE OPTION...
total() {
	"$bin/pmrep" --format=csv --total "${@:5}" "$4" | awk -F, -v c="$1" -v v="$2" -v m="$3" \
		'$c == v && $16 == m { s += $17 } END { printf "%d", s }'
}

@test "-G: names go to the events before it, an empty one is no cgroup" {
	need_cgroups
	cgroup a
	cgroup b
	perf --privacy=full -i 0 -e minor-faults,minor-faults,minor-faults -G "pm-$id-a,,pm-$id-b" -o x.pmr -- \
		sh -c "$(declare -f faults_in); root=$root; faults_in a 20000; faults_in b 5000"
	"$bin/pmrep" check x.pmr
	"$bin/pmrep" list instances --format=json x.pmr >/dev/null
	a=$(total 15 "pm-$id-a" minor-faults x.pmr --per-cgroup)
	all=$("$bin/pmrep" dump x.pmr | grep -c 'counter=minor-faults#2 scope=cpu')
	b=$(total 15 "pm-$id-b" 'minor-faults#3' x.pmr --per-cgroup)
	[ "$a" -ge 20000 ]
	[ "$a" -lt 25000 ]
	[ "$b" -ge 5000 ]
	[ "$b" -lt 10000 ]
	[ "$all" -gt 0 ]
	"$bin/pmrep" dump x.pmr | grep '^header' | grep target=cgroup
}

@test "-G: one name is for all events before it; one too many is an error; without events it is one" {
	need_cgroups
	cgroup a
	perf -i 0 --timeout=50 -e cs,faults -G "pm-$id-a" -e migrations -o x.pmr
	"$bin/pmrep" dump x.pmr >dump
	[ "$(grep ^value dump | grep -c 'counter=context-switches scope=cgroup')" -gt 0 ]
	[ "$(grep ^value dump | grep -c 'counter=page-faults scope=cgroup')" -gt 0 ]
	[ "$(grep ^value dump | grep -c 'counter=cpu-migrations scope=cpu')" -gt 0 ]
	run -125 perf -e cs -G "pm-$id-a,pm-$id-a" -o y.pmr
	[[ $output == *"no event before it"* ]]
	run -125 perf -G "pm-$id-a" -e cs -o y.pmr
	[[ $output == *"no event before it"* ]]
	run -125 perf -e cs -G nowhere -o y.pmr
	[[ $output == *"cgroup 'nowhere'"*"No such file"* ]]
	run -125 perf -e cs -G ../../etc -o y.pmr
	[[ $output == *"cannot point outside"* ]]
	run -125 perf -e cs -G "pm-$id-a" --for-each-cgroup "pm-$id-a" -o y.pmr
	[[ $output == *"are mutually exclusive"* ]]
	run -125 perf -e cs -G "pm-$id-a/cgroup.procs" -o y.pmr
	[[ $output == *"is not a cgroup"* ]]
}

@test "-G: what is counted otherwise than it looks is said" {
	need_cgroups
	cgroup a
	cgroup b
	says() {
		run --separate-stderr "$bin/pmrec" --overwrite --sources=perf -i 0 --timeout=50 -o x.pmr "${@:2}"
		[ "$status" = 0 ]
		[[ $stderr == *"$1"* ]]
	}
	says "page-faults are in braces but in different cgroups" -e '{cs,faults}' -G "pm-$id-a,pm-$id-b"
	says "page-faults are in braces but in different cgroups" -e '{cs,faults}' -G "pm-$id-a,"
	says "tool/user_time/ counts the whole machine" -e cs,user_time -G "pm-$id-a"
	says "tool/system_time/ counts the whole machine" -e cs,system_time --for-each-cgroup "pm-$id-a"
	says "x.pmr" -e '{cs,faults},duration_time' --for-each-cgroup "pm-$id-a,pm-$id-b"
	[ "${#stderr_lines[@]}" = 1 ]
}

@test "--for-each-cgroup: events times cgroups, patterns, and no names with strict privacy" {
	need_cgroups
	cgroup x1
	cgroup x2
	cgroup y
	perf --privacy=strict -i 0 -e '{minor-faults,cs}' --for-each-cgroup "pm-$id-x[0-9],pm-$id-y" -o x.pmr -- \
		sh -c "$(declare -f faults_in); root=$root; faults_in x2 3000"
	"$bin/pmrep" dump x.pmr >dump
	cpus=$(grep ^value dump | grep 'counter=minor-faults ' | grep -c 'number=1 ')
	[ "$cpus" -gt 0 ]
	for n in 1 2 3; do
		[ "$(grep ^value dump | grep 'counter=minor-faults ' | grep -c "number=$n ")" = "$cpus" ]
		[ "$(grep ^value dump | grep 'counter=context-switches ' | grep -c "number=$n ")" = "$cpus" ]
	done
	[ "$(grep -c "pm-$id-" dump)" = 0 ]
	[ "$(total 15 cgroup-2 minor-faults x.pmr --per-cgroup)" -ge 3000 ]
	[ "$(total 15 cgroup-1 minor-faults x.pmr --per-cgroup)" = 0 ]
	perf --privacy=strict -i 0 -e cs --for-each-cgroup "pm-$id-x1,no-such" -o z.pmr -- true
	[ "$("$bin/pmrep" dump z.pmr | grep -c no-such)" = 0 ]
	run -125 perf -e cs --for-each-cgroup "no-such" -o y.pmr
	run -125 perf -e cs --for-each-cgroup "no-such-.*" -o y.pmr
	[[ $output == *"no cgroup"*"matches"* ]]
	run -125 perf -e cs --for-each-cgroup "a[" -o y.pmr
	[[ $output == *"--for-each-cgroup: 'a['"* ]]
}

@test "a cgroup that vanishes is an event, and then missing with the reason" {
	need_cgroups
	cgroup v
	begin -q --sources=perf -i 0.01 -e cs --for-each-cgroup "pm-$id-v" -o x.pmr
	await holds x.pmr 11
	rmdir "$root/pm-$id-v"
	gone() { "$bin/pmrep" dump --no-values x.pmr | grep 'event=gone'; }
	await gone
	# A reading after that.
	say snapshot
	say stop
	wait "$pid"
	"$bin/pmrep" dump x.pmr >dump
	grep 'event=gone' dump
	grep '^value' dump | tail -1 | grep 'status=gone'
	[ "$(grep '^value' dump | grep -c 'status=ok')" -gt 10 ]
}

@test "cgroups of version 1" {
	need_cgroups
	grep -q '^perf_event[[:space:]]*0[[:space:]]' /proc/cgroups || skip "perf_event is in use"
	mkdir v1
	mount -t cgroup -o perf_event none v1 2>/dev/null || skip "no permission to mount"
	mounted=$PWD/v1
	root=$mounted
	cgroup a
	perf --privacy=full -i 0 -e minor-faults --for-each-cgroup "pm-$id-a" -o x.pmr -- \
		sh -c "$(declare -f faults_in); root=$root; faults_in a 4000"
	[ "$(total 15 "pm-$id-a" minor-faults x.pmr --per-cgroup)" -ge 4000 ]
	run -125 "$bin/pmrec" --bpf-counters -e cs --for-each-cgroup "pm-$id-a" -o y.pmr
	[[ $output == *"only version 2"*"cgroup_no_v1"* || $output == *"CAP_BPF"* ]]
}

threads='
import os, threading, time
def work(s):
    t = time.thread_time()
    while time.thread_time() - t < s: pass
def some(n, s):
    ts = [threading.Thread(target=work, args=(s,)) for _ in range(n)]
    [t.start() for t in ts]; [t.join() for t in ts]
time.sleep(0.1)
some(2, 0.15)
if os.fork() == 0:
    some(1, 0.3); os._exit(0)
os.wait()
some(3, 0.05)
'

@test "--per-thread follows threads and processes that begin later, in ticks or without" {
	may_count
	for interval in 0.1 0; do
		perf -i $interval --per-thread -e task-clock:u -o x.pmr -- /usr/bin/python3 -c "$threads"
		"$bin/pmrep" check x.pmr
		"$bin/pmrep" --format=csv --total --per-task --show=task-clock:u x.pmr | awk -F, 'NR > 1 { print $17 }' |
			sort -n >clocks
		cat clocks
		# The first task and the child have little to do, three threads 50 ms, two 150, one 300 (of which the
		# kernel has a part).
		[ "$(wc -l <clocks)" = 8 ]
		"$bin/pmrep" dump x.pmr | grep -c event=gone | grep -x 7
	done
	# Beside that, the same command counted as a whole.
	perf -i 0 --per-thread -e task-clock -o each.pmr -- /usr/bin/python3 -c "$threads"
	sum=$(total 5 system task-clock each.pmr --per-system)
	[ "$sum" -ge 700 ]
	[ "$sum" -lt 1200 ]
}

@test "--per-thread and -r: each run has its own tasks" {
	perf -i 0 -r 3 --per-thread -e task-clock -o x.pmr -- /usr/bin/python3 -c "$threads"
	"$bin/pmrep" check x.pmr
	"$bin/pmrep" info --format=json x.pmr | python3 -c 'import json,sys; assert json.load(sys.stdin)["runs"] == 3'
	# One instance for the command, seven a run for what it begins.
	[ "$("$bin/pmrep" dump x.pmr | grep 'kind=task' | grep -oE 'name=task-[0-9]+' | sort -u | wc -l)" = 22 ]
}

@test "-p ends with its process, which is an event" {
	mkfifo end
	sh -c 'read -r _ <end' 3>&- &
	target=$!
	perf -i 0.2 -p "$target" -e task-clock -o x.pmr 2>err &
	pid=$!
	await holds x.pmr 2
	echo >end
	wait "$target"
	await eval '! kill -0 "$pid"'
	wait "$pid"
	"$bin/pmrep" dump x.pmr | grep 'event=gone'
	"$bin/pmrep" check x.pmr
}

@test "-p: what has ended is over, though its parent has not taken notice" {
	/usr/bin/python3 -c 'if True:
		import os, time
		p = os.fork()
		if p == 0:
			while not os.path.exists("end"):
				time.sleep(0.02)
			os._exit(0)
		print(p, flush=True)
		time.sleep(40)' >child 3>&- &
	pid=$!
	await test -s child
	timeout 30 "$bin/pmrec" -q --sources=perf -i 0.1 -p "$(cat child)" -e task-clock -o x.pmr 3>&- &
	recorder=$!
	await holds x.pmr 2
	touch end
	wait "$recorder"
	"$bin/pmrep" dump x.pmr | grep 'event=gone'
	grep -q State:.Z "/proc/$(cat child)/status"
}

@test "--control: the shell example of perf's manual page" {
	may_count
	ctl_dir=$PWD/
	ctl_fifo=${ctl_dir}perf_ctl.fifo
	mkfifo ${ctl_fifo}
	exec {ctl_fd}<>${ctl_fifo}
	ctl_ack_fifo=${ctl_dir}perf_ctl_ack.fifo
	mkfifo ${ctl_ack_fifo}
	exec {ctl_fd_ack}<>${ctl_ack_fifo}

	"$bin/pmrec" -q -o x.pmr -D -1 -e cpu-clock -a -I 100 \
		--control fd:${ctl_fd},${ctl_fd_ack} \
		\-- sleep 3 3>&- &
	perf_pid=$!

	sleep 0.7 && echo 'enable' >&${ctl_fd} && read -t 5 -u ${ctl_fd_ack} e1 && echo "enabled(${e1})"
	sleep 1 && echo 'disable' >&${ctl_fd} && read -t 5 -u ${ctl_fd_ack} d1 && echo "disabled(${d1})"

	exec {ctl_fd_ack}>&-
	unlink ${ctl_ack_fifo}
	exec {ctl_fd}>&-
	unlink ${ctl_fifo}
	wait -n ${perf_pid}
	[ "$e1$d1" = ackack ]
	"$bin/pmrep" dump x.pmr >dump
	grep 'event=enable' dump
	grep 'event=disable' dump
	# A second of each CPU, or what a busy machine made of it, not three.
	window=$(sed -n 's/.*event=\(en\|dis\)able time_ns=//p' dump | awk 'NR == 1 { from = $1 } { to = $1 } END { printf "%d", (to - from) / 1e6 }')
	ms=$("$bin/pmrep" --format=csv --total --per-cpu x.pmr | awk -F, '$12 == 0 && $16 == "cpu-clock" { printf "%d", $17 }')
	[ "$ms" -ge 950 ]
	[ "$ms" -le $((window + 150)) ]
}

@test "--control: the list of events, and what is wrong" {
	may_count
	begin -q --sources=perf -i 0.02 -a -e cs,faults -e '{cpu-clock,migrations}' -o x.pmr
	say "disable faults" "enable and disable switch all events, and none alone"
	say "nonsense" "unknown command"
	say evlist ack
	say snapshot ack
	say "mark here" ack
	say stop ack
	wait "$pid"
	[ "$(sort "$said")" = "$(printf '%s\n' cpu-clock cs faults migrations)" ]
	"$bin/pmrep" check x.pmr
}

# perf 6.1 acknowledges these, even if it has no such event, and answers neither a word that it does not know nor `snapshot`.
@test "--control: in place of perf, what names one event is refused, and answered" {
	may_count
	mkfifo ctl ack
	"$bin/pmrec" perfstat -D -1 -e cs,faults --control fifo:ctl,ack sleep 60 2>said 3>&- &
	pid=$!
	exec 8<>ctl 9<>ack
	for word in ping "enable cs" nonsense snapshot stop "disable nothing" enable; do
		echo "$word" >&8
		case $word in
		*\ *) read -r -t 10 answer <&9; [ "$answer" = "enable and disable switch all events, and none alone" ] ;;
		nonsense | snapshot) ;;
		*) read -r -t 10 answer <&9; [ "$answer" = ack ] ;;
		esac
	done
	# What `stop` did not end a signal does.
	kill -TERM "$pid"
	wait "$pid" || [ $? -eq 143 ]
	grep -x "failed: 'cs': enable and disable switch all events, and none alone" said
	[ "$(grep ^Events said)" = "$(printf 'Events %s\n' disabled enabled)" ]
}

@test "--control: what is no fifo is left alone, and a descriptor that ends ends nothing else" {
	may_count
	echo precious >file
	mkfifo ctl
	run -125 perf -e cs --control=fifo:file -o x.pmr
	[[ $output == *"'file' is not a fifo"* ]]
	run -125 perf -e cs --control=fifo:ctl,file -o x.pmr
	[[ $output == *"'file' is not a fifo"* ]]
	[ "$(cat file)" = precious ]
	run -125 perf -e cs --control=fifo:nothing -o x.pmr
	[[ $output == *"mkfifo"* ]]
	echo "mark last" | perf -i 0 --timeout=300 -e cs --control=fd:0 -o x.pmr
	"$bin/pmrep" dump x.pmr | grep 'event=marker'
	"$bin/pmrep" info --format=json x.pmr | python3 -c 'import json,sys; assert json.load(sys.stdin)["duration_ns"] >= 300000000'
}

@test "-r 0 goes on until it is interrupted" {
	may_count
	env --default-signal=INT "$bin/pmrec" -q --overwrite --sources=perf -i 0 -e cs -r 0 -o x.pmr -- sh -c 'echo >>runs' 3>&- &
	pid=$!
	await lines runs 5
	kill -INT "$pid"
	wait "$pid" || true
	"$bin/pmrep" info --format=json x.pmr | python3 -c 'import json,sys; n = json.load(sys.stdin)["runs"]; assert n > 3, n'
}

@test "--pre and --post run around each run; their failure ends it" {
	perf -i 0 -r 2 --null --sources=stat --sync --pre 'echo pre >>order' --post 'echo post >>order' -o x.pmr -- \
		sh -c 'echo run >>order'
	[ "$(tr '\n' ' ' <order)" = "pre run post pre run post " ]
	run -125 perf -i 0 --pre 'exit 3' -o x.pmr -- touch ran
	[[ $output == *"--pre: 'exit 3' ended with 3"* ]]
	[ ! -e ran ]
	run -125 perf -i 0 -r 5 --post 'exit 4' -o x.pmr -- sh -c 'echo x >>runs'
	[[ $output == *"--post"*"4"* ]]
	[ "$(wc -l <runs)" = 1 ]
}

# A machine with the events that --smi-cost needs; nothing is counted under --root.
smi_root() {
	mkdir -p root/sys/devices/system/cpu root/proc root/sys/bus/event_source/devices/msr/events \
		root/sys/bus/event_source/devices/cpu
	echo 0 >root/sys/devices/system/cpu/online
	echo 9 >root/sys/bus/event_source/devices/msr/type
	echo 'event=0x01' >root/sys/bus/event_source/devices/msr/events/aperf
	echo 'event=0x04' >root/sys/bus/event_source/devices/msr/events/smi
	freeze=root/sys/bus/event_source/devices/cpu/freeze_on_smi
	echo "$1" >$freeze
	printf 'cpu  1 0 0 0 0 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 0 0 0\nintr 1\nctxt 1\nbtime 1\nprocesses 1\n' >root/proc/stat
}

@test "--smi-cost freezes while it records, and puts that back however it ends" {
	smi_root 0
	for how in TERM INT KILL; do
		env --default-signal=INT "$bin/pmrec" -q --overwrite --root=root --smi-cost -i 0.1 -o x.pmr \
			3>&- 2>err &
		pid=$!
		await eval '[ "$(cat $freeze)" = 1 ] || ! kill -0 $pid'
		cat err
		[ "$(cat $freeze)" = 1 ]
		kill -$how "$pid"
		wait "$pid" || true
		await grep -qx 0 $freeze
	done
	# The command crashes.
	run -139 "$bin/pmrec" -q --overwrite --root=root --smi-cost -i 0.1 -o x.pmr -- sh -c 'kill -SEGV $$'
	[ "$(cat $freeze)" = 0 ]
	run -125 "$bin/pmrec" -q --overwrite --root=root --smi-cost -i 0.1 -o /nonexistent/x.pmr
	[ "$(cat $freeze)" = 0 ]
}

@test "--smi-cost leaves alone what was set before, and doctor tells it" {
	smi_root 1
	"$bin/pmrec" -q --overwrite --root=root --smi-cost -i 0.1 -n 1 -o x.pmr
	[ "$(cat $freeze)" = 1 ]
	run -0 "$bin/pmrec" doctor --root=root
	[[ $output == *freeze_on_smi* ]]
	echo 0 >$freeze
	run -0 "$bin/pmrec" doctor --root=root
	[[ $output != *freeze_on_smi* ]]
}

@test "what this machine lacks is refused with the reason" {
	mkdir -p root/sys/devices/system/cpu root/proc
	echo 0 >root/sys/devices/system/cpu/online
	for option in --transaction --topdown --smi-cost --cputype=core; do
		run -125 "$bin/pmrec" -q --root=root $option -n 1 -o x.pmr
		[[ $output == "pmrec: ${option%=*}: "* ]]
		[ "${#lines[@]}" = 1 ]
	done
}

@test "--topdown: levels, and what counts cores needs all of them" {
	cpu=root/sys/bus/event_source/devices/cpu
	mkdir -p root/sys/devices/system/cpu/smt root/proc $cpu/events
	echo 0 >root/sys/devices/system/cpu/online
	echo 1 >root/sys/devices/system/cpu/smt/active
	echo 4 >$cpu/type
	for name in slots topdown-retiring topdown-bad-spec topdown-fe-bound topdown-be-bound; do
		echo 'event=0x00,umask=0x80' >$cpu/events/$name
	done
	run -125 "$bin/pmrec" -q --root=root --topdown --td-level=2 -n 1 -o x.pmr
	[[ $output == *"--td-level: this processor has 1 level"* ]]
	rm $cpu/events/*
	for name in topdown-total-slots topdown-slots-retired topdown-fetch-bubbles; do
		echo 'event=0xc2,umask=0x2' >$cpu/events/$name
	done
	run -125 "$bin/pmrec" -q --root=root --topdown -n 1 -o x.pmr -- true
	[[ $output == *"--topdown: "*"add -a" ]]
}

@test "user_time and system_time of each run of -r are those of its command, whatever hooks use" {
	may_count
	busy='import time, os
def work(s):
    t = time.process_time()
    while time.process_time() - t < s: pass
work(float(os.environ["SECONDS_BUSY"]))'
	export SECONDS_BUSY=0.3
	# What interrupts and the host took, in ms: task-clock goes on meanwhile, times of a process may not.
	taken() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%d", ($7 + $8 + $9) * 1000 / hz }' /proc/stat; }
	before=$(taken)
	perf -i 0 -r 3 --pre "SECONDS_BUSY=0.5 /usr/bin/python3 -c '$busy'" -e user_time,system_time,task-clock -o x.pmr -- \
		/usr/bin/python3 -c "$busy"
	taken_meanwhile=$(($(taken) - before))
	"$bin/pmrep" check x.pmr
	"$bin/pmrep" --format=csv --total --per-system x.pmr >x.csv
	clock=$(awk -F, '$16 == "task-clock" { s += $17 } END { printf "%d", s }' x.csv)
	times=$(awk -F, '$16 ~ /_time/ { s += $17 } END { printf "%d", s / 1e6 }' x.csv)
	echo "$times $clock $taken_meanwhile"
	[ "$times" -ge 900 ]
	[ "$times" -le $((clock + 60)) ]
	[ "$times" -ge $((clock - 60 - taken_meanwhile)) ]
}

many='
import os, signal, threading, time
def work(s):
    t = time.thread_time()
    while time.thread_time() - t < s: pass
recorder = int(open("recorder").read())
time.sleep(0.3)
os.kill(recorder, signal.SIGSTOP)
for i in range(1500):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
if os.fork() == 0:
    ts = [threading.Thread(target=work, args=(0.9,)) for _ in range(2)]
    [t.start() for t in ts]
    if os.fork() == 0:
        time.sleep(0.5); work(0.9); os._exit(0)
    os.kill(recorder, signal.SIGCONT)
    [t.join() for t in ts]
    os.wait(); os._exit(0)
os.wait()
'

@test "--per-thread: more tasks than the kernel has room to tell of; those that stay are found" {
	may_count
	bash -c 'echo $$ >recorder; exec "$@"' bash "$bin/pmrec" -q --sources=perf -i 0.1 --per-thread -e task-clock -o x.pmr -- \
		taskset -c 0 /usr/bin/python3 -c "$many"
	"$bin/pmrep" check x.pmr
	"$bin/pmrep" --format=csv --total --per-task x.pmr | awk -F, '$16 == "task-clock" { printf "%d\n", $17 }' >clocks
	cat clocks
	[ "$(awk '$1 >= 300 && $1 < 1200' clocks | wc -l)" -ge 3 ]
	"$bin/pmrep" dump x.pmr | grep 'event=note.*tasks started and ended too fast'
}

@test "-r: --timeout and --interval-count end each run, not all of them; -D comes before" {
	may_count
	run -143 perf -i 0 -r 3 --timeout=150 -e cpu-clock -o x.pmr -- sleep 5
	"$bin/pmrep" info --format=json x.pmr | python3 -c 'import json,sys; assert json.load(sys.stdin)["runs"] == 3'
	[ "$("$bin/pmrep" dump x.pmr | grep -c 'event=child-exit.*signal=15')" = 3 ]
	run -143 perf -I 50 --interval-count=3 -r 2 -e cpu-clock -o x.pmr -- sleep 5
	# Three intervals of each run are four readings, less those that a busy machine missed.
	eight() {
		"$bin/pmrep" info --format=json x.pmr | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["snapshots"] == 8 or d["lost_ticks"] and 4 <= d["snapshots"] < 8, d["snapshots"]'
	}
	eight
	run -143 perf -I 50 -D 100 --interval-count=3 -r 2 -e cpu-clock -o x.pmr -- sleep 5
	eight
	perf -i 0 -D 200 --timeout=300 -a -e cpu-clock -o x.pmr
	ms=$("$bin/pmrep" --format=csv --total --per-cpu x.pmr | awk -F, '$12 == 0 && $16 == "cpu-clock" { printf "%d", $17 }')
	[ "$ms" -ge 200 ]
	[ "$ms" -lt 500 ]
}
