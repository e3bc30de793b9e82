#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command in which programs of aarch64 start like others, through MSPROBE_AARCH64_EMULATOR with the libraries of
# MSPROBE_AARCH64_ROOT. The registration is one of a user namespace (Linux 6.7): the rest of the machine does not see it.
# QEMU_CPU says which processor.
#
#   tools/aarch64/emulated.sh COMMAND...
set -euo pipefail
if [ "${MSPROBE_INSIDE:-}" != 1 ]; then
  MSPROBE_INSIDE=1 exec unshare --map-root-user --mount "$0" "$@"
fi
unset MSPROBE_INSIDE
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
# The first bytes of a program of aarch64, and which of their bits count.
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
echo ":aarch64:M::$magic:$mask:$MSPROBE_AARCH64_EMULATOR:F" > /proc/sys/fs/binfmt_misc/register

# PyTorch reads the processor from here, and would take the x86 one for an ARM that it does not know.
cpuinfo=$(mktemp)
for processor in $(seq 0 $(($(nproc) - 1))); do
  printf 'processor\t: %s\nBogoMIPS\t: 200.00\n' "$processor"
  printf 'Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma dcpop asimddp\n'
  printf 'CPU implementer\t: 0x48\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd01\nCPU revision\t: 0\n\n'
done > "$cpuinfo"
mount --bind "$cpuinfo" /proc/cpuinfo
rm "$cpuinfo"
export QEMU_LD_PREFIX=$MSPROBE_AARCH64_ROOT
exec "$@"
