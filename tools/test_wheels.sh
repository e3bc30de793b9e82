#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the wheels of tools/make_wheels.sh in clean roots, made here from the packages of each distribution: nothing but its Python, a virtual
# environment with PyTorch, and the wheels, installed by a user who is not root.
#
#   tools/test_wheels.sh WHEELS WORK ROOT...
#
# ROOT        bookworm, trixie (Debian 12 and 13), jammy or noble (Ubuntu 22.04 and 24.04)
# WORK        a directory for the roots, 3 to 8 GB each
# MSPROBE_TEST_TORCH    the PyTorch to install (default: torch==2.13.0; pip's own options are taken from its environment variables)
# MSPROBE_TEST_PYTHON   another Python than the root's own: the name of its packages (python3.11), or the directory of one, mounted there
# MSPROBE_TEST_MACHINE  aarch64 on x86-64: bookworm or trixie of that machine under qemu, where the only user is root
# Needs root, mmdebstrap and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=$(realpath "$1")
work=$(realpath -m "$2")
shift 2
mkdir -p "$work"
torch=${MSPROBE_TEST_TORCH:-torch==2.13.0}
packages=python3,python3-venv,ca-certificates
python=${MSPROBE_TEST_PYTHON:-python3}
machine=${MSPROBE_TEST_MACHINE:-$(uname -m)}
if [ "$machine" != "$(uname -m)" ]; then
  . tools/aarch64/root.sh
  fetch_qemu "$work"
fi

try_foreign() {  # try_foreign SUITE: the packages are unpacked, not configured, and used in a namespace where programs of aarch64 start
  local root=$work/$1-$machine
  if [ ! -e "$root/complete" ]; then
    mmdebstrap --quiet --variant=extract --architectures=arm64 --include=$packages,bash,dash,coreutils,grep,sed,findutils,libc-bin "$1" "$root" \
      "${MSPROBE_DEBIAN:-http://deb.debian.org/debian}"
    touch "$root/complete"
  fi
  fill_root "$root"
  mkdir -p "$root/proc" "$root/dev"
  # shellcheck disable=SC2016  # for the inner shell
  tools/aarch64/emulated.sh bash -euc '
    mount --rbind /proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" env -i PATH=/usr/bin:/bin HOME=/try PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_CACHE_DIR=/try/cache \
      QEMU_CPU="${QEMU_CPU:-neoverse-n1}" bash /try/try.sh "$2"' try "$root" "$torch"
}

fill_root() {  # fill_root ROOT: what try.sh needs
  rm -rf "$1/try"
  mkdir -p "$1/try/wheels" "$1/try/msprobe/tools" "$1/etc/ssl/certs"
  cp "$wheels"/*"$machine".whl "$1/try/wheels"
  cp -r examples "$1/try/msprobe/"
  cp tools/quickstart.sh "$1/try/msprobe/tools/"
  cp tools/wheels/try.sh "$1/try/"
  cp /etc/resolv.conf "$1/etc/"
  cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
}

make_root() {  # make_root SUITE DIRECTORY
  case $1 in
    bookworm | trixie) mmdebstrap --quiet --variant=minbase --include=$packages "$1" "$2" "${MSPROBE_DEBIAN:-http://deb.debian.org/debian}" ;;
    jammy | noble)  # Debian has no key of Ubuntu
      debootstrap --variant=minbase --components=main,universe --no-check-gpg --include=$packages "$1" "$2" \
        "${MSPROBE_UBUNTU:-http://archive.ubuntu.com/ubuntu}" /usr/share/debootstrap/scripts/jammy > "$2.log" ;;
    *) echo "unknown root: $1" >&2; exit 2 ;;
  esac
}

for suite in "$@"; do
  echo "== $suite"
  if [ "$machine" != "$(uname -m)" ]; then
    try_foreign "$suite"
    continue
  fi
  root=$work/$suite
  [ -e "$root/usr/bin/python3" ] || make_root "$suite" "$root"
  fill_root "$root"
  chroot "$root" bash -c 'id user >/dev/null 2>&1 || useradd --create-home user; chown -R user /try'
  # What pip is to find beside its index.
  links=${PIP_FIND_LINKS:-}
  [ -z "$links" ] || { mkdir -p "$root$links"; mount --bind "$links" "$root$links"; }
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mounted=$python
  case $python in
    python3) ;;
    /*) mkdir -p "$root/opt/python"; mount --bind "$python" "$root/opt/python"; mounted=/opt/python/bin/python3 ;;
    *) chroot "$root" sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends $python $python-venv >/dev/null" ;;
  esac
  status=0
  chroot "$root" su user -c "cd /try && PIP_FIND_LINKS=$links PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_CACHE_DIR=/try/cache bash try.sh '$torch' $mounted" || status=$?
  umount "$root/dev" "$root/proc"
  ! mountpoint -q "$root/opt/python" || umount "$root/opt/python"
  [ -z "$links" ] || umount "$root$links"
  [ $status = 0 ] || { echo "$suite: failed" >&2; exit 1; }
done
echo "the wheels work in $*"
