# The viewer's page, taken into the program, and what serves it. viewer/build.sh builds the page with npm and Vite, or
# where that cannot be, with Debian's packages esbuild and libjs-three, which need no network.
#
#   ABD_VIEWER=AUTO   the page where it can be built; without it `abd view` says what is missing
#   ABD_VIEWER=ON     it must be built
#   ABD_VIEWER=OFF    not at all
#   ABD_VIEWER=DIR    as another build made it: its folder viewer/
set(ABD_VIEWER AUTO CACHE STRING "the viewer's page in the program: AUTO, ON, OFF, or a folder that has it")
set_property(CACHE ABD_VIEWER PROPERTY STRINGS AUTO ON OFF)

pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd>=0.9.75) # optional: abd view
if(MICROHTTPD_FOUND)
  target_compile_definitions(abd_upper PRIVATE ABD_HAVE_MICROHTTPD)
  target_link_libraries(abd_upper PUBLIC PkgConfig::MICROHTTPD)
endif()
pkg_check_modules(ZLIB_ IMPORTED_TARGET zlib) # optional: smaller .html files
if(ZLIB__FOUND)
  target_compile_definitions(abd_upper PRIVATE ABD_HAVE_ZLIB)
  target_link_libraries(abd_upper PUBLIC PkgConfig::ZLIB_)
endif()

if(IS_DIRECTORY "${ABD_VIEWER}")
  set(VIEWER_FOLDER ${ABD_VIEWER})
elseif(ABD_VIEWER)
  set(VIEWER_FOLDER ${PROJECT_BINARY_DIR}/viewer)
  file(GLOB VIEWER_SOURCES CONFIGURE_DEPENDS viewer/src/*.js viewer/src/*.css viewer/*.html viewer/*.json viewer/vite.config.js)
  add_custom_command(OUTPUT ${VIEWER_FOLDER}/index.html ${VIEWER_FOLDER}/viewer.css ${VIEWER_FOLDER}/viewer.js
                     COMMAND ${PROJECT_SOURCE_DIR}/viewer/build.sh ${VIEWER_FOLDER} ${ABD_VIEWER}
                     DEPENDS ${VIEWER_SOURCES} ${PROJECT_SOURCE_DIR}/viewer/build.sh
                     COMMENT "Building the viewer's page" VERBATIM)
  add_custom_target(viewer_page DEPENDS ${VIEWER_FOLDER}/index.html)
  add_dependencies(abd_upper viewer_page)
endif()
if(VIEWER_FOLDER)
  set_source_files_properties(src/view/page.c PROPERTIES COMPILE_DEFINITIONS ABD_VIEWER_FOLDER="${VIEWER_FOLDER}"
    OBJECT_DEPENDS "${VIEWER_FOLDER}/index.html;${VIEWER_FOLDER}/viewer.css;${VIEWER_FOLDER}/viewer.js")
endif()
