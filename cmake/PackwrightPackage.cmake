# What other projects find of the library: a CMake package, and packwright.pc with those of its parts.
if(NOT TARGET packwright-engine)
  return()
endif()
include(CMakePackageConfigHelpers)

set_target_properties(packwright-engine PROPERTIES EXPORT_NAME packwright)
set_target_properties(packwright PROPERTIES EXPORT_NAME command)
set(PW_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Packwright)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/PackwrightConfig.cmake.in ${CMAKE_BINARY_DIR}/PackwrightConfig.cmake
  INSTALL_DESTINATION ${PW_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/PackwrightConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(EXPORT PackwrightTargets NAMESPACE Packwright:: DESTINATION ${PW_PACKAGE_DIR})
install(FILES ${CMAKE_BINARY_DIR}/PackwrightConfig.cmake ${CMAKE_BINARY_DIR}/PackwrightConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/PackwrightTypes.cmake
        DESTINATION ${PW_PACKAGE_DIR})

# pw_pkg_config(name DESCRIPTION text LIBRARY name [REQUIRES name] [MODULES]): name.pc, which finds its prefix from its own
# place. MODULES: the directory of Fortran's modules is an include path, too.
function(pw_pkg_config name)
  cmake_parse_arguments(P "MODULES" "DESCRIPTION;LIBRARY;REQUIRES" "" ${ARGN})
  set(P_CFLAGS "-I\${includedir}")
  if(P_MODULES)
    string(APPEND P_CFLAGS " -I\${includedir}/packwright")
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/packwright.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

pw_pkg_config(packwright LIBRARY packwright DESCRIPTION "Data layouts: pack, unpack and copy by compiled kernels")
if(TARGET packwright-fortran)
  pw_pkg_config(packwright-fortran MODULES LIBRARY packwright-fortran REQUIRES packwright
                DESCRIPTION "The Fortran module of Packwright")
endif()
foreach(mpi mpich openmpi mpi-abi)
  if(TARGET packwright-mpi-${mpi})
    pw_pkg_config(packwright-mpi-${mpi} LIBRARY packwright-mpi-${mpi} REQUIRES packwright
                  DESCRIPTION "Packwright's types from MPI datatypes")
  endif()
endforeach()

# packwright(3), and a page for each function, of what that page and the header say of it.
set(PW_MAN3 ${CMAKE_BINARY_DIR}/man3)
set(manual ${CMAKE_SOURCE_DIR}/docs/man/packwright.3)
set(header ${CMAKE_SOURCE_DIR}/include/packwright/packwright.h)
set(made "")
file(STRINGS ${header} declarations REGEX "^PACKWRIGHT_API")
foreach(declaration IN LISTS declarations)
  if(declaration MATCHES "(packwright_[a-z_]+)\\(")
    list(APPEND made ${PW_MAN3}/${CMAKE_MATCH_1}.3)
  endif()
endforeach()
add_custom_command(OUTPUT ${made} DEPENDS ${manual} ${header} ${CMAKE_SOURCE_DIR}/docs/man/functions.py
                   COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/docs/man/functions.py ${manual} ${header} ${PW_MAN3})
add_custom_target(packwright-man3 ALL DEPENDS ${made})
set(pages ${manual} ${made})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
