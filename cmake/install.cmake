# `cmake --install` lays down the program, the library and what find_package(glint) needs.
include(CMakePackageConfigHelpers)
install(TARGETS glint_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS glint_lib EXPORT glint_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY glint/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/glint FILES_MATCHING PATTERN "*.h"
        PATTERN "cli" EXCLUDE PATTERN "isa" EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/include/glint/base/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/glint/base)
install(DIRECTORY recipes/ DESTINATION ${CMAKE_INSTALL_DATADIR}/glint/recipes FILES_MATCHING PATTERN "*.toml")
install(EXPORT glint_targets NAMESPACE glint:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glint)
configure_package_config_file(cmake/glint-config.cmake.in ${PROJECT_BINARY_DIR}/glint-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glint)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/glint-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/glint-config.cmake ${PROJECT_BINARY_DIR}/glint-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glint)
