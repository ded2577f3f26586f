"""What needs a GPU: TEMPI's case study, a stencil and particles (bench/device), dtFFT on CUDA."""
import re
from pathlib import Path

import own
from places import PROGRAMS
from turns import HAND, Missing, Program


def needs_gpu():
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        raise Missing("there is no NVIDIA GPU")


def halo3d(place):
    needs_gpu()
    yield from own.halo3d(place, ["--device"])


def device_rows(text, way):
    """Rows of bench/device's applications, which time themselves with Packwright and by hand in turn, and verify."""
    found = re.findall(r"^(\w+) +(\d+) \| ours +([\d.]+) µs \| by hand +([\d.]+) µs", text, re.M)
    return {f"{name} {n}": (float(hand if way == HAND else ours) * 1e-6, "verified") for name, n, ours, hand in found}


def device(place):
    """The program is linked with Packwright; by hand: the driver's copies to and from pinned memory, around contiguous messages."""
    needs_gpu()
    target = f"device_apps_{place.mpi.kind}"
    if not (place.build / "bench" / target).exists():
        raise Missing(f"build the target bench_{target}")
    command = (place.build / "bench" / target, "-t", "0.1" if place.quick else "0.3")
    yield Program("stencil and n-body on a GPU", command, command, place.mpi.environment, only="", ranks=place.ranks, read=device_rows,
                  linked=True)


def dtfft(place):
    """By hand: dtFFT's own packing by GPU kernels, and MPI_Alltoall."""
    needs_gpu()
    python = place.venv("dtfft-cuda", f"dtfft-cuda12x-{place.mpi.kind}", "mpi4py", "numpy", "cupy-cuda12x")
    command = (python, PROGRAMS / "dtfft_transposes.py", f"--sizes={'64,128' if place.quick else '64,128,192'}",
               "--seconds=0.05" if place.quick else "--seconds=0.3", "--device")
    yield Program("dtFFT on CUDA", command, (*command, "--backend=MPI_A2A"), place.python_environment(), ranks=place.ranks)
