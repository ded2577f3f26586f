"""PnetCDF's own tests and examples: subarrays and lists as file views, flexible calls with derived types of the program, MPI_Pack."""
import os
import re
from client import Client, packages, source, stop
from trial import Program

SOURCE = ("p/pnetcdf/pnetcdf_1.12.3.orig.tar.xz", "8f54023ffbbd3c8137e5422b44e32324113d5690f1da0cb7ecd5842c2de850a9", "pnetcdf-1.12.3")
DIRECTORIES = {"pnetcdf/testcases": "test/testcases", "pnetcdf/nonblocking": "test/nonblocking", "pnetcdf/nc_test": "test/nc_test",
               "pnetcdf/subfile": "test/subfile", "pnetcdf/header": "test/header", "pnetcdf/cdf_format": "test/cdf_format",
               "pnetcdf/burst_buffer": "test/burst_buffer", "pnetcdf/examples": "examples/C", "pnetcdf/benchmarks": "benchmarks/C"}
# They need files that other programs write, threads, or gigabytes.
LEFT_OUT = "tst_open_cdf5 tst_corrupt pthread get_vara last_large_var large_var_cdf5 tst_max_var_dims nc_test".split()
ARGUMENTS = {"test/subfile": ("-f", "out.nc", "-s", "2"), "examples/C": ("-q", "out.nc"), "benchmarks/C": ("-q", "-l", "64", "out.nc")}
RANKS = 4


class Pnetcdf(Client):
    DIRECTORIES = tuple(DIRECTORIES)

    def prepare(self):
        tree = source(self.base, *SOURCE)
        if not (tree / "configure").exists():
            root = packages(self.base, ["libtool"])
            libtoolize = root / "usr/bin/libtoolize"
            libtoolize.write_text(libtoolize.read_text().replace('="/usr/share/', f'="{root}/usr/share/'))  # where it really lies
            env = dict(os.environ, LIBTOOLIZE=str(libtoolize), ACLOCAL_PATH=f"{root}/usr/share/aclocal")
            if not self.log("autoreconf", ["autoreconf", "-fi"], cwd=tree, env=env):
                (tree / "configure").unlink(missing_ok=True)
                stop(f"autoreconf has failed: see {self.build}/autoreconf.log")
        if not (self.build / "src/libs/libpnetcdf.la").exists():
            made = self.log("configure", [
                tree / "configure", "--disable-fortran", "--disable-cxx", "--enable-burst-buffering", "--enable-subfiling",
                "--disable-dependency-tracking", "--disable-shared", "CFLAGS=-O1 -g -w",
                *(f"{n}={c}.{self.mpi}" for n, c in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"), ("MPIF90", "mpifort")))],
                cwd=self.build, env=self.environment())
            made = made and self.log("make-src", ["make", f"-j{self.options.jobs}", "-C", self.build / "src"])
            made = made and self.log("make-common", ["make", "-C", self.build / "test/common", "tests"])
            if not made:
                stop(f"PnetCDF cannot be built: see {self.build}/*.log")

    def names(self, directory):
        """The programs that the directory's makefile builds for its checks."""
        text = (self.build / DIRECTORIES[directory] / "Makefile").read_text().replace("\\\n", " ")
        lists = dict(re.findall(r"^(\w+) *= *(.*)$", text, re.M))
        words = re.sub(r"\$\((\w+)(:\.m4=)?\)", lambda m: lists.get(m[1], ""), lists.get("check_PROGRAMS", ""))
        words = re.sub(r"\$\((\w+)(:\.m4=)?\)", lambda m: lists.get(m[1], ""), words)
        return [w.removesuffix("$(EXEEXT)").removesuffix(".m4") for w in words.split() if "$(" not in w.removesuffix("$(EXEEXT)")]

    def make(self, directory):
        self.log(f"make-{directory}", ["make", "-k", f"-j{self.options.jobs}", "-C", self.build / DIRECTORIES[directory], "tests"])

    def programs(self, directory):
        where = DIRECTORIES[directory]
        for name in dict.fromkeys(self.names(directory)):
            if name in LEFT_OUT:
                continue
            program = dict(path=self.build / where / name, ranks=1 if where == "test/nc_test" else RANKS,
                           arguments=ARGUMENTS.get(where, ("out.nc",)), matters=r"FAIL|fail|rror", makes="*.nc*", limit=200)
            yield Program(name=f"{directory}/{name}", **program)
            if where not in ("test/subfile", "test/nc_test"):
                hints = "PNETCDF_HINTS=nc_burst_buf=enable;nc_burst_buf_dirname=.;nc_burst_buf_overwrite=enable"
                yield Program(name=f"{directory}/{name}", environment=(hints,), **program)
