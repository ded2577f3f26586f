"""MPICH's own tests: configured and built for an MPI, and the lists that say how each is run."""
from client import Client, source, stop
from trial import Program

MPICH = ("m/mpich/mpich_4.0.2.orig.tar.xz", "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860", "mpich-4.0.2",
         ("test/mpi", "src/mpi/romio/test"))
# spawn, ft, ckpoint, mpi_t and perf have no datatypes to speak of.
DIRECTORIES = ("attr coll comm datatype errhan errors group info init io part pt2pt rma threads topo impls "
               "f77 f90 f08 cxx").split()
LEFT_OUT = {"spawn", "ft", "ckpoint", "mpi_t", "perf", "faults"}
SUPPORT = {"dtpools": "src/libdtpools.la", "util": "libmtest.la"}  # what the programs are linked to
# Open MPI's mpi.h makes calls that MPI 3 removed errors of the compiler, but for itself; its library has them.
FLAGS = {"mpich": "-g -O1 -w", "openmpi": "-g -O1 -w -DOMPI_BUILDING=1"}


class MpichTests(Client):
    DIRECTORIES = tuple(DIRECTORIES)

    def __init__(self, options, mpi):
        super().__init__(options, mpi)
        self.tests = None
        self.build = self.base / f"build-{mpi}"

    def prepare(self):
        self.tests = source(self.base, *MPICH) / "test" / "mpi"
        if not (self.build / "Makefile").exists():
            self.configure()
        for directory, made in SUPPORT.items():
            self.make(directory)
            if not (self.build / directory / made).exists():
                stop(f"cannot build {directory} of the suite: see {self.build}/make-{directory}.log")

    def configure(self):
        # Fortran 2008 is asked for only as part of MPICH's own build.
        text = (self.tests / "configure").read_text()
        text = text.replace('"$enable_f08" = "yes" -a "$FROM_MPICH" = "yes"', '"$enable_f08" = "yes"')
        (self.tests / "configure").write_text(text)
        compilers = {n: f"{c}.{self.mpi}" for n, c in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"),
                                                       ("MPIFC", "mpifort"), ("MPIFORT", "mpifort"), ("MPIEXEC", "mpiexec"))}
        fortran = "-g -O1 -fallow-argument-mismatch -fallow-invalid-boz"
        made = self.log("configure", [
            self.tests / "configure", "--disable-dependency-tracking", "--without-cuda", "--enable-threads=multiple",
            "--enable-romio", "--enable-xfail", "--disable-spawn", "--disable-perftest", "--disable-ft-tests",
            "--enable-fortran=all", "CC=gcc", "CXX=g++", "FC=gfortran", "F77=gfortran", f"CFLAGS={FLAGS[self.mpi]}",
            f"FFLAGS={fortran}", f"FCFLAGS={fortran}", *(f"{n}={c}" for n, c in compilers.items())],
            cwd=self.build, env=self.environment())
        if not made:
            (self.build / "Makefile").unlink(missing_ok=True)
            stop(f"their configure has failed: see {self.build}/configure.log")

    def make(self, directory):
        """Builds what can be built of a directory; programs that this MPI lacks calls for are missing then."""
        return self.log(f"make-{directory}", ["make", "-k", f"-j{self.options.jobs}", "-C", self.build / directory])

    def programs(self, directory):
        """All that the lists of a directory name, those of its subdirectories included."""
        for name in self.options.lists:
            path = self.build / directory / name
            path = path if path.exists() else self.tests / directory / name
            if path.exists():
                yield from self.listed(directory, path)

    def listed(self, directory, path):
        for line in path.read_text().splitlines():
            words = line.split("#")[0].split()
            if not words or words[0].startswith("!") or words[0] in LEFT_OUT:
                continue
            if (self.build / directory / words[0]).is_dir():
                yield from self.programs(f"{directory}/{words[0]}")
                continue
            said = [w.partition("=")[::2] for w in words[2:]]
            yield Program(name=f"{directory}/{words[0]}", path=self.build / directory / words[0],
                          ranks=int(words[1]) if len(words) > 1 else 2,
                          arguments=tuple(v for k, v in said if k == "arg"), environment=tuple(v for k, v in said if k == "env"),
                          launcher=tuple(v for k, v in said if k == "mpiexecarg") if self.mpi == "mpich" else (),
                          limit=min([self.options.limit, *(int(v) for k, v in said if k == "timeLimit")]),
                          fails=any(k == "resultTest" for k, _ in said))
