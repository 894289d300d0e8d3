#!/usr/bin/env bats
# A recording is known for what it is: to file(1), to desktops, and by a name that any file system takes.

bats_require_minimum_version 1.5.0

setup() {
	bin=${PM_BIN:-$BATS_TEST_DIRNAME/../../build/bin}
	source=${PM_SOURCE:-$BATS_TEST_DIRNAME/../..}
	type=application/vnd.pmrec+cbor-seq
	cd "$BATS_TEST_TMPDIR"
}

@test "file(1) with our entry knows every sample" {
	command -v file >/dev/null || skip "no file(1)"
	file -C -m "$source/format/pmrec.magic"
	for sample in "$source"/samples/*.pmr; do
		[ "$(file -b -m pmrec.magic.mgc "$sample")" = "pmrec recording of performance counters, version 1" ]
		[ "$(file -b --mime-type -m pmrec.magic.mgc "$sample")" = "$type" ]
	done
	# Also in one file with the entry for CBOR that file(1) has itself.
	{ printf '0 string \xd9\xd9\xf7 CBOR container\n!:mime application/cbor\n'; cat "$source/format/pmrec.magic"; } >both
	[[ $(file -b -m both "$source/samples/idle.pmr" 2>/dev/null) == "pmrec recording"* ]]
	# Other CBOR, text and what was cut short are none.
	printf '\xd9\xd9\xf7\x88\x48PMX\r\n\x1a\n\x01' >other
	printf '\xd9\xd9\xf7\x88\x48PM' >short
	echo PMR >text
	for f in other short text; do
		[[ $(file -b -m pmrec.magic.mgc $f) != *pmrec* ]]
	done
}

@test "desktops: the description is valid, and knows the name and the first bytes" {
	command -v xmllint >/dev/null && xmllint --noout "$source/format/pmrec.xml"
	command -v update-mime-database >/dev/null || skip "no update-mime-database"
	mkdir -p mime/packages
	cp "$source/format/pmrec.xml" mime/packages
	XDG_DATA_DIRS=$PWD update-mime-database mime
	grep -q ":$type:\*\.pmr\$" mime/globs2
	grep -q "^$type application/cbor-seq\$" mime/subclasses
	# The bytes that it looks for are those of a sample.
	python3 - "$source/samples/idle.pmr" <<-'EOT'
	import sys
	magic = open("mime/magic", "rb").read()
	at = magic.index(b">0=") + 3
	n = int.from_bytes(magic[at:at + 2], "big")
	assert n == 12 and magic[at + 2:at + 2 + n] == open(sys.argv[1], "rb").read(n), magic
	EOT
}

@test "the name that pmrec gives has no colon and nothing else that a file system refuses" {
	"$bin/pmrec" -q --sources=stat -i 10ms -n 1
	"$bin/pmrec" -q --sources=stat -i 10ms -n 20 --rotate=50ms --privacy=strict
	for f in *; do
		[[ $f =~ ^[A-Za-z0-9._-]+\.pmr$ ]] || { echo "$f"; return 1; }
	done
	[ "$(ls | wc -l)" -ge 3 ]
}

@test "both are installed" {
	command -v cmake >/dev/null || skip "no cmake"
	build=$(dirname "$bin")
	[ -f "$build/format/cmake_install.cmake" ] || skip "no build folder beside the programs"
	DESTDIR=$PWD cmake -DCMAKE_INSTALL_PREFIX=/usr -P "$build/format/cmake_install.cmake" >/dev/null
	cmp usr/share/mime/packages/pmrec.xml "$source/format/pmrec.xml"
	cmp usr/share/pmrec/pmrec.magic "$source/format/pmrec.magic"
	[ -f usr/share/man/man5/pmr.5 ]
}
