#!/usr/bin/env bats
# What the writer writes, seen by a reader that shares no code with it; and the example of SPEC.md.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	python=/usr/bin/python3
	$python -c 'import cbor2' 2>/dev/null || skip "no python3-cbor2"
	command -v zstd >/dev/null || skip "no zstd"
}

@test "the reader made from SPEC.md agrees about every sample" {
	local shape
	for shape in rows1 rows20 rows128 plain long noindex; do
		"$PM_TESTS/sample_tool" $shape $shape.pmr
	done
	$python "$PM_SOURCE/tests/standard/test_standard.py" "$PM_BIN/pmrep" ./*.pmr | tee said
	grep -qE '^6 files, [1-9][0-9]{4,} values, 0 failures$' said
}

@test "the bytes printed in SPEC.md are what the writer writes" {
	# Lines of the example: at least two hexadecimal bytes, then a comment. golden.spec_example says what they mean.
	sed -n '/^<!-- example -->/,/^<!-- end of example -->/p' "$PM_SOURCE/format/SPEC.md" |
		sed -nE 's/^    (([0-9a-f]{2} )*[0-9a-f]{2})( .*)?$/\1/p' | tr -d ' \n' | sed 's/../\\x&/g' >hex
	printf "$(cat hex)" >example.pmr
	"$PM_TESTS/sample_tool" smallest ours.pmr
	cmp ours.pmr example.pmr
}

@test "SPEC.md describes every key that the model has" {
	$python - "$PM_SOURCE" <<'END'
import re
import sys

source = sys.argv[1] + "/format/"
spec = open(source + "SPEC.md").read()
rows = re.findall(r'X\((PM_\w+), (\d+), (\w+), "(\w+)"\)', open(source + "model.h").read())
assert len(rows) > 80
lines = [f"| {number} | {name} | {kind.lower()} |" for _, number, kind, name in rows]
missing = [line for line in lines if line not in spec]
assert not missing, missing
END
}
