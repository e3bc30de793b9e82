#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Debian packages msprobe, msprobe-mpi and libmsprobe-dev for this Debian.
#
#   tools/make_deb.sh OUT [BUILD_DIR]      OUT: where they go; BUILD_DIR: build/deb by default
#
# Needs what tools/setup.sh installs, and Debian's python3 with its headers. The engine is built for the PyTorch that MSPROBE_TORCH
# names (default: auto), further ones for those of MSPROBE_FURTHER_TORCH. MSPROBE_MAINTAINER="Name <address>" says who makes them.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
build=$(realpath -m "${2:-build/deb}")
if [ -z "${MSPROBE_MAINTAINER:-}" ]; then
  MSPROBE_MAINTAINER="$(git config user.name) <$(git config user.email)>" || { echo "say who makes the package: MSPROBE_MAINTAINER='Name <address>'" >&2; exit 2; }
fi
cmake --preset release -B "$build" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" \
  -DMSPROBE_PACKAGE=ON -DMSPROBE_PYTHON=/usr/bin/python3 -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF \
  -DMSPROBE_TORCH="${MSPROBE_TORCH:-auto}" -DMSPROBE_FURTHER_TORCH="${MSPROBE_FURTHER_TORCH:-}" -DMSPROBE_MAINTAINER="$MSPROBE_MAINTAINER" >/dev/null
cmake --build "$build"
mkdir -p "$out"
cpack --config "$build/CPackConfig.cmake" -B "$build/packages" >/dev/null
mv "$build"/packages/*.deb "$out"
ls -l "$out"/*.deb
