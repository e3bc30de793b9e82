# SPDX-License-Identifier: Apache-2.0
# The readers of dumps and the metrics for programs of others: find_package(msprobe), then msprobe::dump, msprobe::measure, msprobe::metrics.
# What the last needs (msprobe::documented, msprobe::ops, msprobe::yaml) is installed with it. Component `dev`; no part of a wheel.

if(SKBUILD OR MSPROBE_ENGINE_ONLY)
  return()
endif()
include(CMakePackageConfigHelpers)
set(folders base/core base/yaml base/ops read/dump judge/measure judge/documented judge/metrics)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/msprobe)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/msprobe)
target_compile_features(msprobe_core INTERFACE cxx_std_23)
target_include_directories(msprobe_core INTERFACE $<INSTALL_INTERFACE:${headers}>)
foreach(path ${folders})
  get_filename_component(folder ${path} NAME)
  set_target_properties(msprobe_${folder} PROPERTIES EXPORT_NAME ${folder})
  install(TARGETS msprobe_${folder} EXPORT msprobeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${path}/ DESTINATION ${headers}/${folder} COMPONENT dev FILES_MATCHING
          PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE PATTERN "test_*.h" EXCLUDE PATTERN python EXCLUDE)
endforeach()
install(TARGETS msprobe_options EXPORT msprobeTargets)
install(EXPORT msprobeTargets NAMESPACE msprobe:: DESTINATION ${package} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/msprobeConfig.cmake.in ${PROJECT_BINARY_DIR}/msprobeConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/msprobeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/msprobeConfig.cmake ${PROJECT_BINARY_DIR}/msprobeConfigVersion.cmake DESTINATION ${package} COMPONENT dev)
