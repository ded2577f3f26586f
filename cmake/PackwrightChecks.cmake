# Checks of the tree as a whole: the format, and the sanitizer builds with their tests.

find_program(CLANG_FORMAT NAMES clang-format-19)
find_program(GIT git)
set(format_check ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DCLANG_FORMAT=${CLANG_FORMAT} -DGIT=${GIT}
                 -P ${CMAKE_CURRENT_LIST_DIR}/FormatCheck.cmake)
add_custom_target(format-check COMMAND ${format_check} VERBATIM)
add_test(NAME format COMMAND ${format_check})
set_tests_properties(format PROPERTIES LABELS lint SKIP_REGULAR_EXPRESSION "SKIPPED")

option(PW_TEST_SANITIZERS "Let ctest also build the asan and tsan presets and run their tests" OFF)
set(PW_SANITIZER_TEST_TYPES 1500 CACHE STRING "Random types that the tests face in a sanitizer build")

# pw_sanitizer_step(preset step SECONDS n [AFTER step] COMMAND …): one of the tests sanitize.<preset>.<step>. They use
# the whole machine, since the builds inside are parallel themselves.
function(pw_sanitizer_step preset step)
  cmake_parse_arguments(S "" "SECONDS;AFTER" "COMMAND;ENV" ${ARGN})
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  set(name sanitize.${preset}.${step})
  add_test(NAME ${name} COMMAND ${S_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS sanitize TIMEOUT ${S_SECONDS} PROCESSORS ${cores}
                       FIXTURES_SETUP sanitize_${preset}_${step} ENVIRONMENT "${S_ENV}")
  if(S_AFTER)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED sanitize_${preset}_${S_AFTER})
  endif()
endfunction()

# Unit tests that are left out, by how their names begin. Under ThreadSanitizer: what starts no threads and computes much. Under
# AddressSanitizer: what mostly waits for compilers of generated text; nvrtc_random makes and runs such text there, too.
set(left_out_tsan "((nvrtc|llvm|interp|joined|passes|ir|fuzz)_|base_arena$|ddt$|library[.](ir|types|device)[.](off|sync)$)")
set(left_out_asan "nvrtc_(emit|kernels)$")

# What the steps below run of a sanitizer build, and nothing else: most programs are those of other tests or benchmarks.
get_property(sanitized_tests GLOBAL PROPERTY PW_UNIT_TEST_PROGRAMS)
if(PW_SANITIZE STREQUAL thread)
  list(FILTER sanitized_tests EXCLUDE REGEX "^test_${left_out_tsan}")
else()
  list(FILTER sanitized_tests EXCLUDE REGEX "^test_${left_out_asan}")
endif()
get_property(sanitized_programs GLOBAL PROPERTY PW_SANITIZED_PROGRAMS)
list(APPEND sanitized_tests ${sanitized_programs})
set(others test_decision_tables packwright-llvm packwright-nvrtc)
if(NOT PW_SANITIZE STREQUAL thread)
  list(APPEND others test_mpich_random test_openmpi_random)
endif()
foreach(target IN LISTS others)
  if(TARGET ${target})
    list(APPEND sanitized_tests ${target})
  endif()
endforeach()
list(REMOVE_DUPLICATES sanitized_tests)
add_custom_target(sanitized-tests)
add_dependencies(sanitized-tests ${sanitized_tests})

# The interposer hands statistics to the command beside it: here that of the build outside, which is not built again.
if(PW_SANITIZE AND PW_SANITIZED_COMMAND)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  file(CREATE_LINK ${PW_SANITIZED_COMMAND} ${CMAKE_BINARY_DIR}/bin/packwright SYMBOLIC)
endif()

# The preset's own build tree inside this one, configured with the tools of this one. Stacks need no more than -g1 writes, and it
# compiles in four fifths of the time.
function(pw_sanitizer_tests preset)
  set(tree ${CMAKE_BINARY_DIR}/${preset})
  set(run_tests ${CMAKE_CTEST_COMMAND} --test-dir ${tree} --output-on-failure --no-tests=error -j 2)
  pw_sanitizer_step(${preset} configure SECONDS 120
    COMMAND ${CMAKE_COMMAND} --preset ${preset} -B ${tree} -DPW_TEST_TYPES=${PW_SANITIZER_TEST_TYPES} -DPW_FORTRAN=OFF
            "-DCMAKE_C_FLAGS_DEBUG=-O1 -g1" "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1"
            -DPW_SANITIZED_COMMAND=$<TARGET_FILE:packwright>
            -DPython3_EXECUTABLE=${Python3_EXECUTABLE} -DMPIEXEC_MPICH=${MPIEXEC_MPICH} -DMPIEXEC_OPENMPI=${MPIEXEC_OPENMPI})
  pw_sanitizer_step(${preset} build AFTER configure SECONDS 900
    COMMAND ${CMAKE_COMMAND} --build ${tree} --target sanitized-tests)
  pw_sanitizer_step(${preset} unit AFTER build SECONDS 900
    COMMAND ${run_tests} -L ^unit$ -E "^${left_out_${preset}}")
endfunction()

if(PW_TEST_SANITIZERS AND NOT PW_SANITIZE)
  pw_sanitizer_tests(asan)
  pw_sanitizer_tests(tsan)
  if(PW_HAVE_MPICH OR PW_HAVE_OPENMPI)
    # What the MPI below leaves allocated is not Packwright's fault.
    pw_sanitizer_step(asan random AFTER build SECONDS 900 ENV ASAN_OPTIONS=detect_leaks=0
      COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${CMAKE_BINARY_DIR}/asan --output-on-failure --no-tests=error
            -R [.]random$)
    # Here the tests themselves say what the MPI below needs to run inside a sanitizer.
    foreach(preset asan tsan)
      pw_sanitizer_step(${preset} interposer AFTER build SECONDS 900
        COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${CMAKE_BINARY_DIR}/${preset} --output-on-failure --no-tests=error
              -L ^sanitized$)
    endforeach()
  endif()
endif()
