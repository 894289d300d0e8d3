#!/bin/bash
# The Debian package of a build folder: what is in it, what lintian says, the same bytes twice, and that it lives beside
# a package that has /usr/bin/pmrep, in every order of coming and going. In a root of its own; nothing is installed here.
#
#   tests/packages.sh BUILD
set -u
build=$(cd "$1" && pwd)
for program in cpack dpkg dpkg-deb gzip; do
	command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
done
work=$(mktemp -d "$build/packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=1790000000

die() {
	echo "packages: $*"
	exit 1
}

pack() {
	(cd "$build" && cpack -G DEB -B "$work/$1" >"$work/log" 2>&1) || { tail -n 20 "$work/log"; die "cpack failed"; }
}
pack one
pack two
ours=$(echo "$work"/one/*.deb)
cmp "$ours" "$work"/two/*.deb || die "two packages of one build differ"
dpkg-deb -c "$ours" | awk '{ print $6 }' >"$work/names"
for name in bin/pmrec libexec/pmrec/pmrep share/man/man1/pmrec.1.gz share/man/man1/pmrec-report.1.gz share/man/man5/pmr.5.gz \
	share/bash-completion/completions/pmrec share/zsh/vendor-completions/_pmrec share/fish/vendor_completions.d/pmrec.fish \
	share/mime/packages/pmrec.xml share/pmrec/pmrec.magic lib/systemd/system/pmrec.service "lib/systemd/system/pmrec-dump@.service" lib/sysusers.d/pmrec.conf share/doc/pmrec/copyright; do
	grep -qx "./usr/$name" "$work/names" || die "the package lacks $name"
done
grep -E '/pmrep(\.1.*)?$' "$work/names" | grep -v libexec && die "the package has a file that is another's"
# The service's command line is one that pmrec takes, from any prefix, and again where files are from before.
command=$(dpkg-deb --fsys-tarfile "$ours" | tar -xO ./usr/lib/systemd/system/pmrec.service | sed -n 's/^ExecStart=//p')
mkdir -p "$work/log.d/pmrec"
for _ in 1 2; do
	(set -f; PATH=$build/bin:$PATH; command=${command//%L/$work/log.d}; exec timeout 60 ${command//%H/host} -n 1) </dev/null >"$work/log" 2>&1 ||
		{ cat "$work/log"; die "the service's command: $command"; }
done
[ -n "$(ls "$work/log.d/pmrec")" ] || die "the service recorded nothing"

if command -v lintian >/dev/null; then
	lintian --no-tag-display-limit "$ours" 2>/dev/null | grep '^E:' && die "lintian has errors"
else
	echo "skipped: lintian"
fi

# Another package with that program, as Performance Co-Pilot has it.
mkdir -p "$work/pcp/DEBIAN" "$work/pcp/usr/bin" "$work/pcp/usr/share/man/man1"
printf 'Package: pcp\nVersion: 6\nArchitecture: all\nMaintainer: nobody <nobody@pcp.invalid>\nDescription: other\n' >"$work/pcp/DEBIAN/control"
echo theirs >"$work/pcp/usr/bin/pmrep"
echo theirs >"$work/pcp/usr/share/man/man1/pmrep.1.gz"
dpkg-deb --root-owner-group -b "$work/pcp" "$work/pcp.deb" >/dev/null || die "no package of the other"

begin() {
	root=$work/root
	rm -rf "$root"
	mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers"
	# What ours depends on is there: dpkg runs no trigger of a package that lacks something.
	dpkg-deb -f "$ours" Depends | tr ',' '\n' | awk '{ printf "Package: %s\nStatus: install ok installed\n", $1
		printf "Architecture: all\nVersion: 99:1\nMaintainer: x <x@x.invalid>\nDescription: x\n\n" }' >"$root/var/lib/dpkg/status"
}
dpkg_there() {
	dpkg --root="$root" --log=/dev/null --force-script-chrootless --force-not-root --force-depends --force-bad-path "$@" >"$work/log" 2>&1 ||
		{ cat "$work/log"; die "dpkg $*"; }
}
name=usr/bin/pmrep
is_ours() { [ "$(readlink "$root/$name")" = ../libexec/pmrec/pmrep ] && [ -x "$root/usr/libexec/pmrec/pmrep" ] || die "$1: pmrep is not ours"; }
is_theirs() {
	[ "$(cat "$root/$name")" = theirs ] && [ ! -L "$root/$name" ] || die "$1: pmrep is not theirs"
	[ "$(cat "$root/usr/share/man/man1/pmrep.1.gz")" = theirs ] || die "$1: the page is not theirs"
}
is_gone() { [ ! -e "$root/$name" ] && [ ! -L "$root/$name" ] || die "$1: pmrep is still there"; }

begin
dpkg_there -i "$ours"; is_ours "alone"
dpkg_there -i "$ours"; is_ours "again"
dpkg_there -i "$work/pcp.deb"; is_theirs "they came"
dpkg_there -i "$ours"; is_theirs "upgraded beside them"
dpkg_there -r pcp; is_ours "they went"
dpkg_there -r pmrec; is_gone "all went"
begin
dpkg_there -i "$work/pcp.deb"
dpkg_there -i "$ours"; is_theirs "they were first"
dpkg_there -r pmrec; is_theirs "we went"
begin
dpkg_there -i "$work/pcp.deb"
dpkg_there -i "$ours"
dpkg_there -r pcp; is_ours "they were first and went"

# `cmake --install` leaves another's alone, too, and uninstall takes away what is ours.
install_there() { DESTDIR=$work/plain cmake --install "$build" --prefix /usr >"$work/log" 2>&1 || { tail "$work/log"; die "cmake --install"; }; }
root=$work/plain
install_there; is_ours "installed"
[ "$("$root/usr/bin/pmrec" report --version)" = "$("$build/bin/pmrep" --version)" ] || die "pmrec report runs another one"
DESTDIR=$root cmake --build "$build" --target uninstall >"$work/log" 2>&1 || die "uninstall"
is_gone "uninstalled"
[ -z "$(find "$root" ! -type d)" ] || die "uninstall left $(find "$root" ! -type d | head -3)"
mkdir -p "$root/usr/bin" "$root/usr/share/man/man1"
cp "$work/pcp/usr/bin/pmrep" "$root/usr/bin/"
cp "$work/pcp/usr/share/man/man1/pmrep.1.gz" "$root/usr/share/man/man1/"
install_there; is_theirs "installed beside them"
[ "$("$root/usr/bin/pmrec" report --version)" = "$("$build/bin/pmrep" --version)" ] || die "pmrec report runs theirs"
DESTDIR=$root cmake --build "$build" --target uninstall >"$work/log" 2>&1 || die "uninstall"
is_theirs "uninstalled beside them"
echo "packages: $(stat -c %s "$ours") bytes"
