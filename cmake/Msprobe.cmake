# What every target shares: the language level, the warnings, where programs land, and the one way a folder becomes a library.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
include(GNUInstallDirs)
# An installed engine finds the LibTorch that it was linked with, where that is now.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

find_program(MSPROBE_CCACHE ccache)
if(MSPROBE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MSPROBE_CCACHE})
endif()

include(Precompile)

add_library(msprobe_options INTERFACE)
add_library(msprobe::options ALIAS msprobe_options)
target_compile_options(msprobe_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror)
# Programs and shared libraries are made of the same objects and precompiled headers.
target_compile_options(msprobe_options INTERFACE -fPIC -fno-semantic-interposition)
# g++ 12 warns about its own library code once it is inlined into ours.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(msprobe_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds
                                                   -Wno-stringop-overflow -Wno-stringop-overread)
else()  # and clang about what std::stable_sort of g++'s library is made of
  target_compile_options(msprobe_options INTERFACE -Wno-deprecated-declarations)
endif()

# msprobe_test(core_test SOURCES a_test.cc DEPENDS msprobe::core PRECOMPILED FROM core_test)
# makes a test program; its tests are called core.*
function(msprobe_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRECOMPILED" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} msprobe::options GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE MSPROBE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  msprobe_precompile(${name} ${arg_PRECOMPILED})
  string(REGEX REPLACE "_test$" "." prefix ${name})
  gtest_discover_tests(${name} TEST_PREFIX ${prefix} PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
endfunction()

# msprobe_library(core SOURCES a.cc TESTS a_test.cc DEPENDS fmt::fmt)
# makes msprobe::core, and the test program core_test from the tests that sit beside the sources. LIBTORCH: a folder that
# sees LibTorch. PRECOMPILE: it makes the precompiled header of its kind (Precompile.cmake).
function(msprobe_library name)
  cmake_parse_arguments(arg "LIBTORCH" "" "SOURCES;TESTS;DEPENDS;PRIVATE_DEPENDS;TEST_DEPENDS;PRECOMPILE" ${ARGN})
  add_library(msprobe_${name} STATIC ${arg_SOURCES})
  add_library(msprobe::${name} ALIAS msprobe_${name})
  target_include_directories(msprobe_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(msprobe_${name} PUBLIC ${arg_DEPENDS} PRIVATE msprobe::options ${arg_PRIVATE_DEPENDS})

  set(first core)
  set(precompiled_tests FROM core_test)
  if(arg_LIBTORCH)
    set(first aten)
    set(precompiled_tests FROM msprobe_aten)
  elseif(arg_PRECOMPILE)
    set(precompiled_tests HEADERS ${arg_PRECOMPILE} <gtest/gtest.h> <gmock/gmock.h>)
  endif()
  if(arg_PRECOMPILE)
    msprobe_precompile(msprobe_${name} HEADERS ${arg_PRECOMPILE})
  else()
    target_link_libraries(msprobe_${name} PUBLIC msprobe_${first})
    msprobe_precompile(msprobe_${name} FROM msprobe_${first})
  endif()
  if(MSPROBE_TESTS AND arg_TESTS)
    msprobe_test(${name}_test SOURCES ${arg_TESTS} DEPENDS msprobe_${name} ${arg_TEST_DEPENDS} PRECOMPILED ${precompiled_tests})
  endif()
endfunction()
