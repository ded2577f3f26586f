"""MUMPS, a sparse direct solver: packs messages of many parts with MPI_PACK, and keeps many of them under way."""
import shutil
from client import HERE, Client, libraries, packages, source, stop
from trial import Program

SOURCE = ("m/mumps/mumps_5.5.1.orig.tar.gz", "1abff294fa47ee4cfd50dfd5c595942b72ebfcedce08142a75a99ab35014fa15", "MUMPS_5.5.1")
MAKEFILE = """
LPORDDIR = $(topdir)/PORD/lib/
IPORD = -I$(topdir)/PORD/include/
LPORD = -L$(LPORDDIR) -lpord
ORDERINGSF = -Dpord
ORDERINGSC = -Dpord
LORDERINGS = $(LPORD)
IORDERINGSC = $(IPORD)
LIBEXT = .a
LIBEXT_SHARED = .so
OUTC = -o # what follows needs a space
OUTF = -o #
RM = /bin/rm -f
CC = mpicc.{mpi}
FC = mpifort.{mpi}
FL = mpifort.{mpi}
AR = ar vr #
RANLIB = ranlib
LIBBLAS = -lblas
LIBOTHERS = -lpthread
LIBS = {libraries} -llapack
CDEFS = -DAdd_
OPTF = -O1 -w -fallow-argument-mismatch
OPTC = -O1 -w
OPTL = -O1
LIBSEQNEEDED =
"""
# Unsymmetric, positive definite, symmetric; points of a side of the grid.
RUNS = [("0", "12"), ("1", "16"), ("2", "12"), ("0", "22")]


class Mumps(Client):
    DIRECTORIES = ("mumps",)

    def prepare(self):
        tree, made = source(self.base, *SOURCE), self.build / "tree"
        where = libraries(packages(self.base, [f"libscalapack-{self.mpi}2.2"]))
        self.libraries = f"{where}/libscalapack-{self.mpi}.so.2.2 -Wl,-rpath,{where}"
        if not (made / "lib" / "libdmumps.a").exists():
            shutil.copytree(tree, made, dirs_exist_ok=True)
            (made / "Makefile.inc").write_text(MAKEFILE.format(mpi=self.mpi, libraries=self.libraries))
            if not self.log("make", ["make", f"-j{self.options.jobs}", "-C", made, "d"]):
                stop(f"MUMPS cannot be built: see {self.build}/make.log")

    def make(self, directory):
        tree = self.build / "tree"
        objects = self.build / "laplace.o"
        self.log("make-object", [f"mpicc.{self.mpi}", "-c", "-O1", f"-I{tree}/include", "-o", objects, HERE / "mumps_laplace.c"])
        self.compile("laplace", [objects], [f"-L{tree}/lib", "-ldmumps", "-lmumps_common", f"-L{tree}/PORD/lib", "-lpord",
                                            *self.libraries.split(), "-llapack", "-lblas", "-lpthread"], "mpifort")

    def programs(self, directory):
        for arguments in RUNS:
            yield Program(name="mumps/laplace", path=self.build / "laplace", ranks=4, arguments=arguments, limit=300)
