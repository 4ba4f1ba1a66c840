# kselect::knn: exact k nearest neighbours as a library (include/kselect/knn.hpp). It needs none of the harness'
# libraries, and selects by kselect::kselect or, where `auto` is built alone, by kselect::auto_select.

# Defines `target`, which links the library `selections`.
function(kselect_add_knn_library target selections)
  file(GLOB library CONFIGURE_DEPENDS search/knn/library/*.cpp)
  set(sources ${library} ${KSELECT_HOST_SEARCH})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC kselect_core ${selections} PRIVATE OpenMP::OpenMP_CXX)
  # Products and sums in one instruction; -O2 also in builds that optimise less, which would not keep sums in registers.
  set_source_files_properties(search/knn/host/products.cpp PROPERTIES
                              COMPILE_OPTIONS "-O3;-ffp-contract=fast" SKIP_PRECOMPILE_HEADERS ON)
  add_library(kselect::knn ALIAS ${target})
endfunction()

# The search on the host, and the images of vectors that it and the runtime's distances have in common. The program's
# libraries link ${target} and do not compile them again.
set(KSELECT_HOST_SEARCH
    runtime/distance/images.cpp search/knn/host/block_search.cpp search/knn/host/candidate_lists.cpp
    search/knn/host/prepared_corpus.cpp search/knn/host/products.cpp search/knn/host/search_in_blocks.cpp)

# Takes the files of kselect::knn out of a list of sources.
function(kselect_leave_out_host_search list)
  list(TRANSFORM KSELECT_HOST_SEARCH PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE compiled)
  list(REMOVE_ITEM ${list} ${compiled})
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
