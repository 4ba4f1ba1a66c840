# Adding an algorithm touches one file: the table of algorithms is generated from the file list.

include(${CMAKE_CURRENT_LIST_DIR}/cost_tables.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/families.cmake)

# Defines `target` from those files with entries that KSELECT_ALGORITHMS asks for, and a generated table with
# one row per file. Files below baselines/, too, must not have one stem twice.
function(kselect_add_registry target)
  kselect_find_files(sources kernels parts data)
  set(all_kernels ${kernels})
  kselect_choose_files(chosen left_out ${sources})
  kselect_kernels_of(kernels "${kernels}" "${chosen}")
  set(built ${chosen} ${parts} ${kernels})
  if(algorithms/auto_select/auto_select.cpp IN_LIST chosen)
    list(REMOVE_ITEM built algorithms/auto_select/left_out.cpp)
  endif()

  set(declarations "")
  set(rows "")
  set(stems "")
  foreach(source IN LISTS sources)
    get_filename_component(stem ${source} NAME_WE)
    if(stem IN_LIST stems)
      message(FATAL_ERROR "kselect: two algorithm files are called '${stem}'; rename ${source}")
    endif()
    list(APPEND stems ${stem})
    if(source IN_LIST chosen)
      string(APPEND declarations "std::span<const algorithm> ${stem}();\n")
      string(APPEND rows "    {&entries::${stem}, \"${source}\", source_hash_${stem}},\n")
    endif()
  endforeach()
  list(JOIN KSELECT_ALGORITHMS "\", \"" globs)
  set(absent "")
  foreach(source IN LISTS left_out)
    kselect_entries_of(${CMAKE_CURRENT_SOURCE_DIR}/${source} names)
    list(JOIN names ", " names)
    string(APPEND absent "    {\"${source}\", \"${names}\"},\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/generated/registry_table.cpp)
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/registry_table.cpp.in ${table} @ONLY)

  set(hashes ${CMAKE_CURRENT_BINARY_DIR}/generated/source_hashes.hpp)
  file(GLOB_RECURSE headers RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS
       include/*.hpp include/*.cuh kernels/*.cuh kernels/*.hpp algorithms/*.cuh algorithms/*.hpp
       baselines/*.cuh baselines/*.hpp)
  set(dependencies ${sources} ${all_kernels} ${parts} ${data} ${headers} cmake/families.cmake
                   cmake/source_hashes.cmake)
  list(TRANSFORM dependencies PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${hashes}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${hashes} -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/source_hashes.cmake
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    DEPENDS ${dependencies}
    COMMENT "Hashing the algorithms' sources" VERBATIM)

  set(costs ${CMAKE_CURRENT_BINARY_DIR}/generated/cost_tables.cpp)
  kselect_write_cost_tables(${costs})
  add_library(${target} STATIC ${built} ${table} ${hashes} ${costs}
              src/registry.cpp src/name_matching.cpp src/select.cpp src/support.cpp src/gpu_code.cpp
              src/gpu_device.cpp)
  # What this build has code for: a list with commas, as semicolons would end a definition.
  string(REPLACE ";" "," architectures "${CMAKE_CUDA_ARCHITECTURES}")
  set_source_files_properties(src/gpu_code.cpp PROPERTIES
                              COMPILE_DEFINITIONS "KSELECT_CUDA_ARCHITECTURES=\"${architectures}\"")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated
                                               ${CMAKE_CURRENT_SOURCE_DIR})
  kselect_compile_kernels(${built})
endfunction()

# Without nvcc, compiles those of the given files that are .cu as C++: for the fiber executor, and for those
# queues that also run natively, whose times count.
function(kselect_compile_kernels)
  if(KSELECT_HAS_CUDA)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
    endif()
  endforeach()
endfunction()

# Compiles into `target` how and from what it was built; the git state is read when a build runs.
function(kselect_add_build_info target)
  set(info ${CMAKE_CURRENT_BINARY_DIR}/generated/build_info.hpp)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" upper)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${upper}} -march=${KSELECT_MARCH}" cxx_flags)
  add_custom_target(kselect_build_info
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} -DOUTPUT=${info}
            -DVERSION=${PROJECT_VERSION} -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
            "-DCXX=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DCXX_FLAGS=${cxx_flags}"
            "-DSANITIZE=${KSELECT_SANITIZE}" "-DNVCC=${CMAKE_CUDA_COMPILER_VERSION}"
            "-DCCCL=${KSELECT_CCCL_VERSION}" "-DCUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}"
            -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/build_info.cmake
    BYPRODUCTS ${info} COMMENT "Reading the git state" VERBATIM)
  add_dependencies(${target} kselect_build_info)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()
