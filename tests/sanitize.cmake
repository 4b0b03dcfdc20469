# What a build with sanitizers changes for the tests: TEST_SUFFIX of their names, TEST_ENVIRONMENT, TEST_LIBRARY they stand on,
# TEST_OPTIMIZE and, if they compute much themselves, COMPUTING_OPTIMIZE.
set(TEST_SUFFIX "")
set(TEST_ENVIRONMENT "")
set(TEST_LIBRARY abd_above)
set(TEST_OPTIMIZE -Og)
set(COMPUTING_OPTIMIZE -O2)
if(ABD_SANITIZE)
  string(REGEX REPLACE ",.*" "" first ${ABD_SANITIZE})
  set(TEST_SUFFIX ".${first}")
  set(TEST_ENVIRONMENT "ABD_TEST_SHORT=1;UBSAN_OPTIONS=print_stacktrace=1")
  set(TEST_OPTIMIZE -O0)
  set(COMPUTING_OPTIMIZE -O1)
endif()
if(ABD_SANITIZE MATCHES "address")
  list(APPEND TEST_ENVIRONMENT "ASAN_OPTIONS=leak_check_at_exit=0") # leak_check.c decides
endif()
if(ABD_SANITIZE MATCHES "thread")
  set(TEST_LIBRARY abd_scene abd_record) # no test of threads needs exports: they are not built for it;
  target_compile_options(abd_scene PRIVATE -O0) # and of scenes only shapes
endif()
