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
number = dict(re.findall(r"\b(PM_\w+) = (\d+)", open(source + "model.h").read()))
spec = open(source + "SPEC.md").read()
rows = re.findall(r'\{ (PM_\w+), PM_VALUE_(\w+), "(\w+)" \}', open(source + "model.c").read())
enums = re.findall(r"enum pm_(?:header|counter|instance|pmu|event)_key \{(.*?)\n\};", open(source + "model.h").read(), re.S)
keys = [k for e in enums for k in re.findall(r"\b(PM_\w+) = ", e)]
assert len(keys) > 80 and sorted(keys) == sorted(r[0] for r in rows), set(keys) ^ {r[0] for r in rows}
missing = [f"| {number[k]} | {name} | {kind.lower()} |" for k, kind, name in rows
           if f"| {number[k]} | {name} | {kind.lower()} |" not in spec]
assert not missing, missing
END
}
