# Installs in components: `library` (headers, static libraries and a package for find_package(kselect)), `program`
# (the program, its configs and documents) and, in both, the licence. Its targets are kselect::auto_select,
# kselect::kselect and kselect::knn, as with add_subdirectory.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set_target_properties(kselect_core PROPERTIES EXPORT_NAME core)
set_target_properties(kselect_vectors PROPERTIES EXPORT_NAME vectors)
set_target_properties(kselect_auto_select PROPERTIES EXPORT_NAME auto_select)
set_target_properties(kselect_knn PROPERTIES EXPORT_NAME knn)
set(installed kselect_core kselect_vectors kselect_knn)
if(KSELECT_HAS_AUTO)
  list(APPEND installed kselect_auto_select)
endif()
if(TARGET kselect_simt)
  set_target_properties(kselect_simt PROPERTIES EXPORT_NAME simt)
  list(APPEND installed kselect_simt)
endif()
if(TARGET kselect_algorithms)
  set_target_properties(kselect_algorithms PROPERTIES EXPORT_NAME kselect)
  list(APPEND installed kselect_algorithms)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kselect)
install(DIRECTORY include/kselect TYPE INCLUDE COMPONENT library)
install(TARGETS ${installed} EXPORT kselect_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT kselect_targets NAMESPACE kselect:: DESTINATION ${package_dir} COMPONENT library)
configure_package_config_file(cmake/kselect-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/kselect-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/kselect-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kselect-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/kselect-config-version.cmake
        DESTINATION ${package_dir} COMPONENT library)
install(FILES cmake/highway.cmake DESTINATION ${package_dir} RENAME kselect-highway.cmake COMPONENT library)
install(FILES cmake/plugin.cmake DESTINATION ${package_dir} RENAME kselect-plugin.cmake COMPONENT library)
foreach(component IN ITEMS library program)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()

# kselect_install_program(target): what runs, and documents. Man pages and
# completions: cmake/command_line_files.cmake.
function(kselect_install_program target)
  kselect_install_what_runs(${target} program ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_DATADIR})
  install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
  install(DIRECTORY docs/guide docs/reference DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
          FILES_MATCHING PATTERN "*.md")
endfunction()

# kselect_install_what_runs(target component bin data): the program, its configs and its Python side, in these folders.
function(kselect_install_what_runs target component bin data)
  install(TARGETS ${target} RUNTIME DESTINATION ${bin} COMPONENT ${component})
  install(DIRECTORY configs/ DESTINATION ${data}/kselect/configs COMPONENT ${component}
          FILES_MATCHING PATTERN "*.json")
  # `kselect plot`, `report`, `board` and `history` run this by Python. plots.reproduce and plots.readme read committed records, so
  # they stay in the source tree.
  install(DIRECTORY plots DESTINATION ${data}/kselect COMPONENT ${component}
          FILES_MATCHING PATTERN "*.py" PATTERN "requirements.txt" PATTERN "page/*" PATTERN "web/*"
          PATTERN "__pycache__" EXCLUDE PATTERN "reproduce" EXCLUDE PATTERN "readme.py" EXCLUDE
          PATTERN "provenance.py" EXCLUDE)
endfunction()
