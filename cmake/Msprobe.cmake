# SPDX-License-Identifier: Apache-2.0
# What every target shares: the language level, the warnings, where programs land, and the one way a folder becomes a library.

set(compiler_${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION})
if(compiler_GNU VERSION_LESS 12 AND compiler_GNU OR compiler_Clang VERSION_LESS 16 AND compiler_Clang)
  message(FATAL_ERROR "msprobe needs g++ 12 or clang 16, or newer; ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. "
                      "Name another with CXX, as in CXX=g++-12 cmake ... (Ubuntu 22.04: apt-get install g++-12), or use the wheels (docs/install.md)")
endif()
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
include(GNUInstallDirs)
# Where a program looks for its libraries beside the system's directories: nowhere, unless msprobe_finds_library() says so, built as
# well as installed. CMake's own ways would pad the list with empty entries (the current directory) and leave out what lies in the clone.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

# msprobe_finds_library(target INTERFACE|PRIVATE a.so): `target` finds a.so at run time where it is now.
function(msprobe_finds_library target scope library)
  get_filename_component(file ${library} REALPATH)  # the system's, behind a link in a directory of a package
  get_filename_component(directory ${file} DIRECTORY)
  if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    get_filename_component(directory ${library} DIRECTORY)
    target_link_options(${target} ${scope} "LINKER:-rpath,${directory}")
  endif()
endfunction()

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
#
# Where files are compiled several at once, to have it quickly, tests are too, which takes little more than half of the time (so helpers of
# a folder's tests have different names, or a header, a_for_test.h); they are not optimised much, and those that see LibTorch, which takes
# its time to start, run in two halves, core.first and core.second.
function(msprobe_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRECOMPILED" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} msprobe::options GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_definitions(${name} PRIVATE MSPROBE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 6)
  msprobe_precompile(${name} ${arg_PRECOMPILED})
  string(REGEX REPLACE "_test$" "." prefix ${name})
  set(sees_libtorch FALSE)
  if(arg_PRECOMPILED STREQUAL "FROM;msprobe_aten" OR name STREQUAL "aten_test")
    set(sees_libtorch TRUE)
  endif()
  if(CMAKE_UNITY_BUILD)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(MSPROBE_FUZZ)  # the fuzzers are led by the code under test; a test file itself compiles in half the time this way
    target_compile_options(${name} PRIVATE -O0 -fno-sanitize=fuzzer-no-link)
  endif()
  if(CMAKE_UNITY_BUILD AND sees_libtorch)
    foreach(half first second)
      add_test(NAME ${prefix}${half} COMMAND ${name})
      set(index 0)
      if(half STREQUAL "second")
        set(index 1)
      endif()
      set_tests_properties(${prefix}${half} PROPERTIES LABELS unit ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${index}")
    endforeach()
  else()
    gtest_discover_tests(${name} TEST_PREFIX ${prefix} PROPERTIES LABELS unit DISCOVERY_TIMEOUT 600)
  endif()
endfunction()

# msprobe_include_root(target directory): `target` and what links it see the headers of src/GROUP/FOLDER, `directory`, as "FOLDER/a.h", and of no other
# folder. The root is a directory that holds nothing but a link to the folder.
function(msprobe_include_root target directory)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src ${directory})
  string(REGEX REPLACE "^[a-z]+/(.*)$" "\\1" name ${path})
  set(root ${PROJECT_BINARY_DIR}/headers/${name}/src)
  get_filename_component(parent ${root}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${directory} ${root}/${name} SYMBOLIC)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${root}>)
endfunction()

# msprobe_library(core SOURCES a.cc TESTS a_test.cc DEPENDS fmt::fmt)
# makes msprobe::core, and the test program core_test from the tests that sit beside the sources. A folder can include the headers of
# folders that it links, no others; core is linked by all, libtorch by those that see LibTorch (LIBTORCH). PRECOMPILE: it makes the
# precompiled header of its kind (Precompile.cmake).
function(msprobe_library name)
  cmake_parse_arguments(arg "LIBTORCH" "" "SOURCES;TESTS;DEPENDS;PRIVATE_DEPENDS;TEST_DEPENDS;PRECOMPILE" ${ARGN})
  add_library(msprobe_${name} STATIC ${arg_SOURCES})
  add_library(msprobe::${name} ALIAS msprobe_${name})
  msprobe_include_root(msprobe_${name} ${CMAKE_CURRENT_SOURCE_DIR})
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

# `test` starts engines made to misbehave (src/engine/engines/fake_engine.cc).
function(msprobe_uses_fake_engine test)
  add_dependencies(${test} fake_engine)
  target_compile_definitions(${test} PRIVATE MSPROBE_FAKE_ENGINE="$<TARGET_FILE:fake_engine>")
endfunction()
