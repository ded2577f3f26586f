"""HPC Challenge: HPL sends panels as structures and rows as vectors of doubles, PTRANS transposes by vectors; FFT, RandomAccess besides."""
from client import Client, source
from trial import Program

SOURCE = ("h/hpcc/hpcc_1.5.0.orig.tar.gz", "0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8", "hpcc-1.5.0")
PARTS = "hpl/src hpl/testing RandomAccess STREAM PTRANS src DGEMM FFT".split()
RANKS = 4
# Lines of its input that differ from those of _hpccinf.txt: every broadcast with both depths; exchange of rows as a list, long, or mixed.
ALL = {6: "600", 8: "40", 22: "6", 23: "0 1 2 3 4 5", 24: "2", 25: "0 1"}
INPUTS = {"roll": ALL | {26: "1"}, "roll-straight": ALL | {26: "1", 28: "1", 29: "1"}, "exchange": ALL | {26: "0"},
          "large": {6: "2000", 8: "64", 26: "1"}}


class Hpcc(Client):
    DIRECTORIES = ("hpcc",)

    def prepare(self):
        self.source = source(self.base, *SOURCE)

    def make(self, directory):
        files = sorted(f for part in PARTS for f in (self.source / part).rglob("*.c"))
        flags = [f"-I{self.source / d}" for d in ("include", "hpl/include", "RandomAccess", "PTRANS", "FFT", "STREAM")]
        # MPI_Type_struct is gone from MPI 3, not from the libraries.
        self.compile("hpcc", files, [*flags, "-DAdd_", "-DF77_INTEGER=int", "-DStringSunStyle", "-DOMPI_BUILDING=1", "-lblas", "-lm"])

    def programs(self, directory):
        lines = (self.source / "_hpccinf.txt").read_text().splitlines()
        for name, changed in INPUTS.items():
            where = self.build / name
            where.mkdir(parents=True, exist_ok=True)
            (where / "hpccinf.txt").write_text("".join(f"{changed.get(i, line)}\n" for i, line in enumerate(lines, 1)))
            yield Program(name=f"hpcc/{name}", path=self.build / "hpcc", ranks=RANKS, files=(where / "hpccinf.txt",), tells="hpccoutf.txt",
                          matters=r"FAILED|tests? completed|errors? in|skipped", limit=600)
