"""Libraries that are in Debian for an MPI, each with a small program of this folder that calls it."""
import os
from pathlib import Path

from places import PROGRAMS, client
from pnetcdf_tests import Pnetcdf
from turns import Missing, Program


def environment(place, *folders):
    paths = [*map(str, folders), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**place.mpi.environment, "LD_LIBRARY_PATH": ":".join(paths), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def of_debian(place):
    """Debian's libraries are linked with Debian's MPIs."""
    if "/" in place.mpi.name:
        raise Missing("Debian has it only for its own MPIs")


def of_debians_openmpi(place):
    of_debian(place)
    if place.mpi.kind != "openmpi":
        raise Missing("Debian has it for Open MPI only")


def library(root, pattern):
    return next(client.libraries(root).glob(pattern))


def seconds(place):
    return "--seconds=0.05" if place.quick else "--seconds=0.3"


def scalapack(place):
    """ScaLAPACK over OpenBLAS with one thread."""
    of_debian(place)
    root = place.packages(f"libscalapack-{place.mpi.kind}2.2", "libopenblas0-serial")
    algebra = client.libraries(root) / "openblas-serial"
    made = place.compile("scalapack", [library(root, f"libscalapack-{place.mpi.kind}.so.*"), f"-Wl,-rpath-link,{algebra}"])
    sizes = "500,1000" if place.quick else "500,1000,2000,4000"
    yield Program("ScaLAPACK", (made, f"--sizes={sizes}", seconds(place)), environment=environment(place, client.libraries(root), algebra),
                  ranks=place.ranks, turns="--turns")


def by_hand(place, application, made, folders=(), settings=(), sizes=("64,128", "64,128,192")):
    """A program that has a way by hand, too. `sizes`: in a quick run, and else."""
    command = (*made, f"--sizes={sizes[not place.quick]}", seconds(place))
    return Program(application, command, (*command, "--hand"), {**environment(place, *folders), **dict(settings)}, ranks=place.ranks)


def files_program(place, application, made, folders=(), settings=()):
    return by_hand(place, application, (*made, "--folder=/dev/shm"), folders, settings)


def hdf5(place):
    of_debian(place)
    kind = place.mpi.kind
    root = place.packages("libsz2", "libaec0", "libcurl4", f"libhdf5-{kind}-103-1", f"libhdf5-{kind}-dev")
    folder = client.libraries(root)
    made = place.compile("hdf5", [f"-I{root}/usr/include/hdf5/{kind}", f"-L{folder}", f"-lhdf5_{kind}", f"-Wl,-rpath-link,{folder}"])
    yield files_program(place, "HDF5", [made], [folder])


def h5py(place):
    """By hand: copied by numpy, as its users do. Debian's own Python has it, with mpi4py and numpy."""
    of_debians_openmpi(place)
    python = Path("/usr/bin/python3")
    if not python.exists():
        raise Missing(f"Debian's h5py needs Debian's {python}")
    root = place.packages_and_needed("python3-h5py", "python3-h5py-mpi")
    yield files_program(place, "h5py", [python, PROGRAMS / "h5py_cubes.py"], [client.libraries(root)],
                        {"PYTHONPATH": root / "usr/lib/python3/dist-packages"})


def pnetcdf(place):
    """Built as tests/suites builds it: Debian has it for one MPI only."""
    of_debian(place)
    built = place.suite(Pnetcdf)
    made = place.compile("pnetcdf", [f"-I{built}/src/include", built / "src/libs/.libs/libpnetcdf.a"])
    yield files_program(place, "PnetCDF", [made])


def spfft(place):
    """By hand: its exchange with compact buffers."""
    of_debians_openmpi(place)
    root = place.packages("libspfft1", "libspfft-dev", "libfftw3-double3")
    folder = client.libraries(root)
    made = place.compile("spfft", [f"-I{root}/usr/include", f"-L{folder}", "-lspfft", f"-Wl,-rpath-link,{folder}"])
    yield by_hand(place, "SpFFT", [made], [folder])


def petsc(place):
    """By hand: column by column, for which PETSc packs. Only its headers are had of its package for development, which needs much else."""
    of_debians_openmpi(place)
    root = place.packages_and_needed("libpetsc-real3.18", "libopenblas0-serial")
    place.packages("libpetsc-real3.18-dev", "libpetsc3.18-dev-common")
    folder = client.libraries(root)
    headers = next(root.glob("usr/lib/petscdir/petsc*/*-real/include"))
    made = place.compile("petsc", [f"-I{headers}", library(root, "libpetsc_real.so.*"), f"-Wl,-rpath-link,{folder}"])
    yield by_hand(place, "PETSc", [made], [folder, folder / "openblas-serial"], sizes=("128", "128,256"))


def global_arrays(place):
    """Debian's library is without ARMCI, for which stands Debian's ARMCI-MPI; both are static. With Open MPI, ARMCI-MPI does not use types
    unless it is told to. Windows that MPICH 4.0 has allocated lie elsewhere than it believes, if their size is not a multiple of 16 bytes:
    they are created, not allocated."""
    of_debian(place)
    kind = place.mpi.kind
    root = place.packages_and_needed("libglobalarrays-dev", "libarmci-mpi-dev", f"libscalapack-{kind}2.2", "libopenblas0-serial")
    folder = client.libraries(root)
    algebra = folder / "openblas-serial"
    libraries = [folder / f"libga-{kind}.a", folder / f"libarmci-{kind}.a", library(root, f"libscalapack-{kind}.so.*"),
                 f"-L{algebra}", "-l:liblapack.so.3", "-l:libblas.so.3", "-l:libgfortran.so.5"]
    made = place.compile("global_arrays", [f"-I{root}/usr/include", *libraries])
    yield by_hand(place, "Global Arrays", [made], [folder, algebra],
                  {"ARMCI_STRIDED_METHOD": "DIRECT", "ARMCI_USE_WIN_ALLOCATE": str(int(kind == "openmpi"))})


def starpu(place):
    """StarPU's own thread calls MPI, beside the program's: MPI_Init has to allow for that. What it measures of a machine lies in the base."""
    of_debians_openmpi(place)
    root = place.packages_and_needed("libstarpu-1.3-9", "libstarpumpi-1.3-3")
    place.packages("libstarpu-dev", "opencl-c-headers")
    folder = client.libraries(root)
    headers = next(root.glob("usr/include/starpu/*"))
    made = place.compile("starpu", [f"-I{headers}", f"-I{root}/usr/include", library(root, "libstarpumpi-1.3.so.*"), library(root, "libstarpu-1.3.so.*"),
                                    f"-Wl,-rpath-link,{folder}"])
    yield by_hand(place, "StarPU", [made], [folder],
                  {"OMPI_MPI_THREAD_LEVEL": "3", "STARPU_HOME": str(place.base), "STARPU_SILENT": "1", "STARPU_WORKERS_NOBIND": "1"})


def ngsolve(place):
    """One rank more, since rank 0 only hands out the mesh: it yields its core."""
    if place.mpi.kind != "openmpi":
        raise Missing("Netgen's wheel fails with MPICH as it distributes a mesh: an assertion in MPI_Waitall")
    python = place.venv("ngsolve", "ngsolve", "mpi4py", "numpy")
    settings = {**place.python_environment(), "OMPI_MCA_mpi_yield_when_idle": "1"}
    command = (python, PROGRAMS / "ngsolve_vectors.py", f"--orders={'2,4' if place.quick else '2,4,6'}", seconds(place))
    yield Program("NGSolve", command, environment=settings, ranks=place.ranks + 1)
