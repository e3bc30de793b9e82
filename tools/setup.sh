#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the project needs, by package name, where it is missing.
#
#   tools/setup.sh               what the program needs to be built and run
#   tools/setup.sh --dev         also what the tests, the sanitizers, the fuzzers and the linters need
#   tools/setup.sh --torch113    also what the tests need on Debian's PyTorch 1.13 (LibTorch and Python package), without another one
#
# Debian 12 or newer, Ubuntu 22.04 or newer: by apt-get. Systems with dnf (openEuler, Fedora): what they have, which may be too little; it
# was not tried. Needs root or sudo; without them it says what is missing and ends with status 2.
# PyTorch: the one of the user's python3 is used where there is one; else a virtual environment .venv with a PyTorch for
# CPUs is made. MSPROBE_NO_TORCH=1 leaves PyTorch alone (the engine is then not built).
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ cmake ninja-build ccache pkg-config libfmt-dev libspdlog-dev libcli11-dev libyaml-cpp-dev
                libsimdjson-dev libhwy-dev libsqlite3-dev libxlsxwriter-dev libxxhash-dev zlib1g-dev python3 python3-venv
                python3-dev)
dev_packages=(libopenmpi-dev openmpi-bin libgtest-dev libgmock-dev libbenchmark-dev clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev strace python3-numpy)
dnf_packages=(gcc-c++ cmake ninja-build ccache pkgconf fmt-devel spdlog-devel cli11-devel yaml-cpp-devel simdjson-devel highway-devel
              sqlite-devel libxlsxwriter-devel xxhash-devel zlib-devel python3 python3-devel)
torch_version=2.13.0
# The wheels of later versions for ARM bring CUDA.
[ "$(uname -m)" != aarch64 ] || torch_version=2.9.1

# shellcheck source=/dev/null
. /etc/os-release
if command -v apt-get >/dev/null; then
  manager=apt-get
  packages=("${build_packages[@]}")
  [ "$ID $VERSION_ID" != "ubuntu 22.04" ] || packages+=(g++-12)  # its g++ is 11: CXX=g++-12 cmake ...
elif command -v dnf >/dev/null; then
  manager=dnf
  packages=("${dnf_packages[@]}")
else
  echo "${PRETTY_NAME:-this system} has neither apt-get nor dnf: docs/install.md says what msprobe is built of" >&2
  exit 2
fi
if [ -n "${1:-}" ] && [ $manager = dnf ]; then
  echo "$1 is for Debian" >&2
  exit 2
fi
case "${1:-}" in
  --dev)
    packages+=("${dev_packages[@]}" chromium)
    command -v node >/dev/null || packages+=(nodejs)
    command -v npm >/dev/null || packages+=(npm) ;;
  --torch113) packages+=(libgtest-dev libgmock-dev libtorch-dev python3-torch); MSPROBE_NO_TORCH=1 ;;
esac

installed() {
  case $manager in
    apt-get) dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' ;;
    dnf) rpm -q --quiet "$1" ;;
  esac
}

missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ]; then as_root=(); elif command -v sudo >/dev/null; then as_root=(sudo); else
    echo "missing packages, and no right to install them: ${missing[*]}" >&2
    echo "ask an administrator for: $manager install ${missing[*]}" >&2
    echo "or use the wheels, which need none of them (docs/install.md)" >&2
    exit 2
  fi
  echo "installing: ${missing[*]}"
  if [ $manager = dnf ]; then
    if ! "${as_root[@]}" dnf install -y -q "${missing[@]}"; then
      echo "${PRETTY_NAME:-this system} lacks some of these packages: use the wheels, which need none of them (docs/install.md)" >&2
      exit 2
    fi
  else
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
fi

# The tests of the HTML report's page: a browser, and Node.js with what web/package-lock.json names.
if [ "${1:-}" = --dev ] && [ ! -d web/node_modules ]; then
  echo "installing the npm packages of web/"
  (cd web && npm ci --silent --no-audit --no-fund)
fi

has_torch() { "$1" -c 'import torch' >/dev/null 2>&1; }

if [ "${MSPROBE_NO_TORCH:-0}" != 1 ] && ! has_torch python3 && ! has_torch .venv/bin/python; then
  echo "installing PyTorch $torch_version (CPU) into .venv"
  python3 -m venv .venv
  .venv/bin/pip install --quiet "torch==$torch_version" numpy
fi
# The tests of the Python package: its pytest plugin and its types.
if [ "${1:-}" = --dev ] && [ -x .venv/bin/python ] && ! .venv/bin/python -c 'import mypy, pytest' 2>/dev/null; then
  .venv/bin/pip install --quiet mypy pytest
fi
echo "set-up complete"
