# The C API's reference: `cmake --build build --target docs` writes build/docs/html, where doxygen is installed. Any warning of it
# is an error. Tested by the test `doxygen`.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  set(ABD_DOCS_COMMAND ${CMAKE_COMMAND} -E env ABD_DOCS_OUTPUT=${PROJECT_BINARY_DIR}/docs ABD_VERSION=${PROJECT_VERSION}
      ${DOXYGEN} docs/Doxyfile)
  add_custom_target(docs COMMAND ${ABD_DOCS_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                    COMMENT "API reference: ${PROJECT_BINARY_DIR}/docs/html/index.html" VERBATIM)
endif()
