#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the packages where nothing else is: Debian packages and wheel are installed into a clean Debian root and pass a short self_check
# there; a project of someone else is built on libmsprobe-dev. Run by hand, as root; needs mmdebstrap and lintian.
#
#   tools/test_packages.sh PACKAGES [PATH...]      PACKAGES: the .deb files and the wheel; made there if they are missing
#
# Each PATH of this machine can be read in the root, too: where pip finds packages without a network. MSPROBE_ROOT names a root to go on with.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath -m "$1")
shift
[ "$(id -u)" = 0 ] || { echo "needs root, for a clean root directory" >&2; exit 2; }

ls "$packages"/msprobe_*.deb >/dev/null 2>&1 || tools/make_deb.sh "$packages"
ls "$packages"/msprobe-*.whl >/dev/null 2>&1 || python3 -m pip wheel --quiet --no-deps -w "$packages" .
echo "== lintian"
lintian --fail-on error,warning "$packages"/*.deb

root=${MSPROBE_ROOT:-$(mktemp -d)/root}
if [ ! -d "$root/usr" ]; then
  echo "== a clean root from Debian's packages"
  mmdebstrap --quiet --variant=apt bookworm "$root"
fi
cp tools/container_steps.sh "$root/tmp/"
rm -rf "$root/tmp/packages"
cp -r "$packages" "$root/tmp/packages"

in_root() {  # in_root COMMAND...: with the root's own system, and the PATHs of this machine
  unshare -m bash -c 'set -e; root=$1; shift; mount --make-rprivate /
    mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"
    while [ "$1" != -- ]; do
      if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")"; touch "$root$1"; fi
      mount --bind "$1" "$root$1"; mount -o remount,bind,ro "$root$1"; shift
    done; shift
    exec env -i HOME=/root PATH=/srv/torch/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"' - "$root" "${binds[@]}" -- "$@"
}
binds=("$@")
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true

echo "== the steps of tools/Containerfile"
in_root sh /tmp/container_steps.sh
echo "== Debian package"
in_root sh -c 'cd /tmp && msprobe --version && msprobe self_check --only times_two && python3 -c "import sys; assert sys.prefix == \"/srv/torch\"" &&
  /usr/bin/python3 -c "import msprobe, msprobe.testing; print(msprobe.__version__, msprobe.__file__)" && test -s /usr/share/man/man1/msprobe.1.gz'
echo "== without PyTorch it says what it was built for"
in_root sh -c 'cd /tmp && PATH=/usr/bin:/bin msprobe acc_check -api_info /usr/share/msprobe/self_check/dump.json -d cpu -o /tmp/none 2>&1 | tail -1; apt-get remove -qq -y msprobe >/dev/null'
echo "== wheel"
in_root sh -c 'cd /tmp && pip install --quiet --no-index --no-deps /tmp/packages/msprobe-*.whl && msprobe --version && python3 -m msprobe --version &&
  msprobe self_check --only times_two && python3 -c "import msprobe.pytorch; print(msprobe.__file__)"'
echo "== libmsprobe-dev"
unpacked=$(mktemp -d)
dpkg-deb -x "$packages"/libmsprobe-dev_*.deb "$unpacked"
python3 tests/consumer_check.py --installed "$unpacked/usr"
rm -rf "$unpacked"
echo "== sizes"
ls -l "$packages" | awk 'NF > 8 { print $5, $9 }'
echo "all packages work"
