# `cmake --install build --component dev`: what another MLIR compiler needs to embed the dialects and passes, which is
# archives, headers, .td files and the CMake package Tilemlir.
include(CMakePackageConfigHelpers)
list(JOIN TILEMLIR_LLVM_COMPONENTS " " TILEMLIR_LLVM_COMPONENTS_TEXT)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tilemlir")
install(DIRECTORY include/tilemlir include/tilemlir-c
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY "${PROJECT_BINARY_DIR}/include/tilemlir"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev
  FILES_MATCHING PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)
install(EXPORT TilemlirTargets DESTINATION "${_package_dir}" COMPONENT dev)
configure_package_config_file(cmake/TilemlirConfig.cmake.in "${PROJECT_BINARY_DIR}/TilemlirConfig.cmake"
  INSTALL_DESTINATION "${_package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TilemlirConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/TilemlirConfig.cmake" "${PROJECT_BINARY_DIR}/TilemlirConfigVersion.cmake"
  DESTINATION "${_package_dir}" COMPONENT dev)
