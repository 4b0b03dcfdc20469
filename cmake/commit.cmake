# Writes commit.h: the commit that is built, and the compiler's flags, for the figures of `abd bench`. Run at every build, by
# cmake -P; the header is touched only where it changes.
#   SOURCE: the source folder; OUT: the header; FLAGS
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=* OUTPUT_VARIABLE COMMIT
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE FAILED)
if(FAILED)
  set(COMMIT "no commit")
endif()
file(WRITE ${OUT}.new "#define ABD_COMMIT \"${COMMIT}\"\n#define ABD_COMPILE_FLAGS \"${FLAGS}\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUT}.new ${OUT})
