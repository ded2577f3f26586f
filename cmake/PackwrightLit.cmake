# pw_lit_tests(area [FILTER regex | FILTER_OUT regex] [LABELS …]): the *.ir and *.test files of the calling folder, or those whose name
# begins as the expression says, as one ctest test, lit_<area>. In their RUN lines %packwright is build/bin/packwright, and FileCheck
# and not are on the PATH.
function(pw_lit_tests area)
  cmake_parse_arguments(T "" "FILTER;FILTER_OUT" "LABELS" ${ARGN})
  set(options "")
  if(T_FILTER)
    set(options "--filter=/${T_FILTER}")
  elseif(T_FILTER_OUT)
    set(options "--filter-out=/${T_FILTER_OUT}")
  endif()
  add_test(NAME lit_${area}
           COMMAND ${Python3_EXECUTABLE} ${LIT} -v ${options}
                   -Dpackwright=$<TARGET_FILE:packwright> -Dfilecheck=${FILECHECK} -Dsource_root=${CMAKE_SOURCE_DIR}
                   -Dexec_root=${CMAKE_BINARY_DIR}/tests/lit_${area} ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(lit_${area} PROPERTIES TIMEOUT 300 LABELS "lit;${T_LABELS}")
endfunction()
