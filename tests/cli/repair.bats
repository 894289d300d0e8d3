#!/usr/bin/env bats
# pmrep repair: all that can be read of a damaged recording goes over, and the copy is sound.

bats_require_minimum_version 1.5.0
load lib

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
}

values() { # FILE: a line a raw value, with its tick
	"$bin/pmrep" dump --no-definitions --format=json "$1" 2>/dev/null | /usr/bin/python3 -c '
import json, sys
for line in map(json.loads, sys.stdin):
    if line["is"] == "snapshot":
        tick = line["tick"]
    elif line["is"] == "value":
        line.pop("group", None)
        print(tick, json.dumps(line, sort_keys=True))' | sort
}

# zero FILE TYPE...: zeroes the frames of these types.
zero() {
	"$bin/pmrep" dump "$1" | sed -n 's/^frame offset=\([0-9]*\) length=\([0-9]*\) .* type=\([0-9]*\) .*/\1 \2 \3/p' >frames
	/usr/bin/python3 - "$@" <<-'PYTHON'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	for offset, length, kind in (map(int, line.split()) for line in open("frames")):
	    if str(kind) in sys.argv[2:]:
	        data[offset:offset + length] = bytes(length)
	open(sys.argv[1], "wb").write(data)
	PYTHON
}

@test "a lost chunk: the rest goes over, and the copy is good" {
	"$bin/pmrec" -q --sources=stat -i 5ms -n 500 -o whole.pmr
	cp whole.pmr bad.pmr
	size=$(stat -c %s bad.pmr)
	dd if=/dev/zero of=bad.pmr bs=1 seek=$((size / 2)) count=200 conv=notrunc status=none
	run "$bin/pmrep" check bad.pmr
	[ "$status" -eq 1 ]
	"$bin/pmrep" repair -o good.pmr bad.pmr
	"$bin/pmrep" check good.pmr
	values bad.pmr >want
	values good.pmr >got
	[ -s want ]
	cmp want got
	"$bin/pmrep" info good.pmr | grep -E 'history +repaired: [0-9]+ damaged ranges?, [0-9]+ bytes'
	# The output is never the input, and a file that is there stays.
	run "$bin/pmrep" repair -o bad.pmr --overwrite bad.pmr
	[ "$status" -eq 2 ]
	run "$bin/pmrep" repair -o good.pmr bad.pmr
	[ "$status" -eq 2 ]
}

@test "a file that another program cuts while it is repaired ends there" {
	"$PM_TESTS/sample_tool" live=200,2,2,2000,0 whole.pmr
	cp whole.pmr bad.pmr
	mkfifo out
	"$bin/pmrep" repair -o - bad.pmr >out 2>err &
	exec 9<out
	head -c 1 <&9 >begun
	truncate -s 30000 bad.pmr
	cat begun - <&9 >good.pmr
	wait $! || [ $? -eq 3 ] || { cat err; return 1; }
	"$bin/pmrep" check good.pmr
}

@test "without any definition there is nothing to copy" {
	"$bin/pmrec" -q --sources=stat -i 50ms -n 6 -o bad.pmr
	zero bad.pmr 1 2 3 4 5 6 7
	run -2 "$bin/pmrep" repair -o none.pmr bad.pmr
	[[ $output == *"no values can be read"* ]]
	[ ! -e none.pmr ]
}

@test "a compressed recording is repaired, and what was compressed twice has nothing" {
	"$bin/pmrec" -q --sources=stat -i 5ms -n 500 -o bad.pmr
	dd if=/dev/zero of=bad.pmr bs=1 seek=$(($(stat -c %s bad.pmr) / 2)) count=200 conv=notrunc status=none
	values bad.pmr >want
	gzip bad.pmr
	"$bin/pmrep" repair -o good.pmr bad.pmr.gz
	values good.pmr | cmp want -
	head -c 20000 /dev/urandom | gzip | gzip >twice.gz
	run -2 "$bin/pmrep" repair -o none.pmr twice.gz
}
