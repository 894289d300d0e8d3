#!/bin/bash
# Data flows one way, and so do includes: common <- format <- record, common <- format <- report. And one file each
# knows a library, so that a library can be replaced by changing one file.
set -u
cd "$(dirname "$0")/.." || exit
failed=0

complain() {
	echo "$1"
	failed=1
}

# Lines "file:header" of every project include in a folder that is none of the allowed folders.
check_folder() {
	local folder=$1 allowed=$2
	local bad
	bad=$(grep -rHoE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]+"' --include='*.[ch]' "$folder" |
		sed -E 's/:.*"([^"]+)".*/:\1/' | grep -vE ":($allowed)/")
	[ -z "$bad" ] || complain "$folder/ may include $allowed only:
$bad"
}

check_folder common 'common'
check_folder format 'common|format'
check_folder record 'common|format|record'
check_folder report 'common|format|report'

for header in zstd.h zlib.h sys/capability.h jansson.h libsmartcols.h perfmon/pfmlib_perf_event.h; do
	files=$(grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]+<(libsmartcols/)?$header>" --include='*.[ch]' \
		common format record report)
	[ "$(printf '%s\n' "$files" | grep -c .)" = 1 ] || complain "<$header> belongs in exactly one file, found in: ${files:-none}"
done

counted=$(grep -rlE '#[[:space:]]*include "' --include='*.[ch]' common format record report | wc -l)
[ "$counted" -gt 20 ] || complain "looked at $counted files only: the check itself is broken"
exit $failed
