# kselect::knn: exact k nearest neighbours as a library (include/kselect/knn.hpp). It needs none of the harness'
# libraries, and selects by kselect::kselect or, where `auto` is built alone, by kselect::auto_select. Then it has no
# kernels and searches on the CPU.

# The search on the host, and the images of vectors that it and the runtime's distances have in common.
set(KSELECT_HOST_SEARCH
    runtime/distance/images.cpp search/knn/host/block_search.cpp search/knn/host/candidate_lists.cpp
    search/knn/host/prepared_corpus.cpp search/knn/host/products.cpp search/knn/host/search_in_blocks.cpp)
# The fused search beside its kernels, and what all backends have in common.
set(KSELECT_FUSED_SEARCH runtime/backend/backend.cpp search/knn/fused/arrays.cpp
    search/knn/fused/memory_plan.cpp search/knn/fused/plan.cpp)

# Defines `target`, which links the library `selections`. `on_device`: with the fused search.
function(kselect_add_knn_library target selections on_device)
  file(GLOB sources CONFIGURE_DEPENDS search/knn/library/*.cpp)
  list(APPEND sources ${KSELECT_HOST_SEARCH})
  if(on_device)
    # Kernels on the seam: without nvcc they are compiled for fibers.
    file(GLOB kernels CONFIGURE_DEPENDS search/knn/fused/*.cu)
    list(FILTER kernels EXCLUDE REGEX "_wgmma\\.cu$")
    kselect_compile_kernels(${kernels})
    list(APPEND sources ${KSELECT_FUSED_SEARCH} ${kernels})
  else()
    list(FILTER sources EXCLUDE REGEX "/lent_place.cpp$")
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE KSELECT_KNN_ON_DEVICE=$<BOOL:${on_device}>)
  target_link_libraries(${target} PUBLIC kselect_core ${selections} PRIVATE OpenMP::OpenMP_CXX)
  # Products and sums in one instruction; -O2 also in builds that optimise less, which would not keep sums in registers.
  set_source_files_properties(search/knn/host/products.cpp PROPERTIES
                              COMPILE_OPTIONS "-O3;-ffp-contract=fast" SKIP_PRECOMPILE_HEADERS ON)
  if(on_device)
    kselect_add_wgmma(${target})
  endif()
  add_library(kselect::knn ALIAS ${target})
endfunction()

# Takes the files of kselect::knn out of a list of sources: the program's libraries link it.
function(kselect_leave_out_knn_library list)
  set(compiled ${KSELECT_HOST_SEARCH} ${KSELECT_FUSED_SEARCH})
  list(TRANSFORM compiled PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM ${list} ${compiled})
  list(FILTER ${list} EXCLUDE REGEX "/search/knn/(library/|fused/[^/]*\\.cu$)")
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# Adds the filter's wgmma body to `target` if the build is for GPUs of compute capability 9.0. Its instructions
# exist there alone, in the architecture that nvcc calls 90a.
function(kselect_add_wgmma target)
  set(has OFF)
  if(KSELECT_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0
     AND CMAKE_CUDA_ARCHITECTURES MATCHES "(^|;)(90|all|all-major|native)")
    set(has ON)
    add_library(${target}_wgmma OBJECT search/knn/fused/filter_wgmma.cu search/knn/fused/filter_slabs_wgmma.cu)
    set_target_properties(${target}_wgmma PROPERTIES CUDA_ARCHITECTURES 90a-real)
    target_include_directories(${target}_wgmma PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${target}_wgmma PRIVATE kselect_core)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_wgmma>)
  endif()
  target_compile_definitions(${target} PRIVATE KSELECT_HAS_WGMMA=$<BOOL:${has}>)
endfunction()
