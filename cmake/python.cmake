# The Python package: extension modules for CPython's stable ABI, beside the files of python/kselect in
# build/python/kselect, from where the tests import them. A wheel (pyproject.toml) installs the component `python`.

option(KSELECT_PYTHON_PACKAGE "Build the Python package's modules (needs CPython's headers)" OFF)

# To be called before any library is defined: what a module links must be position-independent.
macro(kselect_prepare_python_package)
  if(KSELECT_PYTHON_PACKAGE)
    if(NOT SKBUILD AND NOT DEFINED Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
      set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    endif()
    if(CMAKE_VERSION VERSION_LESS 3.26)
      message(FATAL_ERROR "kselect: KSELECT_PYTHON_PACKAGE=ON needs CMake 3.26 or newer (pip install cmake)")
    endif()
    find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.SABIModule)
    if(NOT Python_Development.SABIModule_FOUND)
      message(FATAL_ERROR "kselect: KSELECT_PYTHON_PACKAGE=ON, but no headers of Python 3.11 or newer were found; "
                          "install them (Debian: python3-dev), set Python_EXECUTABLE or leave the option off")
    endif()
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Functions may then be inlined as in a program.
      target_compile_options(kselect_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
    endif()
  endif()
endmacro()

# kselect_add_python_module(name library source...): the module kselect.NAME, which links `library`.
function(kselect_add_python_module name library)
  set(target kselect_python${name})
  Python_add_library(${target} MODULE USE_SABI 3.11 ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} SUFFIX .abi3.so CXX_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/kselect)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE kselect_options ${library})
  # Another module of the process may have other versions of the same functions.
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
  add_dependencies(kselect_python_package ${target})
  install(TARGETS ${target} LIBRARY DESTINATION kselect COMPONENT python)
endfunction()

# Needs the target kselect_knn, which brings select().
function(kselect_add_python_package)
  add_custom_target(kselect_python_package ALL)
  file(GLOB sources CONFIGURE_DEPENDS python/extension/*.cpp)
  kselect_add_python_module(_select kselect_knn ${sources})
  # Links, so that an edit needs no build.
  file(GLOB_RECURSE files RELATIVE ${PROJECT_SOURCE_DIR}/python CONFIGURE_DEPENDS python/kselect/*.py
       python/kselect/*.pyi python/kselect/py.typed)
  foreach(file IN LISTS files)
    get_filename_component(folder ${PROJECT_BINARY_DIR}/python/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/${file} ${PROJECT_BINARY_DIR}/python/${file} SYMBOLIC)
  endforeach()
endfunction()

# The program goes into the package, with its configs and its Python side, beside each other as they are installed. There
# it is a shared library, because the module kselect._bench runs sweeps in Python's process, and a small program.
function(kselect_add_program_to_python_package)
  set(folder kselect/_program)
  set(root ${PROJECT_BINARY_DIR}/python)
  add_library(kselect_outside SHARED python/program/entries.cpp python/program/calls.cpp)
  set_target_properties(kselect_outside PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LIBRARY_OUTPUT_DIRECTORY ${root}/kselect INSTALL_RPATH $ORIGIN)
  target_link_libraries(kselect_outside PRIVATE kselect_cli)
  target_compile_options(kselect_outside PRIVATE ${KSELECT_LITTLE_OPTIMISED})
  target_link_options(kselect_outside PRIVATE -Wl,--exclude-libs,ALL)
  install(TARGETS kselect_outside LIBRARY DESTINATION kselect COMPONENT python)

  kselect_add_python_module(_bench kselect_outside python/program/bench_module.cpp python/extension/raise.cpp)
  target_link_libraries(kselect_python_bench PRIVATE kselect_core)
  set_target_properties(kselect_python_bench PROPERTIES INSTALL_RPATH $ORIGIN)

  add_executable(kselect_packaged python/program/main.cpp)
  target_include_directories(kselect_packaged PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(kselect_packaged PRIVATE kselect_options kselect_core kselect_outside)
  set_target_properties(kselect_packaged PROPERTIES OUTPUT_NAME kselect INSTALL_RPATH $ORIGIN/../..
                        RUNTIME_OUTPUT_DIRECTORY ${root}/${folder}/bin)
  add_dependencies(kselect_python_package kselect_packaged)
  kselect_install_what_runs(kselect_packaged python ${folder}/bin ${folder}/share)

  file(MAKE_DIRECTORY ${root}/${folder}/share/kselect)
  foreach(part IN ITEMS configs plots)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${part} ${root}/${folder}/share/kselect/${part} SYMBOLIC)
  endforeach()
endfunction()
