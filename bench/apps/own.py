"""The programs of this repository that stand for applications: MPI-IO, types made for each message, three small applications, the types
of Open MPI's yardstick, and the halo exchange of samples/ as TEMPI's case study."""
import os
import re

from corpus_tests import Corpus
from places import ROOT
from turns import Program


def program(place, application, name, *arguments, sources=(), uses=""):
    command = (place.compile(name, sources=sources), *arguments, "--seconds=0.05" if place.quick else "--seconds=0.3")
    return Program(application, command, (*command, "--hand"), place.mpi.environment, ranks=place.ranks, turns="--turns", uses=uses)


def files(place):
    """In memory, and on the disk where this tree lies. An exchange of 128^3 through a view takes tenths of a second."""
    sizes = ("--sizes=64,128", "--view-sizes=64") if place.quick else ()
    for what, folder in (("/dev/shm", "/dev/shm"), ("disk", place.base)):
        if os.access(folder, os.W_OK):
            yield program(place, f"MPI-IO, {what}", "io", f"--folder={folder}", *sizes, uses="--uses=")


def types(place):
    yield program(place, "type for each message", "types")


def grids(place):
    yield program(place, "small applications", "grids", "--sizes=128,512", sources=["grids_apps.c"])


def corpus(place):
    """Open MPI's corpus of types, as its benchmark to_self uses it: hundreds of rows, too many for a process each."""
    tree = place.suite(Corpus).parent / "ompi-datatype"
    made = place.compile("corpus", [f"-I{tree}"], [tree / "datatype_corpus.c"])
    for what, ranks in (("packs", 1), ("messages", 2)):
        yield Program(f"corpus, {what}", (made, "--seconds=0.05" if place.quick else "--seconds=0.3"), environment=place.mpi.environment,
                      together=True, ranks=ranks, turns="--turns", uses="--uses=")


def halo3d_row(name):
    """Reads the one row that a run of samples/halo3d prints. It verifies by itself what it has received."""
    def read(text, _way):
        time, checksum = (re.search(pattern, text) for pattern in (r"exchange_us ([\d.]+)", r"checksum (\w+)"))
        return {name: (float(time[1]) * 1e-6, checksum[1])} if time and checksum and "halo3d: verified" in text else {}
    return read


def halo3d(place, device=()):
    """Its modes with derived types, beside MPI_Alltoallv of bytes that MPI_Pack has packed; and that, with its own packing as the gain."""
    made = place.compile("halo3d", folder=ROOT / "samples")
    side = 64 if place.quick and not device else 256
    iterations = 40 if side == 64 else 5 if place.quick else 15
    command = (made, *(f"--n{axis}={side}" for axis in "xyz"), "--fields=8", "--radius=3", f"--iterations={iterations}", *device)
    for mode in ("alltoallv", "pack", "sendrecv", "send", "isend"):
        hand = (*command, "--mode=alltoallv") if mode not in ("alltoallv", "pack") else ()
        yield Program("halo3d on a GPU" if device else "halo3d", (*command, f"--mode={mode}"), hand, place.mpi.environment, only="",
                      ranks=place.ranks, read=halo3d_row(f"{side}^3, 8 doubles, radius 3, {mode}"))
