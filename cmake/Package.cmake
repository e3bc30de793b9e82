# SPDX-License-Identifier: Apache-2.0
# What `cpack -G DEB` packs: msprobe, msprobe-mpi and libmsprobe-dev. Configured with -DMSPROBE_PACKAGE=ON -DMSPROBE_PYTHON=/usr/bin/python3
# -DCMAKE_INSTALL_PREFIX=/usr (tools/make_deb.sh).

if(NOT MSPROBE_PACKAGE OR SKBUILD OR MSPROBE_ENGINE_ONLY)
  return()
endif()

set(MSPROBE_MAINTAINER "" CACHE STRING "who makes the package: Name <address>")
set(debian ${PROJECT_BINARY_DIR}/debian)
set(documents ${CMAKE_INSTALL_DATADIR}/doc)
file(MAKE_DIRECTORY ${debian})
file(READ ${PROJECT_SOURCE_DIR}/NOTICE notice)
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/copyright.in ${debian}/copyright @ONLY)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/changelog.in ${debian}/changelog @ONLY)
execute_process(COMMAND gzip -9n INPUT_FILE ${debian}/changelog OUTPUT_FILE ${debian}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip -9n INPUT_FILE ${PROJECT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${debian}/CHANGELOG.md.gz COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${debian}/CHANGELOG.md.gz DESTINATION ${documents}/msprobe)
foreach(part Unspecified:msprobe mpi:msprobe-mpi dev:libmsprobe-dev)
  string(REGEX REPLACE "^(.*):(.*)$" "\\1;\\2" part ${part})
  list(GET part 0 component)
  list(GET part 1 package)
  install(FILES ${debian}/copyright ${debian}/changelog.gz DESTINATION ${documents}/${package} COMPONENT ${component})
endforeach()

# Debian requires compressed manual pages.
foreach(component Unspecified mpi)
  install(CODE [[
    file(GLOB pages "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/man/man1/*.1")
    execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  ]] COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME msprobe)
set(CPACK_PACKAGE_CONTACT "${MSPROBE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL Unspecified collector mpi dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
get_filename_component(torch_libraries ${Torch_DIR}/../../../lib ABSOLUTE)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${torch_libraries})  # PyTorch is the user's, found at run time

set(version "${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}")
math(EXPR next "${Python3_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_MSPROBE_PACKAGE_NAME msprobe)
set(CPACK_DEBIAN_MSPROBE_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MSPROBE_PACKAGE_DEPENDS "python3 (>= ${version}~), python3 (<< ${Python3_VERSION_MAJOR}.${next})")
set(CPACK_DEBIAN_MSPROBE_PACKAGE_SUGGESTS "python3-torch, msprobe-mpi")
set(CPACK_DEBIAN_MSPROBE_DESCRIPTION "precision pre-check for deep-learning training
Replays every recorded API call of a training step on an accelerator and on a
CPU benchmark of higher precision, and says which calls are wrong, by how
much, where, and why. PyTorch is taken from the user's Python.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME msprobe-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "msprobe (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_DESCRIPTION "precision pre-check for deep-learning training, over MPI
Runs the check of msprobe on the devices of several machines, as an MPI job.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmsprobe-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfmt-dev, libspdlog-dev, libsimdjson-dev, libhwy-dev, libyaml-cpp-dev, zlib1g-dev, pkg-config")
set(CPACK_DEBIAN_DEV_DESCRIPTION "reads dumps of training steps and measures pairs of tensors
Static libraries and headers of msprobe for programs of one's own: the readers
of dump files, and every metric of a pair of tensors in one vectorised pass.")
include(CPack)
cpack_add_component_group(msprobe)
cpack_add_component_group(mpi)
cpack_add_component_group(dev)
cpack_add_component(Unspecified GROUP msprobe)
cpack_add_component(collector GROUP msprobe)
cpack_add_component(mpi GROUP mpi)
cpack_add_component(dev GROUP dev)
