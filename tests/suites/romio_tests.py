"""ROMIO's own tests, which come with MPICH: views and buffers of derived types, in every way of reading and writing."""
from client import Client, source
from mpich_tests import MPICH
from trial import Program

# What their runtests starts: program, ranks, and whether the name of the file follows -fname.
RUNS = """
simple 4 -fname | async 4 -fname | async-multiple 4 -fname | atomicity 4 -fname | coll_test 4 -fname | coll_perf 4 -fname | excl 4 -fname
file_info 4 -fname | i_noncontig 2 -fname | noncontig 2 -fname | noncontig_coll 2 -fname | noncontig_coll2 4 -fname | aggregation1 4 -h -f
aggregation2 4 | hindexed 4 | shared_fp 4 -fname | ordered_fp 4 -fname | split_coll 4 -fname | psimple 4 -fname | error 1 -fname | status 1 -fname
types_with_zeros 2 | darray_read 4 | big_extents 4 | creat_excl 2 -fname | external32 1 -fname | perf 4 -fname
"""
UNSTEADY = ("shared_fp", "status")  # ranks write in any order, or what was in memory before


class Romio(Client):
    DIRECTORIES = ("romio",)

    def prepare(self):
        self.source = source(self.base, *MPICH) / "src/mpi/romio/test"

    def runs(self):
        return [run.split() for run in RUNS.replace("\n", "|").split("|") if run.strip()]

    def make(self, directory):
        self.compile_all({name: [self.source / f"{name}.c"] for name, *_ in self.runs()}, ["-DOMPI_BUILDING=1"])  # MPI_Type_struct

    def programs(self, directory):
        for name, ranks, *options in self.runs():
            yield Program(name=f"romio/{name}", path=self.build / name, ranks=int(ranks), arguments=(*options, "file"),
                          makes="" if name in UNSTEADY else "file*", matters="rror|rong|fail|differ")
