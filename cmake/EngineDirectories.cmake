# SPDX-License-Identifier: Apache-2.0
# Where engines are installed: beside msprobe; in a package (MSPROBE_PACKAGE) in a directory for each version of PyTorch, and as
# msprobe-engine a script that picks one of them (apps/engine/pick_engine.py.in). MSPROBE_FURTHER_TORCH adds engines for other versions.

set(MSPROBE_FURTHER_TORCH "" CACHE STRING "further PyTorch versions to build an engine for, as MSPROBE_TORCH names them (a list)")

set(MSPROBE_ENGINE_DIR ${CMAKE_INSTALL_BINDIR})
if(MSPROBE_PACKAGE)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" torch "${Torch_VERSION}")
  if(MSPROBE_OLD_ABI AND torch VERSION_GREATER_EQUAL 2.6)  # which come in both; older ones have the old one
    string(APPEND torch "-abi0")
  endif()
  set(MSPROBE_ENGINE_DIR ${CMAKE_INSTALL_LIBEXECDIR}/msprobe/torch-${torch})
  set(MSPROBE_PICKER_DIR ${CMAKE_INSTALL_LIBEXECDIR}/msprobe)
  set(MSPROBE_ENGINE_PYTHON /usr/bin/python3)
  if(SKBUILD)
    set(MSPROBE_PICKER_DIR ${CMAKE_INSTALL_BINDIR})
    set(MSPROBE_ENGINE_PYTHON python)  # pip puts that of the environment in its place
  endif()
endif()

if(MSPROBE_FURTHER_TORCH AND NOT MSPROBE_PACKAGE)
  message(FATAL_ERROR "MSPROBE_FURTHER_TORCH: engines for several PyTorch versions are for a package (-DMSPROBE_PACKAGE=ON)")
endif()
include(ExternalProject)
foreach(torch ${MSPROBE_FURTHER_TORCH})
  string(MAKE_C_IDENTIFIER "engine_${torch}" name)
  set(build ${PROJECT_BINARY_DIR}/engines/${name})
  ExternalProject_Add(${name} SOURCE_DIR ${PROJECT_SOURCE_DIR} BINARY_DIR ${build} PREFIX ${build}-steps BUILD_ALWAYS ON INSTALL_COMMAND ""
    CMAKE_ARGS -DMSPROBE_TORCH=${torch} -DMSPROBE_ENGINE_ONLY=ON -DMSPROBE_PACKAGE=ON -DMSPROBE_TESTS=OFF -DMSPROBE_BENCHMARKS=OFF
               -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_CXX_FLAGS_RELEASE=${CMAKE_CXX_FLAGS_RELEASE}
               -DCMAKE_UNITY_BUILD=${CMAKE_UNITY_BUILD} -DCMAKE_UNITY_BUILD_BATCH_SIZE=${CMAKE_UNITY_BUILD_BATCH_SIZE}
               -DCMAKE_INSTALL_LIBEXECDIR=${CMAKE_INSTALL_LIBEXECDIR})
  install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix \${CMAKE_INSTALL_PREFIX} --strip COMMAND_ERROR_IS_FATAL ANY)")
endforeach()
