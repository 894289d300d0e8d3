#!/usr/bin/env bats
# What pmrec may do beyond its caller, and what it must not: files that the caller names, sockets, signals.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	as="setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps=-all"
	pid=
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

teardown() {
	if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
		kill -KILL "$pid" 2>/dev/null || true
	fi
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
		[ -s "$1" ] && [ "$("$bin/pmrep" dump "$1" 2>/dev/null | grep -c ^snapshot)" -ge 2 ] && return
		sleep 0.05
	done
	return 1
}

finish() {
	status=0
	wait "$pid" || status=$?
	pid=
}

@test "a pipe or a device is no file to read from, and nobody waits for it" {
	mkfifo pipe
	mkdir -p root/sys/devices/system/cpu root/proc
	mkfifo root/proc/stat
	echo 0 >root/sys/devices/system/cpu/online
	run -125 within "$bin/pmrec" -q -n 1 -i 0.1 -M x --metrics-file=pipe -o x.pmr
	[[ $output == *"is no regular file"* ]]
	run -125 within "$bin/pmrec" -q -n 1 -i 0.1 --events-file=pipe -e x -o x.pmr
	[[ $output == *"is no regular file"* ]]
	run -125 within "$bin/pmrec" -q -n 1 -i 0.1 --events-file=/dev/zero -e x -o x.pmr
	[[ $output == *"is no regular file"* ]]
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
	[[ $output == *"no recording of yours"* ]]
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
