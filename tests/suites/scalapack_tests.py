"""The tests of BLACS, PBLAS and ScaLAPACK, as Debian has built them for each MPI: vectors, triangles as indexed types, and reductions of them."""
import re
from client import Client, libraries, packages
from trial import Program

# Which input a program reads, by its name without precision.
INPUTS = {"lu": "LU", "dblu": "BLU", "dtlu": "BLU", "gblu": "BLU", "llt": "LLT", "pbllt": "BLLT", "ptllt": "BLLT", "ls": "LS", "inv": "INV",
          "qr": "QR", "brd": "BRD", "hrd": "HRD", "trd": "TRD", "nep": "NEP", "hseqr": "NEP", "evc": "EVC", "sep": "SEP", "gsep": "SEP",
          "syevr": "SEPR", "heevr": "SEPR", "svd": "SVD"}
# Their matrices have some fifty rows at most. What differs in the inputs of scalapack/large, whose messages are long enough to be packed by default.
LARGE = ("lu", "llt", "qr", "brd")
LARGER = {r"number of problems? sizes": "2", r"number of (NB's|blocking sizes)": "2", r"values of M\b": "300 200", r"values of N\b": "200 300",
          r"values of [MN]B\b": "24 40"}
RANKS = 4
# Counts of tests, and what went wrong; the lines of single tests have times.
RATHER = r"tests? (completed|passed|failed|PASSED)|End of [Tt]ests|^\s*\| +P\w+ +\d+ +\d+ |FAILED(?! +SKIPPED)|\b[Ff]ailed\b|FATAL"


class Scalapack(Client):
    DIRECTORIES = ("scalapack/blacs", "scalapack/pblas", "scalapack/timing", "scalapack/lapack", "scalapack/large")

    def prepare(self):
        self.root = packages(self.base, ["scalapack-mpi-test", "scalapack-test-common", f"libscalapack-{self.mpi}2.2"])
        self.data = self.root / "usr" / "share" / "scalapack"
        self.tests = libraries(self.root) / "scalapack" / f"{self.mpi}-tests"

    def larger(self, name):
        """An input with larger matrices and blocks."""
        text = (self.data / f"{name}.dat").read_text()
        for what, values in LARGER.items():
            text = re.sub(rf"^[\d \t]+(?={what})", f"{values}\t", text, flags=re.M)
        self.build.mkdir(parents=True, exist_ok=True)
        (self.build / f"{name}.dat").write_text(text)
        return self.build / f"{name}.dat"

    def program(self, directory, path, files, **how):
        return Program(name=f"{directory}/{path.name}", path=path, ranks=RANKS, files=tuple(files), matters=RATHER, limit=600,
                       libraries=libraries(self.root), **how)

    def programs(self, directory):
        kind = directory.split("/")[1]
        if kind == "blacs":
            for name in ("xCbtest", "xFbtest"):
                # Their last test is of BLACS_ABORT.
                yield self.program(directory, self.tests / name, (self.data / "BLACS").glob("*.dat"), fails=True)
        elif kind == "lapack":
            for path in sorted(self.tests.glob("x[sdcz]*")):
                if (name := INPUTS.get(path.name[2:])):
                    yield self.program(directory, path, [self.data / f"{name}.dat"])
        elif kind == "large":
            for path in (self.tests / f"x{precision}{name}" for name in LARGE for precision in "sdcz"):
                yield self.program(directory, path, [self.larger(INPUTS[path.name[2:]])])
        else:
            where, end = ("PBLAS", "tst") if kind == "pblas" else ("PBLAS/TIMING", "tim")
            for path in sorted((self.tests / where).glob(f"*pb?{end}")):
                yield self.program(directory, path, [self.data / where / f"P{path.name[0].upper()}BLAS{path.name[3]}{end.upper()}.dat"])
