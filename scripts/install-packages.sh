#!/usr/bin/env bash
# Installs what the build misses on Debian and Ubuntu; says nothing when nothing is missing.
#
#   scripts/install-packages.sh [PACKAGE...]   default: what scripts/configure.sh finds missing
#
# Without root (or sudo that asks for no password) it prints the line to run, and fails; elsewhere it
# names them, and fails.
set -u

if [ $# -eq 0 ]; then
    read -r -a packages <<<"$("$(dirname "$0")/configure.sh" --missing)"
else
    packages=("$@")
fi
if [ ${#packages[@]} -eq 0 ]; then exit 0; fi

if ! command -v apt-get >/dev/null; then
    printf 'Missing, as Debian calls them; please install what your system has for them:\n  %s\n' "${packages[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
if ! "${as_root[@]}" true 2>/dev/null; then
    printf 'Missing packages. Please run as root:\n  apt-get install %s\n' "${packages[*]}" >&2
    exit 1
fi

printf 'Installing %s\n' "${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
install=("${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}")
# The package lists of a fresh machine are empty or old: refresh them only when that is so.
"${install[@]}" >/dev/null 2>&1 || {
    "${as_root[@]}" apt-get update -qq && "${install[@]}" >/dev/null
}
