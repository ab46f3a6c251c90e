# Finds the Python environment that provides the build dependencies, and sets up ccache and lld when they are installed.

# The build dependencies are wheels, so one Python interpreter decides where LLVM, MLIR and nanobind come from.
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
set(Python_EXECUTABLE "${Python3_EXECUTABLE}" CACHE FILEPATH "The interpreter, as nanobind's CMake files name it")

if(TILEMLIR_USE_CCACHE)
  find_program(TILEMLIR_CCACHE ccache)
  if(TILEMLIR_CCACHE)
    # Without the working directory in the key and with paths made relative to the source directory, checkouts of
    # different branches share their cache. The checksum file stands for the precompiled header, whose bytes differ
    # from one build of the same headers to the next.
    set(_launcher "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
      "${TILEMLIR_CCACHE}")
    foreach(_language C CXX)
      if(NOT CMAKE_${_language}_COMPILER_LAUNCHER)
        set(CMAKE_${_language}_COMPILER_LAUNCHER ${_launcher})
      endif()
    endforeach()
  endif()
endif()

if(TILEMLIR_USE_LLD)
  find_program(TILEMLIR_LLD NAMES ld.lld)
  if(TILEMLIR_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)
