# SPDX-License-Identifier: Apache-2.0
# Toolchain for the libraries inside the wheels: this machine's compiler and the C library of an older Debian, in MSPROBE_WHEEL_ROOT
# (tools/wheels/root.sh).
set(root $ENV{MSPROBE_WHEEL_ROOT})
set(CMAKE_SYSROOT ${root})
execute_process(COMMAND g++ -print-multiarch OUTPUT_VARIABLE CMAKE_LIBRARY_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE)
set(libraries ${root}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
# Before the compiler's own directories, which have the C library of this machine.
set(places "-L${root}/link -B${libraries} -L${libraries} -L${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${places}")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "${root}/link/old_glibc.o -lm -ldl -lpthread")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${root}/usr/lib/pkgconfig:${root}/usr/share/pkgconfig)
