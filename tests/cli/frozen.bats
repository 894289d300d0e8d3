#!/usr/bin/env bats
# An output that takes nothing for half a minute, at the shortest interval that is usual.

bats_require_minimum_version 1.5.0

@test "a pipe that stalls for 30 s at 1 ms: --buffer=64M keeps it all" {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	mkfifo pipe
	(sleep 31; timeout 60 cat) <pipe >x.pmr 3>&- &
	reader=$!
	timeout 100 "$bin/pmrec" -q --sources=stat,vmstat,softirqs,interrupts -i 1ms --timeout=32000 --buffer=64M -o pipe
	wait "$reader"
	"$bin/pmrep" check x.pmr
	"$bin/pmrep" dump --no-values x.pmr >out
	# Whoever had no CPU has missed ticks; none was dropped for want of room. 7 is the reason for that.
	! grep -E 'event=lost .*reason=(dropped|7)$' out || false
	"$bin/pmrep" info --format=json x.pmr >info
	/usr/bin/python3 - info <<-'EOF'
		import json, sys
		info = json.load(open(sys.argv[1]))
		assert info["duration_ns"] > 31e9, info["duration_ns"]
		assert info["snapshots"] + info["lost_ticks"] > 31000, info["snapshots"]
		assert info["snapshots"] > 10000, info["snapshots"]
	EOF
}
