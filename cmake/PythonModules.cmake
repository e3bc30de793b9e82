# SPDX-License-Identifier: Apache-2.0
# Extension modules: for the Python that the collector is built for, and for those of MSPROBE_FURTHER_PYTHON, so that one wheel serves
# them all: a Python imports the module whose name has its own suffix.
set(MSPROBE_FURTHER_PYTHON "" CACHE STRING "programs of further Pythons that the collector's modules are built for (a list)")

# Where it is cross-compiled, the suffix names the other machine: .cpython-311-aarch64-linux-gnu.so
function(msprobe_foreign_suffix variable)
  if(CMAKE_CROSSCOMPILING)
    string(REPLACE "${CMAKE_HOST_SYSTEM_PROCESSOR}" "${CMAKE_SYSTEM_PROCESSOR}" named "${${variable}}")
    set(${variable} "${named}" PARENT_SCOPE)
  endif()
endfunction()

# msprobe_python_module(target NAME _collect SOURCES a.cc DEPENDS msprobe::collect)
function(msprobe_python_module target)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  Python3_add_library(${target} MODULE WITH_SOABI ${arg_SOURCES})
  if(CMAKE_CROSSCOMPILING)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sysconfig as s; print(s.get_config_var('EXT_SUFFIX'), end='')"
                    OUTPUT_VARIABLE suffix COMMAND_ERROR_IS_FATAL ANY)
    msprobe_foreign_suffix(suffix)
    set_target_properties(${target} PROPERTIES SUFFIX ${suffix})
  endif()
  set(modules ${target})
  foreach(python ${MSPROBE_FURTHER_PYTHON})
    execute_process(COMMAND ${python} -c "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'), sep=';', end='')"
                    OUTPUT_VARIABLE of_python COMMAND_ERROR_IS_FATAL ANY)
    list(GET of_python 0 headers)
    list(GET of_python 1 suffix)
    msprobe_foreign_suffix(suffix)
    string(MAKE_C_IDENTIFIER "${target}${suffix}" module)
    add_library(${module} MODULE ${arg_SOURCES})
    target_include_directories(${module} SYSTEM PRIVATE ${headers})
    set_target_properties(${module} PROPERTIES PREFIX "" SUFFIX ${suffix})
    add_dependencies(${target} ${module})
    list(APPEND modules ${module})
  endforeach()
  foreach(module ${modules})
    set_target_properties(${module} PROPERTIES OUTPUT_NAME ${arg_NAME} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/msprobe
                                               CXX_VISIBILITY_PRESET hidden)
    target_include_directories(${module} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
    target_link_libraries(${module} PRIVATE ${arg_DEPENDS} msprobe::options)
    # Nothing that the static libraries bring may meet the copies inside PyTorch; libraries that are not used are not loaded.
    target_link_options(${module} PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
    install(TARGETS ${module} LIBRARY DESTINATION ${MSPROBE_PACKAGES_DIR}/msprobe COMPONENT collector)
  endforeach()
endfunction()
