#!/usr/bin/env bats
# Outputs that take nothing: pmrec goes on, ends when it is told to, and says what is missing.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	mkfifo pipe
	# What waits behind an output that is stuck is left where it is.
	export ASAN_OPTIONS=detect_leaks=0
}

teardown() {
	[ -z "${holder:-}" ] || kill "$holder" 2>/dev/null || true
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
}

# Holds a new pipe open and reads nothing.
hold() {
	[ -z "${holder:-}" ] || kill "$holder"
	rm -f pipe
	mkfifo pipe
	sleep 1000 <pipe 3>&- &
	holder=$!
}

# Enough to fill the pipe soon.
start() {
	env --default-signal=INT "$bin/pmrec" --sources=stat,vmstat,softirqs,interrupts -i 1ms --codec=plain -o pipe "$@" 2>err 3>&- &
	pid=$!
}

# Until nothing more goes into the pipe.
filled() {
	timeout 60 /usr/bin/python3 - <<-'END'
		import os, select, time
		end = os.open("pipe", os.O_RDWR | os.O_NONBLOCK)
		while select.select([], [end], [], 0)[1]:
		    time.sleep(0.02)
	END
}

# Ends within so many tenths of a second, whatever the machine does.
ends_within() {
	status=0
	for _ in $(seq "$1"); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	! kill -0 "$pid" 2>/dev/null || return 1
	wait "$pid" || status=$?
	pid=
}

finish() {
	ends_within 600
}

@test "a pipe that nobody reads: --timeout ends the recording, which says what is missing" {
	hold
	start --timeout=2000
	finish
	[ "$status" = 125 ]
	grep -E "'pipe': .*snapshots are missing" err
}

@test "a pipe that nobody reads: signals end the recording" {
	for signal in INT TERM HUP; do
		hold
		start
		filled
		kill -$signal "$pid"
		finish
		[ "$status" = 125 ]
		grep -E "snapshots are missing" err
	done
}

@test "a pipe that nobody reads: the end of the command ends the recording, with its status" {
	hold
	start -- sh -c 'until [ -e go ]; do sleep 0.05; done; exit 3'
	filled
	: >go
	finish
	[ "$status" = 3 ]
	grep -E "snapshots are missing" err
}

@test "a pipe that nobody has opened to read: a signal ends the wait" {
	start
	sleep 0.3
	kill -TERM "$pid"
	finish
	[ "$status" = 143 ]
}

@test "a pipe that nobody reads: a second signal ends pmrec at once" {
	for signal in INT TERM; do
		hold
		start
		filled
		kill -$signal "$pid"
		sleep 0.3
		kill -0 "$pid"
		kill -$signal "$pid"
		# It would wait for the pipe for 2 s otherwise; most of what it gets is for a busy machine.
		ends_within 12
		[ "$status" != 0 ]
	done
}

@test "a pipe that has no room for the definitions: a signal ends the recording" {
	# One page, which is full before anything is measured.
	/usr/bin/python3 -c 'import fcntl, os, time; fcntl.fcntl(os.open("pipe", os.O_RDWR), 1031, 4096); time.sleep(100)' 3>&- &
	holder=$!
	for signal in INT TERM; do
		start
		sleep 0.5
		kill -$signal "$pid"
		ends_within 40
		[ "$status" = 125 ]
		grep -E "snapshots are missing" err
	done
}

@test "a pipe that stalls and goes on: nothing is dropped" {
	(sleep 4; cat) <pipe >x.pmr 3>&- &
	reader=$!
	start --timeout=5000 --buffer=64M
	finish
	wait "$reader"
	[ "$status" = 0 ]
	"$bin/pmrep" check x.pmr
	"$bin/pmrep" dump x.pmr >out
	! grep 'reason=dropped' out || false
	# The test's stall was longer than the pipe.
	[ "$(stat -c %s x.pmr)" -gt 70000 ]
}

@test "marks behind a pipe that nobody reads are bounded, refused, and counted" {
	(timeout 100 sh -c 'until [ -e go ]; do sleep 0.1; done'; cat) <pipe >x.pmr 3>&- &
	reader=$!
	mkfifo ctl ack
	start --buffer=1M --control=fifo:ctl,ack
	exec 7>ctl 8<ack
	/usr/bin/python3 -c 'for i in range(30000): print("mark", i, "x" * 200)' >&7 &
	asker=$!
	[ "$(timeout 60 head -n 30000 <&8 | grep -c 'cannot take a marker')" -gt 0 ]
	wait "$asker"
	touch go
	sleep 1
	echo stop >&7
	exec 7>&- 8<&-
	finish
	wait "$reader"
	[ "$status" = 0 ]
	"$bin/pmrep" check x.pmr
	"$bin/pmrep" dump x.pmr | grep 'events are missing here'
}
