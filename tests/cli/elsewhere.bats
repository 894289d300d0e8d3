#!/usr/bin/env bats
# A recording is understood somewhere else: pmrep uses nothing of the machine that it runs on.

setup() {
	cd "$BATS_TEST_TMPDIR"
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
}

# Runs a command where /sys and /proc are empty.
without_machine() {
	unshare --mount -- sh -c 'mount -t tmpfs none /sys && mount -t tmpfs none /proc && exec "$@"' sh "$@"
}

@test "a recording of this machine reads the same where /sys and /proc are empty" {
	unshare --mount true 2>/dev/null || skip "no permission for a mount namespace"
	"$bin/pmrec" --quiet -n 2 -i 0.2 -o here.pmr
	"$bin/pmrep" --format=csv --show=all here.pmr >here.csv
	[ "$(wc -l <here.csv)" -gt 20 ]
	# The sanitizers of a test build want /proc; the shipped build needs nothing.
	if without_machine "$bin/pmrep" --version >/dev/null 2>&1; then
		without_machine "$bin/pmrep" --format=csv --show=all here.pmr >there.csv
		cmp here.csv there.csv
		"$bin/pmrep" info here.pmr >here.info
		without_machine "$bin/pmrep" info here.pmr >there.info
		cmp here.info there.info
	else
		skip "this build does not start without /proc"
	fi
}

@test "a stream through a pipe gives the numbers of the file" {
	"$bin/pmrec" --quiet -n 2 -i 0.2 -o - | tee piped.pmr | "$bin/pmrep" --format=csv --show=all - >live.csv
	"$bin/pmrep" --format=csv --show=all piped.pmr >file.csv
	[ "$(wc -l <live.csv)" -gt 20 ]
	# The first column names the file.
	cut -d, -f2- live.csv >live.cut
	cut -d, -f2- file.csv >file.cut
	cmp live.cut file.cut
}

@test "gzip around a recording changes nothing" {
	"$bin/pmrec" --quiet -n 2 -i 0.2 -o plain.pmr
	gzip -k plain.pmr
	"$bin/pmrep" --format=csv --show=all plain.pmr | cut -d, -f2- >plain.csv
	"$bin/pmrep" --format=csv --show=all plain.pmr.gz | cut -d, -f2- >gz.csv
	[ "$(wc -l <plain.csv)" -gt 20 ]
	cmp plain.csv gz.csv
	# As parallel compressors write it, and with an empty piece before.
	{ : | gzip; head -c 3 plain.pmr | gzip; tail -c +4 plain.pmr | gzip; } >pieces.gz
	"$bin/pmrep" check - <pieces.gz | grep -q '^-: good'
}

@test "a compressed file that is cut before anything can be unpacked is not called empty" {
	"$bin/pmrec" --quiet -n 2 -i 0.2 -o plain.pmr
	gzip -k plain.pmr
	head -c 12 plain.pmr.gz >cut.pmr.gz
	status=0
	"$bin/pmrep" cut.pmr.gz >out 2>err || status=$?
	[ "$status" = 2 ]
	[ ! -s out ]
	grep "^pmrep: cut.pmr.gz: the compressed file is cut" err
	# What was empty before it was compressed is.
	: | gzip >empty.pmr.gz
	status=0
	"$bin/pmrep" empty.pmr.gz 2>err || status=$?
	[ "$status" = 2 ]
	grep 'empty' err
}
