#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the root that wheels are linked in: the C library of Debian 11 (glibc 2.31), the headers of g++ 12, and the libraries of Debian 12
# as archives, built here from their packages' sources where Debian has none.
#
#   tools/wheels/root.sh ROOT      Needs Debian 12 with g++ and cmake; a few minutes of one core
#
# MSPROBE_WHEEL_MACHINE=aarch64: for that machine, by a cross compiler (tools/make_wheels.sh sets it).
set -euo pipefail
cd "$(dirname "$0")"
. ./packages.sh
export MSPROBE_WHEEL_ROOT
MSPROBE_WHEEL_ROOT=$(realpath -m "$1")
root=$MSPROBE_WHEEL_ROOT
prefix=
if [ "${MSPROBE_WHEEL_MACHINE:-$(uname -m)}" != "$(uname -m)" ]; then
  prefix=$MSPROBE_WHEEL_MACHINE-linux-gnu-
  [ "$MSPROBE_WHEEL_MACHINE" != aarch64 ] || export MSPROBE_WHEEL_ARCHITECTURE=arm64
fi
multiarch=$("${prefix}g++" -print-multiarch)
[ ! -e "$root/complete" ] || exit 0
work=$root/work
mkdir -p "$work" "$root/link"
fetch_packages bullseye "$work" "$root" libc6 libc6-dev linux-libc-dev libcrypt1 libcrypt-dev libgcc-s1 libstdc++6
fetch_packages bookworm "$work" "$root" libstdc++-12-dev libcli11-dev libsqlite3-dev libxxhash-dev zlib1g-dev
fetch_sources bookworm "$work" "$work/sources" fmtlib spdlog yaml-cpp simdjson highway libxlsxwriter

find "$root" -path "$work" -prune -o -type l -lname '/*' -print | while read -r link; do
  ln -sfnr "$root$(readlink "$link")" "$link"
done
libraries=$root/usr/lib/$multiarch
rm -f "$libraries"/lib{sqlite3,xxhash,z}.so*  # their archives are linked
"${prefix}gcc" --sysroot="$root" -O2 -fPIC -c old_glibc.c -o "$root/link/old_glibc.o"
# What g++ links as libstdc++, its names beginning at the root: what the library of g++ 8 lacks and engines use, from the archive of g++ 12; what the
# old library has, from there; and the rest from the archive again.
standard=/usr/lib/gcc/$multiarch/12/libstdc++.a
newer=(floating_from_chars.o memory_resource.o cow-stdexcept.o)
(cd "$root/link" && "${prefix}ar" x "$root$standard" "${newer[@]}" && "${prefix}ar" rcs libnewer.a "${newer[@]}")
echo "INPUT(/link/libnewer.a ${libraries#"$root"}/libstdc++.so.6 $standard)" > "$root/link/libstdc++.so"

archive() {  # archive SOURCE [option...]: built and installed in the root
  local source=$1
  shift
  cmake -S "$work/sources/$source" -B "$work/build/$source" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$root/usr" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_STAGING_PREFIX="$root/usr" -Wno-dev "$@" > "$work/$source.log"
  cmake --build "$work/build/$source" >> "$work/$source.log"
  cmake --install "$work/build/$source" >> "$work/$source.log"
}
archive fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
archive spdlog -DSPDLOG_FMT_EXTERNAL=ON -DSPDLOG_BUILD_EXAMPLE=OFF
archive yaml-cpp -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF
archive simdjson -DSIMDJSON_DEVELOPER_MODE=OFF
archive highway -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_CONTRIB=OFF
archive libxlsxwriter -DBUILD_TESTS=OFF -DBUILD_EXAMPLES=OFF
touch "$root/complete"
