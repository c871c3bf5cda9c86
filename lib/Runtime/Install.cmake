# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Install - The runtime with its headers and package files, in C++ and in C, and the tools.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Bagua)

foreach(library BaguaSupport BaguaPlan BaguaRuntime BaguaC)
  string(REPLACE Bagua "" export_name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${export_name})
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS BaguaSupport BaguaPlan BaguaRuntime BaguaC EXPORT BaguaTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT BaguaTargets NAMESPACE Bagua:: DESTINATION ${package_dir})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/bagua/Support ${CMAKE_SOURCE_DIR}/include/bagua/Runtime
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bagua)
install(FILES ${CMAKE_SOURCE_DIR}/include/bagua/bagua.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bagua)
file(RELATIVE_PATH BAGUA_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/lib/CApi/bagua.pc.in ${CMAKE_BINARY_DIR}/bagua.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/bagua.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(TARGETS bagua-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(BAGUA_BUILD_COMPILER)
  install(TARGETS bagua-opt bagua-sim bagua-translate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(BAGUA_HAS_GLOO OFF)
if(TARGET gloo)
  set(BAGUA_HAS_GLOO ON)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/BaguaConfig.cmake.in ${CMAKE_BINARY_DIR}/BaguaConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/BaguaConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/BaguaConfig.cmake ${CMAKE_BINARY_DIR}/BaguaConfigVersion.cmake
        DESTINATION ${package_dir})
