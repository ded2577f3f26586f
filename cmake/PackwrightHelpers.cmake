# pw_library(name sources…): an internal static library with the source root as include path.
function(pw_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
endfunction()

# pw_unit_test(name LIBS … SOURCES … [ARGS …]): a cmocka program run by ctest.
function(pw_unit_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "LIBS;SOURCES;ARGS;LABELS" ${ARGN})
  add_executable(test_${name} ${T_SOURCES})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMOCKA_INCLUDE_DIR})
  target_link_libraries(test_${name} PRIVATE ${T_LIBS} ${CMOCKA_LIBRARY})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND test_${name} ${T_ARGS})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "unit;${T_LABELS}")
endfunction()
