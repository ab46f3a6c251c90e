# Finds LLVM and MLIR 22 and makes our own targets link their static archives.

# Where MLIR_DIR and LLVM_DIR are not given, the wheels of the Python environment are used. Their site directory is
# asked from the interpreter, because the wheels put no CMake configuration on the default search path.
if(NOT MLIR_DIR OR NOT LLVM_DIR)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
      "import importlib.util as u\nfor n in ('mlir', 'llvm'):\n s = u.find_spec(n)\n print(list(s.submodule_search_locations)[0] if s else '')"
    OUTPUT_VARIABLE _wheel_dirs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" _wheel_dirs "${_wheel_dirs}")
  list(LENGTH _wheel_dirs _wheel_count)
  if(_wheel_count EQUAL 2)
    list(GET _wheel_dirs 0 _mlir_wheel)
    list(GET _wheel_dirs 1 _llvm_wheel)
    if(NOT MLIR_DIR AND EXISTS "${_mlir_wheel}/lib/cmake/mlir/MLIRConfig.cmake")
      set(MLIR_DIR "${_mlir_wheel}/lib/cmake/mlir" CACHE PATH "Directory of MLIRConfig.cmake" FORCE)
    endif()
    if(NOT LLVM_DIR AND EXISTS "${_llvm_wheel}/lib/cmake/llvm/LLVMConfig.cmake")
      set(LLVM_DIR "${_llvm_wheel}/lib/cmake/llvm" CACHE PATH "Directory of LLVMConfig.cmake" FORCE)
    endif()
  endif()
endif()

find_package(MLIR REQUIRED CONFIG)
# MLIR's package version file does not reject other major versions; LLVM's number decides.
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "tilemlir needs LLVM and MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION}: ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")

# The static redirect: archives built beside the LLVM shared library name it in their link interface, and switching
# LLVM_LINK_LLVM_DYLIB off afterwards does not change imported targets. Both properties that carry it are rewritten.
set(LLVM_LINK_LLVM_DYLIB OFF)
set(MLIR_LINK_MLIR_DYLIB OFF)
# The target is imported so that exported targets may name it; the installed package defines its own
# (TilemlirConfig.cmake.in), because an embedder decides how LLVM is linked.
set(TILEMLIR_LLVM_COMPONENTS Core Support BitReader BitWriter AsmParser IRReader Passes Linker Target TargetParser NVPTX
  ${LLVM_NATIVE_ARCH} OrcJIT FrontendOpenMP FrontendOffloading SupportLSP TransformUtils)
add_library(TilemlirLLVM INTERFACE IMPORTED GLOBAL)
llvm_map_components_to_libnames(_llvm_static ${TILEMLIR_LLVM_COMPONENTS})
target_link_libraries(TilemlirLLVM INTERFACE ${_llvm_static})
foreach(_target IN LISTS MLIR_EXPORTED_TARGETS)
  if(TARGET ${_target})
    foreach(_property INTERFACE_LINK_LIBRARIES MLIR_AGGREGATE_DEP_LIBS_IMPORTED)
      get_target_property(_old ${_target} ${_property})
      if(_old)
        set(_new ${_old})
        list(TRANSFORM _new REPLACE "^LLVM$" "TilemlirLLVM")
        list(TRANSFORM _new REPLACE "^\\$<LINK_ONLY:LLVM>$" "$<LINK_ONLY:TilemlirLLVM>")
        if(NOT "${_new}" STREQUAL "${_old}")
          set_target_properties(${_target} PROPERTIES ${_property} "${_new}")
        endif()
      endif()
    endforeach()
  endif()
endforeach()

# Keeps the upstream helper functions from adding install rules of their own.
set(LLVM_INSTALL_TOOLCHAIN_ONLY ON)
# Without it, HandleLLVMOptions silences every warning of our own code.
set(LLVM_ENABLE_WARNINGS ON)
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)
separate_arguments(_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${_llvm_definitions})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
