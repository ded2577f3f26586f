"""PETSc's tests, as the comments of its programs list them: star forests by messages, neighbourhoods and windows with indexed types, vectors,
grids, matrices with types for their blocks and stashes, solvers."""
import itertools
import re
import sys
from client import Client, source, stop
from trial import Program

SOURCE = ("p/petsc/petsc_3.18.5%2bdfsg1.orig.tar.xz", "e80001ace81706271c25701d3200e75cb62d69194f9e0ed85e4ae213eecb33b6", "petsc-3.18.5",
          ("config", "configure", "gmakefile", "gmakefile.test", "include", "interfaces", "lib", "makefile", "petscdir.mk", "src"))
DIRECTORIES = {"petsc/sf": "src/vec/is/sf/tests", "petsc/forests": "src/vec/is/sf/tutorials", "petsc/is": "src/vec/is/is/tests",
               "petsc/vec": "src/vec/vec/tests", "petsc/dm": "src/dm/tests", "petsc/stag": "src/dm/impls/stag/tests",
               "petsc/mat": "src/mat/tests", "petsc/ksp": "src/ksp/ksp/tutorials"}
HAVE = {"c", "double", "real", "mpiio", "!complex", "!single", "!quad", "!__float128"}  # what a test may require
MOST_RANKS = 8


class Petsc(Client):
    DIRECTORIES = tuple(DIRECTORIES)

    def prepare(self):
        self.source = source(self.base, *SOURCE)
        self.made = self.source / self.mpi  # what PETSc calls an arch
        if not (self.made / "lib/libpetsc.so").exists():
            lacks = [f"--with-{part}=0" for part in ("cxx", "fc", "cudac", "x", "debugging")]
            made = self.log("configure", [self.source / "configure", f"PETSC_DIR={self.source}", f"PETSC_ARCH={self.mpi}", *lacks,
                                          f"--with-cc=mpicc.{self.mpi}", f"--with-mpiexec=mpiexec.{self.mpi}", "CFLAGS=-w", "COPTFLAGS=-O0"],
                            cwd=self.source, env=self.environment())
            if not made or not self.log("make", ["make", f"-j{self.options.jobs}", "-f", "gmakefile", f"PETSC_DIR={self.source}",
                                                 f"PETSC_ARCH={self.mpi}", "libs"], cwd=self.source):
                stop(f"PETSc cannot be built: see {self.build}/*.log")
        self.has = (self.made / "include/petscconf.h").read_text()
        sys.path.insert(0, str(self.source / "config"))

    def able(self, requirements):
        """Whether this build has what a test asks for."""
        for word in requirements.split():
            asked = re.fullmatch(r"(!?)defined\((\w+)\)", word)
            if (f"#define {asked[2]} " in self.has) == bool(asked[1]) if asked else word not in HAVE:
                return False
        return True

    def tests(self, directory):
        """Program, name, ranks and arguments of each test that sends messages; a {{list}} in arguments stands for one test each."""
        from testparse import parseTestFile  # PETSc's own
        for path in sorted((self.source / DIRECTORIES[directory]).glob("ex*.c")):
            for tests in parseTestFile(str(path), 0).values():
                for name, test in tests.items():
                    if not isinstance(test, dict) or "subtests" in test or not self.able(f"{tests.get('requires', '')} {test.get('requires', '')}"):
                        continue
                    if not {"command", "localrunfiles", "SKIP", "TODO"} & {*test, *tests} and "$" not in test.get("args", ""):
                        yield from ((path, name.removeprefix("run"), *way) for way in self.ways(test))

    def ways(self, test):
        parts = re.split(r"\{\{(.*?)\}[^}]*\}", f"{test.get('nsize', 1)} {test.get('args', '')}")
        for chosen in itertools.product(*([part] if i % 2 == 0 else part.split() for i, part in enumerate(parts))):
            ranks, *arguments = "".join(chosen).replace("'", "").split()
            if 2 <= int(ranks) <= MOST_RANKS and "log" not in "".join(arguments):
                yield int(ranks), arguments

    def make(self, directory):
        flags = [f"-I{self.source}/include", f"-I{self.made}/include", f"-L{self.made}/lib", f"-Wl,-rpath,{self.made}/lib", "-lpetsc", "-lm"]
        (self.build / directory).mkdir(parents=True, exist_ok=True)
        self.compile_all({f"{directory}/{path.stem}": [path] for path, *_ in self.tests(directory)}, flags)

    def programs(self, directory):
        for path, name, ranks, arguments in self.tests(directory):
            yield Program(name=f"{directory}/{name}", path=self.build / directory / path.stem, ranks=ranks, arguments=tuple(arguments),
                          matters=".", limit=120)
