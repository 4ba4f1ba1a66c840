# Optional libraries: those of the adapters in baselines/, Highway's vectors, MPI and NCCL. An adapter without
# its library is still listed, with the reason. Nothing is downloaded; CMAKE_PREFIX_PATH may name folders.

include(CheckCXXSourceCompiles)
include(${CMAKE_CURRENT_LIST_DIR}/highway.cmake)

# kselect_vectors: Highway's vectors (hwy/highway.h) for users of algorithms/one_pass_select/lanes.hpp. They are
# headers; checked builds also need the library, which has the abort function. If Highway is absent or does not
# compile, the compiler's own vectors are used.
function(kselect_add_vectors)
  add_library(kselect_vectors INTERFACE)
  set(has_highway 0)
  find_path(HIGHWAY_VECTORS_INCLUDE_DIR hwy/highway.h)
  if(HIGHWAY_VECTORS_INCLUDE_DIR AND HIGHWAY_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${HIGHWAY_VECTORS_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${HIGHWAY_LIBRARY})
    set(CMAKE_REQUIRED_FLAGS ${march})
    check_cxx_source_compiles("#define HWY_COMPILE_ONLY_STATIC
      #define HWY_DISABLE_PCLMUL_AES
      #include <hwy/highway.h>
      int main() {
        namespace hn = hwy::HWY_NAMESPACE;
        const hn::ScalableTag<int32_t> tag;
        int32_t lanes[HWY_LANES(int32_t)];
        const auto one = hn::Set(tag, 1);
        hn::StoreU(hn::Compress(one, hn::Eq(one, one)), tag, lanes);
        return lanes[0] - 1;
      }" KSELECT_HIGHWAY_COMPILES)
    if(KSELECT_HIGHWAY_COMPILES)
      set(has_highway 1)
      target_include_directories(kselect_vectors SYSTEM INTERFACE
        $<BUILD_INTERFACE:${HIGHWAY_VECTORS_INCLUDE_DIR}>)
      target_link_libraries(kselect_vectors INTERFACE kselect_highway::hwy)
    endif()
  endif()
  set(KSELECT_HAS_HIGHWAY ${has_highway} PARENT_SCOPE)
  if(NOT has_highway)
    message(STATUS "kselect: no Highway found (Debian: libhwy-dev); "
                   "one-pass uses the compiler's vectors")
    target_compile_definitions(kselect_vectors INTERFACE KSELECT_HAS_HIGHWAY=0)
  endif()
endfunction()
kselect_add_vectors()

# kselect_use_every_target(target): without KSELECT_MARCH, the target's selections on vector lanes are compiled for
# each of Highway's x86 targets and choose one when they run (algorithms/one_pass_select/targets.hpp).
function(kselect_use_every_target target)
  if(NOT KSELECT_MARCH AND KSELECT_HAS_HIGHWAY AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_definitions(${target} PRIVATE KSELECT_DYNAMIC_TARGETS=1)
  endif()
endfunction()

# MPI, for `kselect knn --mpi`; without MPI that option is an error. Debian: libopenmpi-dev, openmpi-bin.
option(KSELECT_MPI "Build the MPI module where MPI is found" ON)
set(KSELECT_HAS_MPI OFF)
if(KSELECT_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # only the C interface is used
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(KSELECT_HAS_MPI ON)
  else()
    message(STATUS "kselect: no MPI found; building without `knn --mpi`")
  endif()
endif()

# NCCL's header, for exchanges between GPUs; the library is loaded at run time.
set(KSELECT_HAS_NCCL OFF)
if(KSELECT_HAS_CUDA)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(NCCL_INCLUDE_DIR)
    set(KSELECT_HAS_NCCL ON)
  else()
    message(STATUS "kselect: no nccl.h found; GPUs of `knn --mpi` exchange through MPI")
  endif()
endif()

# Libraries of GPU adapters have many dependencies (RAFT brings its own CCCL), so they are off by default.
option(KSELECT_RAFT "Compile the adapter of RAFT's select_k; needs nvcc, and RAFT or cuVS" OFF)
option(KSELECT_FAISS_GPU "Compile the adapter of FAISS's GPU selection; needs nvcc, and FAISS with GPU" OFF)

# Finds the package that defines `library`; its absence is an error, because the switch asked for it.
function(kselect_find_for_gpu switch package library)
  if(NOT KSELECT_HAS_CUDA)
    message(FATAL_ERROR "kselect: ${switch}=ON needs nvcc, which was not found or is off (KSELECT_CUDA)")
  endif()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  # The wheels on PyPI keep their packages in lib64, which Debian's CMake does not search by default.
  set_property(GLOBAL PROPERTY FIND_LIBRARY_USE_LIB64_PATHS ON)
  find_package(${package} CONFIG QUIET)
  if(NOT TARGET ${library})
    message(FATAL_ERROR "kselect: ${switch}=ON, but CMake finds no package ${package} that defines "
                        "${library}; point CMAKE_PREFIX_PATH at it, or leave ${switch} off")
  endif()
endfunction()

# Compiles one source of `target` with a library that its other sources must not see: the library's headers may
# clash with those of the CUDA toolkit.
function(kselect_compile_apart target source library definition)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${source})
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
  get_filename_component(stem ${source} NAME_WE)
  add_library(${target}_${stem} OBJECT ${source})
  target_include_directories(${target}_${stem} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${target}_${stem} PRIVATE ${definition})
  target_link_libraries(${target}_${stem} PRIVATE kselect_core kselect_simt ${library})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${stem}>)
  # Users of `target` link the library but compile without it.
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES $<LINK_ONLY:${library}>)
endfunction()

# kselect_use_optional_libraries(target): links the libraries that are found, and defines KSELECT_HAS_<LIBRARY> as
# 0 or 1 for the target's own sources.
function(kselect_use_optional_libraries target)
  # FAISS: the CPU heap is header-only. Debian: libfaiss-dev.
  find_path(FAISS_INCLUDE_DIR faiss/utils/Heap.h)
  set(has_faiss 0)
  if(FAISS_INCLUDE_DIR)
    set(has_faiss 1)
    target_include_directories(${target} SYSTEM PRIVATE ${FAISS_INCLUDE_DIR})
  endif()

  # Highway's sorting library. Debian 12's libhwy 1.0 has VQSort but not VQSelect, so each is tried.
  set(has_vqsort 0)
  set(has_vqselect 0)
  find_path(HIGHWAY_INCLUDE_DIR hwy/contrib/sort/vqsort.h)
  if(HIGHWAY_INCLUDE_DIR AND HIGHWAY_LIBRARY AND HIGHWAY_CONTRIB_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${HIGHWAY_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${HIGHWAY_CONTRIB_LIBRARY} ${HIGHWAY_LIBRARY})
    check_cxx_source_compiles("#include <hwy/contrib/sort/vqsort.h>
      int main() {
        uint64_t keys[2] = {1, 0};
        hwy::Sorter sort;
        sort(keys, 2, hwy::SortAscending());
        return static_cast<int>(keys[0]);
      }" KSELECT_VQSORT_COMPILES)
    check_cxx_source_compiles("#include <hwy/contrib/sort/vqsort.h>
      int main() {
        uint64_t keys[2] = {1, 0};
        hwy::VQSelect(keys, 2, 1, hwy::SortAscending());
        return 0;
      }" KSELECT_VQSELECT_COMPILES)
    if(KSELECT_VQSORT_COMPILES)
      set(has_vqsort 1)
    endif()
    if(KSELECT_VQSELECT_COMPILES)
      set(has_vqselect 1)
    endif()
    if(has_vqsort OR has_vqselect)
      target_include_directories(${target} SYSTEM PRIVATE ${HIGHWAY_INCLUDE_DIR})
      target_link_libraries(${target} PRIVATE kselect_highway::contrib)
    endif()
  endif()

  # The headers of x86-simd-sort, which no package installs: X86_SIMD_SORT_INCLUDE_DIR names their folder. They
  # compile only if -march includes AVX2 or AVX-512.
  set(has_x86_simd_sort 0)
  find_path(X86_SIMD_SORT_INCLUDE_DIR x86simdsort-static-incl.h)
  if(X86_SIMD_SORT_INCLUDE_DIR)
    set(tried "${X86_SIMD_SORT_INCLUDE_DIR} ${KSELECT_MARCH}")
    if(NOT tried STREQUAL KSELECT_X86_SIMD_SORT_TRIED)
      unset(KSELECT_X86_SIMD_SORT_COMPILES CACHE)
      set(KSELECT_X86_SIMD_SORT_TRIED "${tried}" CACHE INTERNAL "")
    endif()
    set(CMAKE_REQUIRED_INCLUDES ${X86_SIMD_SORT_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES "")
    set(CMAKE_REQUIRED_FLAGS ${march})
    check_cxx_source_compiles("#include <cstdint>
      #include <x86simdsort-static-incl.h>
      int main() {
        uint32_t keys[2] = {1, 0}, indices[2] = {0, 1};
        x86simdsortStatic::keyvalue_select(keys, indices, 0, 2);
        return static_cast<int>(keys[0]);
      }" KSELECT_X86_SIMD_SORT_COMPILES)
    if(KSELECT_X86_SIMD_SORT_COMPILES)
      set(has_x86_simd_sort 1)
      target_include_directories(${target} SYSTEM PRIVATE ${X86_SIMD_SORT_INCLUDE_DIR})
    endif()
  endif()

  target_link_libraries(${target} PRIVATE kselect_vectors)
  target_compile_definitions(${target} PRIVATE KSELECT_HAS_FAISS=${has_faiss}
                                               KSELECT_HAS_VQSORT=${has_vqsort}
                                               KSELECT_HAS_VQSELECT=${has_vqselect}
                                               KSELECT_HAS_X86_SIMD_SORT=${has_x86_simd_sort})
  if(KSELECT_RAFT)
    kselect_find_for_gpu(KSELECT_RAFT raft raft::raft)
    kselect_compile_apart(${target} baselines/raft_select_k.cu raft::raft KSELECT_HAS_RAFT=1)
  endif()
  if(KSELECT_FAISS_GPU)
    kselect_find_for_gpu(KSELECT_FAISS_GPU faiss faiss)
    get_target_property(faiss_headers faiss INTERFACE_INCLUDE_DIRECTORIES)
    find_path(FAISS_GPU_INCLUDE_DIR faiss/gpu/utils/BlockSelectKernel.cuh
              PATHS ${faiss_headers} NO_DEFAULT_PATH)
    if(NOT FAISS_GPU_INCLUDE_DIR)
      message(FATAL_ERROR "kselect: KSELECT_FAISS_GPU=ON, but the FAISS in ${faiss_headers} was built "
                          "without GPU support (no faiss/gpu/utils/BlockSelectKernel.cuh); point "
                          "CMAKE_PREFIX_PATH at one with it, or leave KSELECT_FAISS_GPU off")
    endif()
    kselect_compile_apart(${target} baselines/faiss_gpu_select.cu faiss KSELECT_HAS_FAISS_GPU=1)
  endif()
endfunction()
