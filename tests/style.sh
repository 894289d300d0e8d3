#!/bin/bash
# The code looks as .clang-format says. Another major version of clang-format breaks lines elsewhere: then it is skipped.
set -u
cd "$(dirname "$0")/.." || exit

version=$(clang-format --version 2>/dev/null | grep -oE 'version [0-9]+') || { echo "skipped: no clang-format"; exit 77; }
[ "$version" = "version 14" ] || { echo "skipped: clang-format is $version, not 14"; exit 77; }
files=$(find common format record report tests -name '*.[ch]' -not -path '*/node_modules/*')
[ "$(printf '%s\n' "$files" | wc -l)" -gt 200 ] || { echo "the check itself is broken: it sees too few files"; exit 1; }
printf '%s\n' "$files" | xargs clang-format --dry-run --Werror || exit 1
# It leaves comments alone.
long=$(printf '%s\n' "$files" | grep -v '^tests/' | xargs awk 'FNR == 1 { off = 0 } /clang-format off/ { off = 1 } /clang-format on/ { off = 0 }
	{ line = ""; n = split($0, part, "\t")
	  for (i = 1; i < n; i++) { line = line part[i]; do line = line " "; while (length(line) % 8) }
	  if (!off && length(line part[n]) > 118) print FILENAME ":" FNR ": more than 118 columns" }')
[ -z "$long" ] || { echo "$long"; exit 1; }
