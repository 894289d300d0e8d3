#!/usr/bin/env bats
# pmrec under a service manager: sd_notify(3), as a Type=notify unit with a watchdog has it.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
}

@test "the service manager hears that pmrec records, that it is alive, and that it ends" {
	cat >manager.py <<-'PYTHON'
	import os, signal, socket, subprocess, sys

	pmrec, address = sys.argv[1:]
	manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	manager.bind(address.replace("@", "\0", 1))
	manager.settimeout(20)
	env = dict(os.environ, NOTIFY_SOCKET=address, WATCHDOG_USEC="2000000")
	recorder = subprocess.Popen([pmrec, "--quiet", "--sources=stat", "-i0.1", "-ox.pmr", "--overwrite"], env=env)

	def alive():
	    said = dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines())
	    assert said.keys() == {"WATCHDOG", "STATUS"} and said["WATCHDOG"] == "1", said
	    assert said["STATUS"].startswith("x.pmr"), said

	try:
	    assert manager.recv(4096) == b"READY=1"
	    alive()
	    if not address.startswith("@"):
	        recorder.send_signal(signal.SIGSTOP)
	        os.waitpid(recorder.pid, os.WUNTRACED)
	        manager.settimeout(0.1)
	        try:
	            while True:
	                alive()
	        except TimeoutError:
	            pass
	        manager.settimeout(1.5)
	        try:
	            raise SystemExit(f"said while it stood still: {manager.recv(4096)}")
	        except TimeoutError:
	            pass
	        manager.settimeout(20)
	        recorder.send_signal(signal.SIGCONT)
	        alive()
	    recorder.terminate()
	    while (said := manager.recv(4096)) != b"STOPPING=1":
	        assert b"WATCHDOG=1" in said, said
	    assert recorder.wait(20) == 0
	finally:
	    recorder.kill()
	PYTHON
	for address in "$PWD/notify" "@pmrec-test-$$-$RANDOM"; do
		timeout 60 /usr/bin/python3 manager.py "$bin/pmrec" "$address"
		"$bin/pmrep" check x.pmr
	done
}

@test "pmrec records as ever where no service manager listens" {
	for address in "$PWD/nobody" relative @ "/$(printf '%0200d' 0)"; do
		NOTIFY_SOCKET=$address WATCHDOG_USEC=x timeout 20 "$bin/pmrec" --quiet --sources=stat -i0.02 -n2 -ox.pmr --overwrite
		"$bin/pmrep" check x.pmr
	done
}
