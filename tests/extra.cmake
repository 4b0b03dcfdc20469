# Tests that are scripts; sanitized builds have their own, fewer.
if(NOT ABD_SANITIZE)
  add_test(NAME include_order COMMAND ${CMAKE_CURRENT_LIST_DIR}/include_order.sh ${PROJECT_SOURCE_DIR})
  add_test(NAME constants COMMAND ${CMAKE_CURRENT_LIST_DIR}/constants.sh ${PROJECT_SOURCE_DIR})
  add_test(NAME format COMMAND ${CMAKE_CURRENT_LIST_DIR}/format.sh ${PROJECT_SOURCE_DIR})
  set_tests_properties(format PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME headers COMMAND ${CMAKE_CURRENT_LIST_DIR}/headers.sh ${PROJECT_SOURCE_DIR})
  add_test(NAME install COMMAND ${CMAKE_CURRENT_LIST_DIR}/install/run.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  if(TARGET abd)
    add_test(NAME scenes COMMAND ${CMAKE_CURRENT_LIST_DIR}/scenes.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:abd>)
    add_test(NAME readme COMMAND ${CMAKE_CURRENT_LIST_DIR}/readme.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:abd>)
    add_executable(vocabulary ${PROJECT_SOURCE_DIR}/docs/vocabulary.c)
    set_target_properties(vocabulary PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(vocabulary PRIVATE abd_static PkgConfig::JANSSON m)
    add_dependencies(tests vocabulary)
    add_test(NAME reference COMMAND ${CMAKE_CURRENT_LIST_DIR}/reference.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:abd>
             $<TARGET_FILE:vocabulary>)
    set_tests_properties(reference PROPERTIES SKIP_RETURN_CODE 77)
    foreach(steps 10 100)
      add_test(NAME fixtures_${steps} COMMAND ${CMAKE_CURRENT_LIST_DIR}/fixtures.sh $<TARGET_FILE:abd>
               ${PROJECT_SOURCE_DIR}/../shared/fixtures/rigid-ipc/fixtures ${steps})
      set_tests_properties(fixtures_${steps} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
    set_tests_properties(fixtures_100 PROPERTIES LABELS long TIMEOUT 3600)
    add_test(NAME standing COMMAND ${CMAKE_CURRENT_LIST_DIR}/standing.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:abd>
             card-house-3 card-house-10 arch)
    add_test(NAME gallery_steps COMMAND ${CMAKE_CURRENT_LIST_DIR}/gallery_steps.sh $<TARGET_FILE:abd> 60)
    set_tests_properties(gallery_steps PROPERTIES LABELS long)
    add_test(NAME validation COMMAND ${CMAKE_CURRENT_LIST_DIR}/validation.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:abd>)
    set_tests_properties(validation PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
if(ABD_SANITIZE MATCHES "fuzzer")
  include(fuzz/fuzz.cmake)
endif()
# What single tests need beyond the library.
if(TARGET test_cuda_serial) # the GPU's part of a step on this machine's cores, compiled once for two tests
  file(GLOB ABD_CUDA_SERIAL CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cuda/*.c)
  add_library(cuda_serial OBJECT cuda/serial.c ${ABD_CUDA_SERIAL})
  target_include_directories(cuda_serial PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                             ${CMAKE_CURRENT_LIST_DIR} ${AMD_INCLUDE})
  target_compile_options(cuda_serial PRIVATE ${COMPUTING_OPTIMIZE})
  target_sources(test_cuda_serial PRIVATE $<TARGET_OBJECTS:cuda_serial>)
  target_sources(test_cuda_soft PRIVATE $<TARGET_OBJECTS:cuda_serial>)
endif()
if(TARGET test_cuda_cluster)
  target_sources(test_cuda_cluster PRIVATE ${PROJECT_SOURCE_DIR}/src/cuda/cluster.c)
endif()
if(TARGET test_owner AND NOT ABD_MPI) # it needs no MPI
  target_sources(test_owner PRIVATE ${PROJECT_SOURCE_DIR}/src/mpi/owner.c)
endif()
if(TARGET test_record_thread) # it lets allocations of src/record fail
  target_link_options(test_record_thread PRIVATE -Wl,--wrap=malloc,--wrap=calloc)
endif()
find_path(CHOLMOD_INCLUDE cholmod.h PATH_SUFFIXES suitesparse)
find_library(CHOLMOD_LIBRARY cholmod)
if(TARGET test_block_cholesky AND CHOLMOD_INCLUDE AND CHOLMOD_LIBRARY)
  target_include_directories(test_block_cholesky PRIVATE ${CHOLMOD_INCLUDE})
  target_compile_definitions(test_block_cholesky PRIVATE ABD_TEST_CHOLMOD)
  target_link_libraries(test_block_cholesky PRIVATE ${CHOLMOD_LIBRARY})
endif()
# The formulas must stay good CUDA: compiled for the device where the compiler is there, and not optimized.
find_program(NVCC nvcc PATHS /usr/local/cuda/bin)
if(NVCC AND NOT ABD_SANITIZE)
  add_test(NAME kernel_cuda COMMAND ${NVCC} -std=c++17 -Xcicc -O0 -Xptxas -O0 -I${PROJECT_SOURCE_DIR}/src -c
           ${CMAKE_CURRENT_LIST_DIR}/cuda/kernel_headers.cu -o ${PROJECT_BINARY_DIR}/kernel_headers.o)
endif()
# Forty turns of gears, a train of 28 and ten seconds of a thousand links: a quarter of an hour and more.
if(TARGET test_joint_long AND NOT ABD_SANITIZE)
  set_tests_properties(test_joint_long PROPERTIES TIMEOUT 7200)
endif()
# The command, end to end.
if(TARGET abd AND NOT ABD_SANITIZE)
  foreach(name usage manual run stop change belt look view joint robot export trouble gallery soft softrun newcomer cookbook
          bench sweep ranks shards petsc)
    add_test(NAME cli_${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/cli/${name}.sh $<TARGET_FILE:abd> ${PROJECT_SOURCE_DIR})
  endforeach()
  set_tests_properties(cli_robot PROPERTIES SKIP_RETURN_CODE 77) # a build without expat
  set_tests_properties(cli_ranks cli_petsc PROPERTIES SKIP_RETURN_CODE 77) # without MPI or PETSc
endif()
if(TARGET abd AND NOT ABD_SANITIZE)
  add_test(NAME cli_clone COMMAND ${CMAKE_CURRENT_LIST_DIR}/cli/clone.sh $<TARGET_FILE:abd> ${PROJECT_SOURCE_DIR})
  set_tests_properties(cli_clone PROPERTIES LABELS clone SKIP_RETURN_CODE 77) # not in ./test --quick
endif()
# The API's reference is made without a warning, where doxygen is there.
if(DOXYGEN AND NOT ABD_SANITIZE)
  add_test(NAME doxygen COMMAND ${ABD_DOCS_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endif()
# The viewer in a browser; skipped where there is none.
if(TARGET abd AND NOT ABD_SANITIZE)
  add_test(NAME view_browser COMMAND ${CMAKE_CURRENT_LIST_DIR}/view/browser.sh $<TARGET_FILE:abd> ${PROJECT_SOURCE_DIR}
           ${PROJECT_BINARY_DIR})
  set_tests_properties(view_browser PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 500 COST 200) # begun first: it takes minutes
endif()
# Other engines, where they are installed.
if(TARGET abd AND NOT ABD_SANITIZE)
  add_test(NAME cli_peers COMMAND ${CMAKE_CURRENT_LIST_DIR}/cli/peers.sh $<TARGET_FILE:abd> ${PROJECT_SOURCE_DIR})
  set_tests_properties(cli_peers PROPERTIES SKIP_RETURN_CODE 77)
endif()
# The Python module, installed by pip into a virtual environment; with sanitizers only by ./test --all.
if(TARGET abd AND (NOT ABD_SANITIZE OR ABD_SANITIZE MATCHES "address" AND NOT ABD_SANITIZE MATCHES "fuzzer"))
  add_test(NAME python${TEST_SUFFIX} COMMAND ${CMAKE_CURRENT_LIST_DIR}/python/run.sh ${PROJECT_SOURCE_DIR}
           ${PROJECT_BINARY_DIR} "${ABD_SANITIZE}" -m "not long")
  set_tests_properties(python${TEST_SUFFIX} PROPERTIES SKIP_RETURN_CODE 77)
  if(ABD_SANITIZE)
    set_tests_properties(python${TEST_SUFFIX} PROPERTIES LABELS long TIMEOUT 1800)
  else()
    add_test(NAME python_long COMMAND ${CMAKE_CURRENT_LIST_DIR}/python/run.sh ${PROJECT_SOURCE_DIR}
             ${PROJECT_BINARY_DIR} "" -m long)
    set_tests_properties(python_long PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 1800 DEPENDS python)
  endif()
endif()
# Exports, read by whichever foreign readers are here.
if(TARGET abd AND NOT ABD_SANITIZE)
  find_path(ASSIMP_INCLUDE assimp/cimport.h)
  find_library(ASSIMP_LIBRARY assimp)
  if(ASSIMP_INCLUDE AND ASSIMP_LIBRARY)
    add_executable(assimp_points ${CMAKE_CURRENT_LIST_DIR}/reader/assimp_points.c)
    set_target_properties(assimp_points PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(assimp_points PRIVATE ${ASSIMP_INCLUDE})
    target_link_libraries(assimp_points PRIVATE ${ASSIMP_LIBRARY} m)
  endif()
  add_test(NAME readers COMMAND ${CMAKE_CURRENT_LIST_DIR}/reader/readers.sh $<TARGET_FILE:abd> ${PROJECT_SOURCE_DIR}
           ${PROJECT_BINARY_DIR})
  set_tests_properties(readers PROPERTIES SKIP_RETURN_CODE 77)
endif()
# The longest first, so that no core idles behind one of them at the end.
set(cost 300)
foreach(name view_browser cli_clone python cli_ranks test_interrupt test_determinism test_soft readers hard_worlds
        test_cuda_serial test_robot_fixtures headers fixtures_10 test_ccd test_bound test_view test_soft_contact test_joint_cost
        cli_gallery test_physics_standing test_query test_schedule test_world test_load test_block_cholesky standing
        test_soft_physics cli_run)
  if(TEST ${name}${TEST_SUFFIX})
    set_tests_properties(${name}${TEST_SUFFIX} PROPERTIES COST ${cost})
  endif()
  math(EXPR cost "${cost} - 10")
endforeach()
