# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: reading the headers is most of what compiling this project costs. There are three, each made once and
# taken over by every target of its kind: msprobe_core's for what sees no LibTorch, core_test's for the tests of that, and
# msprobe_aten's for what sees LibTorch.

# msprobe_precompile(target HEADERS a.h ...)   makes one
# msprobe_precompile(target FROM other)        takes that of another target
function(msprobe_precompile target)
  cmake_parse_arguments(arg "" "FROM" "HEADERS" ${ARGN})
  if(arg_FROM)
    target_precompile_headers(${target} REUSE_FROM ${arg_FROM})
  else()
    target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
  endif()
  if(MSPROBE_CCACHE)
    # They hold no time stamps or macros that matter to us; ccache must know. It depends on what the compiler says that it read, which
    # spares a run of the preprocessor for each file.
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_DEPEND=1;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${MSPROBE_CCACHE}")
    target_compile_options(${target} PRIVATE $<IF:$<CXX_COMPILER_ID:Clang>,SHELL:-Xclang -fno-pch-timestamp,-fpch-preprocess>)
  endif()
endfunction()

# Digits are the same on every machine: no product and sum become one operation (std::fma and Highway's MulAdd do, by their names). Where
# each machine has that operation it is forbidden for all files; x86-64 has it in kernels compiled for several machines, which are named by
# msprobe_keep_digits() or msprobe_optimize(). A precompiled header would bring its own setting along.
set(MSPROBE_KEEP_DIGITS -ffp-contract=off)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(${MSPROBE_KEEP_DIGITS})
endif()
function(msprobe_keep_digits)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${MSPROBE_KEEP_DIGITS}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Loops that carry the whole run: optimised further, which a precompiled header cannot follow.
function(msprobe_optimize)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${MSPROBE_KEEP_DIGITS};$<$<CONFIG:RelWithDebInfo,Release>:-O3>"
                                                 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Checks of pointer arithmetic and counts for the fuzzers make clang work on loops over vectors for minutes, and these for much longer
# than it takes to compute; AddressSanitizer sees what they read and write.
function(msprobe_lighten_checks)
  set_property(SOURCE ${ARGN} APPEND PROPERTY
    COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=pointer-overflow,fuzzer-no-link>")
endfunction()
