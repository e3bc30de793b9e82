# Finds the LibTorch that msprobe-engine is built on: Torch_DIR where the user gave it, else the PyTorch of the user's
# python3, else that of the project's virtual environment (.venv), else Debian's libtorch-dev. Makes msprobe::libtorch,
# the only target that sees it; without one the engine is left out. Sets MSPROBE_TORCH_FOUND.

function(msprobe_torch_of_python python result)
  execute_process(
    COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND IS_DIRECTORY "${prefix}/share/cmake")
    set(${result} ${prefix}/share/cmake PARENT_SCOPE)
  endif()
endfunction()

# The package of PyTorch leaves variables about; a function keeps them.
function(msprobe_find_libtorch)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  set(prefix "")
  if(NOT Torch_DIR)
    foreach(python python3 ${PROJECT_SOURCE_DIR}/.venv/bin/python3)
      if(NOT prefix)
        msprobe_torch_of_python(${python} prefix)
      endif()
    endforeach()
  endif()
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # the package warns about static libraries that no wheel has
  find_package(Torch QUIET HINTS ${prefix})
  unset(CMAKE_MESSAGE_LOG_LEVEL)
  if(NOT Torch_FOUND)
    message(STATUS "msprobe-engine: left out, no LibTorch found (python3 with torch, .venv, libtorch-dev or -DTorch_DIR=...)")
    set(MSPROBE_TORCH_FOUND FALSE PARENT_SCOPE)
    return()
  endif()
  message(STATUS "msprobe-engine: on PyTorch ${Torch_VERSION} in ${Torch_DIR}")
  set(MSPROBE_TORCH_FOUND TRUE PARENT_SCOPE)

  # A PyTorch wheel ships headers of fmt of its own, beside which our compiled libfmt does not link: ours come first.
  get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  set(own_headers ${PROJECT_BINARY_DIR}/own_headers)
  file(MAKE_DIRECTORY ${own_headers})
  file(CREATE_LINK ${fmt_headers}/fmt ${own_headers}/fmt SYMBOLIC)

  add_library(msprobe_libtorch INTERFACE)
  add_library(msprobe::libtorch ALIAS msprobe_libtorch)
  target_include_directories(msprobe_libtorch BEFORE INTERFACE ${own_headers})
  target_link_libraries(msprobe_libtorch INTERFACE torch)
endfunction()

# msprobe_torch_library: as msprobe_library, for a folder that sees LibTorch. aten.h is precompiled once, in msprobe_aten.
function(msprobe_torch_library name)
  msprobe_library(${name} ${ARGN})
  target_link_libraries(msprobe_${name} PUBLIC msprobe_aten)
  msprobe_uses_aten(msprobe_${name})
  if(TARGET ${name}_test)
    msprobe_uses_aten(${name}_test)
  endif()
endfunction()

function(msprobe_uses_aten target)
  target_precompile_headers(${target} REUSE_FROM msprobe_aten)
  if(MSPROBE_CCACHE)
    # A precompiled header holds no time stamps or macros that matter to us; ccache wants to be told.
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${MSPROBE_CCACHE}")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
