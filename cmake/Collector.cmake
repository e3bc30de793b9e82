# SPDX-License-Identifier: Apache-2.0
# Finds the Python that the collector's extension module is built for: the one whose PyTorch the engine uses, so that the module
# can be tried where it was built. Sets MSPROBE_COLLECTOR_FOUND and the targets of FindPython3.

set(MSPROBE_PYTHON "" CACHE FILEPATH "the Python of the collector; empty: python3 where it has PyTorch, else .venv, else python3")

function(msprobe_has_torch python result)
  execute_process(COMMAND ${python} -c "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  set(${result} FALSE PARENT_SCOPE)
  if(status EQUAL 0)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

macro(msprobe_find_collector_python)
  set(python ${MSPROBE_PYTHON})
  if(SKBUILD)
    set(python ${Python3_EXECUTABLE})
  endif()
  if(NOT python)
    find_program(MSPROBE_PATH_PYTHON python3)
    foreach(candidate ${MSPROBE_PATH_PYTHON} ${PROJECT_SOURCE_DIR}/.venv/bin/python3)
      msprobe_has_torch(${candidate} has_torch)
      if(has_torch AND NOT python)
        set(python ${candidate})
      endif()
    endforeach()
  endif()
  if(python)
    # A launcher such as pyenv's starts another file, and that one has the headers beside it.
    execute_process(COMMAND ${python} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE Python3_EXECUTABLE
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
  # Where the package goes: the root of a wheel, or, below the prefix, where Debian or a virtual environment has its packages.
  set(MSPROBE_PACKAGES_DIR lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages)
  if(SKBUILD)
    set(MSPROBE_PACKAGES_DIR .)
  elseif(MSPROBE_PACKAGE)
    set(MSPROBE_PACKAGES_DIR lib/python3/dist-packages)
  endif()
  set(MSPROBE_COLLECTOR_FOUND FALSE)
  if(Python3_Development.Module_FOUND)
    set(MSPROBE_COLLECTOR_FOUND TRUE)
    message(STATUS "collector: for Python ${Python3_VERSION} (${Python3_EXECUTABLE})")
  else()
    message(STATUS "collector: left out, no development headers of Python (Debian: python3-dev)")
  endif()
endmacro()
