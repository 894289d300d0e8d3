#!/usr/bin/env bats
# compare: two commands whose times are known.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	cd "$BATS_TEST_TMPDIR"
	export TMPDIR=$PWD/tmp
	mkdir tmp
}

@test "the slower one is REGRESSED, as soon as that is sure, and nothing stays" {
	run -1 "$bin/pmrec" compare --gate command.elapsed 'sleep 0.05; echo words' 'sleep 0.6'
	[[ "$output" == *command.elapsed*REGRESSED* && "$output" != *words* ]]
	[[ "$output" == *"pair 5 of at most 20"* ]]
	[ -z "$(ls tmp)" ]
}

@test "the other way round it is IMPROVED; pairs are kept where -o says" {
	run -0 "$bin/pmrec" compare -q -r 6 -o kept --gate command.elapsed 'sleep 0.6' 'sleep 0.05'
	[[ "$output" == *command.elapsed*IMPROVED* && "$output" != *"pair "* ]]
	[ "$(ls kept/a | grep -c pmr)" -ge 5 ]
	[ "$(ls kept/a)" = "$(ls kept/b)" ]
	run -0 "$bin/pmrep" diff --pairs --gate command.elapsed --base kept/a --new kept/b
}

@test "a command that fails ends it: FAILED, exit 1" {
	run -1 "$bin/pmrec" compare -q true 'exit 3'
	[[ "${lines[0]}" == "FAILED: 1 of 1 runs of the new side (b/0001.pmr: exit status 3)"* && "$output" != *"$TMPDIR"* ]]
	run -125 "$bin/pmrec" compare one
	run -125 "$bin/pmrec" compare -r 0 a b
}

@test "each run reads the same input" {
	echo 3 >input
	run -4 "$bin/pmrec" compare -q -r 3 'read -r n; exit $((n - 3))' 'read -r n; exit $((n - 3))' <input
	[[ "$output" == *"base: 3 runs"* ]]
	# A pipe could be read only once.
	echo 3 | "$bin/pmrec" compare -q -r 2 --gate command.elapsed '! read -r n' '! read -r n' >out || [ $? = 4 ]
	grep 'base: 2 runs' out
}
