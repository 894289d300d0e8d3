#!/usr/bin/env bats
# What pmrep takes away from itself before it reads a byte of a recording.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	tests=${PM_TESTS:-$BATS_TEST_DIRNAME/../../build/tests}
	cd "$BATS_TEST_TMPDIR"
	export TZ=UTC
	[ -z "$PM_SANITIZE" ] || skip "sanitizers keep all rights"
}

# Lets pmrep wait for a recording that comes through a pipe, and prints the lines of its status.
status_of() {
	mkfifo in
	"$bin/pmrep" "$@" <in >out 2>&1 &
	exec 9>in
	for _ in $(seq 100); do
		grep -q '^Seccomp:	2' "/proc/$!/status" && break
		sleep 0.05
	done
	cat "/proc/$!/status"
	exec 9>&-
	wait $! || true
}

@test "no command waits for input with a system call or right to spare" {
	for command in show stat info list dump check "cut -o o" "merge -o o" "repair -o o" "redact -o o" "bundle -o o" "plot util" "html -o o"; do
		read -ra words <<<"$command"
		status_of "${words[@]}" - >status
		rm -f in o
		grep -q '^NoNewPrivs:	1' status || { echo "$command"; cat status; return 1; }
		grep -q '^Seccomp:	2' status || { echo "$command"; cat status; return 1; }
	done
}

@test "what a command needs it keeps: links, pipes, packed files, folders, descriptors, several files" {
	"$tests/make_recording" r.pmr
	mkdir d e
	ln -s ../r.pmr d/link.pmr
	gzip -k r.pmr
	"$bin/pmrep" show d/link.pmr r.pmr r.pmr.gz --total >out
	"$bin/pmrep" show - --total <r.pmr >out
	"$bin/pmrep" show <(cat r.pmr) --total >out
	"$bin/pmrep" show r.pmr -oseparate
	"$bin/pmrep" show r.pmr --out d/out
	"$bin/pmrep" show r.pmr --format=csv -qo e/out
	ln -s e/out to
	"$bin/pmrep" stat r.pmr --output=to --overwrite
	"$bin/pmrep" info r.pmr.gz >out
	"$bin/pmrep" cut --since=2 -o d/cut.pmr r.pmr.gz
	"$bin/pmrep" merge -o d/merged.pmr - <d/cut.pmr
	"$bin/pmrep" redact -o e r.pmr
	"$bin/pmrep" redact r.pmr
	"$bin/pmrep" redact --map=e/map -o d/redacted.pmr r.pmr
	"$bin/pmrep" bundle -o bundle.gz r.pmr.gz
	"$bin/pmrep" html -o page.html r.pmr bundle.gz
	echo '[{"MetricName": "twice", "MetricExpr": "cycles * 2"}]' >e/m.json
	"$bin/pmrep" show r.pmr --metrics-file=e/m.json --show=twice >out
	"$bin/pmrep" show r.pmr --metrics-file e --show=twice >out
	TMPDIR=$PWD/e "$bin/pmrep" cut -o - - <r.pmr >piped.pmr
	"$bin/pmrep" check piped.pmr
	"$bin/pmrep" show r.pmr --time=local >out
}
