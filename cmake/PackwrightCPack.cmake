# `cpack` makes packwright_<version>_<architecture>.deb, packwright-<version>-<architecture>.rpm, and a tarball that runs
# wherever it is unpacked; `cpack -G TXZ` the tarball of tests/gpu/tarball.cmake. Release packages are configured with the
# preset `package`.
set(CPACK_GENERATOR DEB TGZ)
find_program(RPMBUILD rpmbuild)
mark_as_advanced(RPMBUILD)
if(RPMBUILD)
  list(APPEND CPACK_GENERATOR RPM)
endif()
set(PACKWRIGHT_MAINTAINER "Packwright maintainers <maintainers@packwright.example>" CACHE STRING "Whom the packages name as maintainer")

set(CPACK_PACKAGE_NAME packwright)
set(CPACK_PACKAGE_VENDOR "The Packwright authors")
set(CPACK_PACKAGE_CONTACT "${PACKWRIGHT_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler for MPI datatypes")
set(CPACK_PACKAGE_DESCRIPTION "Packwright makes MPI programs with derived datatypes faster, without
changing the program or its MPI. It compiles pack and unpack kernels for each
layout and for the CPU or GPU of the machine, and puts them behind the MPI
calls that take a datatype. 'packwright run -- mpiexec ...' starts a program
with it.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME packwright-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/PackwrightCPackProject.cmake)
# Both kinds of package go below /usr, whatever the prefix of `cmake --install` is.
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

# What the libraries need besides the C library. An MPI is only recommended: which one, its user knows; packages of an MPI would
# be drawn in by packwright-measure-<mpi> otherwise.
set(deb_needs "zlib1g, libzstd1")
set(rpm_needs "glibc, zlib, libzstd")
if(PW_HAVE_LLVM AND NOT PW_LLVM_STATIC)
  string(APPEND deb_needs ", libllvm${PW_LLVM_WANTED}")
  string(APPEND rpm_needs ", llvm-libs")
endif()
find_program(DPKG_QUERY dpkg-query)
mark_as_advanced(DPKG_QUERY)
set(libc "libc6")
if(DPKG_QUERY)
  execute_process(COMMAND ${DPKG_QUERY} -W -f \${Version} libc6 OUTPUT_VARIABLE libc_version ERROR_QUIET)
  if(libc_version MATCHES "^([0-9]+\\.[0-9]+)")
    set(libc "libc6 (>= ${CMAKE_MATCH_1})")
  endif()
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${libc}, ${deb_needs}")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libmpich12 | libopenmpi3")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/deb/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/PackwrightDebian.cmake)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
# What rpmbuild does to files after their installation would strip kernels, and their checksums are of what they contain.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_LICENSE BSD-3-Clause)
set(CPACK_RPM_PACKAGE_AUTOREQ OFF)
set(CPACK_RPM_PACKAGE_REQUIRES "${rpm_needs}")
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/rpm/ldconfig.sh)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/rpm/ldconfig.sh)
# Directories of the system's own packages.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /usr/lib/cmake /usr/lib/pkgconfig /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/doc
  /usr/share/bash-completion /usr/share/bash-completion/completions)
include(CPack)
