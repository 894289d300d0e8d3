#!/usr/bin/env bats
# The metric language as seen from the shell. Expected values are worked out by hand.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
}

# gives EXPR [ID=VALUE...] -- WANT
gives() {
	local want=${*: -1}
	set -- "${@:1:$#-1}"
	run "$bin/pmrep" eval "$@"
	[ "$status" -eq 0 ] || { echo "$*: exit $status: $output"; return 1; }
	[ "$output" = "$want" ] || { echo "$*: '$output' instead of '$want'"; return 1; }
}

@test "arithmetic, precedence and conditions" {
	gives '1 + 2 * 3' 7
	gives '(1 + 2) * 3' 9
	gives '7 % 4' 3
	gives '100 * 3 / 4 if 1 else 5' 75
	gives '2 if 0 else 5' 5
	gives 'min(3, 2) + max(3, 2)' 5
	gives '1 < 2' 1
	gives '1 > 2' 0
	gives '0.1 + 0.2' 0.30000000000000004
}

@test "values of ids, the last = of the word" {
	gives 'instructions / cycles' instructions=300 cycles=200 1.5
	gives 'x' x=-1e3 -1000
	gives 'x' x=0x10 16
	gives 'cpu@event\=0x3c@ + 1' 'cpu@event\=0x3c@=41' 42
	gives '#smt_on * 2' '#smt_on=1' 2
	gives 'bits(r, 22, 16)' r=0x884c0000 76
	gives 'bits(r, 63, 63)' r=0xffffffffffffffff 1
}

@test "what is undefined is nan, not an error and not 0" {
	gives 'a / b' a=1 b=0 nan
	gives 'a + b' a=1 b=nan nan
	gives 'd_ratio(a, b)' a=1 b=0 0
}

@test "an id gives what follows from it" {
	gives 'has_event(x)' x=5 1
	gives 'has_event(y)' x=5 0
	gives 'first(x) + last(x)' 'first(x)=1' 'last(x)=2' 3
}

@test "an expression that begins with a dash goes behind --" {
	gives -- '-x' x=3 -3
}

@test "trouble is exit 2 with one line on stderr" {
	for words in "a+" "(1" "a" "a a=x" "a b" "a =5"; do
		# shellcheck disable=SC2086
		run --separate-stderr "$bin/pmrep" eval $words
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
	done
	run "$bin/pmrep" eval
	[ "$status" -eq 2 ]
	run "$bin/pmrep" eval 'missing + 1'
	[[ $output == *"missing=VALUE"* ]]
}

@test "a full disk is an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	run bash -c "'$bin/pmrep' eval 1+1 >/dev/full"
	[ "$status" -eq 2 ]
	[[ $output == *"No space left"* ]]
}
