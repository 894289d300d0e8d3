#!/usr/bin/env bats
# Plain English: phrases of words.txt stand in no message, help or document.

setup() {
	source=$(cd "${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}" && pwd)
	cd "$source"
	odd=$(paste -sd'|' tests/cli/words.txt)
}

@test "messages and help" {
	printf '%s\n' 'f("-o says where the page goes; --help shows how it goes")' | grep -qP "\"[^\"]*($odd)"
	run bash -c "grep -rnP '\"[^\"]*('\"\$1\"')' common format record report --include=*.[ch] --include=*.def --include=*.inc |
		grep -v '/\*'" - "$odd"
	[ -z "$output" ] || { echo "$output"; return 1; }
}

@test "documents" {
	run grep -nP "$odd" README.md CONTRIBUTING.md docs/*.md samples/README.md record/*.[17] report/*.[17] format/pmr.5 format/SPEC.md
	[ "$status" -eq 1 ] || { echo "$output"; return 1; }
}

@test "comments of headers" {
	run bash -c "grep -rnP \"\$1\" common format record report --include=*.h" - "$odd"
	[ -z "$output" ] || { echo "$output"; return 1; }
}
