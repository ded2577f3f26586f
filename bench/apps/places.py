"""Where programs come from, and how they are started: MPIs, virtual environments, packages of Debian, sources of this folder."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from turns import HAND, NATIVE, OURS, Missing

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "programs"
sys.path.insert(0, str(ROOT / "tests" / "suites"))
import client  # noqa: E402

# What Open MPI needs on one machine, as root and with as many ranks as cores or more: versions 4 and 5.
OPENMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
           "PRTE_MCA_hwloc_default_binding_policy": "none"}


class Mpi:
    """An MPI: `mpich` or `openmpi`, whichever Debian installs so, or the path of an mpicc, or of an mpicc_abi for the standard ABI."""

    def __init__(self, name, ranks=2):
        self.name = name
        if "/" in name:
            self.compiler, self.launcher = name, str(Path(name).parent / "mpiexec")
        else:
            self.compiler, self.launcher = (shutil.which(f"{tool}.{name}") or shutil.which(tool) for tool in ("mpicc", "mpiexec"))
        if not (self.compiler and self.launcher and Path(self.compiler).exists() and Path(self.launcher).exists()):
            raise Missing(f"there is no mpicc or mpiexec of {name}")
        said = subprocess.run([self.launcher, "--version"], capture_output=True, text=True, check=False).stdout
        self.kind = "openmpi" if re.search(r"Open ?MPI|OpenRTE|PRRTE|open-mpi", said, re.I) else "mpich"
        if name in ("mpich", "openmpi") and name != self.kind:
            raise Missing(f"there is no {name}: {self.launcher} is of another MPI")
        if self.compiler.endswith("_abi"):
            self.kind = "mpi-abi"
        self.version = next(iter(re.findall(r"\d+\.\d+(?:\.\d+)?", said)), "")
        if self.kind == "openmpi" and self.launcher.endswith(".openmpi"):
            self.launcher = str(ROOT / "cmake" / "mpiexec-openmpi")
        # The launcher of tests has ranks that wait give their core away, which is for more ranks than cores.
        self.environment = {**OPENMPI, "OMPI_MCA_mpi_yield_when_idle": str(int(ranks > os.cpu_count()))} if self.kind == "openmpi" else {}

    def __str__(self):
        return self.name if "/" not in self.name else f"{self.kind} {self.version}"

    def libraries(self):
        """The folder with the MPI's libraries."""
        said = subprocess.run([self.compiler, "-show"], capture_output=True, text=True, check=False).stdout
        folders = [Path(p) for p in re.findall(r"-L['\"]?([^\s'\"]+)", said)] + list(Path("/usr/lib").glob("*-linux-gnu"))
        return next((f for f in folders if any(f.glob("libmpi*.so*"))), folders[0])


class Place:
    """What an application needs to be had, for one MPI. What is installed lies below `base`; nothing is installed system-wide."""

    def __init__(self, base, build, mpi, quick=False, ranks=2, jobs=2, without=False):
        self.base, self.build, self.mpi, self.quick, self.ranks, self.jobs, self.without = base, build, mpi, quick, ranks, jobs, without
        self.tag = re.sub(r"\W+", "-", str(mpi))
        base.mkdir(parents=True, exist_ok=True)

    def command(self, program, words, way, options=()):
        """The command line for a program, in a way."""
        way = NATIVE if self.without and way == OURS else way
        start = [self.mpi.launcher, "-n", program.ranks, *words]
        if program.linked:
            told = {NATIVE: ["PACKWRIGHT_DISABLE=1"], OURS: [], HAND: []}.get(way, [f"PACKWRIGHT_STRATEGY={way}"])
            reports = [option.replace("--report", "PACKWRIGHT_REPORT") for option in options]
            return ["env", f"PACKWRIGHT_CACHE_DIR={self.base / 'kernels'}", *told, *reports, *start]
        if way in (NATIVE, HAND):
            return start
        forced = [] if way == OURS else [f"--strategy={way}"]
        return [self.build / "bin" / "packwright", "run", f"--mpi={self.mpi.kind}", f"--cache-dir={self.base / 'kernels'}", *forced, *options,
                "--", *start]

    def venv(self, name, *packages, environment=None):
        """The python of a virtual environment with packages of PyPI. One that could not be made is tried anew each time."""
        folder = self.base / f"{name}-{self.tag}"
        done = folder / "packages"
        if not done.exists() or done.read_text() != " ".join(packages):
            python = sys.executable if sys.prefix == sys.base_prefix else "python3"
            log = self.base / f"{folder.name}.log"
            for command in ([python, "-m", "venv", folder], [folder / "bin" / "python", "-m", "pip", "install", "-q", *packages]):
                if not client.logged(log, command, env={**os.environ, **(environment or {})}):
                    raise Missing(f"no virtual environment with {' '.join(packages)}: see {log}")
            done.write_text(" ".join(packages))
        return folder / "bin" / "python"

    def python_environment(self):
        """What mpi4py of PyPI and libraries of wheels need to find this MPI: it may have another name than theirs."""
        folder = self.base / f"mpi-{self.tag}"
        folder.mkdir(exist_ok=True)
        if self.mpi.kind == "mpich":
            for path in self.mpi.libraries().glob("libmpich*.so.12"):  # as Debian calls them
                link = folder / path.name.replace("libmpich", "libmpi", 1)
                link.unlink(missing_ok=True)
                link.symlink_to(path)
        return {**self.mpi.environment, "MPI4PY_MPIABI": self.mpi.kind.replace("-", ""), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                "LD_LIBRARY_PATH": ":".join(filter(None, (str(folder), str(self.mpi.libraries()), os.environ.get("LD_LIBRARY_PATH"))))}

    def packages(self, *names):
        """The folder into which packages of Debian are unpacked."""
        try:
            return client.packages(self.base / "debian", names)
        except (client.Unavailable, OSError) as error:
            raise Missing(str(error)) from None

    def packages_and_needed(self, *names):
        """The same, with what these packages need and this machine has not installed."""
        command = ["apt-get", "-s", "install", "--no-install-recommends", *names]
        said = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        if said.returncode:
            raise Missing(f"apt-get cannot tell what {' '.join(names)} need: {said.stderr.strip()[-160:]}")
        # A name that apt-get does not list is installed. Those with a version in square brackets would only get a newer one.
        return self.packages(*re.findall(r"^Inst (\S+) \(", said.stdout, re.M))

    def suite(self, kind):
        """Where one of tests/suites' clients has been built."""
        try:
            built = kind(SimpleNamespace(dir=self.base / "debian", jobs=self.jobs), self.mpi.kind)
            built.prepare()
        except (client.Unavailable, OSError) as error:
            raise Missing(str(error)) from None
        return built.build

    def compile(self, name, flags=(), sources=(), folder=PROGRAMS):
        """A program of C sources: NAME.c and others of its folder, and what those of programs/ share."""
        made = self.base / f"bin-{self.tag}" / name
        shared = ("rows.c", "natively.c", ROOT / "base/linkage.c") if folder == PROGRAMS else ()
        files = [folder / f"{name}.c", *(folder / source for source in (*shared, *sources))]
        newest = max(f.stat().st_mtime for f in (*files, *folder.glob("*.h")))
        if not made.exists() or made.stat().st_mtime < newest:
            made.parent.mkdir(exist_ok=True)
            log = made.parent / f"{name}.log"
            # The addresses by which an MPI says "no statuses" look to gcc like arrays without room.
            ours = ["-std=gnu17", "-D_GNU_SOURCE", f"-I{ROOT}", "-O3", "-march=native", "-Wall", "-Wno-stringop-overflow", "-Wno-stringop-overread"]
            if not client.logged(log, [self.mpi.compiler, *ours, "-o", made, *files, *flags, "-lm", "-ldl"]):
                raise Missing(f"{name}.c cannot be compiled: see {log}")
        return made
