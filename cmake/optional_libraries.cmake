# Libraries that a build can do without: those of adapters in baselines/, which without theirs are still
# listed, with the reason; Highway's vectors; MPI. Nothing is downloaded; point CMAKE_PREFIX_PATH at what
# stands elsewhere.

include(CheckCXXSourceCompiles)

# kselect_vectors: Highway's vectors (hwy/highway.h), from headers but for what aborts in checked builds,
# for whoever includes algorithms/one_pass_select/lanes.hpp. Where they are absent, or do not compile,
# the compiler's own vectors are used.
function(kselect_add_vectors)
  add_library(kselect_vectors INTERFACE)
  set(has_highway 0)
  find_path(HIGHWAY_VECTORS_INCLUDE_DIR hwy/highway.h)
  find_library(HIGHWAY_LIBRARY hwy)
  if(HIGHWAY_VECTORS_INCLUDE_DIR AND HIGHWAY_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${HIGHWAY_VECTORS_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${HIGHWAY_LIBRARY})
    set(CMAKE_REQUIRED_FLAGS -march=${KSELECT_MARCH})
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
      target_link_libraries(kselect_vectors INTERFACE ${HIGHWAY_LIBRARY})
    endif()
  endif()
  if(NOT has_highway)
    message(STATUS "kselect: no Highway found (Debian: libhwy-dev); "
                   "one-pass uses the compiler's vectors")
    target_compile_definitions(kselect_vectors INTERFACE KSELECT_HAS_HIGHWAY=0)
  endif()
endfunction()
kselect_add_vectors()

# MPI, for `kselect knn --mpi`; without it that option says so. Debian: libopenmpi-dev, openmpi-bin.
option(KSELECT_MPI "Build the MPI module where MPI is found" ON)
set(KSELECT_HAS_MPI OFF)
if(KSELECT_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # the C interface alone
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

# The others are used by adapters in baselines/ alone. Where one is absent its adapter is still listed,
# with the reason.

# kselect_use_optional_libraries(target): defines KSELECT_HAS_<LIBRARY> as 0 or 1 for the target's own
# sources and links what was found.
function(kselect_use_optional_libraries target)
  # FAISS: the CPU heap is header-only. Debian: libfaiss-dev.
  find_path(FAISS_INCLUDE_DIR faiss/utils/Heap.h)
  set(has_faiss 0)
  if(FAISS_INCLUDE_DIR)
    set(has_faiss 1)
    target_include_directories(${target} SYSTEM PRIVATE ${FAISS_INCLUDE_DIR})
  endif()

  # Highway: VQSelect came after Debian 12's libhwy 1.0, so it is tried instead of asking a version.
  set(has_vqselect 0)
  find_path(HIGHWAY_INCLUDE_DIR hwy/contrib/sort/vqsort.h)
  find_library(HIGHWAY_LIBRARY hwy)
  find_library(HIGHWAY_CONTRIB_LIBRARY hwy_contrib)
  if(HIGHWAY_INCLUDE_DIR AND HIGHWAY_LIBRARY AND HIGHWAY_CONTRIB_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${HIGHWAY_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${HIGHWAY_CONTRIB_LIBRARY} ${HIGHWAY_LIBRARY})
    check_cxx_source_compiles("#include <hwy/contrib/sort/vqsort.h>
      int main() {
        uint64_t keys[2] = {1, 0};
        hwy::VQSelect(keys, 2, 1, hwy::SortAscending());
        return 0;
      }" KSELECT_VQSELECT_COMPILES)
    if(KSELECT_VQSELECT_COMPILES)
      set(has_vqselect 1)
      target_include_directories(${target} SYSTEM PRIVATE ${HIGHWAY_INCLUDE_DIR})
      target_link_libraries(${target} PRIVATE ${HIGHWAY_CONTRIB_LIBRARY} ${HIGHWAY_LIBRARY})
    endif()
  endif()

  target_link_libraries(${target} PRIVATE kselect_vectors)
  target_compile_definitions(${target} PRIVATE KSELECT_HAS_FAISS=${has_faiss}
                                               KSELECT_HAS_VQSELECT=${has_vqselect})
endfunction()
