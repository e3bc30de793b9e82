#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clang made of the vector kernels, for every target, also those that this machine cannot run: no vpternlog that is merged under a
mask and has an operand in memory. Clang gives some of these the truth table of other operands (LLVM issue 157929): an infinity that
both sides have was then counted as above.

usage: vector_code.py LIBRARY
"""
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# vpternlogd $0xd8,0x0(%rip){1to16},%zmm17,%zmm14{%k1}
MERGED_WITH_MEMORY = re.compile(r"vpternlog[dq]\s+\$0x[0-9a-f]+,[^%]*\(.*\{%k[1-7]\}(?!\{z\})")


def main():
    listing = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    function, found, vectors = "", [], 0
    for line in listing.splitlines():
        start = FUNCTION.match(line)
        if start:
            function = start[1]
        vectors += "%zmm" in line
        if MERGED_WITH_MEMORY.search(line):
            found.append(f"{function}: {line.split(chr(9), 1)[-1]}")
    print("\n".join(found))
    print(f"{len(found)} merged vpternlog with an operand in memory, among {vectors} lines with vectors of 512 bits")
    return 1 if found or vectors == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
