# Highway as CMake targets: kselect_highway::hwy and, if found, kselect_highway::contrib. The build and the installed
# package use this file, so that the package names no path of the machine it was built on. Debian: libhwy-dev.
# HIGHWAY_LIBRARY and HIGHWAY_CONTRIB_LIBRARY name other libraries.

find_library(HIGHWAY_LIBRARY hwy)
find_library(HIGHWAY_CONTRIB_LIBRARY hwy_contrib)
if(HIGHWAY_LIBRARY AND NOT TARGET kselect_highway::hwy)
  add_library(kselect_highway::hwy UNKNOWN IMPORTED GLOBAL)
  set_target_properties(kselect_highway::hwy PROPERTIES IMPORTED_LOCATION ${HIGHWAY_LIBRARY})
endif()
if(HIGHWAY_CONTRIB_LIBRARY AND NOT TARGET kselect_highway::contrib)
  add_library(kselect_highway::contrib UNKNOWN IMPORTED GLOBAL)
  set_target_properties(kselect_highway::contrib PROPERTIES IMPORTED_LOCATION ${HIGHWAY_CONTRIB_LIBRARY}
                        INTERFACE_LINK_LIBRARIES kselect_highway::hwy)
endif()
