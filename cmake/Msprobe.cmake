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

add_library(msprobe_options INTERFACE)
add_library(msprobe::options ALIAS msprobe_options)
target_compile_options(msprobe_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror)
# g++ 12 warns about its own library code once it is inlined into ours.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(msprobe_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
else()  # and clang about what std::stable_sort of g++'s library is made of
  target_compile_options(msprobe_options INTERFACE -Wno-deprecated-declarations)
endif()

# msprobe_library(core SOURCES a.cc TESTS a_test.cc DEPENDS fmt::fmt)
# makes msprobe::core, and the test program core_test from the tests that sit beside the sources.
function(msprobe_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;TESTS;DEPENDS;TEST_DEPENDS" ${ARGN})
  add_library(msprobe_${name} STATIC ${arg_SOURCES})
  add_library(msprobe::${name} ALIAS msprobe_${name})
  target_include_directories(msprobe_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(msprobe_${name} PUBLIC ${arg_DEPENDS} PRIVATE msprobe::options)
  if(MSPROBE_TESTS AND arg_TESTS)
    add_executable(${name}_test ${arg_TESTS})
    target_link_libraries(${name}_test PRIVATE msprobe_${name} msprobe::options ${arg_TEST_DEPENDS} GTest::gmock
                                               GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE MSPROBE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
