"""mpi4py-fft: how it redistributes cubes (subarrays by MPI_Alltoallw), alone and within a transform.

Options: --sizes=64,128"""
import numpy
from mpi4py_fft import PFFT, newDistArray
from mpi4py_fft.pencil import Pencil, Subcomm
from rows import Rows, fill

KINDS = {"double": numpy.float64, "complex": numpy.complex128}
# Which axes are divided (0: among as many ranks as possible, 1: not), and the axes that are whole one after the other.
MOVES = {"slab": ((0, 1, 1), (2, 0)), "pencil": ((0, 0, 1), (2, 1, 0))}


def moves(rows, size, kind, how):
    divided, axes = MOVES[how]
    pencil = Pencil(Subcomm(rows.comm, divided), [size] * 3, axis=axes[0])
    for before, after in zip(axes, axes[1:]):
        name, following = f"{size}^3 {kind}, {how}, axis {before} to {after}", pencil.pencil(after)
        if rows.wanted(name):
            transfer = pencil.transfer(following, KINDS[kind])
            source, target = numpy.empty(pencil.subshape, KINDS[kind]), numpy.zeros(following.subshape, KINDS[kind])
            if transfer.comm.size > 1:  # else it is a copy within the rank
                rows.do(name, lambda: fill(source, rows.comm.rank), lambda: transfer.forward(source, target), lambda: [target])
            transfer.destroy()
        pencil = following


def transform(rows, size, how):
    name = f"{size}^3 double, {how}, whole transform"
    if rows.wanted(name):
        # A measured plan may be another one in each run, and round differently.
        fft = PFFT(rows.comm, [size] * 3, dtype=float, slab=how == "slab", planner_effort="FFTW_ESTIMATE")
        source, target = newDistArray(fft, False), newDistArray(fft, True)
        rows.do(name, lambda: fill(source, rows.comm.rank), lambda: fft.forward(source, target), lambda: [target])
        fft.destroy()


def main():
    rows = Rows()
    for size in map(int, rows.options.get("sizes", "64,128").split(",")):
        for how in MOVES:
            for kind in KINDS:
                moves(rows, size, kind, how)
            transform(rows, size, how)


if __name__ == "__main__":
    main()
