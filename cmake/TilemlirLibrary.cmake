# Functions that define our libraries: sources are globbed, so adding a file needs no CMake change.

# The precompiled header holds upstream headers only: ours change often, and each change would rebuild everything.
function(_tilemlir_define_pch)
  add_library(TilemlirPCH OBJECT "${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp")
  llvm_update_compile_flags(TilemlirPCH)
  if(TILEMLIR_USE_PCH)
    target_precompile_headers(TilemlirPCH PRIVATE "${PROJECT_SOURCE_DIR}/cmake/Precompiled.h")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # ccache can only use GCC's precompiled headers with this flag.
      target_compile_options(TilemlirPCH PRIVATE -fpch-preprocess)
      # Stands for the precompiled header in ccache's key (see TilemlirToolchain.cmake).
      file(SHA256 "${PROJECT_SOURCE_DIR}/cmake/Precompiled.h" _headers)
      string(SHA256 _sum "${_headers} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE} ${MLIR_DIR} ${LLVM_PACKAGE_VERSION}")
      file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/cmake/CMakeFiles/TilemlirPCH.dir/cmake_pch.hxx.gch.sum" CONTENT "${_sum}\n")
    endif()
  endif()
endfunction()

# tilemlir_use_pch(TARGET): compiles TARGET with the shared precompiled header and LLVM's flags.
function(tilemlir_use_pch target)
  if(TILEMLIR_USE_PCH)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
    target_precompile_headers(${target} REUSE_FROM TilemlirPCH)
  endif()
endfunction()

# tilemlir_use_unity(TARGET [BATCH size] sources...): compiles these files of TARGET together, `size` of them at a time
# (all, unless given), which saves parsing the same large headers once per file. A batch never crosses folders, so only
# file-local names of one folder must differ.
function(tilemlir_use_unity target)
  cmake_parse_arguments(ARG "" "BATCH" "" ${ARGN})
  list(LENGTH ARG_UNPARSED_ARGUMENTS _size)
  if(ARG_BATCH)
    set(_size ${ARG_BATCH})
  endif()
  set(_batch 0)
  set(_previous_folder)
  foreach(_source IN LISTS ARG_UNPARSED_ARGUMENTS)
    get_filename_component(_folder "${_source}" DIRECTORY)
    get_filename_component(_folder "${_folder}" NAME)
    if(NOT _folder STREQUAL _previous_folder OR _count EQUAL _size)
      math(EXPR _batch "${_batch} + 1")
      set(_count 0)
      set(_previous_folder "${_folder}")
    endif()
    math(EXPR _count "${_count} + 1")
    set_source_files_properties("${_source}" PROPERTIES UNITY_GROUP "${_folder}${_batch}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes anonymous namespaces of the joined files for those of a header.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# tilemlir_install_library(NAME): installs an archive with the component `dev` and exports its target.
function(tilemlir_install_library name)
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS ${name} EXPORT TilemlirTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  add_dependencies(tilemlir-dev ${name})
endfunction()

# tilemlir_add_mlir_library(NAME [DEPENDS targets...] [LINK_LIBS targets...])
# A static library of every .cpp file below the current directory, compiled like LLVM.
function(tilemlir_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  file(GLOB_RECURSE _sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_library(${name} STATIC ${_sources})
  llvm_update_compile_flags(${name})
  add_dependencies(${name} tilemlir-headers ${ARG_DEPENDS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  tilemlir_use_pch(${name})
  if(TILEMLIR_UNITY_BATCH GREATER 1)
    tilemlir_use_unity(${name} BATCH ${TILEMLIR_UNITY_BATCH} ${_sources})
  endif()
  tilemlir_install_library(${name})
endfunction()

# tilemlir_add_plain_library(NAME [LINK_LIBS targets...])
# A static library of every .cpp file below the current directory that includes neither MLIR nor LLVM.
function(tilemlir_add_plain_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  file(GLOB_RECURSE _sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_library(${name} STATIC ${_sources})
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  if(ARG_LINK_LIBS)
    target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  endif()
  tilemlir_install_library(${name})
endfunction()

# tilemlir_add_dialect(STEM NAME): tablegen for a dialect whose files in the current directory are called STEM*.td.
# Ops, types, attributes and enums are expected; interfaces and canonicalisation patterns are generated where present.
function(tilemlir_add_dialect stem name)
  set(LLVM_TARGET_DEFINITIONS ${stem}Dialect.td)
  mlir_tablegen(${stem}Dialect.h.inc -gen-dialect-decls -dialect=${name})
  mlir_tablegen(${stem}Dialect.cpp.inc -gen-dialect-defs -dialect=${name})
  set(LLVM_TARGET_DEFINITIONS ${stem}Ops.td)
  mlir_tablegen(${stem}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${stem}Ops.cpp.inc -gen-op-defs)
  set(LLVM_TARGET_DEFINITIONS ${stem}Types.td)
  mlir_tablegen(${stem}Types.h.inc -gen-typedef-decls -typedefs-dialect=${name})
  mlir_tablegen(${stem}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${name})
  set(LLVM_TARGET_DEFINITIONS ${stem}Attrs.td)
  mlir_tablegen(${stem}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${name})
  mlir_tablegen(${stem}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${name})
  set(LLVM_TARGET_DEFINITIONS ${stem}Enums.td)
  mlir_tablegen(${stem}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${stem}Enums.cpp.inc -gen-enum-defs)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${stem}Interfaces.td")
    set(LLVM_TARGET_DEFINITIONS ${stem}Interfaces.td)
    foreach(_kind op attr type)
      string(SUBSTRING ${_kind} 0 1 _initial)
      string(TOUPPER ${_initial} _initial)
      string(SUBSTRING ${_kind} 1 -1 _rest)
      mlir_tablegen(${stem}${_initial}${_rest}Interfaces.h.inc -gen-${_kind}-interface-decls)
      mlir_tablegen(${stem}${_initial}${_rest}Interfaces.cpp.inc -gen-${_kind}-interface-defs)
    endforeach()
  endif()
  add_public_tablegen_target(${stem}DialectIncGen)
  add_dependencies(tilemlir-headers ${stem}DialectIncGen)
endfunction()

# tilemlir_add_passes(NAME): tablegen for the Passes.td of the current directory.
function(tilemlir_add_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_public_tablegen_target(${name}PassIncGen)
  add_dependencies(tilemlir-headers ${name}PassIncGen)
endfunction()

add_custom_target(tilemlir-headers)
# Everything that the component `dev` installs.
add_custom_target(tilemlir-dev)
