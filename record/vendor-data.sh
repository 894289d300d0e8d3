#!/bin/sh
# vendor-data.sh PMREC OUT [ARCH]: makes OUT/vendor.pmv of ARCH, the folder tools/perf/pmu-events/arch of a kernel's tree, and
# puts the tree's licence beside it. Without ARCH: of Debian's package linux-source, which is fetched and unpacked into OUT.
set -eu
pmrec=$1 out=$2 arch=${3:-}
mkdir -p "$out"
if [ -z "$arch" ]; then
	arch=$out/arch
	if [ ! -e "$arch" ]; then
		work=$(mktemp -d "$out/fetch.XXXXXX")
		trap 'rm -rf "$work"' EXIT
		package=$(apt-cache depends linux-source | sed -n 's/.*Depends: \(linux-source-[0-9.]*\).*/\1/p' | head -n 1)
		(cd "$work" && apt-get -qq download "$package")
		dpkg-deb --fsys-tarfile "$work"/*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
			tar -xJ -C "$work" --wildcards '*/tools/perf/pmu-events/arch' '*/LICENSES/preferred/GPL-2.0'
		cp "$work"/linux-source-*/LICENSES/preferred/GPL-2.0 "$out/vendor.pmv.licence"
		mv "$work"/linux-source-*/tools/perf/pmu-events/arch "$arch"
	fi
else
	for licence in "$arch/../../../../LICENSES/preferred/GPL-2.0" "$arch/../../../../COPYING" "$arch/LICENSE"; do
		[ ! -e "$licence" ] || { cp "$licence" "$out/vendor.pmv.licence"; break; }
	done
fi
"$pmrec" vendor import -o "$out/vendor.pmv" "$arch"
