# Compile options of every target, and the options for users.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# As part of another project (add_subdirectory), only the library is built.
option(KSELECT_PROGRAM "Build the program: harness, command line, benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(KSELECT_TESTS "Build the tests (needs KSELECT_PROGRAM)" ${PROJECT_IS_TOP_LEVEL})
option(KSELECT_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(KSELECT_AUTO_ALONE "Build only kselect::auto_select, the library with `auto` and its members" OFF)
option(KSELECT_UNITY "Compile the .cpp files of a folder together: less time for all, more after a change" OFF)
set(KSELECT_ALGORITHMS "*" CACHE STRING
    "Algorithms to build: globs over entries' names or files' stems, e.g. auto;cpu/*;qms-*")
set(KSELECT_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined")
set(KSELECT_CUDA "AUTO" CACHE STRING "Compile the CUDA executor: AUTO (where nvcc is found), ON, OFF")
set(KSELECT_CCCL "" CACHE PATH "Include folder of a CCCL (Thrust, CUB, libcu++) that replaces the toolkit's")
# The presets and scripts, which build for the machine they run on, set it to native.
set(KSELECT_MARCH "" CACHE STRING "-march of the host code, e.g. native; empty: any machine of the kind, \
whose vector units the CPU's selections find when they run")

option(KSELECT_LINEINFO "GPU code names its source lines, for profilers; it is then several times as large" ON)
option(KSELECT_PTX "Entries that are no members of `auto` have PTX, too, by which GPUs newer than those named run them" ON)
option(KSELECT_COMPRESSED "Compress GPU code as far as nvcc can (12.9 or newer)" OFF)
option(KSELECT_OBJECT_TIMES "Append each object's processor time to object_times.txt in the build folder" OFF)
option(KSELECT_COMPILE_ONLY "Optimise no host code: the build only shows that everything compiles" OFF)

# ccache speeds builds up and does not change their results. With paths relative to the project, two clones
# share cached objects.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
               CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
endif()
if(KSELECT_OBJECT_TIMES)
  list(PREPEND launcher ${PROJECT_SOURCE_DIR}/cmake/timed.sh ${PROJECT_BINARY_DIR}/object_times.txt)
endif()
if(launcher)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# Fast-math flags change the handling of NaN, infinities, zeros and denormals. They would make algorithms and
# verifier wrong in the same way, so they are refused.
foreach(flags CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_RELEASE CMAKE_CUDA_FLAGS CMAKE_CUDA_FLAGS_RELEASE)
  if("${${flags}} $ENV{CXXFLAGS} $ENV{CUDAFLAGS}" MATCHES
     "-(ffast-math|Ofast|ffinite-math-only|funsafe-math-optimizations|-?use_fast_math|-?ftz=true)")
    message(FATAL_ERROR "kselect: ${flags} or the environment contains ${CMAKE_MATCH_0}: "
                        "fast-math flags are refused, remove it")
  endif()
endforeach()

include(gpu_architectures)
set(KSELECT_HAS_CUDA OFF)
if(NOT KSELECT_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Must precede enable_language, which would set nvcc's default architecture.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      kselect_set_architectures(${CMAKE_CUDA_COMPILER})
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(KSELECT_HAS_CUDA ON)
  elseif(KSELECT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "kselect: KSELECT_CUDA=ON, but no nvcc was found; install the CUDA toolkit, "
                        "put nvcc on PATH or set CUDACXX")
  else()
    message(STATUS "kselect: no nvcc found; building without the CUDA executor")
  endif()
endif()

# The version of CCCL is recorded, because another version of CUB is another baseline.
set(KSELECT_CCCL_VERSION "")
if(KSELECT_CCCL AND NOT KSELECT_HAS_CUDA)
  message(FATAL_ERROR "kselect: KSELECT_CCCL needs nvcc, which was not found or is off (KSELECT_CUDA)")
elseif(KSELECT_CCCL AND NOT EXISTS ${KSELECT_CCCL}/cub/version.cuh)
  message(FATAL_ERROR "kselect: KSELECT_CCCL=${KSELECT_CCCL} has no cub/version.cuh; name the folder that "
                      "holds cub/, thrust/ and cuda/, or leave it empty for the toolkit's")
elseif(KSELECT_HAS_CUDA)
  find_file(cccl_version_header cub/version.cuh PATHS ${KSELECT_CCCL} ${CUDAToolkit_INCLUDE_DIRS}
            PATH_SUFFIXES cccl NO_DEFAULT_PATH NO_CACHE)
  if(cccl_version_header)
    file(STRINGS ${cccl_version_header} cub_version REGEX "define +CUB_VERSION +[0-9]+")
    string(REGEX MATCH "[0-9]+" cub_version "${cub_version}")
    math(EXPR major "${cub_version} / 100000")
    math(EXPR minor "${cub_version} / 100 % 1000")
    math(EXPR patch "${cub_version} % 100")
    set(KSELECT_CCCL_VERSION "${major}.${minor}.${patch}")
    message(STATUS "kselect: CCCL ${KSELECT_CCCL_VERSION}")
  endif()
endif()

add_library(kselect_options INTERFACE)
if(KSELECT_CCCL)
  # -I precedes the toolkit's own folders, which nvcc and CMake pass as system folders.
  target_include_directories(kselect_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${KSELECT_CCCL}>)
endif()
set(march "")
if(KSELECT_MARCH)
  set(march -march=${KSELECT_MARCH})
endif()
set(host_flags ${march} -ffp-contract=off -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
set(host_warnings -Wall -Wextra -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # In C++, GCC's -Wconversion does not include -Wsign-conversion.
  list(APPEND host_warnings -Wno-sign-conversion)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3, GCC 12 wrongly reports overlapping copies in std::string's operator+ (GCC bug 105651), and, for
  # processors with AVX-512, variables of kernels that a loop fills as uninitialized.
  list(APPEND host_warnings -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND KSELECT_SANITIZE)
  # With sanitizers, this warning has false positives (GCC manual, -fsanitize).
  list(APPEND host_warnings -Wno-maybe-uninitialized)
endif()
if(KSELECT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  # In unity builds, the optimiser of GCC 12 and newer reports false positives of these warnings.
  foreach(seen IN ITEMS array-bounds dangling-pointer free-nonheap-object maybe-uninitialized nonnull
                        stringop-overflow stringop-overread uninitialized use-after-free)
    list(APPEND host_warnings -Wno-${seen})
  endforeach()
endif()
if(KSELECT_WERROR)
  list(APPEND host_warnings -Werror)
endif()
target_compile_options(kselect_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${host_flags} ${host_warnings}>
  $<$<COMPILE_LANGUAGE:CUDA>:$<$<BOOL:${march}>:-Xcompiler=${march}> --expt-relaxed-constexpr
                             $<$<BOOL:${KSELECT_LINEINFO}>:-lineinfo>
                             $<$<BOOL:${KSELECT_COMPRESSED}>:--compress-mode=size>
                             $<$<BOOL:${KSELECT_OBJECT_TIMES}>:-Xptxas=-v>>)
if(KSELECT_COMPILE_ONLY)
  target_compile_options(kselect_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
endif()
if(KSELECT_SANITIZE)
  # UBSan's checks of every pointer and reference make objects compile a fifth longer. Most such faults lead to an access
  # that AddressSanitizer sees. Missed are a wrong pointer that nothing reads, and a static_cast to a wrong class.
  set(less_code "")
  if(KSELECT_SANITIZE MATCHES "address")
    set(less_code -fno-sanitize=null,object-size,pointer-overflow,vptr)
  endif()
  target_compile_options(kselect_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${KSELECT_SANITIZE} -fno-omit-frame-pointer
                              -fno-sanitize-recover=all ${less_code}>)
  # Not position-independent: the checks' data, 150 MB, would be relocated each time that a program starts.
  target_link_options(kselect_options INTERFACE
    -fsanitize=${KSELECT_SANITIZE} $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

# For code on no timed path. With sanitizers even -O1 compiles slowly, so they get -O0.
set(little -O1)
if(KSELECT_SANITIZE OR KSELECT_COMPILE_ONLY)
  set(little -O0)
endif()
set(KSELECT_LITTLE_OPTIMISED $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:${little}>)

# kselect_precompile(target header...): with KSELECT_UNITY these headers are parsed once for the target
# instead of once a file. Without it every file is compiled by itself, which reveals missing #includes.
function(kselect_precompile target)
  if(KSELECT_UNITY)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# kselect_unite(target [file...]): with KSELECT_UNITY the target's .cpp files are compiled a folder at a time,
# because parsing JSON, CLI11 and GoogleTest takes longer than compiling the files. The files named here are
# compiled alone: their anonymous namespaces have names that clash with their neighbours'.
function(kselect_unite target)
  if(NOT KSELECT_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A local name may shadow a name of another file. Linked last, so that -Wno-shadow follows -Wshadow.
  if(NOT TARGET kselect_united)
    add_library(kselect_united INTERFACE)
    target_compile_options(kselect_united INTERFACE -Wno-shadow)
  endif()
  target_link_libraries(${target} PRIVATE kselect_united)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE alone)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(source ${source} ABSOLUTE)
    if(source MATCHES "\\.cpp$" AND NOT source IN_LIST alone)
      get_filename_component(folder ${source} DIRECTORY)
      file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
      string(MAKE_C_IDENTIFIER "${folder}" folder)
      # At most eight files together, so that a large folder is compiled on several cores.
      list(APPEND in_${folder} ${source})
      list(LENGTH in_${folder} count)
      math(EXPR part "(${count} - 1) / 8")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${part})
    endif()
  endforeach()
endfunction()
