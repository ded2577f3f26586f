# Read by cpack when the files of a package lie ready. What Debian wants otherwise: manual pages that are compressed, a
# changelog in a form of its own, and reasons for what its checker (lintian) finds.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
find_program(GZIP gzip REQUIRED)

set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(changelog ${share}/doc/packwright/changelog)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, if it is set
file(WRITE ${changelog} "packwright (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * CHANGELOG.md beside this file says what users notice.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(MAKE_DIRECTORY ${share}/lintian/overrides)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/../packaging/deb/lintian-overrides ${share}/lintian/overrides/packwright)
file(GLOB pages ${share}/man/man*/*.[1-9])
execute_process(COMMAND ${GZIP} -9n ${pages} ${changelog} COMMAND_ERROR_IS_FATAL ANY)
