#!/usr/bin/env bats
# A CPU that goes offline and comes back while it is recorded. Changes the machine for two seconds, so it asks for it:
# the last CPU, and only where the kernel lets it go.

setup() {
	cd "$BATS_TEST_TMPDIR"
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
	switch=/sys/devices/system/cpu/cpu$last/online
	[ "$last" -gt 0 ] || skip "one CPU only"
	[ -w "$switch" ] || skip "no permission to take CPU $last offline"
	(echo 0 >"$switch") 2>/dev/null || skip "the kernel does not let CPU $last go offline"
	echo 1 >"$switch"
}

teardown() {
	[ -z "${switch:-}" ] || [ ! -w "$switch" ] || echo 1 >"$switch" || true
}

@test "a CPU goes offline and comes back: recorded, the others go on, nothing is invented" {
	"$bin/pmrec" --quiet -i 0.1 -n 70 -o cpu.pmr &
	recorder=$!
	sleep 2
	echo 0 >"$switch"
	sleep 2.5
	echo 1 >"$switch"
	wait "$recorder"
	"$bin/pmrep" check cpu.pmr
	"$bin/pmrep" dump cpu.pmr >dump.txt
	grep -q cpu-offline dump.txt
	grep -q cpu-online dump.txt
	# CPU 0 has a value in every interval; the other one has none for about 25 of them, and never a 0 in place of one.
	"$bin/pmrep" --format=csv --all --per-cpu --show=irq cpu.pmr >irq.csv
	[ "$(awk -F, '$12 == 0 && $19 == "ok"' irq.csv | wc -l)" -ge 65 ]
	awk -F, -v cpu="$last" '$12 == cpu' irq.csv >last.csv
	valid=$(grep -c ',ok$' last.csv)
	[ "$valid" -ge 25 ]
	[ "$valid" -le 55 ]
	[ "$(awk -F, '$19 != "ok" && $17 != ""' last.csv | wc -l)" = 0 ]
	# Counting goes on after the return.
	tail -n 5 last.csv | grep -q ',ok$'
}
