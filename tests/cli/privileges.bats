#!/usr/bin/env bats
# What pmrec may do beyond its caller, and what it must not: files that the caller names, sockets, signals.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	as="setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all"
	pid=
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

teardown() {
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "not root"
}

# What must end by itself, or by a signal that ends it. Without that it never would.
within() {
	timeout --signal=KILL 60 "$@"
}

# Waits until the recorder that was started in the background samples.
sampling() {
	for _ in $(seq 400); do
		[ -s "$1" ] && [ "$("$bin/pmrep" dump "$1" 2>/dev/null | grep -c ^snapshot)" -ge "${2:-2}" ] && return
		sleep 0.05
	done
	return 1
}

finish() {
	status=0
	wait "$pid" || status=$?
	pid=
}

# What the install step prints, on a copy of the program.
with_capabilities() {
	need_root
	[ "${PM_SANITIZE:-}" != thread ] || skip "ThreadSanitizer runs a thread of its own, which keeps what it had"
	mkdir -m 755 caps
	mkdir -m 777 mine
	cp "$bin/pmrec" "$bin/pmrep" caps/
	setcap "${1:-cap_perfmon,cap_dac_read_search=ep}" caps/pmrec 2>/dev/null || skip "no file capabilities here"
	$as caps/pmrec --version >/dev/null || skip "programs with file capabilities do not run here"
}

# Runs in the command: what the threads of the recorder may, and what the command may itself.
rights='sleep 0.3
	cat /proc/$PPID/task/*/status | grep -cE "^Cap(Inh|Prm|Eff|Amb)" >sets
	cat /proc/$PPID/task/*/status | grep -E "^Cap(Inh|Prm|Eff|Amb)" | grep -vc 0000000000000000 >held
	cat /proc/$PPID/task/*/status | grep -E "^(NoNewPrivs|Seccomp):" | sort | uniq -c >confined
	ls /proc/$PPID/task | wc -l >threads
	grep -E "^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp|Sig(Blk|Ign)|Uid|Groups)" /proc/self/status >command'

# Every thread has nothing, and the filter.
check_rights() {
	threads=$(cat threads)
	[ "$threads" -ge 3 ]
	[ "$(cat sets)" = $((4 * threads)) ]
	[ "$(cat held)" = 0 ]
	[ "$(awk '$2 == "NoNewPrivs:" && $3 == 1 { print $1 }' confined)" = "$threads" ]
	[ "$(awk '$2 == "Seccomp:" && $3 == 2 { print $1 }' confined)" = "$threads" ]
}

@test "threads that sample have no rights, and the command has its caller's: root" {
	need_root
	sh -c "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp|Sig(Blk|Ign)|Uid|Groups)' /proc/self/status" >own
	"$bin/pmrec" -q -i 0.1 -o x.pmr -- sh -c "$rights"
	check_rights
	diff own command
	"$bin/pmrep" info --all x.pmr | grep -q 'no capabilities, no new privileges, system calls filtered'
}

@test "threads that sample have no rights, and the command has its caller's: file capabilities" {
	with_capabilities cap_perfmon,cap_dac_read_search,cap_sys_nice=eip
	cd mine
	$as sh -c "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp|Sig(Blk|Ign)|Uid|Groups)' /proc/self/status" >own
	$as ../caps/pmrec -q -i 0.1 -o x.pmr -- sh -c "$rights"
	check_rights
	diff own command
	"$bin/pmrep" info --all x.pmr | grep -q 'no capabilities, no new privileges, system calls filtered'
	# While the caller's process and the opener live, they are not his to look into.
	$as ../caps/pmrec -q -i 0.1 --overwrite -o x.pmr -- sh -c 'sleep 0.2; grep -l pmrec/open /proc/[0-9]*/comm | cut -d/ -f3 | while read p; do
		[ "$(ps -o ppid= -p $p | tr -d " ")" = $PPID ] && cat /proc/$p/mem /proc/$p/environ; done; true' >out 2>err
	[ ! -s out ]
	grep -q 'Permission denied' err
}

@test "an ordinary user's threads have no rights either" {
	need_root
	mkdir -m 777 mine
	cd mine
	$as "$bin/pmrec" -q -i 0.1 -o x.pmr -- sh -c "$rights"
	check_rights
}

@test "with file capabilities nobody reads what he may not, by any option" {
	with_capabilities
	mkdir -m 700 secret
	echo 4711 >number
	echo '[{"MetricName": "m4711", "MetricExpr": "1"}]' >metrics.json
	echo '[{"EventName": "e4711", "EventCode": "1"}]' >events.json
	mkdir -p secret/tree/proc secret/tree/sys/devices/system/cpu secret/out
	echo 0 >secret/tree/sys/devices/system/cpu/online
	cp /proc/stat secret/tree/proc/
	mkfifo -m 600 fifo
	cp number metrics.json events.json secret/
	chmod 600 number metrics.json events.json
	top=$PWD
	cd mine
	ln -s ../number link
	ln -s "$top/secret/number" deep
	pmrec() {
		rm -f x.pmr
		run within $as ../caps/pmrec -q -n 1 -i 0.1 "$@"
		[ "$status" != 0 ]
		[[ $output != *4711* ]]
	}
	exec 7<"$top/number"
	for path in "$top/number" "$PWD/link" "$PWD/deep" "$PWD/../number" "$top/secret/number" \
		/proc/self/cwd/../number /sys/../"$top/number" /proc/1/environ; do
		pmrec --null --sources=add --add "$path,package,u64,raw" -o x.pmr
		# A file that is not there is told from one that may not be read only where the user may look.
		[ ! -e x.pmr ]
	done
	# An open descriptor is the user's own; opening it again is not.
	pmrec --null --sources=add --add "/proc/self/fd/7,package,u64,raw" -o x.pmr
	for file in "$top/metrics.json" "$top/secret/metrics.json" "$top/secret" /proc/self/fd/7; do
		pmrec --metrics-file="$file" -M m4711 -o x.pmr
		[[ $output == *"Permission denied"* ]]
	done
	for file in "$top/events.json" "$top/secret/events.json" "$top/secret"; do
		pmrec --events-file="$file" -e e4711 -o x.pmr
		[[ $output == *"Permission denied"* ]]
	done
	pmrec --root="$top/secret/tree" --sources=stat -o x.pmr
	pmrec --sources=stat --control="fifo:$top/fifo" -o x.pmr
	[[ $output == *"Permission denied"* ]]
	pmrec --sources=stat -o "$top/secret/out/x.pmr"
	[[ $output == *"Permission denied"* ]]
	pmrec --sources=stat --overwrite -o "$top/number"
	[[ $output == *"Permission denied"* ]]
	pmrec --sources=stat --rotate=0.1s -o "$top/secret/out/x.pmr"
	[[ $output == *"Permission denied"* ]]
	[ "$(cat "$top/number")" = 4711 ]
	[ -z "$(ls "$top/secret/out")" ]
	# What is secret is told from what is not there no more than the kernel tells the user.
	run $as ../caps/pmrec -q -n 1 -i 0.1 --null --sources=add --add "$top/secret/number,package,u64,raw" -o x.pmr
	there=${output//number/}
	run $as ../caps/pmrec -q -n 1 -i 0.1 --null --sources=add --add "$top/secret/absent,package,u64,raw" -o x.pmr
	[ "${output//absent/}" = "$there" ]
}

@test "the opener opens what the user may not, and only that" {
	may_count
	with_capabilities cap_perfmon,cap_dac_read_search,cap_sys_rawio,cap_sys_ptrace=ep
	cd mine
	$as "$bin/pmrec" -n 1 -i 0.1 -o user.pmr 2>err
	if grep -q 'not recorded: perf: cpu-clock' err; then
		$as ../caps/pmrec -n 1 -i 0.1 -o x.pmr 2>err
		! grep -q 'not recorded: perf: cpu-clock' err || false
		"$bin/pmrep" stat -x, x.pmr 2>&1 | grep -E '^[0-9.]+,msec,cpu-clock'
	fi
	# Of another user's process, and its new threads.
	python3 -c 'import threading, time
time.sleep(0.4)
for i in range(4):
    threading.Thread(target=time.sleep, args=(1.2,)).start()
    time.sleep(0.2)' 3>&- &
	pid=$!
	if $as ../caps/pmrec -q -i 0.1 -n 14 --per-thread -e task-clock -p "$pid" -o threads.pmr 2>err; then
		[ "$("$bin/pmrep" stat --per-thread -x, threads.pmr 2>&1 | grep -c task-clock)" -ge 4 ]
	else
		cat err
		grep -qi 'permi' err
	fi
	finish
}

@test "nobody gets at the opener through the recorder, though both are his" {
	with_capabilities
	cd mine
	$as ../caps/pmrec -q -i 0.1 -o x.pmr 2>err 3>&- &
	pid=$!
	sampling x.pmr
	recorders="$pid $(pgrep -P "$pid")"
	[ "$(wc -w <<<"$recorders")" -ge 3 ]
	run $as /usr/bin/python3 - $recorders <<-'PYTHON'
	import ctypes, errno, sys
	libc, got, tried = ctypes.CDLL(None, use_errno=True), [], 0
	for pid in map(int, sys.argv[1:]):
	    pidfd = libc.syscall(434, pid, 0)
	    if pidfd < 0 and ctypes.get_errno() == errno.ESRCH:
	        continue
	    assert pidfd >= 0
	    tried += 1
	    if libc.ptrace(0x4206, pid, 0, 0) == 0:
	        got.append("attached to %d" % pid)
	    got += ["descriptor %d of %d" % (n, pid) for n in range(3, 40) if libc.syscall(438, pidfd, n, 0) >= 0]
	    try:
	        got.append("environment: %d bytes" % len(open("/proc/%d/environ" % pid).read()))
	    except (PermissionError, FileNotFoundError, ProcessLookupError):
	        pass
	# What starts commands ends when there are none.
	assert tried >= 3
	print(*got, sep="\n", end="")
	PYTHON
	kill -INT "$pid"
	finish
	[ -z "$output" ] || { echo "$output"; return 1; }
	[ "$status" = 0 ]
}

@test "files of a rotation are made and removed where only root by its rights may" {
	need_root
	mkdir -m 700 theirs
	chown 54321 theirs
	# Root without capabilities is a user like others in there.
	setpriv --bounding-set=-all --inh-caps=-all sh -c '! touch theirs/x' 2>/dev/null || skip "root needs no capabilities here"
	"$bin/pmrec" -q -i 0.05 -n 30 --sources=stat --rotate=0.3s --keep=2 -o theirs/x.pmr
	[ "$(ls theirs | wc -l)" = 2 ]
	for file in theirs/*.pmr; do
		"$bin/pmrep" check "$file"
	done
}

@test "hooks, runs and the report start from what has not given its rights up" {
	need_root
	"$bin/pmrec" -q -i 0.1 --sources=stat --null -r 3 --pre 'grep NoNewPrivs /proc/self/status >>pre' \
		--post 'grep CapEff /proc/self/status >>post' -o x.pmr -- sh -c 'grep Seccomp: /proc/self/status >>runs'
	[ "$(grep -c 'NoNewPrivs:.*0' pre)" = 3 ]
	[ "$(sort -u post)" = "$(grep CapEff /proc/self/status)" ]
	[ "$(uniq -c runs)" = "$(for _ in 1 2 3; do grep Seccomp: /proc/self/status; done | uniq -c)" ]
	"$bin/pmrec" -q -i 0.1 -n 2 --sources=stat --report -o y.pmr >out
	[ -s out ]
}

@test "nothing is left behind by a recorder that is killed" {
	"$bin/pmrec" -q -i 0.1 --sources=stat -o x.pmr 3>&- &
	pid=$!
	sampling x.pmr
	others=$(ps -o pid= --ppid "$pid")
	kill -KILL "$pid"
	finish
	for other in $others; do
		for _ in $(seq 100); do
			kill -0 "$other" 2>/dev/null || break
			sleep 0.02
		done
		! kill -0 "$other" 2>/dev/null || false
	done
}

@test "the opener may do little else, and a recording goes on without it" {
	need_root
	"$bin/pmrec" -q -i 1 --sources=stat -o x.pmr 2>err 3>&- &
	pid=$!
	# After the third snapshot it has looked for changes, and finds no reason to do that again within ten seconds.
	sampling x.pmr 4
	for opener in $(ps -o pid= --ppid "$pid"); do
		[ "$(cat /proc/$opener/comm)" != pmrec/open ] || break
	done
	[ "$(cat /proc/$opener/comm)" = pmrec/open ]
	[ -n "$PM_SANITIZE" ] || grep -q 'Seccomp:.2' /proc/$opener/status
	# Nothing is left to be done for the caller.
	run ps -o comm= --ppid "$pid"
	[[ $output != *pmrec/caller* ]] || { echo "$output"; return 1; }
	kill -KILL "$opener"
	for _ in $(seq 100); do
		[ ! -s err ] || break
		sleep 0.05
	done
	[ -s err ]
	before=$("$bin/pmrep" dump x.pmr | grep -c ^snapshot)
	for _ in $(seq 200); do
		[ "$("$bin/pmrep" dump x.pmr | grep -c ^snapshot)" -lt $((before + 2)) ] || break
		sleep 0.1
	done
	kill -INT "$pid"
	finish
	[ "$status" = 0 ]
	[ "$(grep -c 'process that opens files and events has ended' err)" = 1 ]
	"$bin/pmrep" check x.pmr
	[ "$("$bin/pmrep" dump x.pmr | grep -c ^snapshot)" -ge $((before + 2)) ]
	[ "$("$bin/pmrep" dump x.pmr | grep -c 'event=note .*process that opens')" = 1 ]
}

@test "a pipe or a device is no file to read from, and nobody waits for it" {
	mkfifo pipe
	mkdir -p root/sys/devices/system/cpu root/proc
	mkfifo root/proc/stat
	echo 0 >root/sys/devices/system/cpu/online
	run -125 within "$bin/pmrec" -q -n 1 -i 0.1 -M x --metrics-file=pipe -o x.pmr
	[[ $output == *"not a regular file"* ]]
	run -125 within "$bin/pmrec" -q -n 1 -i 0.1 --events-file=pipe -e x -o x.pmr
	[[ $output == *"not a regular file"* ]]
	run -125 within "$bin/pmrec" -q -n 1 -i 0.1 --events-file=/dev/zero -e x -o x.pmr
	[[ $output == *"not a regular file"* ]]
	for path in "$PWD/pipe" /dev/tty /dev/zero "/proc/self/fd/9"; do
		run -125 within "$bin/pmrec" -q -n 1 -i 0.1 --null --sources=add --add "$path,package,u64,raw" -o x.pmr 9<>pipe
		[[ $output == *"nothing to record from add"* ]]
	done
	run -125 within "$bin/pmrec" -q -n 1 -i 0.1 --root=root --sources=stat -o x.pmr
	[ ! -e x.pmr ]
}

@test "a pipe that nobody reads does not keep pmrec from ending" {
	mkfifo out
	for signal in INT TERM HUP; do
		env --default-signal=INT,HUP "$bin/pmrec" -q -i 0.1 --sources=stat -o out 3>&- &
		pid=$!
		# Whatever it is at by then, it has not got a reader.
		for _ in $(seq 40); do
			grep -qE 'fifo|pipe' "/proc/$pid/wchan" && break
			sleep 0.05
		done
		kill -"$signal" "$pid"
		finish
		[ "$status" -gt 128 ]
	done
}

@test "a recorder in the background ends with SIGINT, and a hangup that was ignored stays ignored" {
	# This shell has no job control: what it starts in the background ignores SIGINT.
	sh -c 'exec "$0" -q -i 0.1 --sources=stat -o bg.pmr' "$bin/pmrec" 3>&- &
	pid=$!
	sampling bg.pmr
	kill -INT "$pid"
	finish
	[ "$status" = 0 ]
	"$bin/pmrep" check bg.pmr
	nohup "$bin/pmrec" -q -i 0.1 --sources=stat -o hup.pmr 3>&- >/dev/null 2>&1 &
	pid=$!
	sampling hup.pmr
	kill -HUP "$pid"
	sleep 0.3
	kill -0 "$pid"
	kill -INT "$pid"
	finish
	[ "$status" = 0 ]
	"$bin/pmrep" check hup.pmr
}

@test "what tells most about its user is for its user alone" {
	umask 022
	"$bin/pmrec" -q -n 1 -i 0.1 --sources=stat --privacy=full -o full.pmr
	[ "$(stat -c %a full.pmr)" = 600 ]
	"$bin/pmrec" -q -n 1 -i 0.1 --sources=stat -o default.pmr
	[ "$(stat -c %a default.pmr)" = 644 ]
	"$bin/pmrec" -q -n 1 -i 0.1 --sources=stat --privacy=full --overwrite -o default.pmr
	[ "$(stat -c %a default.pmr)" = 600 ]
	"$bin/pmrec" -q -n 4 -i 0.1 --sources=stat --privacy=full --rotate=0.1s -o rotated.pmr
	[ "$(stat -c %a rotated-*.pmr | sort -u)" = 600 ]
}

# Holds names that a recorder would have; prints what it was sent.
stranger() {
	python3 - "$@" <<-'EOF'
	import os, socket, sys
	taken = []
	for name in sys.argv[1].split(","):
	    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	    s.bind("\0" + name)
	    s.listen(8)
	    s.settimeout(3)
	    taken.append(s)
	open("ready", "w").close()
	for s in taken:
	    try:
	        peer, _ = s.accept()
	        peer.settimeout(3)
	        text = peer.recv(4096)
	        if text:
	            print("got", text, flush=True)
	            peer.send(b"ack")
	    except OSError:
	        pass
	EOF
}

@test "a marker goes to no stranger, and one that nobody took is no success" {
	need_root
	mkdir -m 777 open
	cd open
	export -f stranger
	# Recorders of other tests take markers of root.
	$as bash -c 'stranger pmrec/54322/1,pmrec/54322/1.0' >got 3>&- &
	pid=$!
	for _ in $(seq 200); do
		[ -e ready ] && break
		sleep 0.02
	done
	grep -q '@pmrec/54322/1' /proc/net/unix
	run -125 setpriv --reuid=54322 --clear-groups "$bin/pmrec" mark secret
	[[ $output == *"not making a recording"* ]]
	finish
	[ ! -s got ]
}

@test "a name that a stranger holds does not keep markers away" {
	need_root
	mkdir -m 777 open
	cd open
	export -f stranger
	# The recorder's pid is known to whoever looks; here it waits until the stranger has the name.
	sh -c 'while [ ! -e ready ]; do sleep 0.02; done; exec "$0" -q -i 0.1 --sources=stat -o ../x.pmr' "$bin/pmrec" 3>&- &
	pid=$!
	$as bash -c "stranger pmrec/0/$pid,pmrec/0/$pid.0" >got 3>&- &
	other=$!
	sampling ../x.pmr
	"$bin/pmrec" mark hello
	kill -INT "$pid"
	finish
	kill "$other" 2>/dev/null || true
	wait "$other" || true
	[ "$status" = 0 ]
	"$bin/pmrep" dump ../x.pmr | grep -q hello
	[ ! -s got ]
}

@test "doctor says what is in force" {
	run -0 "$bin/pmrec" doctor
	[[ $output == *"while it samples, pmrec has no capabilities, no new privileges, system calls filtered"* ]]
}

@test "who may not read a recording may not read its copies, unless they are redacted" {
	umask 022
	"$bin/pmrec" -q -n 3 -i 0.1 --sources=stat --privacy=full -o full.pmr
	cp full.pmr open.pmr
	chmod 640 open.pmr
	touch old
	chmod 666 old
	"$bin/pmrep" cut --since=0 -o cut full.pmr
	"$bin/pmrep" merge -o merge full.pmr
	"$bin/pmrep" repair -o repair full.pmr
	"$bin/pmrep" bundle --no-redact -o bundle full.pmr
	"$bin/pmrep" html -o html full.pmr
	"$bin/pmrep" cut --overwrite --since=0 -o old full.pmr
	"$bin/pmrep" cut --since=0 -o group open.pmr
	"$bin/pmrep" redact -o redact full.pmr
	"$bin/pmrep" bundle -o redacted full.pmr
	run stat -c '%a %n' cut merge repair bundle html old group redact redacted
	[ "$output" = "600 cut
600 merge
600 repair
600 bundle
600 html
600 old
640 group
644 redact
644 redacted" ]
}
