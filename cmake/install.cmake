# What `cmake --install build --prefix DIR` lays down: both libraries as archives and shared, their headers, the command,
# the man page, and the two ways other projects find them: find_package(abd) with targets abd::static, abd::shared,
# abd::kit_static and abd::kit_shared, and pkg-config abd and abdkit.
# Tested by tests/install/run.sh.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS abd_static abd_shared abd_kit_static abd_kit_shared EXPORT abd-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(GLOB ABD_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/abd/*.h)
install(FILES ${ABD_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/abd)
if(TARGET abd)
  install(TARGETS abd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/docs/abd.1)
  install(FILES ${PROJECT_SOURCE_DIR}/docs/abd.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

# find_package(abd)
set(ABD_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/abd)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/abd-config.cmake.in ${PROJECT_BINARY_DIR}/abd-config.cmake
                              INSTALL_DESTINATION ${ABD_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/abd-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT abd-targets NAMESPACE abd:: DESTINATION ${ABD_PACKAGE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/abd-config.cmake ${PROJECT_BINARY_DIR}/abd-config-version.cmake
        DESTINATION ${ABD_PACKAGE_DIR})

# pkg-config abd; what only a static link needs stands under Libs.private.
set(ABD_PRIVATE_LIBS "-lamd -lsuitesparseconfig -lm -pthread")
if(ABD_METIS)
  string(PREPEND ABD_PRIVATE_LIBS "-lmetis ")
endif()
if(ABD_MPI)
  string(PREPEND ABD_PRIVATE_LIBS "-lmpi ")
endif()
if(PETSC_FOUND)
  string(PREPEND ABD_PRIVATE_LIBS "${PETSC_LINK_LIBRARIES} ")
endif()
if(ABD_CHOLMOD)
  string(PREPEND ABD_PRIVATE_LIBS "-lcholmod ")
endif()
foreach(library ${ABD_CUDA_LIBRARIES})
  if(library MATCHES "/")
    string(PREPEND ABD_PRIVATE_LIBS "${library} ")
  else()
    string(PREPEND ABD_PRIVATE_LIBS "-l${library} ")
  endif()
endforeach()
file(RELATIVE_PATH ABD_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/abd.pc.in ${PROJECT_BINARY_DIR}/abd.pc @ONLY)
string(REPLACE ";" " -l" ABD_KIT_PRIVATE_LIBS "-l${ABD_KIT_LIBRARIES}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/abdkit.pc.in ${PROJECT_BINARY_DIR}/abdkit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/abd.pc ${PROJECT_BINARY_DIR}/abdkit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
