# What `cmake --install build --prefix DIR` lays down: the library both ways, its header, the command, the man page, and
# the two ways other projects find it: find_package(abd) with targets abd::static and abd::shared, and pkg-config abd.
# Tested by tests/install/run.sh.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS abd_static abd_shared EXPORT abd-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/abd/abd.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/abd)
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
if(ABD_OPENMP)
  string(APPEND ABD_PRIVATE_LIBS " ${OpenMP_C_FLAGS}")
endif()
file(RELATIVE_PATH ABD_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/abd.pc.in ${PROJECT_BINARY_DIR}/abd.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/abd.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
