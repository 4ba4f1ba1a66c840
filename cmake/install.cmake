# Installs headers, static libraries and a package for find_package(kselect). Its target is
# kselect::kselect, as with add_subdirectory.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set_target_properties(kselect_algorithms PROPERTIES EXPORT_NAME kselect)
set_target_properties(kselect_core PROPERTIES EXPORT_NAME core)
set_target_properties(kselect_simt PROPERTIES EXPORT_NAME simt)
set_target_properties(kselect_vectors PROPERTIES EXPORT_NAME vectors)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kselect)
install(DIRECTORY include/kselect TYPE INCLUDE)
install(TARGETS kselect_core kselect_simt kselect_vectors kselect_algorithms EXPORT kselect_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT kselect_targets NAMESPACE kselect:: DESTINATION ${package_dir})
configure_package_config_file(cmake/kselect-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/kselect-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/kselect-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kselect-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/kselect-config-version.cmake DESTINATION ${package_dir})
