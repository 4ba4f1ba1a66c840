# Generates the table of algorithms from the list of files, so that a new algorithm is one new file.

include(${CMAKE_CURRENT_LIST_DIR}/cost_tables.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/families.cmake)

# Defines `target` from the files that KSELECT_ALGORITHMS selects, and a generated table with one row a file.
# Stems must be unique across algorithms/ and baselines/.
function(kselect_add_registry target)
  kselect_find_files(sources kernels parts data)
  set(all_kernels ${kernels})
  kselect_choose_files(chosen left_out ${sources})
  kselect_kernels_of(kernels "${kernels}" "${chosen}")
  set(built ${chosen} ${parts} ${kernels})
  list(REMOVE_ITEM built algorithms/auto_select/no_gpu.cpp)
  set(common "")
  if(algorithms/auto_select/auto_select.cpp IN_LIST chosen)
    # kselect::auto_select has compiled some of them already.
    list(REMOVE_ITEM built algorithms/auto_select/left_out.cpp)
    get_target_property(compiled kselect_auto_members SOURCES)
    list(REMOVE_ITEM built ${compiled})
    set(common $<TARGET_OBJECTS:kselect_auto_members>)
    set(KSELECT_HAS_AUTO ON PARENT_SCOPE)
  else()
    set(KSELECT_HAS_AUTO OFF PARENT_SCOPE)
    list(REMOVE_ITEM built algorithms/auto_select/gpu_members.cpp)
    set(common ${KSELECT_CALL_SOURCES})
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
                   cmake/source_hashes.cmake cmake/hash_of_sources.cmake)
  list(TRANSFORM dependencies PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${hashes}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${hashes} -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/source_hashes.cmake
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    DEPENDS ${dependencies}
    COMMENT "Hashing the algorithms' sources" VERBATIM)

  add_library(${target} STATIC ${built} ${table} ${hashes} ${common} src/registry.cpp src/name_matching.cpp)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated
                                               ${CMAKE_CURRENT_SOURCE_DIR})
  kselect_compile_kernels(${built})
endfunction()

# Without nvcc, compiles the given .cu files as C++: for the fiber executor, and for the queues that also run
# natively on the CPU and are timed there.
function(kselect_compile_kernels)
  if(KSELECT_HAS_CUDA)
    return()
  endif()
  set(options -xc++)
  if(KSELECT_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks of addresses are calls. Kernels compile in two thirds of the time and on fibers take no longer; loops of
    # the CPU's engine would take a third longer.
    list(APPEND options --param=asan-instrumentation-with-call-threshold=0)
  endif()
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${options}")
    endif()
  endforeach()
endfunction()

# Compiles the compiler, its flags and the git state into `target`. Every build reads the git state again.
function(kselect_add_build_info target)
  set(info ${CMAKE_CURRENT_BINARY_DIR}/generated/build_info.hpp)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" upper)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${upper}} ${march}" cxx_flags)
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
