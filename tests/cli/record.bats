#!/usr/bin/env bats
# pmrec as its users meet it: exit codes, outputs, signals, markers, faults. pmrep says what came of it.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	export PATH=$bin:$PATH
	cd "$BATS_TEST_TMPDIR"
}

# A test that fails in the middle leaves no recorder and no command behind.
teardown() {
	if [ -n "${pid:-}" ] && kill -0 "$pid" 2>/dev/null; then
		for command in $(ps -o pid= --ppid "$pid"); do
			kill -KILL "$command" 2>/dev/null || true
		done
		kill -KILL "$pid" 2>/dev/null || true
	fi
}

# A recording of a few cheap sources, ten a second.
pmr() {
	"$bin/pmrec" --quiet --overwrite --sources=stat,vmstat -i 0.1 "$@"
}

# A recorder in the background that counts when this returns. Sets $pid.
start() {
	begin --sources=stat,vmstat -i 0.1 "$@"
}

finish() {
	status=0
	wait "$pid" || status=$?
}

dump() {
	"$bin/pmrep" dump x.pmr
}

# A busy machine may have lost ticks.
snapshots() {
	"$bin/pmrep" info --format=json x.pmr |
		python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["snapshots"] + d["lost_ticks"])'
}

@test "-n counts intervals; the first and the last snapshot are there" {
	pmr -n 3 -o x.pmr
	[ "$(snapshots)" = 4 ]
	[ "$(dump | grep ^snapshot | head -1 | grep -c first)" = 1 ]
	[ "$(dump | grep ^snapshot | tail -1 | grep -c last)" = 1 ]
	"$bin/pmrep" check x.pmr
}

@test "without an interval, and with a long one, energy is read before it wraps; no row ends with that" {
	zone=root/sys/class/powercap/intel-rapl:0
	mkdir -p $zone root/sys/devices/system/cpu/cpu0/topology
	echo 0 | tee root/sys/devices/system/cpu/{online,possible,present} root/sys/devices/system/cpu/cpu0/topology/physical_package_id
	echo package-0 >$zone/name
	echo 15000000 >$zone/constraint_0_max_power_uw
	# 600 J last for 2.9 s at 210 W, the most that this package can draw.
	echo 600000000 >$zone/max_energy_range_uj
	for interval in 0 100; do
		echo 590000000 >$zone/energy_uj
		begin --root=root --sources=powercap -i $interval -o $interval.pmr
		await holds $interval.pmr 2
		echo 5000000 >$zone/energy_uj
		await holds $interval.pmr 4
		kill -INT $pid
		wait $pid
		"$bin/pmrep" dump $interval.pmr | grep -q '^snapshot.*flags=between'
		[ $("$bin/pmrep" show --all -S --show=PkgWatt --format=csv $interval.pmr | wc -l) = 2 ]
		# 10 J to the end of the range, 5 J from its beginning.
		[ $("$bin/pmrep" show --total -S --show=Pkg_J --format=csv $interval.pmr | tail -n 1 | cut -d, -f17,19) = 15,ok ]
	done
}

@test "a machine that has just booted and has no random numbers yet is recorded, too" {
	command -v strace >/dev/null || skip "no strace"
	# Leaks cannot be looked for below strace.
	ASAN_OPTIONS=detect_leaks=0 strace -f -qq -e trace=getrandom -e inject=getrandom:error=EAGAIN -o calls \
		"$bin/pmrec" --quiet --sources=stat -i 0.05 -n 2 -o early.pmr
	grep -q 'EAGAIN.*INJECTED' calls
	# No call may wait.
	! grep -E 'getrandom\([^,]*, [0-9]+, 0\)' calls
	pmrep check early.pmr
}

@test "the command's status is pmrec's" {
	run -7 pmr -o x.pmr -- sh -c 'exit 7'
	run -143 pmr -o x.pmr -- sh -c 'kill -TERM $$'
	run -127 pmr -o y.pmr -- /nowhere/at/all
	[[ $output == *"/nowhere/at/all"*"No such file"* ]]
	[ ! -e y.pmr ]
	run -126 pmr -o y.pmr -- /etc/passwd
	[ ! -e y.pmr ]
}

@test "what follows a command: its exit, its times" {
	pmr -o x.pmr -- sh -c 'exit 3' || [ $? = 3 ]
	dump >out
	grep -i 'child.start' out
	grep -i 'child.exit' out | grep -E '(exit|status)[^ ]*=3'
}

@test "failures of pmrec itself are 125, with one line" {
	run -125 pmr --no-such-option
	run -125 pmr -o /nonexistent/x.pmr
	[[ $output == "pmrec: "*"/nonexistent/x.pmr"* ]]
	run -125 pmr --sources=nothing -o x.pmr
	[[ $output == *"nothing"* ]]
	run -125 pmr 5
	[[ $output == *"-i 5"* ]]
	run -125 "$bin/pmrec" -q -C 999 -n 1 -o x.pmr
	[[ $output == *"999"* ]]
}

@test "a recording is not overwritten by accident" {
	pmr -n 1 -o x.pmr
	before=$(md5sum <x.pmr)
	run -125 "$bin/pmrec" -q -n 1 -i 0.1 -o x.pmr
	[[ $output == *"--overwrite"* ]]
	[ "$(md5sum <x.pmr)" = "$before" ]
	"$bin/pmrec" -q --overwrite -n 1 -i 0.1 -o x.pmr
	: >empty.pmr
	"$bin/pmrec" -q -n 1 -i 0.1 -o empty.pmr
	"$bin/pmrep" check empty.pmr
}

@test "default names do not collide" {
	for _ in 1 2 3; do
		"$bin/pmrec" -q --sources=stat -i 10ms -n 1 &
	done
	wait
	[ "$(ls -- *.pmr | wc -l)" = 3 ]
	for f in *.pmr; do
		[[ $f == "$(uname -n)-"20[0-9][0-9]*T*Z*.pmr ]]
		"$bin/pmrep" check "$f"
	done
}

@test "strict privacy keeps names out of the file and of its name" {
	# grep -c reads everything, so that nothing is cut off by a closed pipe.
	"$bin/pmrec" -q -i 10ms -n 2 --codec=plain --privacy=strict --label=who=TOPSECRET -- sh -c 'sleep 0.05; : ARGUMENT' || true
	f=$(ls anon-*.pmr)
	"$bin/pmrep" dump "$f" >out
	[ "$(grep -c TOPSECRET out)" = 0 ]
	[ "$(grep -c ARGUMENT out)" = 0 ]
	[ "$(grep -c -- "$(uname -n)" out)" = 0 ] || [ "$(uname -n | wc -c)" -lt 5 ]
	# The same with full: so the words would have been found.
	"$bin/pmrec" -q -i 10ms -n 2 --privacy=full --label=who=TOPSECRET -o full.pmr -- sh -c 'sleep 0.05; : ARGUMENT' || true
	"$bin/pmrep" dump full.pmr >out
	[ "$(grep -c TOPSECRET out)" -gt 0 ]
	[ "$(grep -c ARGUMENT out)" -gt 0 ]
}

@test "with -o - the command's stdout goes to stderr" {
	"$bin/pmrec" -q --sources=stat -i 0.1 -o - -- sh -c 'echo hello' >x.pmr 2>err
	[ "$(cat err)" = hello ]
	"$bin/pmrep" check x.pmr
}

@test "never binary to a terminal" {
	run -0 python3 - "$bin/pmrec" <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["pmrec", "-n", "1", "-i", "0.1", "-o", "-"])
		out = b""
		try:
		    while True:
		        out += os.read(fd, 4096)
		except OSError:
		    pass
		code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		assert code == 125, code
		assert b"terminal" in out and b"PMR" not in out, out
	END
}

@test "newline ends an interval, q the recording, the line of progress is shown" {
	run -0 python3 - "$bin/pmrec" <<-'END'
		import os, pty, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["pmrec", "--sources=stat", "-i", "30", "-o", "x.pmr"])
		out = b""
		def until(text):
		    global out
		    while text not in out:
		        out += os.read(fd, 4096)
		until(b"0:00:01")
		os.write(fd, b"\n")
		until(b" 2 snapshots")
		os.write(fd, b"q\n")
		try:
		    while True:
		        out += os.read(fd, 4096)
		except OSError:
		    pass
		code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		assert code == 0, (code, out)
		assert b"0:00:01" in out, out
	END
	# First, newline, last: no tick of the 30 seconds has come.
	[ "$(snapshots)" = 3 ]
}

@test "Ctrl-C at the terminal reaches the command, and the recording is whole" {
	run -0 python3 - "$bin/pmrec" <<-'END'
		import os, pty, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["pmrec", "-q", "--sources=stat", "-i", "0.1", "-o", "x.pmr", "sleep", "30"])
		def comms():
		    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
		        yield open(f"/proc/{child}/comm").read().strip()
		while "sleep" not in comms():
		    time.sleep(0.02)
		os.write(fd, b"\x03")
		code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		assert code == 130, code
	END
	"$bin/pmrep" check x.pmr
}

@test "SIGINT ends a recording without a command cleanly" {
	start -o x.pmr
	kill -INT "$pid"
	finish
	[ "$status" = 0 ]
	"$bin/pmrep" check x.pmr
}

@test "SIGUSR2, which other recorders have for something, ends a recording cleanly" {
	start -o x.pmr
	kill -USR2 "$pid"
	finish
	[ "$status" = 0 ]
	"$bin/pmrep" check x.pmr
}

@test "SIGTERM is passed on; the recording ends with the command" {
	start -o x.pmr -- sh -c 'trap "exit 9" TERM; touch ready; while :; do sleep 0.05; done'
	await test -e ready
	kill -TERM "$pid"
	finish
	[ "$status" = 9 ]
	"$bin/pmrep" check x.pmr
}

@test "a second SIGINT ends what does not heed the first" {
	start -o x.pmr -- sh -c 'trap "" INT; touch ready; while :; do sleep 0.05; done'
	await test -e ready
	kill -INT "$pid"
	settled
	kill -0 "$pid"
	kill -INT "$pid"
	finish
	[ "$status" = 143 ]
	"$bin/pmrep" check x.pmr
}

@test "SIGUSR1 takes a snapshot and leaves a marker" {
	start -o x.pmr
	kill -USR1 "$pid"
	settled
	kill -TERM "$pid"
	finish
	[ "$(dump | grep -ci 'marker')" = 1 ]
	[ "$(dump | grep ^snapshot | grep -c 'flags=forced$')" = 1 ]
}

@test "SIGUSR1 ends an interval early, and a whole one begins" {
	start -i 0.8 -n 4 -o x.pmr
	sleep 1
	kill -USR1 "$pid"
	finish
	"$bin/pmrep" --all --format=csv --columns=duration_ns --show=ctxsw x.pmr | tail -n +2 >durations
	cat durations
	[ "$(wc -l <durations)" = 5 ]
	[ "$(awk "\$1 < 700e6" durations | wc -l)" = 1 ]
}

@test "pmrec mark reaches every recorder of mine; two do not disturb each other" {
	start -o x.pmr
	first=$pid first_tell=$tell first_told=$told
	begin -q --sources=stat -i 0.1 -o second.pmr
	"$bin/pmrec" mark "half time"
	run -125 "$bin/pmrec" mark "$(printf '%4091s' x)"
	[[ $output == *"too long; at most 4095 are taken" ]]
	settled
	tell=$first_tell told=$first_told settled
	kill -TERM "$first" "$pid"
	wait "$first" "$pid"
	for f in x.pmr second.pmr; do
		"$bin/pmrep" check "$f"
		"$bin/pmrep" dump "$f" | grep -i marker | grep "half time"
	done
}

@test "mark without a recorder says so" {
	[ "$(id -u)" = 0 ] || skip "not root"
	# As a user who has none: other tests have one of theirs.
	run -125 setpriv --reuid=54319 --clear-groups "$bin/pmrec" mark x
	[ -n "$output" ]
}

@test "--control: enable, disable, mark and stop are obeyed and answered" {
	mkfifo ctl ack
	"$bin/pmrec" -q --sources=stat -i 0.05 -D -1 --control=fifo:ctl,ack -o x.pmr 3>&- &
	pid=$!
	exec 8<>ctl 9<>ack
	for word in ping enable "mark here" disable disable enable nonsense stop; do
		echo "$word" >&8
		read -r -t 5 answer <&9
		if [ "$word" = nonsense ]; then
			[ "$answer" = "unknown command" ]
		else
			[ "$answer" = ack ]
		fi
	done
	finish
	[ "$status" = 0 ]
	dump >out
	[ "$(grep -ciE 'type=enable|event.*enable' out)" -ge 2 ]
	# What is disabled already stays so.
	[ "$(grep -c event=disable out)" = 1 ]
	# Two stretches: each has a first and a last, and no tick is lost between them.
	[ "$(grep ^snapshot out | grep -c first)" = 2 ]
	"$bin/pmrep" info --format=json x.pmr >info
	python3 -c 'import json; d = json.load(open("info")); assert d["segments"] == 2 and d["lost_ticks"] == 0, d'
}

@test "-r makes runs, each a segment" {
	pmr -r 3 -o x.pmr -- sleep 0.05
	"$bin/pmrep" info --format=json x.pmr >info
	python3 -c 'import json; d = json.load(open("info")); assert d["runs"] == 3 and d["segments"] == 3, d'
	[ "$(dump | grep -c 'snapshot.*first')" = 3 ]
}

@test "-D waits before it counts" {
	pmr -D 300 -o x.pmr -- sleep 0.65
	n=$(snapshots)
	# First at 0.3 s, ticks at 0.4, 0.5, 0.6, last.
	[ "$n" -ge 3 ]
	[ "$n" -le 6 ]
	# A command that is over before: its recording is whole all the same.
	pmr -D 3000 -o x.pmr -- true
	"$bin/pmrep" check x.pmr
}

@test "--timeout and -n end the command, too" {
	run -143 pmr --timeout 300 -o x.pmr -- sleep 30
	run -143 pmr -n 2 -o x.pmr -- sleep 30
	[ "$(snapshots)" = 3 ]
}

@test "--timeout ends a command that is stopped" {
	run -143 timeout -s KILL 20 "$bin/pmrec" -q --timeout 300 -o x.pmr -- sh -c 'kill -STOP $$; sleep 30'
	"$bin/pmrep" check x.pmr
}

@test "-i 0 takes the first and the last snapshot only" {
	pmr -i 0 -o x.pmr -- sleep 0.3
	[ "$(snapshots)" = 2 ]
}

@test "kill -9: what was closed is read, the end is named" {
	start -i 0.01 -o x.pmr
	await holds x.pmr 20
	kill -KILL "$pid"
	finish
	# The process that writes ends a moment later, with what it has begun to write.
	await flock --nonblock --shared x.pmr true
	code=0
	"$bin/pmrep" info --format=json x.pmr >info 2>err || code=$?
	[ "$code" = 3 ]
	python3 -c 'import json; d = json.load(open("info")); assert d["snapshots"] >= 20, d["snapshots"]'
	run -1 "$bin/pmrep" check x.pmr
}

@test "a recording that somebody removes meanwhile is a failure; one that is moved is none" {
	start -o x.pmr
	rm x.pmr
	kill -TERM "$pid"
	finish
	[ "$status" = 125 ]
	grep "'x.pmr' was removed while it was recorded" "$said"
	start -o x.pmr
	mv x.pmr y.pmr
	kill -TERM "$pid"
	finish
	[ "$status" = 0 ]
	"$bin/pmrep" check y.pmr
}

@test "a full disk: a message, 125, and what was written is good" {
	mkdir small
	mount -t tmpfs -o size=64k none small 2>/dev/null || skip "no permission to mount"
	run -125 "$bin/pmrec" -q -i 1ms -n 4000 -o small/x.pmr
	cp small/x.pmr x.pmr
	umount small
	[[ $output == *"small/x.pmr"*"No space left"*" snapshots are missing"* ]]
	missing=$(sed -n 's/.* \([0-9]*\) snapshots are missing.*/\1/p' <<<"$output")
	run "$bin/pmrep" check x.pmr
	[ "$status" = 1 ]
	# No half frame at the end.
	[[ $output != *"ends inside"* ]]
	there=$("$bin/pmrep" dump x.pmr | grep -c ^snapshot)
	[ "$there" -gt 10 ]
	# 4,000 intervals have 4,001 ticks.
	[ $((there + missing)) = 4001 ]
}

@test "a full disk does not end the command" {
	mkdir small
	mount -t tmpfs -o size=32k none small 2>/dev/null || skip "no permission to mount"
	# Its status is its own, and what could not be written is said.
	run -3 "$bin/pmrec" -q -i 1ms -o small/x.pmr -- sh -c 'sleep 2; touch done; exit 3'
	umount small
	[ -e done ]
	[ "$(grep -c 'No space left.*sampling continues' <<<"$output")" = 1 ]
	[[ "${lines[-1]}" == *"small/x.pmr"*"No space left"* ]]
}

@test "a disk that has room again gets all that was sampled" {
	mkdir small
	mount -t tmpfs -o size=64k none small 2>/dev/null || skip "no permission to mount"
	"$bin/pmrec" -q -i 2ms -o small/x.pmr 2>err 3>&- &
	pid=$!
	for _ in $(seq 400); do
		grep -q 'sampling continues' err && break
		sleep 0.05
	done
	grep -q 'No space left.*sampling continues' err
	before=$("$bin/pmrep" dump small/x.pmr 2>/dev/null | grep -c ^snapshot)
	mount -o remount,size=4m small
	sleep 1.5
	kill -INT "$pid"
	finish
	[ "$status" = 0 ]
	"$bin/pmrep" check small/x.pmr
	after=$("$bin/pmrep" dump small/x.pmr | grep -c ^snapshot)
	umount small
	[ "$after" -gt "$before" ]
	[ "$(grep -c 'sampling continues' err)" = 1 ]
}

@test "a limit of the file's size is no end of the recording, and none of the command" {
	(
		ulimit -f 40
		run -4 "$bin/pmrec" -q -i 1ms -o x.pmr -- sh -c 'sleep 1.5; exit 4'
		[[ $output == *"File too large"*"sampling continues"* ]]
		# The command is ended by its own excess, as it would be without pmrec.
		run -153 "$bin/pmrec" -q --sources=stat -o y.pmr -- sh -c 'head -c 100000 /dev/zero >z'
	)
}

@test "--sync: what was recorded is made to last, at the end always" {
	command -v strace >/dev/null || skip "no strace"
	count() {
		# Leaks cannot be looked for below strace.
		ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=fdatasync -o trace "$bin/pmrec" -q --overwrite --sources=stat -i 0.1 -n 30 "$@" -o x.pmr ||
			skip "strace does not work here"
		grep -c 'fdatasync(' trace || true
	}
	[ "$(count)" -ge 1 ]
	[ "$(count --sync=1)" -ge 3 ]
	[ "$(count --rotate=1s)" -ge 3 ]
	run -125 "$bin/pmrec" --sync=never -n 1 -o y.pmr
	[[ $output == *"--sync: 'never' is not a time"* ]]
}

@test "/dev/full and a closed pipe are failures" {
	run -125 pmr -n 1 -o /dev/full
	[[ $output == *"/dev/full"*"No space left"* ]]
	# As a shell sees it that does not look at pmrec's end.
	status=0
	{ "$bin/pmrec" -q -i 1ms -n 20000 -o - || echo $? >code; } | head -c 1000 >/dev/null
	[ "$(cat code)" = 125 ]
}

@test "a pipe gets each interval as it comes, a file those of a second together" {
	pmr -o - sleep 0.4 | cat >piped.pmr
	pmr -o file.pmr sleep 0.4
	[ "$("$bin/pmrep" dump piped.pmr | grep kind=chunk | grep -oE 'snapshots=[0-9]+' | sort -u)" = snapshots=1 ]
	"$bin/pmrep" dump file.pmr | grep kind=chunk | grep -qE 'snapshots=([2-9]|1[0-9])( |$)'
}

@test "an ordinary user records what he may" {
	[ "$(id -u)" = 0 ] || skip "not root"
	chmod 777 .
	run -0 --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$bin/pmrec" -i 0.1 -n 2 -o x.pmr
	"$bin/pmrep" check x.pmr
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
		[[ $stderr == *"not recorded: perf"*"try: "*"cap_perfmon"* ]]
		[ "$(grep -c 'not recorded' <<<"$stderr")" = 1 ]
	fi
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$bin/pmrec" -q --overwrite -i 0.1 -n 1 -o x.pmr 2>err
	[ ! -s err ]
}

@test "a source that was named and has nothing is an error with the reason" {
	mkdir -p root/sys/devices/system/cpu root/proc
	echo 0-1 >root/sys/devices/system/cpu/online
	run -125 "$bin/pmrec" -q --root=root --sources=thermal -n 1 -i 0.1 -o x.pmr
	[[ $output == *thermal* ]]
	[ ! -e x.pmr ]
}

@test "list, doctor and the report" {
	run -0 "$bin/pmrec" list sources
	[[ $output == *cpuidle* ]]
	run -0 "$bin/pmrec" list metrics 'Util*'
	[[ $output == *util* ]]
	run -125 "$bin/pmrec" list sources 'nothing*'
	run -0 "$bin/pmrec" doctor
	[[ ! $output =~ [^0-9]1\ (events|groups|reads|PMUs) ]]
	[[ $output == *"perf "* ]]
	[[ $output == *"stat "* ]]
	# What only --add could bring is not missing.
	[[ $output != *$'\nadd '* ]]
	run -0 --separate-stderr "$bin/pmrec" --report -i 0.1 --overwrite -o x.pmr -- sleep 0.3
	[[ $output == *%* ]]
	run -4 "$bin/pmrec" -q --report -i 0.1 --overwrite -o x.pmr -- sh -c 'sleep 0.2; exit 4'
	run -0 "$bin/pmrec" report --version
	[[ $output == pmrep* ]]
}

@test "perf's words are told where they belong" {
	run -125 "$bin/pmrec" stat -e faults true
	[[ $output == *"pmrec -e LIST COMMAND"*"pmrec -- stat"* ]]
	run -3 "$bin/pmrec" record -q -i 0 -o word.pmr -- sh -c 'exit 3'
	"$bin/pmrep" check word.pmr
	run -0 "$bin/pmrec" -o x.pmr -- stat /
	[[ $output == *Inode:* ]]
}

@test "a file that is being recorded is not taken over" {
	start -o x.pmr
	run -125 "$bin/pmrec" -q --overwrite -n 1 -i 0.1 -o x.pmr
	[[ $output == *"in use"* ]]
	kill -TERM "$pid"
	finish
	"$bin/pmrep" check x.pmr
	"$bin/pmrec" -q --overwrite --sources=stat -n 1 -i 0.1 -o x.pmr
	"$bin/pmrep" check x.pmr
}

@test "a source that dies is told once, in the recording and at the end" {
	mkdir -p root/proc root/sys/devices/system/cpu
	cp /proc/stat /proc/vmstat root/proc/
	chmod u+w root/proc/vmstat
	cp /sys/devices/system/cpu/{online,possible} root/sys/devices/system/cpu/
	begin --root="$PWD/root" --sources=stat,vmstat -i 0.01 -n 200 -o x.pmr
	: >root/proc/vmstat
	wait "$pid"
	cp "$said" err
	[ "$(dump | grep -c 'event=failed')" = 1 ]
	dump | grep 'event=failed' | grep 'source=vmstat' | grep 'reason='
	[ "$(grep -c '^pmrec: vmstat stopped delivering: ' err)" = 1 ]
	[ "$(grep -c 'stat stopped' err)" = 1 ]
	# It may be counting still: a sum of it lacks something.
	dump | grep 'counter=vmstat.pgfault ' | tail -1 | grep 'status=errno-61'
}

@test "standard output that cannot be written is called so" {
	status=0
	pmr -n 1 -o - >/dev/full 2>err || status=$?
	[ "$status" = 125 ]
	grep '^pmrec: standard output: ' err
	[ "$(grep -c "'-'" err)" = 0 ]
}

@test "events that use up all open files leave enough for the recording, and are told" {
	[ "$(id -u)" = 0 ] || skip "not root"
	may_count
	limit=$((45 + 4 * $(getconf _NPROCESSORS_ONLN)))
	list=$(seq -s, -f '1:%.0f:u' 0 9)
	(
		ulimit -n "$limit"
		"$bin/pmrec" --overwrite --sources=perf -a -i 0 --timeout=50 -e "$list,{$list},{$list},{$list}" -o few.pmr
	) 2>err
	grep "need [0-9]* open files, and the limit is $limit (Too many open files); try: ulimit -Hn" err
	"$bin/pmrep" check few.pmr
}

@test "where descriptors run out, files are opened for each reading, and no source goes without" {
	"${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/sysroots/make" server machine
	sources=cpuidle,cpufreq,throttle,stat
	"$bin/pmrec" --root=machine --sources=$sources -n 3 -i 0.05 -o all.pmr
	(
		ulimit -n 110
		"$bin/pmrec" --root=machine --sources=$sources -n 3 -i 0.05 -o few.pmr
	)
	for f in all few; do
		"$bin/pmrep" dump --format=json $f.pmr | jq -c 'select(.is == "value") | {counter, scope, number, value, status}' | sort -u >$f.json
	done
	[ "$(wc -l <all.json)" -gt 300 ]
	cmp all.json few.json
	"$bin/pmrep" dump --no-values few.pmr | grep 'ulimit -Hn'
}

@test "with few descriptors or little memory there is a recording of what fits, or a reason" {
	for n in $(seq 6 3 48); do
		rm -f x.pmr
		if (ulimit -n "$n" && "$bin/pmrec" -q -n 1 -i 0.05 -o x.pmr) 2>err; then
			"$bin/pmrep" check x.pmr
		else
			grep -i 'too many open files' err
			[ "$n" -lt 24 ]
		fi
	done
	[ -z "$PM_SANITIZE" ] || return 0 # sanitizers have memory of their own
	ulimit -v 50000
	"$bin/pmrec" -q -n 1 -i 0.05 -o y.pmr
}

@test "a recording of 1,024 CPUs is whole, with every line of theirs" {
	mkdir -p root/proc root/sys/devices/system/cpu
	echo 0-1023 | tee root/sys/devices/system/cpu/{online,possible,present} >/dev/null
	seq -f 'cpu%.0f 1 2 3 4 5 6 7 8 9 10' 0 1023 >root/proc/stat
	{ seq -s' ' -f 'CPU%.0f' 0 1023; for kind in HI TIMER SCHED RCU; do echo "$kind: $(seq -s' ' 1 1024)"; done; } \
		>root/proc/softirqs
	{ seq -s' ' -f 'CPU%.0f' 0 1023; for irq in 1 2 LOC; do echo "$irq: $(seq -s' ' 1 1024) text"; done; } \
		>root/proc/interrupts
	"$bin/pmrec" -q --root=root --sources=stat,softirqs,interrupts -n 2 -i 0.05 -o x.pmr
	"$bin/pmrep" check x.pmr | grep -F 'x.pmr: good'
	# 10 numbers of stat, 4 kinds, 3 interrupts and their sum, in the first and the last snapshot at least.
	"$bin/pmrep" dump --no-definitions x.pmr | grep '^value .* scope=cpu .*status=ok' |
		grep -oE 'counter=[^ ]+ .*number=[0-9]+' | sort -u | wc -l >n
	[ "$(cat n)" = $((1024 * 18)) ]
}
