# SPDX-License-Identifier: Apache-2.0
# Finds the LibTorch that msprobe-engine is built on and makes msprobe::libtorch, the only target that sees it. Sets
# MSPROBE_TORCH_FOUND; without a LibTorch the engine is left out. docs/pytorch_versions.md says how to choose one.

set(MSPROBE_TORCH auto CACHE STRING "whose PyTorch the engine is built on: auto (python, else venv, else debian), python (that \
of python3), venv (that of .venv), debian (libtorch-dev), or the directory of one (site-packages/torch, an unpacked libtorch)")
set_property(CACHE MSPROBE_TORCH PROPERTY STRINGS auto python venv debian)

# The directory of TorchConfig.cmake, empty if there is none.
function(msprobe_torch_package choice result)
  set(python_python python3)
  if(SKBUILD)
    set(python_python ${Python3_EXECUTABLE} -E)  # past the walls that pip builds in
  endif()
  set(python_venv ${PROJECT_SOURCE_DIR}/.venv/bin/python3)
  set(package "")
  set(debian /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch)
  if(choice STREQUAL "debian")
    set(package ${debian})
  elseif(DEFINED python_${choice})
    execute_process(
      COMMAND ${python_${choice}} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  else()
    get_filename_component(prefix ${choice} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  endif()
  if(prefix STREQUAL "/usr/lib/python3/dist-packages/torch")  # Debian's python3-torch is the other half of libtorch-dev
    set(package ${debian})
  elseif(prefix)
    set(package ${prefix}/share/cmake/Torch)
  endif()
  set(${result} "" PARENT_SCOPE)
  if(EXISTS ${package}/TorchConfig.cmake)
    set(${result} ${package} PARENT_SCOPE)
  endif()
endfunction()

# Sets Torch_DIR. A build directory set to auto keeps the PyTorch that it found (or was given as Torch_DIR) at first.
function(msprobe_choose_torch)
  if(MSPROBE_TORCH STREQUAL "auto")
    if(Torch_DIR)
      return()
    endif()
    set(choices python venv debian)
  else()
    set(choices ${MSPROBE_TORCH})
  endif()
  foreach(choice ${choices})
    msprobe_torch_package(${choice} package)
    if(package)
      set(Torch_DIR ${package} CACHE PATH "the directory of TorchConfig.cmake" FORCE)
      return()
    endif()
  endforeach()
  if(NOT MSPROBE_TORCH STREQUAL "auto")
    message(FATAL_ERROR "MSPROBE_TORCH=${MSPROBE_TORCH}: no PyTorch with a TorchConfig.cmake there")
  endif()
endfunction()

# A CUDA build's package insists on the CUDA toolkit, though nothing is compiled for CUDA here: what it would say of its
# libraries is reported by us. Sets Torch_VERSION.
function(msprobe_import_cuda_torch)
  include(${Torch_DIR}/TorchConfigVersion.cmake)
  set(Torch_VERSION ${PACKAGE_VERSION} PARENT_SCOPE)
  file(STRINGS ${Torch_DIR}/TorchConfig.cmake abi REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
  string(REGEX MATCH "-D_GLIBCXX_USE_CXX11_ABI=[01]" abi "${abi}")
  get_filename_component(prefix ${Torch_DIR}/../../.. ABSOLUTE)
  add_library(torch SHARED IMPORTED GLOBAL)
  set_target_properties(torch PROPERTIES
    IMPORTED_LOCATION ${prefix}/lib/libtorch.so
    INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include;${prefix}/include/torch/csrc/api/include"
    INTERFACE_COMPILE_OPTIONS "${abi}"
    INTERFACE_LINK_LIBRARIES "${prefix}/lib/libtorch_cpu.so;${prefix}/lib/libc10.so"
    INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed")  # libtorch.so brings the CUDA kernels, which register themselves
endfunction()

# The package of PyTorch leaves variables about; a function keeps them.
function(msprobe_find_libtorch)
  msprobe_choose_torch()
  if(NOT Torch_DIR)
    message(STATUS "msprobe-engine: left out, no LibTorch found (python3 with torch, .venv, libtorch-dev or -DMSPROBE_TORCH=...)")
    set(MSPROBE_TORCH_FOUND FALSE PARENT_SCOPE)
    return()
  endif()
  # Torch looks for its other half, Caffe2, in the system's directories first, so that a wheel would meet the libraries of
  # an installed libtorch-dev.
  get_filename_component(caffe2 ${Torch_DIR}/../Caffe2 ABSOLUTE)
  set(Caffe2_DIR ${caffe2} CACHE PATH "the directory of Caffe2Config.cmake" FORCE)
  file(STRINGS ${Caffe2_DIR}/Caffe2Config.cmake cuda REGEX "set\\(CAFFE2_USE_CUDA (ON|1)\\)")
  if(cuda)
    msprobe_import_cuda_torch()
  else()
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
    set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # the package warns about static libraries that no wheel has
    find_package(Torch REQUIRED QUIET)
    unset(CMAKE_MESSAGE_LOG_LEVEL)
  endif()
  message(STATUS "msprobe-engine: on PyTorch ${Torch_VERSION} in ${Torch_DIR}")
  set(MSPROBE_TORCH_FOUND TRUE PARENT_SCOPE)
  set(Torch_VERSION ${Torch_VERSION} PARENT_SCOPE)

  get_target_property(flags torch INTERFACE_COMPILE_OPTIONS)
  if(flags MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    set(MSPROBE_OLD_ABI ON PARENT_SCOPE)
    include(OldAbi)
    msprobe_use_old_abi()
    set(MSPROBE_ENGINE_ONLY ON PARENT_SCOPE)
  endif()

  # A PyTorch wheel ships headers of fmt of its own, beside which our compiled libfmt does not link: ours come first.
  get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  set(own_headers ${PROJECT_BINARY_DIR}/own_headers)
  file(MAKE_DIRECTORY ${own_headers})
  file(CREATE_LINK ${fmt_headers}/fmt ${own_headers}/fmt SYMBOLIC)

  add_library(msprobe_libtorch INTERFACE)
  add_library(msprobe::libtorch ALIAS msprobe_libtorch)
  target_include_directories(msprobe_libtorch BEFORE INTERFACE ${own_headers})
  target_link_libraries(msprobe_libtorch INTERFACE torch)
  # Libraries that a wheel brings beside PyTorch's own, as its OpenBLAS for ARM needs: the linker asks for them, the loader finds them.
  get_filename_component(brought ${Torch_DIR}/../../../../torch.libs ABSOLUTE)
  if(EXISTS ${brought})
    target_link_options(msprobe_libtorch INTERFACE "LINKER:-rpath-link,${brought}")
  endif()
  get_filename_component(torch_library ${Torch_DIR}/../../../lib/libtorch_cpu.so ABSOLUTE)
  if(MSPROBE_PACKAGE)  # libtorch.so brings the kernels of further devices, if the user's PyTorch has them
    target_link_options(msprobe_libtorch INTERFACE "LINKER:--no-as-needed,$<TARGET_FILE:torch>,--as-needed")
  elseif(EXISTS ${torch_library})  # that of a wheel
    msprobe_finds_library(msprobe_libtorch INTERFACE ${torch_library})
  endif()
endfunction()
