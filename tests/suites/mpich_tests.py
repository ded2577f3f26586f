"""MPICH's own tests: fetched from Debian, configured and built for an MPI, and the lists that say how each is run."""
import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from trial import Program

URL = "http://deb.debian.org/debian/pool/main/m/mpich/mpich_4.0.2.orig.tar.xz"
SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
# spawn, ft, ckpoint, mpi_t and perf have no datatypes to speak of.
DIRECTORIES = ("attr coll comm datatype errhan errors group info init io part pt2pt rma threads topo impls "
               "f77 f90 f08 cxx").split()
LEFT_OUT = {"spawn", "ft", "ckpoint", "mpi_t", "perf", "faults"}
SUPPORT = {"dtpools": "src/libdtpools.la", "util": "libmtest.la"}  # what the programs are linked to
# Open MPI's mpi.h makes calls that MPI 3 removed errors of the compiler, but for itself; its library has them.
FLAGS = {"mpich": "-g -O1 -w", "openmpi": "-g -O1 -w -DOMPI_BUILDING=1"}


def stop(text):
    print(f"suites: {text}", file=sys.stderr)
    sys.exit(2)


def source(base):
    """The directory of the tests' sources, under `base`; fetched and checked when it is not there."""
    tests = base / "mpich-4.0.2" / "test" / "mpi"
    if not tests.exists():
        archive = base / URL.rsplit("/", 1)[1]
        if not archive.exists():
            base.mkdir(parents=True, exist_ok=True)
            if subprocess.run(["curl", "-fsSL", "-o", str(archive), URL], check=False).returncode:
                archive.unlink(missing_ok=True)
                stop(f"cannot fetch {URL}")
        if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
            stop(f"{archive} has another SHA-256 than {SHA256}")
        with tarfile.open(archive) as packed:
            packed.extractall(base, (m for m in packed if m.name.startswith("mpich-4.0.2/test/mpi")))
        # Fortran 2008 is asked for only as part of MPICH's own build.
        text = (tests / "configure").read_text()
        (tests / "configure").write_text(text.replace('"$enable_f08" = "yes" -a "$FROM_MPICH" = "yes"', '"$enable_f08" = "yes"'))
    return tests


class Suite:
    def __init__(self, base, mpi, jobs, lists):
        self.base, self.mpi, self.jobs, self.lists = base, mpi, jobs, lists
        self.tests = None
        self.build = base / f"build-{mpi}"

    def log(self, name, command, **options):
        """Runs a step of the build, its output in a file; whether it worked."""
        with open(self.build / f"{name.replace('/', '_')}.log", "wb") as out:
            return subprocess.run([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT, check=False, **options).returncode == 0

    def configure(self):
        self.tests = source(self.base)
        if (self.build / "Makefile").exists():
            return
        self.build.mkdir(parents=True, exist_ok=True)
        compilers = {n: f"{c}.{self.mpi}" for n, c in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"),
                                                       ("MPIFC", "mpifort"), ("MPIFORT", "mpifort"), ("MPIEXEC", "mpiexec"))}
        fortran = "-g -O1 -fallow-argument-mismatch -fallow-invalid-boz"
        made = self.log("configure", [
            self.tests / "configure", "--disable-dependency-tracking", "--without-cuda", "--enable-threads=multiple",
            "--enable-romio", "--enable-xfail", "--disable-spawn", "--disable-perftest", "--disable-ft-tests",
            "--enable-fortran=all", "CC=gcc", "CXX=g++", "FC=gfortran", "F77=gfortran", f"CFLAGS={FLAGS[self.mpi]}",
            f"FFLAGS={fortran}", f"FCFLAGS={fortran}", *(f"{n}={c}" for n, c in compilers.items())],
            cwd=self.build, env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        if not made:
            (self.build / "Makefile").unlink(missing_ok=True)
            stop(f"their configure has failed: see {self.build}/configure.log")

    def make(self, directory):
        """Builds what can be built of a directory; programs that this MPI lacks calls for are missing then."""
        return self.log(f"make-{directory}", ["make", "-k", f"-j{self.jobs}", "-C", self.build / directory])

    def make_support(self):
        for directory, made in SUPPORT.items():
            self.make(directory)
            if not (self.build / directory / made).exists():
                stop(f"cannot build {directory} of the suite: see {self.build}/make-{directory}.log")

    def programs(self, directory):
        """All that the lists of a directory name, those of its subdirectories included."""
        for name in self.lists:
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
                          limit=next((int(v) for k, v in said if k == "timeLimit"), 0),
                          fails=any(k == "resultTest" for k, _ in said))
