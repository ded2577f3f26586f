"""What every client of the job needs: sources and packages from Debian, in a cache directory, and steps of a build."""
import hashlib
import os
import re
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Unavailable(Exception):
    """Something that cannot be fetched or built on this machine, and why."""


def stop(text):
    raise Unavailable(text)


def logged(log, command, **options):
    """Runs a command with its output in a file; whether it worked."""
    with open(log, "wb") as out:
        return subprocess.run([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT, check=False, **options).returncode == 0


def pool():
    """Where this machine has Debian's packages from; one that gets no security updates tells."""
    said = subprocess.run(["apt-get", "download", "--print-uris", "base-files"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"'(\S+/pool/main)/", said)
    if not found:
        stop("apt-get does not say where packages come from: run apt-get update")
    return found.group(1)


def source(base, path, sha256, makes, only=("",)):
    """The directory `makes` under `base`: what Debian's source package `path` holds under the names `only`, fetched and checked."""
    if all((base / makes / name).exists() for name in only):
        return base / makes
    archive = base / path.rsplit("/", 1)[1].replace("%2b", "+")
    if not archive.exists():
        base.mkdir(parents=True, exist_ok=True)
        url = f"{pool()}/{path}"
        if subprocess.run(["curl", "-fsSL", "-o", str(archive), url], check=False).returncode:
            archive.unlink(missing_ok=True)
            stop(f"cannot fetch {url}")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != sha256:
        stop(f"{archive} has another SHA-256 than {sha256}")
    with tarfile.open(archive) as packed:
        packed.extractall(base, (m for m in packed if any(m.name.startswith(f"{makes}/{name}") for name in only)))
    return base / makes


def packages(base, names):
    """A directory into which these packages of Debian are unpacked; nothing is installed."""
    root, files = base / "root", base / "packages"
    files.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not (files / f"{name}.unpacked").exists():
            if not logged(files / f"{name}.log", ["apt-get", "download", name], cwd=files):
                stop(f"apt-get cannot download {name}: see {files}/{name}.log")
            for package in files.glob(f"{name}_*.deb"):
                subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
            (files / f"{name}.unpacked").touch()
    return root


def libraries(root):
    """Where the libraries of packages() lie."""
    return next(root.glob("usr/lib/*-linux-gnu*"))


class Client:
    """A program, or a suite of them: sources, build and list of runs. Subclasses say what `directory` stands for."""
    DIRECTORIES = ()  # what --only names

    def __init__(self, options, mpi):
        self.options, self.mpi, self.base = options, mpi, options.dir.resolve()
        self.build = self.base / f"{type(self).__name__.lower()}-{mpi}"

    def log(self, name, command, **options):
        self.build.mkdir(parents=True, exist_ok=True)
        return logged(self.build / f"{name.replace('/', '_')}.log", command, **options)

    def compile(self, name, sources, flags, compiler="mpicc"):
        """Builds one program of a few files, unless it is there."""
        made = self.build / name
        return made.exists() or self.log(f"make-{name}", [f"{compiler}.{self.mpi}", "-O1", "-g", "-w", "-o", made, *sources, *flags])

    def compile_all(self, programs, flags, compiler="mpicc"):
        """Builds programs, {name: sources}, some at a time."""
        self.build.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(lambda item: self.compile(*item, flags, compiler), programs.items()))

    def environment(self):
        """For configure scripts that start programs of Open MPI."""
        return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def prepare(self):
        """Fetches and configures."""

    def make(self, directory):
        """Builds what can be built of a directory."""

    def programs(self, directory):
        """The runs of a directory, as trial.Program."""
        raise NotImplementedError
