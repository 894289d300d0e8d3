#!/usr/bin/env bats
# tests/includes.sh sees a planted violation of each kind.

bats_require_minimum_version 1.5.0

setup() {
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	build=${PM_BIN:-$source/build/bin}/..
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree/tests" "$tree/build"
	(cd "$source" && tar -cf - --exclude=node_modules common format record report tests/includes.sh tests/includes.py) | tar -xf - -C "$tree"
	for room in common format record report; do
		(cd "$build" && find "$room" -name '*.c.o' -print0 | tar -cf - --null -T -) | tar -xf - -C "$tree/build"
	done
	cd "$tree"
}

# plant FILE TEXT: a source file, and its object.
plant() {
	printf '%s\n' "$2" >"$1"
	folder=${1%%/*}
	mkdir -p "build/$folder/CMakeFiles/pm_$folder.dir/$(dirname "${1#*/}")"
	cc -I. -c "$1" -o "build/$folder/CMakeFiles/pm_$folder.dir/${1#*/}.o"
}

@test "the tree as it is passes" {
	run tests/includes.sh
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "an #include upwards" {
	plant record/host/planted.c '#include "record/plan/plan.h"'
	run tests/includes.sh
	[ "$status" -eq 1 ]
	[[ $output == *"record/host/planted.c includes record/plan/plan.h: upwards"* ]]
}

@test "report/ knows nothing of record/" {
	plant report/info/planted.c '#include "record/host/root.h"'
	run tests/includes.sh
	[ "$status" -eq 1 ]
	[[ $output == *"report/info/planted.c includes record/host/root.h: upwards"* ]]
}

@test "a call upwards that no #include shows" {
	plant report/input/planted.c 'int pmrep_run(int, char **); int planted(void) { return pmrep_run(0, 0); }'
	run tests/includes.sh
	[ "$status" -eq 1 ]
	[[ $output == *"report/input/planted.c calls pmrep_run of report/commands.c: upwards"* ]]
}

@test "four files that call one another in a circle; three may" {
	for n in 1 2 3; do
		plant common/planted$n.c "int planted$((n % 3 + 1))(void); int planted$n(void) { return planted$((n % 3 + 1))(); }"
	done
	run tests/includes.sh
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
	for n in 1 2 3 4; do
		plant common/planted$n.c "int planted$((n % 4 + 1))(void); int planted$n(void) { return planted$((n % 4 + 1))(); }"
	done
	run tests/includes.sh
	[ "$status" -eq 1 ]
	[[ $output == *"4 files call one another in a circle: common/planted1.c common/planted2.c"* ]]
}

@test "a library in a second file" {
	plant format/planted.c '#include <zstd.h>'
	run tests/includes.sh
	[ "$status" -eq 1 ]
	[[ $output == *"<zstd.h> belongs in exactly one file"*"format/planted.c"* ]]
}
