#!/bin/bash
# The code looks as .clang-format says. Another major version of clang-format breaks lines elsewhere: then it is skipped.
set -u
cd "$(dirname "$0")/.." || exit

version=$(clang-format --version 2>/dev/null | grep -oE 'version [0-9]+') || { echo "skipped: no clang-format"; exit 77; }
[ "$version" = "version 14" ] || { echo "skipped: clang-format is $version, not 14"; exit 77; }
files=$(find common format record report tests -name '*.[ch]' -not -path '*/node_modules/*')
[ "$(printf '%s\n' "$files" | wc -l)" -gt 200 ] || { echo "the check itself is broken: it sees too few files"; exit 1; }
printf '%s\n' "$files" | xargs clang-format --dry-run --Werror
