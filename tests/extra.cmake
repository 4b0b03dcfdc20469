# Tests that are scripts, and labels: `threads` also run under ThreadSanitizer, `long` only with ./test --all.
add_test(NAME include_order COMMAND ${CMAKE_CURRENT_LIST_DIR}/include_order.sh ${PROJECT_SOURCE_DIR})
if(NOT ABD_SANITIZE)
  add_test(NAME install COMMAND ${CMAKE_CURRENT_LIST_DIR}/install/run.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
endif()
if(ABD_SANITIZE MATCHES "fuzzer")
  include(fuzz/fuzz.cmake)
endif()
