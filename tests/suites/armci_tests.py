"""ARMCI-MPI's validation and Global Arrays' tests on Debian's libraries of both: puts, gets and accumulates of sub-blocks as derived types on both
sides, in windows of MPI_Win_allocate under MPI_Win_lock_all."""
from client import Client, libraries, packages, source
from trial import Program

ARMCI = ("a/armci-mpi/armci-mpi_0.3.1~beta.orig.tar.gz", "f3eaa8f365fb55123ecd9ced401086b0732e37e4df592b27916d71a67ab34fe9",
         "armci-mpi-0.3.1-beta", ("tests",))
ARRAYS = ("g/ga/ga_5.8.2.orig.tar.gz", "d88f63dacdf9e8ddad14dd56cc7722159ea2dc76ff22d545dd5724ac6e879d94", "ga-5.8.2",
          ("global/testing", "global/src", "gaf2c"))
# What its configure script finds out here.
FOUND = ["-DHAVE_STDIO_H", "-DHAVE_STDLIB_H", "-DHAVE_STRING_H", "-DHAVE_ASSERT_H", "-DHAVE_UNISTD_H", "-DF77_FUNC_(a,A)=a##_"]
# As the Makefiles list them for `make check`, without what only measures, needs more memory, or more of Global Arrays' own
# build than Debian has.
ARMCI_TESTS = """test_onesided test_onesided_shared test_onesided_shared_dla test_mutex test_mutex_rmw test_mutex_trylock test_malloc_irreg test_groups
    test_group_split test_malloc_group test_accs test_accs_dla test_puts test_puts_gets test_puts_gets_dla test_putv test_igop test_rmw_fadd
    test_parmci ARMCI_PutS_latency ARMCI_AccS_latency contrib/armci-test""".split()
ARRAYS_C = """elempatch getmem mtest normc matrixc ntestc nbtestc ntestfc packc patch_enumc print scan_addc scan_copyc testc
    testmult testmultrect gemmtest read_only cache_test unpackc""".split()
ARRAYS_FORTRAN = """bin blktest g2test g3test ghosts jacobi mmatrix nbtest nb2test ndim patch2 patch_enumf perf pg2test
    pgtest scan simple_groups sparse sprsmatmult stride test""".split()


# Where Global Arrays are wrong (natively, with MPICH), a rank aborts: which one is left to speak varies, and one product's wrong sum.
VARIES = r"on node \d+ \(rank \d+ in comm \d+\)|- process \d+$|^\[\d+\] ARMCI Error: \d+|^add +\d+ |abs\(result\) = [\d.]+"


class Armci(Client):
    DIRECTORIES = ("armci", "ga")

    def prepare(self):
        self.tests = {"armci": source(self.base, *ARMCI) / "tests", "ga": source(self.base, *ARRAYS)}
        root = packages(self.base, ["libarmci-mpi-dev", "libglobalarrays-dev", f"libscalapack-{self.mpi}2.2"])
        lib = libraries(root)
        self.flags = [f"-I{root}/usr/include", *FOUND, *(f"-I{self.tests['ga'] / d}" for d in ("global/testing", "global/src", "gaf2c"))]
        self.armci = [lib / f"libarmci-{self.mpi}.a", "-lm"]
        self.arrays = [lib / f"libga-{self.mpi}.a", *self.armci, *lib.glob(f"libscalapack-{self.mpi}.so.*.*"), "-llapack", "-lblas", "-lgfortran"]
        self.libraries = lib

    def make(self, directory):
        tests = self.tests[directory]
        if directory == "armci":
            more = {"test_parmci": [tests / "test_parmci_lib.c"]}
            self.compile_all({n.replace("/", "-"): [tests / f"{n}.c", *more.get(n, [])] for n in ARMCI_TESTS}, [*self.flags, *self.armci])
            return
        tests = tests / "global/testing"
        self.compile_all({name: [tests / f"{name}.c"] for name in ARRAYS_C}, [*self.flags, *self.arrays])
        fortran = ["-cpp", "-std=legacy", "-fallow-argument-mismatch", "-fdefault-integer-8", *self.flags,
                   tests / "ffflush.F", tests / "util.c", *self.arrays]
        self.compile_all({name: [tests / f"{name}.F"] for name in ARRAYS_FORTRAN}, fortran, "mpif90")

    def programs(self, directory):
        for name in ARMCI_TESTS if directory == "armci" else [*ARRAYS_C, *ARRAYS_FORTRAN]:
            yield Program(name=f"{directory}/{name}", path=self.build / name.replace("/", "-"),
                          ranks=4 if directory == "armci" and "latency" not in name else 2, libraries=self.libraries,
                          matters=r"\berror\b|fail|FAIL|mismatch|wrong|expected|\b(PASS|OK|[Ss]uccess)", varies=VARIES)
