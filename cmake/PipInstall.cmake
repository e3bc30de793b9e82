# SPDX-License-Identifier: Apache-2.0
# `pip install .`: the commands go beside the Python they are installed for, and what is missing is reported at once.

# A Debian package for every library that the build needs: by its CMake package, and by its pkg-config module.
set(missing)
macro(want is_found debian)
  if(NOT ${is_found})
    list(APPEND missing ${debian})
  endif()
endmacro()
macro(want_package package debian)
  find_package(${package} QUIET)
  want(${package}_FOUND ${debian})
endmacro()
macro(want_module module debian)
  if(PkgConfig_FOUND)
    pkg_check_modules(wanted_${module} QUIET ${module})
    want(wanted_${module}_FOUND ${debian})
  endif()
endmacro()
want_package(fmt libfmt-dev)
want_package(spdlog libspdlog-dev)
want_package(CLI11 libcli11-dev)
want_package(yaml-cpp libyaml-cpp-dev)
want_package(simdjson libsimdjson-dev)
want_package(ZLIB zlib1g-dev)
want_package(PkgConfig pkg-config)
want_module(libhwy libhwy-dev)
want_module(libxxhash libxxhash-dev)
want_module(sqlite3 libsqlite3-dev)
want_module(xlsxwriter libxlsxwriter-dev)
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "msprobe needs libraries that are missing. On Debian or Ubuntu: apt-get install ${missing} "
                      "(or tools/setup.sh, which installs all that is needed)")
endif()

# The collector alone, for an environment of MindSpore, needs no PyTorch.
if(MSPROBE_ENGINE)
  execute_process(COMMAND ${Python3_EXECUTABLE} -E -c "import torch; print(torch.__version__)" OUTPUT_VARIABLE torch_version
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "msprobe is built for the PyTorch of the environment that it is installed into, and ${Python3_EXECUTABLE} has "
                        "none: install PyTorch first (pip install torch), then msprobe")
  endif()
endif()

set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
set(CMAKE_INSTALL_DATADIR ${SKBUILD_DATA_DIR}/share)
set(CMAKE_INSTALL_LIBEXECDIR ${SKBUILD_DATA_DIR}/libexec)
