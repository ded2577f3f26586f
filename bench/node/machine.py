"""Where the programs, libraries and MPIs of bench/node lie, in a build tree or in the folder that `carry` makes, and how ranks are started."""
import ctypes
import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MPIS = ("mpich", "openmpi")
MOST_SECONDS = 600  # for one process


class Failed(Exception):
    pass


class Machine:
    """Where programs, libraries and MPIs lie, and how ranks are started."""

    def __init__(self, options):
        self.options = options
        self.cores = len(os.sched_getaffinity(0))
        self.root = self.find_root(options.build)
        self.folder = tempfile.mkdtemp(prefix="bench-node-")
        self.prefix = self.root / "mpich"  # Debian's packages, unpacked by `carry`
        self.unpack()

    @staticmethod
    def find_root(build):
        for root in [Path(build)] if build else [HERE, HERE.parent.parent / "build"]:
            if any((root / "lib" / f"libpackwright-{mpi}.so").exists() for mpi in MPIS):
                return root.resolve()
        sys.exit("node: no lib/libpackwright-<mpi>.so in a build tree or here: build bench_node_mpich and bench_node_rank_mpich "
                 "(or openmpi), or say with --build where they are")

    def unpack(self):
        """A carried folder has large libraries compressed."""
        for packed in [*(self.root / "lib").glob("*.so*.xz"), *self.prefix.rglob("*.so*.xz")]:
            library = packed.with_suffix("")
            if not library.exists():
                library.write_bytes(lzma.decompress(packed.read_bytes()))

    def library_path(self, mpi):
        folders = [self.root / "lib"]
        if mpi == "mpich" and self.prefix.exists():
            folders += sorted({library.parent for library in self.prefix.rglob("lib*.so.*")})
        return ":".join([*map(str, folders), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])

    def launcher(self, mpi):
        """Returns the command that starts ranks; None: there is none."""
        if mpi == "openmpi":
            script = next((p for p in (self.root / "mpiexec-openmpi", HERE.parent.parent / "cmake/mpiexec-openmpi") if p.exists()), None)
            return str(script) if script and shutil.which("mpiexec.openmpi") else None
        if self.prefix.exists():
            return str(self.prefix / "usr/bin/mpiexec.hydra")
        return shutil.which("mpiexec.mpich")

    def program(self, name):
        return self.root / "bench" / name

    def tool(self, name):
        """The path of a command that `carry` has brought, or that is installed; None: neither."""
        carried = self.root / "bin" / name
        return str(carried) if carried.exists() else shutil.which(name)

    def why_not(self, mpi):
        """Why an MPI is left out; "": it is not."""
        for program in (f"node_{mpi}", f"node_rank_{mpi}"):
            if not self.program(program).exists():
                return f"there is no {self.program(program)}"
        return "" if self.launcher(mpi) else f"there is no mpiexec.{mpi}"

    def compiler(self):
        """Says whether kernels can be compiled."""
        module = os.environ.get("PACKWRIGHT_LLVM_MODULE", str(self.root / "lib/libpackwright-llvm.so"))
        try:
            ctypes.CDLL(module)
        except OSError as error:
            return f"kernels are INTERPRETED, since there is no compiler: {error}"
        return "kernels are compiled"

    def launch(self, mpi, ranks, words, settings):
        """Returns what the ranks print; the settings go to them alone."""
        env = {"HYDRA_LAUNCHER": "fork", "OMPI_MCA_mpi_yield_when_idle": str(int(ranks > self.cores)), **os.environ,
               "LD_LIBRARY_PATH": self.library_path(mpi)}
        command = [self.launcher(mpi), "-n", str(ranks), "env", *(f"{k}={v}" for k, v in settings.items()), *words]
        try:
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=MOST_SECONDS,
                                  check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join(words)} with {ranks} ranks of {mpi} was ended after {MOST_SECONDS} s") from error
        if done.stderr:
            sys.stderr.write(done.stderr)
        if done.returncode:
            raise Failed(f"{' '.join(words)} with {ranks} ranks of {mpi} ended with {done.returncode}\n{done.stdout[-2000:]}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def settings_of(cache, more=()):
    """As `packwright run` sets it; kernels are kept in a folder of this run."""
    return {"PACKWRIGHT_ALL_RANKS": "1", "PACKWRIGHT_CACHE": "1", "PACKWRIGHT_CACHE_DIR": cache, "PACKWRIGHT_SYSTEM_CACHE": "off", **dict(more)}


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def head_of(machine):
    done = subprocess.run([machine.root / "bin/packwright", "version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False, env={**os.environ, "LD_LIBRARY_PATH": machine.library_path("openmpi")})
    return {"date": time.strftime("%Y-%m-%d"), "machine": f"{cpu_name()}, {machine.cores} cores", "system": platform.freedesktop_os_release()["PRETTY_NAME"],
            "packwright": done.stdout.splitlines()[0] if done.stdout else "", "compiler": machine.compiler(),
            "environment": {k: v for k, v in os.environ.items() if k.startswith("PACKWRIGHT_")}, "command": " ".join(sys.argv)}
