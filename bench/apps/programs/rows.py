"""What the Python programs of this folder share: the rows that they print, as rows.h has it for those in C.

Options: --only=ROW (a shell pattern), --seconds=TIME of a row, and --NAME=VALUE of the program's own."""
import fnmatch
import json
import sys
import zlib

import numpy
from mpi4py import MPI

WARM, GUESS, LEAST, MOST = 3, 2, 3, 100000  # exchanges: before the clock is read, to guess how many fit, at least and at most


def options():
    words = [word[2:].partition("=") for word in sys.argv[1:] if word.startswith("--")]
    return {name: value for name, _, value in words}


class Rows:
    """Times exchanges over a communicator, and prints them."""

    def __init__(self, comm=MPI.COMM_WORLD):
        self.comm, self.options = comm, options()
        self.only, self.seconds = self.options.get("only", "*"), float(self.options.get("seconds", 0.2))

    def wanted(self, name):
        return name == self.only or fnmatch.fnmatchcase(name, self.only)

    def clocked(self, exchange, times):
        """Seconds that the slowest rank needs for so many exchanges."""
        self.comm.Barrier()
        began = MPI.Wtime()
        for _ in range(times):
            exchange()
        return self.comm.allreduce(MPI.Wtime() - began, MPI.MAX)

    def digest(self, arrays):
        mine = 0
        for array in arrays:
            mine = zlib.crc32(numpy.ascontiguousarray(array).tobytes(), mine)
        return "-".join(f"{each:08x}" for each in self.comm.allgather(mine))

    def do(self, name, prepare, exchange, result, host=lambda array: array):
        """Times `exchange`. `prepare` sets memory to what it is before; `result()` are the arrays that one exchange fills then, which
        `host` brings to host memory."""
        if not self.wanted(name):
            return
        prepare()
        self.clocked(exchange, WARM)
        times = max(LEAST, min(MOST, int(self.seconds / (self.clocked(exchange, GUESS) / GUESS))))
        seconds = self.clocked(exchange, times) / times
        prepare()
        exchange()
        digest = self.digest([host(array) for array in result()])
        if self.comm.rank == 0:
            print(json.dumps({"row": name, "seconds": seconds, "result": digest}), flush=True)


def fill(array, rank):
    """Numbers of which each is there once."""
    array.reshape(-1)[:] = numpy.arange(array.size) + rank * array.size
