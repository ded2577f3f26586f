# pw_library(name sources…): an internal static library with the source root as include path.
function(pw_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
endfunction()

# pw_unit_test(name LIBS … SOURCES … [ARGS …] [SLOW]): a cmocka program run by ctest, labelled `quick` if it is not slow.
function(pw_unit_test name)
  cmake_parse_arguments(T "SLOW" "TIMEOUT" "LIBS;SOURCES;ARGS;LABELS" ${ARGN})
  add_executable(test_${name} ${T_SOURCES})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMOCKA_INCLUDE_DIR})
  target_link_libraries(test_${name} PRIVATE ${T_LIBS} ${CMOCKA_LIBRARY})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_property(GLOBAL APPEND PROPERTY PW_UNIT_TEST_PROGRAMS test_${name})
  add_test(NAME ${name} COMMAND test_${name} ${T_ARGS})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "unit;${T_LABELS}")
  if(NOT T_SLOW)
    set_property(TEST ${name} APPEND PROPERTY LABELS quick)
  endif()
endfunction()

# pw_tests_of(folder…): the source folders that the tests of the calling CMakeLists.txt test. Each of its tests, also those that are
# added below the call, gets them as labels, by which tests/near finds it.
macro(pw_tests_of)
  cmake_language(DEFER CALL pw_label_tests ${ARGN})
endmacro()

function(pw_label_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  pw_also_tests("${ARGN}" ${tests})
endfunction()

# pw_also_tests("folder;…" test…): source folders that these tests test besides.
function(pw_also_tests folders)
  foreach(folder IN LISTS folders)
    if(NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${folder})
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}: tests of ${folder}, which is no folder of the source tree")
    endif()
  endforeach()
  foreach(test IN LISTS ARGN)
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS ${folders})
    endif()
  endforeach()
endfunction()

# pw_test_repeats(out mpi program RANKS n [EACH_MPI] [ARGS …]): would this run repeat, with a further MPI, what the first one is
# tested with? Each part of a program (its arguments that are no numbers) runs once with every MPI and number of ranks, in the setting
# that is listed first; the other settings of Packwright run with the first MPI alone, unless PW_TEST_ALL is on (tests/README.md).
function(pw_test_repeats out mpi program)
  cmake_parse_arguments(T "EACH_MPI" "RANKS" "ARGS" ${ARGN})
  list(FILTER T_ARGS EXCLUDE REGEX "^-?[0-9]+$")
  string(MAKE_C_IDENTIFIER "PW_RUN_${mpi}_${program}_${T_RANKS}_${T_ARGS}" key)
  get_property(there GLOBAL PROPERTY ${key})
  set_property(GLOBAL PROPERTY ${key} TRUE)
  list(GET PW_TEST_MPIS 0 first)
  set(${out} FALSE PARENT_SCOPE)
  # The standard ABI's own selection is listed run by run.
  if(there AND NOT T_EACH_MPI AND NOT mpi STREQUAL first AND mpi IN_LIST PW_TEST_MPIS AND NOT PW_TEST_ALL)
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Programs that would take much of the time of all that are labelled `quick`.
set(PW_SLOW_PROGRAMS gpu_huge gpu_collective_cases interposer_communicators)

# pw_quick(test mpi program): the first run of a program with the first MPI is labelled `quick`.
function(pw_quick test mpi program)
  if(program IN_LIST PW_SLOW_PROGRAMS)
    return()
  endif()
  get_property(there GLOBAL PROPERTY PW_QUICK_${program})
  list(GET PW_TEST_MPIS 0 first)
  if(NOT there AND mpi STREQUAL first)
    set_property(GLOBAL PROPERTY PW_QUICK_${program} TRUE)
    set_property(TEST ${test} APPEND PROPERTY LABELS quick)
  endif()
endfunction()

# The bytes of text files as elements of a C array, one file after the other.
function(pw_text_bytes variable)
  set(all "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} hex HEX)
    string(APPEND all ${hex})
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${all}")
  set(${variable} "${bytes}" PARENT_SCOPE)
endfunction()
