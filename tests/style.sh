#!/bin/bash
# The top of the repository holds what belongs there, and the code looks as .clang-format says. Another major version of
# clang-format breaks lines elsewhere: then that part is skipped.
set -u
cd "$(dirname "$0")/.." || exit

# What a program left there is not tracked by mistake.
git -c safe.directory='*' ls-files | cut -d/ -f1 | sort -u | while IFS= read -r entry; do
	case $entry in
	common | docs | format | packaging | record | report | samples | tests) ;;
	CMakeLists.txt | CMakePresets.json | README.md | LICENSE | CONTRIBUTING.md | CHANGELOG.md | SECURITY.md) ;;
	.ci | .clang-format | .editorconfig | .gitignore | .gitattributes | .github) ;;
	*) echo "$entry: does not belong at the top of the repository"; exit 1 ;;
	esac
done || exit 1

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
