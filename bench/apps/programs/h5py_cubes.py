"""h5py: cubes of doubles with a ghost layer of one are written to and read from a dataset of all ranks' cubes side by side, as hyperslabs of
memory and of the file. With --hand numpy copies the cube to or from a contiguous array, which is what h5py does in dataset[...] = array[...].

Options: --folder=PATH, --sizes=64,128"""
import contextlib
import os
import sys

import h5py
import numpy
from rows import Rows, fill

CELLS = (slice(1, -1),) * 3


class Cube:
    """A dataset, and this rank's cube beside it."""

    def __init__(self, rows, dataset, size, collective):
        self.rows, self.dataset, self.collective = rows, dataset, collective
        self.place = numpy.s_[:, :, size * rows.comm.rank:size * (rows.comm.rank + 1)]
        self.ghosted, self.packed = numpy.zeros((size + 2,) * 3), numpy.zeros((size,) * 3)

    def how(self):
        return self.dataset.collective if self.collective else contextlib.nullcontext()

    def write(self, hand=False):
        with self.how():
            if hand:
                self.packed[:] = self.ghosted[CELLS]
                self.dataset.write_direct(self.packed, None, self.place)
            else:
                self.dataset.write_direct(self.ghosted, CELLS, self.place)

    def read(self, hand=False):
        with self.how():
            if hand:
                self.dataset.read_direct(self.packed, self.place)
                self.ghosted[CELLS] = self.packed
            else:
                self.dataset.read_direct(self.ghosted, self.place, CELLS)

    def prepare_write(self):
        fill(self.ghosted, self.rows.comm.rank)

    def prepare_read(self):
        self.prepare_write()
        self.write(True)
        self.ghosted.fill(-1)

    def written(self):
        """What this rank has in the file."""
        self.read(True)
        return [self.packed]

    def do(self, hand):
        name = f"{len(self.packed)}^3 ghosted, {'collective' if self.collective else 'independent'}"
        self.rows.do(f"write {name}", self.prepare_write, lambda: self.write(hand), self.written)
        self.rows.do(f"read {name}", self.prepare_read, lambda: self.read(hand), lambda: [self.ghosted])


def main():
    rows = Rows()
    hand, path = "hand" in rows.options, os.path.join(rows.options.get("folder", "/dev/shm"), "packwright_apps_h5py.h5")
    if not h5py.get_config().mpi:
        sys.exit("this h5py is without MPI")
    with h5py.File(path, "w", driver="mpio", comm=rows.comm) as file:
        for size in map(int, rows.options.get("sizes", "64,128").split(",")):
            for collective in (True, False):
                whole = file.create_dataset(f"cube {size} {collective}", (size, size, size * rows.comm.size), float)
                Cube(rows, whole, size, collective).do(hand)
    if rows.comm.rank == 0:
        os.unlink(path)


if __name__ == "__main__":
    main()
