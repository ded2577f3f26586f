# cmake -DROOT=dir -DCLANG_FORMAT=path -DGIT=path -P FormatCheck.cmake: are the tracked C and C++ files formatted?
# Prints a line with SKIPPED when a tool is missing or the tree is no repository; ctest shows the test as skipped then.
if(NOT CLANG_FORMAT OR NOT GIT)
  message(STATUS "format check SKIPPED: clang-format-19 (package clang-format-19) and git are needed")
  return()
endif()

execute_process(COMMAND ${GIT} -c safe.directory=* ls-files -- *.c *.h *.cpp
                WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE files RESULT_VARIABLE failed ERROR_QUIET)
if(failed)
  message(STATUS "format check SKIPPED: ${ROOT} is not a git repository")
  return()
endif()

string(STRIP "${files}" files)
string(REPLACE "\n" ";" files "${files}")
list(FILTER files EXCLUDE REGEX "^$")
set(present "")
foreach(file IN LISTS files)
  if(EXISTS ${ROOT}/${file})
    list(APPEND present ${file})
  endif()
endforeach()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror ${present} WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "not formatted; run: clang-format-19 -i on the files above")
endif()
list(LENGTH present n)
message(STATUS "${n} files are formatted")
