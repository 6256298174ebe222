#!/usr/bin/env bash
# Gathers what longhaul links (headers, shared libraries, a Lua interpreter, licences) into a folder
# that `make DEPS=FOLDER` builds from, on a machine with a compiler and nothing else.
#
#   scripts/deps-bundle.sh FOLDER PROGRAM "COMPILER FLAGS" < names of headers
#
# PROGRAM is a built longhaul: what it loads is what is gathered, but for the C library and the
# compiler's own run-time libraries, which come with every compiler.
set -euo pipefail
folder=$1
program=$2
read -r -a flags <<<"$3"
CC=${CC:-cc}
CXX=${CXX:-c++}

rm -rf "$folder"
mkdir -p "$folder/include" "$folder/lib" "$folder/bin" "$folder/licences"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- libraries ----------------------------------------------------------------------------------

declare -A path_of
while read -r name path; do path_of[$name]=$path; done \
    < <(ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }')

# "name path" of each library that a file needs, and those need. MPI is left to the machine, whose launcher and
# network it belongs to, and so is CUDA, which comes with nvcc.
needed_by() {
    local name
    for name in $(objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }'); do
        if [ -z "${path_of[$name]:-}" ] || [[ $name =~ ^lib(mpi|cudart|cublas|nccl) ]]; then continue; fi
        echo "$name ${path_of[$name]}"
        needed_by "${path_of[$name]}"
    done
}
needed_by "$program" | sort -u |
    grep -Ev '^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libgomp|libomp)\.so' >"$work/libraries"

while read -r name path; do
    cp -L "$path" "$folder/lib/$name"
    ln -sf "$name" "$folder/lib/${name%%.so*}.so"
done <"$work/libraries"

# ---- headers ------------------------------------------------------------------------------------

# Files behind the headers on standard input, one a line.
files_of() {
    sed 's/.*/#include <&>/' >"$work/list.cc"
    "$CXX" -std=c++17 "${flags[@]}" -M "$work/list.cc" | tr -s ' \\\n' '\n' | grep '^/' | grep -v "^$work" | sort -u
}

# Where the compiler looks, longest first.
"$CXX" -std=c++17 "${flags[@]}" -E -x c++ -v /dev/null 2>&1 |
    sed -n '/search starts here/,/^End of search/s/^ \(\/.*[^/]\)\/*$/\1/p' |
    awk '{ print length, $0 }' | sort -rn | cut -d' ' -f2- >"$work/places"

# What a source includes a file as: a name that was asked for, else its place below a folder of the
# compiler's.
name_of() {
    local name
    while read -r name; do
        case $1 in */"$name") echo "$name" && return ;; esac
    done <"$work/wanted"
    while read -r name; do
        case $1 in "$name"/*) echo "${1#"$name"/}" && return ;; esac
    done <"$work/places"
}

cat >"$work/wanted"
printf '%s\n' bits/stdc++.h unistd.h sys/stat.h | files_of >"$work/standard"
files_of <"$work/wanted" | grep -vxFf "$work/standard" | grep -Ev '/(gcc|clang|llvm[^/]*|c\+\+)/' >"$work/headers"
while read -r file; do
    name=$(name_of "$file")
    mkdir -p "$folder/include/$(dirname "$name")"
    cp -L "$file" "$folder/include/$name"
done <"$work/headers"

# ---- the interpreter that embeds the Lua files ------------------------------------------------

cat >"$work/lua.c" <<'C'
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
    if (count < 2 || strcmp(words[1], "-v") == 0 || words[1][0] == '-') return puts(LUA_RELEASE) < 0;
    lua_State *lua = luaL_newstate();
    luaL_openlibs(lua);
    lua_newtable(lua);
    for (int i = 1; i < count; ++i) {
        lua_pushstring(lua, words[i]);
        lua_seti(lua, -2, i - 1);
    }
    lua_setglobal(lua, "arg");
    int bad = luaL_loadfile(lua, words[1]);
    if (!bad && !lua_checkstack(lua, count)) return fputs("lua5.4: too many arguments\n", stderr), 1;
    for (int i = 2; i < count && !bad; ++i)
        lua_pushstring(lua, words[i]);
    if (!bad) bad = lua_pcall(lua, count - 2, 0, 0);
    if (bad) fprintf(stderr, "lua5.4: %s\n", lua_tostring(lua, -1));
    lua_close(lua);
    return bad != 0;
}
C
lua=$(basename "$(find "$folder/lib" -name 'liblua*.so' | head -n 1)" .so)
# shellcheck disable=SC2016  # $ORIGIN is the loader's
"$CC" -I"$folder/include" "$work/lua.c" -o "$folder/bin/lua5.4" -L"$folder/lib" "-l${lua#lib}" -lm -ldl \
    '-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib'

# ---- what it is ---------------------------------------------------------------------------------

glibc=$(objdump -T "$folder"/lib/*.so.* 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
{
    echo "What longhaul links, for 'make DEPS=this-folder' on $(uname -m) with ${glibc/GLIBC_/glibc } or newer."
    echo
    while read -r name path; do
        # by its name: a package may list /lib where the file lies in /usr/lib
        package=$( (dpkg -S "*/$(basename "$(readlink -f "$path")")" 2>/dev/null || true) | head -n 1 | cut -d: -f1)
        version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || true)
        echo "$name  ${package:-from $path} $version"
        if [ -f "/usr/share/doc/$package/copyright" ]; then
            cp -L "/usr/share/doc/$package/copyright" "$folder/licences/$package"
        fi
    done <"$work/libraries"
} >"$folder/README"
tar -czf "$folder.tar.gz" -C "$(dirname "$folder")" "$(basename "$folder")"
cat "$folder/README"
echo "$folder.tar.gz"
