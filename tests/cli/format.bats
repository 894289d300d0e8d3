#!/usr/bin/env bats
# What the writer writes, seen by a reader that shares no code with it; and the example of SPEC.md.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	python=/usr/bin/python3
	$python -c 'import cbor2' 2>/dev/null || skip "no python3-cbor2"
	command -v zstd >/dev/null || skip "no zstd"
}

checker() {
	$python "$PM_SOURCE/tests/cli/check_cbor.py" "$@"
}

@test "an independent CBOR reader agrees about every sample" {
	for shape in rows1 rows20 rows128 plain long noindex; do
		"$PM_TESTS/sample_tool" $shape $shape.pmr
	done
	checker --expect rows=20 --expect chunk=20 --expect keys=3 rows1.pmr
	checker --expect rows=400 rows20.pmr
	checker --expect rows=512 --expect ended=1 rows128.pmr
	checker --expect rows=2200 --expect index=3 long.pmr
	checker --expect ended=0 noindex.pmr
	checker --expect keys=5 plain.pmr
}

@test "the plain codec gives the same cells to both readers" {
	"$PM_TESTS/sample_tool" plain plain.pmr
	checker --cells plain.pmr >theirs
	"$PM_TESTS/sample_tool" dump plain.pmr | grep '^ ' >ours
	[ "$(wc -l <ours)" -gt 100 ]
	diff theirs ours
}

@test "the independent reader can see damage" {
	"$PM_TESTS/sample_tool" rows1 good.pmr
	checker good.pmr
	size=$(stat -c %s good.pmr)
	for at in 14 60 300 900 1500 $((size - 3)); do
		cp good.pmr bad.pmr
		printf '\xa5' | dd of=bad.pmr bs=1 seek=$at conv=notrunc status=none
		cmp -s good.pmr bad.pmr && continue
		run checker bad.pmr
		[ "$status" -eq 1 ]
	done
}

@test "the bytes printed in SPEC.md are a recording" {
	# Lines of the example: at least two hexadecimal bytes, then a comment.
	sed -n '/^<!-- example -->/,/^<!-- end of example -->/p' "$PM_SOURCE/format/SPEC.md" |
		sed -nE 's/^    (([0-9a-f]{2} )*[0-9a-f]{2})( .*)?$/\1/p' | tr -d ' \n' | sed 's/../\\x&/g' >hex
	printf "$(cat hex)" >example.pmr
	[ "$(stat -c %s example.pmr)" -gt 300 ]
	checker --expect chunk=1 --expect rows=1 --expect ended=1 example.pmr
	"$PM_TESTS/sample_tool" dump example.pmr >text
	run ! grep damage text
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
