"""dtFFT and mpi4py-fft: transposes of distributed cubes."""
from places import PROGRAMS, client
from turns import Program

DTFFT_SIZES = "64,128,192"


def seconds(place):
    return "--seconds=0.05" if place.quick else "--seconds=0.3"


def dtfft(place):
    """dtFFT by MPI datatypes; by hand: its own packing and MPI_Alltoall."""
    python = place.venv("dtfft", f"dtfft-{place.mpi.kind}", "mpi4py", "numpy")
    command = (python, PROGRAMS / "dtfft_transposes.py", f"--sizes={'64,128' if place.quick else DTFFT_SIZES}", seconds(place))
    yield Program("dtFFT", command, (*command, "--backend=MPI_A2A"), place.python_environment(), ranks=place.ranks)


def mpi4py_fft(place):
    """It has no other way to exchange. Its build needs FFTW, of Debian."""
    root = place.packages("libfftw3-dev", "libfftw3-double3", "libfftw3-single3", "libfftw3-long3")
    libraries = client.libraries(root)
    build = {"FFTW_ROOT": root / "usr", "FFTW_LIBRARY_DIR": libraries, "LIBRARY_PATH": libraries, "C_INCLUDE_PATH": root / "usr" / "include"}
    python = place.venv("mpi4py-fft", "mpi4py-fft", "mpi4py", "numpy", environment={k: str(v) for k, v in build.items()})
    settings = place.python_environment()
    settings["LD_LIBRARY_PATH"] += f":{libraries}"
    yield Program("mpi4py-fft", (python, PROGRAMS / "mpi4py_fft_moves.py", f"--sizes={'64,128' if place.quick else '64,128,192'}",
                                 seconds(place)), environment=settings, ranks=place.ranks)
