#!/usr/bin/env bash
# Makes a Debian package of an installed tree; prints its path.
#
#   scripts/deb.sh ROOT VERSION OUT     ROOT: where `make install DESTDIR=ROOT PREFIX=/usr` put everything
#
# What the program is linked with becomes its dependencies, by the packages that these libraries are of here:
# a package serves the release that it was made on.
set -eu
root=$1 version=$2 out=$3

for tool in dpkg-deb dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || {
        echo "$tool is missing: apt-get install dpkg-dev" >&2
        exit 1
    }
done

architecture=$(dpkg --print-architecture)
package=$out/longhaul_${version}_$architecture.deb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# dpkg-shlibdeps wants a source package around it
mkdir "$work/debian"
printf 'Source: longhaul\n\nPackage: longhaul\nArchitecture: any\n' >"$work/debian/control"
program=$(realpath "$root")/usr/bin/longhaul
depends=$(cd "$work" && dpkg-shlibdeps -O "$program" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || {
    echo "dpkg-shlibdeps found no package for what $program is linked with" >&2
    exit 1
}

mkdir -p "$root/DEBIAN" "$root/usr/share/zsh" "$out"
# where zsh looks for what packages bring
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
cat >"$root/DEBIAN/control" <<CONTROL
Package: longhaul
Version: $version
Architecture: $architecture
Maintainer: longhaul maintainers <longhaul@localhost>
Section: science
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: $depends
Recommends: gnuplot-nox | gnuplot
Description: benchmark and reproduction harness for long-context sequence architectures
 Trains the architectures of five papers on long contexts, their baselines and
 newer rivals on all their tasks under one protocol, and shows published and
 measured numbers side by side.
 Experiments are Lua scripts; results are CSV, tables and gnuplot charts.
CONTROL
dpkg-deb --root-owner-group -Zgzip --build "$root" "$package" >/dev/null
echo "$package"
