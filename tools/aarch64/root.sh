# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What cross compilation for aarch64 and its trial need, in WORK. Nothing of the system is changed. Debian 12, with the packages named here.
#
# fetch_qemu WORK           qemu; sets what emulated.sh reads
# make_aarch64_root WORK    qemu and a root of Debian's packages; sets what cmake/aarch64.cmake reads

fetch_qemu() {
  mkdir -p "$1"
  export MSPROBE_AARCH64_ROOT=$1/root MSPROBE_AARCH64_EMULATOR=$1/qemu/usr/bin/qemu-aarch64-static
  if [ ! -x "$MSPROBE_AARCH64_EMULATOR" ]; then
    echo "== qemu"
    (cd "$1" && apt-get -q download qemu-user-static && dpkg-deb -x qemu-user-static_*.deb qemu)
  fi
}

make_aarch64_root() {
  local work=$1 missing=() package libraries
  for package in g++-aarch64-linux-gnu mmdebstrap cmake ninja-build pkg-config; do
    dpkg-query -W -f='${Status}' $package 2>/dev/null | grep -q 'install ok installed' || missing+=($package)
  done
  if [ ${#missing[@]} -gt 0 ]; then
    echo "missing packages: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  fetch_qemu "$work"
  if [ ! -e "$work/root/complete" ]; then
    echo "== root of Debian 12 for aarch64"
    libraries=libc6-dev,libstdc++-12-dev,libfmt-dev,libspdlog-dev,libcli11-dev,libyaml-cpp-dev,libsimdjson-dev,libhwy-dev,libsqlite3-dev
    libraries+=,libxlsxwriter-dev,libxxhash-dev,zlib1g-dev,libgtest-dev,libgmock-dev,libpython3-dev,python3,python3-numpy,libgomp1
    mmdebstrap --variant=extract --architectures=arm64 --include=$libraries bookworm "$work/root" "${MSPROBE_DEBIAN:-http://deb.debian.org/debian}"
    touch "$work/root/complete"
  fi
}
