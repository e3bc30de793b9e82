#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpack of a wheel of PyTorch what an engine is built with: headers, CMake files and the libraries for the CPU.

usage: unpack_torch.py WHEEL DIRECTORY
"""
import pathlib
import sys
import zipfile

LIBRARIES = ("libtorch.so", "libtorch_cpu.so", "libc10.so")


def wanted(name):
    return name.startswith(("torch/include/", "torch/share/cmake/", "torch.libs/")) or name in {f"torch/lib/{library}" for library in LIBRARIES}


def main():
    wheel, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    with zipfile.ZipFile(wheel) as file:
        for name in filter(wanted, file.namelist()):
            file.extract(name, directory)
    (directory / "complete").touch()


if __name__ == "__main__":
    main()
