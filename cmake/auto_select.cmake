# kselect::auto_select: the library with `auto` and its members alone. Without CUDA these are the CPU's, so it has
# no kernel, needs no Boost and compiles in a minute. It has select() and no registry.

include(${CMAKE_CURRENT_LIST_DIR}/cost_tables.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/families.cmake)

# Where select() and what it calls stand. kselect::kselect has them, too.
set(costs ${CMAKE_CURRENT_BINARY_DIR}/generated/cost_tables.cpp)
kselect_write_cost_tables(${costs} algorithms/auto_select algorithms/auto_select/cost_table.hpp cost_tables)
set(KSELECT_CALL_SOURCES src/select.cpp src/objections.cpp src/support.cpp src/gpu_code.cpp src/gpu_device.cpp
    ${costs})
# The architectures of this build, separated by commas because semicolons would split the definition.
string(REPLACE ";" "," architectures "${CMAKE_CUDA_ARCHITECTURES}")
set_source_files_properties(src/gpu_code.cpp PROPERTIES
                            COMPILE_DEFINITIONS "KSELECT_CUDA_ARCHITECTURES=\"${architectures}\"")

# Defines kselect_auto_members, whose objects are compiled once for both libraries, and kselect_auto_select.
function(kselect_add_auto_select)
  kselect_find_files(sources kernels parts data)
  set(KSELECT_ALGORITHMS auto)
  kselect_choose_files(chosen left_out ${sources})
  kselect_kernels_of(kernels "${kernels}" "${chosen}")
  list(FILTER parts INCLUDE REGEX "/auto_select/")
  list(REMOVE_ITEM parts algorithms/auto_select/left_out.cpp algorithms/auto_select/no_gpu.cpp)
  set(compiled ${chosen} ${parts} ${kernels})
  set(instead "")
  if(NOT KSELECT_HAS_CUDA)  # a .cpp is the host's
    list(FILTER compiled INCLUDE REGEX "\\.cpp$")
    list(REMOVE_ITEM compiled algorithms/auto_select/gpu_members.cpp)
    set(instead algorithms/auto_select/no_gpu.cpp)
  endif()

  add_library(kselect_auto_members OBJECT ${compiled} ${KSELECT_CALL_SOURCES})
  add_library(kselect_auto_select STATIC $<TARGET_OBJECTS:kselect_auto_members> ${instead})
  foreach(target IN ITEMS kselect_auto_members kselect_auto_select)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC kselect_core PRIVATE OpenMP::OpenMP_CXX kselect_vectors)
    if(KSELECT_HAS_CUDA)
      target_link_libraries(${target} PUBLIC kselect_simt)
    endif()
  endforeach()
  kselect_use_every_target(kselect_auto_members)
  add_library(kselect::auto_select ALIAS kselect_auto_select)
endfunction()
