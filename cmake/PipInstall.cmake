# `pip install .`: the commands go beside the Python they are installed for, and what is missing is said at once.

# A Debian package for every library that find_package wants below.
set(wanted_packages fmt:libfmt-dev spdlog:libspdlog-dev CLI11:libcli11-dev yaml-cpp:libyaml-cpp-dev simdjson:libsimdjson-dev
                    ZLIB:zlib1g-dev PkgConfig:pkg-config)
set(missing)
foreach(wanted ${wanted_packages})
  string(REPLACE ":" ";" wanted ${wanted})
  list(GET wanted 0 package)
  list(GET wanted 1 debian)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND missing ${debian})
  endif()
endforeach()
if(PkgConfig_FOUND)
  foreach(wanted libhwy:libhwy-dev xlsxwriter:libxlsxwriter-dev)
    string(REPLACE ":" ";" wanted ${wanted})
    list(GET wanted 0 package)
    list(GET wanted 1 debian)
    pkg_check_modules(wanted_${package} QUIET ${package})
    if(NOT wanted_${package}_FOUND)
      list(APPEND missing ${debian})
    endif()
  endforeach()
endif()
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "msprobe needs libraries that are missing. On Debian or Ubuntu: apt-get install ${missing} "
                      "(or tools/setup.sh, which installs all that is needed)")
endif()

execute_process(COMMAND ${Python3_EXECUTABLE} -E -c "import torch; print(torch.__version__)" OUTPUT_VARIABLE torch_version
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "msprobe is built for the PyTorch of the environment that it is installed into, and ${Python3_EXECUTABLE} has "
                      "none: install PyTorch first (pip install torch), then msprobe")
endif()

set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
set(CMAKE_INSTALL_DATADIR ${SKBUILD_DATA_DIR}/share)
