# cmake -DROOT=dir -DWORK=dir -P mpi_wrappers.cmake: does cmake/PackwrightMPI.cmake tell MPIs by their compiler wrappers?
# The wrappers here are shell scripts that name directories with headers of a few lines.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/cmake/PackwrightMPI.cmake)
file(REMOVE_RECURSE ${WORK})

# An MPI in WORK/name: the header's lines, the library's file and the launcher's name.
function(make_mpi name header library)
  file(WRITE ${WORK}/${name}/include/mpi.h "${header}")
  file(WRITE ${WORK}/${name}/lib/${library} "")
  file(CREATE_LINK ${library} ${WORK}/${name}/lib/libmpi.so SYMBOLIC)
  file(WRITE ${WORK}/${name}/bin/mpicc "#!/bin/sh\necho gcc -I${WORK}/${name}/include -L${WORK}/${name}/lib -lmpi\n")
  file(WRITE ${WORK}/${name}/bin/mpiexec "")
  file(CHMOD ${WORK}/${name}/bin/mpicc PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

function(expect what found wanted)
  if(NOT "${found}" STREQUAL "${wanted}")
    message(SEND_ERROR "${what} is '${found}', expected '${wanted}'")
  endif()
endfunction()

# The other half of pw_add_mpi makes targets, which scripts cannot.
function(pw_import_mpi)
endfunction()

set(mpich "#define MPI_VERSION 4\n#define MPICH_NAME 5\n#define MPICH_VERSION \"5.0.2\"\n#define MPICH_NUMVERSION 50002300\n")
make_mpi(a "${mpich}" libmpi.so.12.6.0)
make_mpi(b "${mpich}" libmpi.so.12.6.0)
make_mpi(intel "#define I_MPI_VERSION \"2021.13.0\"\n#define MPICH_VERSION \"3.3\"\n" libmpi.so.12.0.0)
make_mpi(ompi "#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n#define OMPI_RELEASE_VERSION 11\n" libmpi.so.40.40.7)
make_mpi(other "#define MPI_VERSION 3\n" libmpi.so.1)

set(PW_MPIS "")
set(PW_MPI_FOLDERS "")
foreach(name a ompi b a intel)
  pw_mpi_examine(${WORK}/${name}/bin/mpicc found)
  expect("the error of ${name}" "${found_ERROR}" "")
  pw_add_mpi(found)
endforeach()
expect("the list" "${PW_MPIS}" "mpich;openmpi;mpich_5_0_2;mpich_5_0_2_2;mpich_2021_13_0")
expect("a's folder" "${PW_MPI_mpich_FOLDER}" "")
expect("b's folder" "${PW_MPI_mpich_5_0_2_FOLDER}" "packwright/mpich-5.0.2")
expect("the folder of a second one of a version" "${PW_MPI_mpich_5_0_2_2_FOLDER}" "packwright/mpich-5.0.2-2")
expect("b's kind" "${PW_MPI_mpich_5_0_2_KIND}" mpich)
expect("b's library" "${PW_MPI_mpich_5_0_2_LIBRARY}" ${WORK}/b/lib/libmpi.so.12.6.0)
expect("Open MPI's title" "${PW_MPI_openmpi_TITLE}" "Open MPI 5.0.11")
expect("Intel's title" "${PW_MPI_mpich_2021_13_0_TITLE}" "Intel MPI 2021.13.0")

# A plain name is looked for on the PATH.
set(ENV{PATH} "${WORK}/ompi/bin:$ENV{PATH}")
pw_mpi_examine(mpicc found)
expect("plain mpicc" "${found_WRAPPER}" ${WORK}/ompi/bin/mpicc)
pw_mpi_launcher(${found_WRAPPER} launcher)
expect("its launcher" "${launcher}" ${WORK}/ompi/bin/mpiexec)

# What cannot be built for is said.
pw_mpi_examine(${WORK}/nowhere/mpicc found)
expect("no wrapper" "${found_ERROR}" "there is no program '${WORK}/nowhere/mpicc'")
pw_mpi_examine(${WORK}/other/bin/mpicc found)
if(NOT found_ERROR MATCHES "names no directory with the mpi.h")
  message(SEND_ERROR "an unknown MPI: '${found_ERROR}'")
endif()
file(WRITE ${WORK}/a/bin/mpicc "#!/bin/sh\necho broken >&2\nexit 3\n")
pw_mpi_examine(${WORK}/a/bin/mpicc found)
expect("a wrapper that fails" "${found_ERROR}" "'${WORK}/a/bin/mpicc -show' fails: 3 broken")
