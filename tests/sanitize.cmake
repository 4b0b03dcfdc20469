# What a build with sanitizers changes for the tests: TEST_SUFFIX of their names, TEST_ENVIRONMENT, TEST_LIBRARY they stand on.
#
# Threads: neither gcc's nor clang's OpenMP runtime is built for ThreadSanitizer, so that it takes every barrier for a
# race. LLVM's Archer tells it what the runtime orders; races in our own code still show. Hence clang, libomp, Archer.
set(TEST_SUFFIX "")
set(TEST_ENVIRONMENT "")
set(TEST_LIBRARY abd_above)
if(ABD_SANITIZE)
  string(REGEX REPLACE ",.*" "" first ${ABD_SANITIZE})
  set(TEST_SUFFIX ".${first}")
  set(TEST_ENVIRONMENT "ABD_TEST_SHORT=1;UBSAN_OPTIONS=print_stacktrace=1")
endif()
if(ABD_SANITIZE MATCHES "address")
  list(APPEND TEST_ENVIRONMENT "ASAN_OPTIONS=leak_check_at_exit=0") # leak_check.c decides
endif()
if(ABD_SANITIZE MATCHES "thread" AND ABD_OPENMP)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ABD_SANITIZE=thread needs clang (CC=clang): ThreadSanitizer cannot see into gcc's OpenMP")
  endif()
  file(GLOB ARCHER_FOLDERS /usr/lib/llvm-*/lib)
  find_library(ARCHER_LIBRARY archer PATHS ${ARCHER_FOLDERS} REQUIRED)
  set(TEST_LIBRARY abd_scene abd_record) # no test of threads needs exports: they are not built for it;
  target_compile_options(abd_scene PRIVATE -O0) # and of scenes only shapes
  list(APPEND TEST_ENVIRONMENT "OMP_TOOL_LIBRARIES=${ARCHER_LIBRARY}" "TSAN_OPTIONS=ignore_noninstrumented_modules=1")
endif()
