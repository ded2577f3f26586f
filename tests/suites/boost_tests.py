"""Boost.MPI's tests: structures described by serialization as types, skeletons and contents, packed archives."""
from client import Client, libraries, packages, source, stop
from trial import Program

SOURCE = ("b/boost1.74/boost1.74_1.74.0%2bds1.orig.tar.xz", "192f5df504d282cb81288f88232d8af45b64a9ab531e1c7cf8ae955f16f6bb28", "boost",
          ("libs/mpi",))
# As in libs/mpi/test/Jamfile.v2, with at most eight ranks where there are others too.
TESTS = """
block_nonblock_test 2, broadcast_stl_test 2, all_gather_test 2 5, all_reduce_test 2 5, all_to_all_test 2 5, broadcast_test 2 7, gather_test 2 5
nonblocking_test 2 5, reduce_test 2 5, ring_test 2 3 8, sendrecv_test 4 7, wait_any_test 4 7, wait_all_vector_test 2, wait_all_on_null 2
scan_test 2 5, scatter_test 2 5, skeleton_content_test 2 3 4 7, graph_topology_test 2 7, pointer_test 2, groups_test 2 4, sendrecv_vector 2
non_blocking_any_source 2 7, mt_init_test 4
"""
EXAMPLES = ("random_gather", "random_scatter")


class Boost(Client):
    DIRECTORIES = ("boost",)

    def prepare(self):
        tree = source(self.base, *SOURCE)
        names = [f"libboost{part}1.74{kind}" for part, kind in (("", "-dev"), ("-serialization", "-dev"), ("-serialization", ".0"))]
        self.root, self.tree = packages(self.base, names), tree / "libs" / "mpi"
        self.flags = [f"-I{self.root}/usr/include"]

    def library(self):
        """Boost.MPI itself, which Debian builds for one MPI only."""
        objects = {f"{f.stem}.o": [f] for f in sorted((self.tree / "src").glob("*.cpp"))}
        self.compile_all(objects, ["-c", *self.flags], "mpicxx")
        for name in objects:
            if not (self.build / name).exists():
                stop(f"Boost.MPI cannot be built: see {self.build}/make-{name}.log")
        return [self.build / name for name in objects]

    def runs(self):
        return [run.split() for run in TESTS.replace("\n", ",").split(",") if run.strip()] + [[name, "2"] for name in EXAMPLES]

    def make(self, directory):
        lib = libraries(self.root)
        flags = [*self.library(), *self.flags, f"-L{lib}", "-lboost_serialization", f"-Wl,-rpath,{lib}"]
        where = {name: self.tree / ("example" if name in EXAMPLES else "test") for name, *_ in self.runs()}
        self.compile_all({name: [where[name] / f"{name}.cpp"] for name in where}, flags, "mpicxx")

    def programs(self, directory):
        for name, *ranks in self.runs():
            for n in ranks:
                yield Program(name=f"boost/{name}", path=self.build / name, ranks=int(n), matters=r"\berror\b|fail|FAIL|detected", limit=120)
