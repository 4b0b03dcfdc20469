# Fuzz targets, tests/fuzz/fuzz_NAME.c with its seeds in tests/fuzz/corpus/NAME/. They need clang's libFuzzer:
#     CC=clang cmake -B build-fuzz -DABD_SANITIZE=fuzzer-no-link,address,undefined && cmake --build build-fuzz --target fuzz
# Each runs for ABD_FUZZ_SECONDS as a test on a copy of its corpus, so that the repository stays as it is.
set(ABD_FUZZ_SECONDS 4 CACHE STRING "how long each fuzz target runs as a test")
file(GLOB FUZZ_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/fuzz_*.c)
add_custom_target(fuzz)
# Below the readers little runs, and nothing that makes scenes: not optimizing them saves more than it costs.
foreach(library abd_objects abd_upper abd_above)
  target_compile_options(${library} PRIVATE -O0)
endforeach()
target_compile_options(abd_objects PRIVATE -fno-sanitize=pointer-overflow) # empty arrays are NULL + 0, which gcc allows
# The solver's branches tell the fuzzer nothing about files: they are checked, but not counted.
set(FUZZ_SOLVER ${ABD_CORE})
list(FILTER FUZZ_SOLVER INCLUDE REGEX "src/(linear|contact|step|cpu|mpi)/")
set_source_files_properties(${FUZZ_SOLVER} TARGET_DIRECTORY abd_objects PROPERTIES COMPILE_OPTIONS
                            -fno-sanitize=fuzzer-no-link)
file(GLOB FUZZ_UNUSED ${PROJECT_SOURCE_DIR}/src/scene/gallery*.c)
set_source_files_properties(${FUZZ_UNUSED} TARGET_DIRECTORY abd_scene PROPERTIES COMPILE_OPTIONS -O0)
foreach(source ${FUZZ_SOURCES})
  get_filename_component(target ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" name ${target})
  add_executable(${target} ${source})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  if(name STREQUAL run) # the whole command reads it
    target_link_libraries(${target} PRIVATE abd_above)
  else()
    target_link_libraries(${target} PRIVATE abd_scene)
  endif()
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz ${target})
  add_dependencies(tests ${target})
  add_test(NAME ${target} COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.sh $<TARGET_FILE:${target}>
           ${CMAKE_CURRENT_LIST_DIR}/corpus/${name} ${PROJECT_BINARY_DIR}/tests/${target}.corpus ${ABD_FUZZ_SECONDS})
  set_tests_properties(${target} PROPERTIES LABELS fuzz COST 100)
endforeach()
