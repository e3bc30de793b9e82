# SPDX-License-Identifier: Apache-2.0
# What every test is run with. On a machine whose matrix tiles crash PyTorch (src/run/libtorch/matrix_tiles.h) the tests avoid them, as
# msprobe-engine does; those that run PyTorch in Python cannot do so themselves.
set(source ${PROJECT_BINARY_DIR}/CMakeFiles/tiles_are_unusable.cc)
file(WRITE ${source} "#include \"libtorch/matrix_tiles.h\"\nint main() { return msprobe::libtorch::tiles_are_unusable() ? 1 : 0; }\n")
try_run(unusable_tiles compiles ${PROJECT_BINARY_DIR}/CMakeFiles/tiles ${source}
        CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src)
set(environment "")
if(compiles AND unusable_tiles EQUAL 1)
  message(STATUS "tests: this machine announces matrix tiles that cannot be used; oneDNN does without them")
  set(environment "if(NOT DEFINED ENV{ONEDNN_MAX_CPU_ISA})\n  set(ENV{ONEDNN_MAX_CPU_ISA} AVX512_CORE_FP16)\nendif()\n")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/test_environment.cmake "${environment}")
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY TEST_INCLUDE_FILES ${PROJECT_BINARY_DIR}/test_environment.cmake)
