#!/bin/bash
# Reads recordings on a big-endian machine: format/ built for s390x, run by qemu-user, against what this machine says.
#
# usage: s390x.sh BUILD_DIR [RECORDING...]
# Without RECORDING those of samples/.
#
# BUILD_DIR keeps the foreign packages and programs; nothing is added to this system: Debian's libzstd for s390x comes
# through an apt state of its own. Needs s390x-linux-gnu-gcc, qemu-s390x-static and a native sample_tool in
# BUILD_DIR/tests. Exits 77 when something of that cannot be had, 1 when the two machines disagree.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
shift
work=$build/s390x
tool=$build/tests/sample_tool

skip() {
	echo "skipped: $*"
	exit 77
}

command -v s390x-linux-gnu-gcc >/dev/null || skip "no s390x-linux-gnu-gcc"
command -v qemu-s390x-static >/dev/null || skip "no qemu-s390x-static"
[ -x "$tool" ] || skip "no $tool"

# Downloads Debian packages of another architecture and unpacks them into $work/root.
fetch() {
	local state=$work/apt
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$work/root" "$state/debs"
	: >"$state/status"
	local options=(-o APT::Architecture=s390x -o APT::Architectures=s390x -o Dir::State="$state"
		-o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache"
		-o APT::Sandbox::User= -o Debug::NoLocking=1 -o Acquire::Languages=none)
	apt-get "${options[@]}" -qq update || return 1
	(cd "$state/debs" && apt-get "${options[@]}" -qq download "$@") || return 1
	for deb in "$state"/debs/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
}

mkdir -p "$work/obj"
if [ ! -e "$work/root/usr/include/zstd.h" ]; then
	fetch libzstd-dev libzstd1 >"$work/apt.log" 2>&1 || skip "libzstd for s390x cannot be had ($(tail -n1 "$work/apt.log"))"
fi

lib=$work/root/usr/lib/s390x-linux-gnu
# The sources of a library, from its CMakeLists.txt; the pack of vendors' names is no part of recordings.
sources() {
	sed -n '/^add_library(/,/^)/p' "$source/$1/CMakeLists.txt" | grep -oE '[a-z0-9_/]+\.c' | grep -v vendor_pack | sed "s|^|$source/$1/|"
}
s390x-linux-gnu-gcc -std=gnu17 -O1 -D_GNU_SOURCE \
	-DPM_DICTIONARY="\"$source/format/dictionary.bin\"" -I"$source" -I"$source/tests/unit" -I"$work/root/usr/include" -Wall -Wextra \
	-Wno-unused-parameter -Wno-missing-field-initializers \
	"$source"/common/{buf,cpulist,error,memory,names,parse,utf8}.c $(sources format) "$source"/tests/unit/lib/{sample,churn}.c \
	"$source/tests/unit/tools/sample_tool.c" -o "$work/sample_tool" -L"$lib" -l:libzstd.a -lm -lpthread -static

foreign() {
	qemu-s390x-static "$work/sample_tool" "$@"
}

failed=0
compare() {
	"$tool" dump "$1" >"$work/here.txt"
	foreign dump "$1" >"$work/there.txt"
	if ! cmp -s "$work/here.txt" "$work/there.txt"; then
		echo "$1 reads differently on s390x:"
		diff "$work/here.txt" "$work/there.txt" | head -n 5
		failed=1
	fi
	lines=$(wc -l <"$work/here.txt")
	[ "$lines" -gt 10 ] || { echo "$1: only $lines lines were compared"; failed=1; }
}

for shape in smallest rows1 rows20 rows128 plain long; do
	"$tool" $shape "$work/$shape.pmr"
	compare "$work/$shape.pmr"
	# And what a big-endian machine writes is the same file.
	foreign $shape "$work/$shape-foreign.pmr"
	if ! cmp "$work/$shape.pmr" "$work/$shape-foreign.pmr"; then
		failed=1
	fi
done
[ $# -gt 0 ] || set -- "$source"/samples/*.pmr
for recording in "$@"; do
	[ -e "$recording" ] || continue
	compare "$recording"
done
[ $failed = 0 ] && echo "s390x reads and writes the same"
exit $failed
