"""FFTW's MPI transforms, checked by its own mpi-bench: every way of transposing, in place and not, on ranks that share the work unevenly."""
from client import Client, libraries, packages, source, stop
from trial import Program

SOURCE = ("f/fftw3/fftw3_3.3.10.orig.tar.gz", "56c932549852cddcfafdab3820b0200c7742675be92179e59e6215b340e26467", "fftw-3.3.10")
KINDS = ("ifc", "obc", "ofr", "ibr", "ok")  # in place or out of place, forward or backward, complex, real, real to real
SIZES = ("16x12", "30x7x11", "64x48", "24x32x20", "2x3x5x7")
LONG = ("ifc360", "obc1024", "ofc97")  # one dimension only, which complex transforms can have
# How transposes are sought, and whether the input or the output stays transposed, which real transforms allow on one side.
WAYS = {"estimate": ("-oestimate", KINDS), "measure": ("-oflag=0", KINDS), "patient": ("-opatient", ("ifc", "ofr")),
        "input": ("-oestimate", ("ifc[", "ibr[")), "output": ("-oestimate", ("ifc]", "ofr]"))}


class Fftw(Client):
    DIRECTORIES = ("fftw",)

    def prepare(self):
        self.source = source(self.base, *SOURCE)
        self.library = libraries(packages(self.base, ["libfftw3-double3"])) / "libfftw3.so.3"
        if not (self.build / "libbench2/libbench2.a").exists():
            made = self.log("configure", [self.source / "configure", "--enable-mpi", "--disable-fortran", "--disable-doc",
                                          "--disable-dependency-tracking", f"MPICC=mpicc.{self.mpi}"], cwd=self.build, env=self.environment())
            if not made or not self.log("make-libbench2", ["make", f"-j{self.options.jobs}", "-C", self.build / "libbench2"]):
                stop(f"FFTW cannot be built: see {self.build}/*.log")

    def make(self, directory):
        parts = [f for f in sorted((self.source / "mpi").glob("*.c")) if f.name != "testsched.c"]
        flags = [f"-I{d}" for d in (self.build, self.source, self.source / "api", self.source / "mpi", self.source / "libbench2")]
        self.compile("mpi-bench", [*parts, self.source / "tests/fftw-bench.c", self.source / "tests/hook.c"],
                     [*flags, self.build / "libbench2/libbench2.a", self.library, f"-Wl,-rpath,{self.library.parent}", "-lm"])

    def programs(self, directory):
        for way, (option, kinds) in WAYS.items():
            problems = [f"{kind}{size}" for size in SIZES for kind in kinds] + list(LONG if kinds == KINDS else ())
            for ranks in (2, 3, 4):
                yield Program(name=f"fftw/{way}", path=self.build / "mpi-bench", ranks=ranks, matters="rror|FAIL|can_do", limit=300,
                              arguments=(option, *(word for p in problems for word in ("--verify", p))))
