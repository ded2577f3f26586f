"""Where this installation of Packwright is: inside this package, as the wheel puts it, or on the PATH."""
import importlib.metadata
import os
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# Below a prefix, in the order in which they are tried.
LIBRARY_DIRECTORIES = ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu")


class NotInstalled(RuntimeError):
    """A part of Packwright is not there."""


def _is_program(path: Path) -> bool:
    """The console script of a wheel has the same name; a program begins with ELF's mark."""
    try:
        with open(path, "rb") as file:
            return os.access(path, os.X_OK) and file.read(4) == b"\x7fELF"
    except OSError:
        return False


def command() -> Path:
    """The path of the ``packwright`` command. Raises NotInstalled."""
    on_path = [Path(place or ".") for place in os.environ.get("PATH", "").split(os.pathsep)]
    for place in [PACKAGE / "bin", *on_path]:
        if _is_program(place / "packwright"):
            return (place / "packwright").resolve()
    raise NotInstalled(f"the command is neither in {PACKAGE / 'bin'} nor on the PATH")


def library(name: str = "libpackwright.so.1") -> Path:
    """The path of a library of the installation, by default the engine's. Raises NotInstalled."""
    prefix = command().parent.parent
    for place in LIBRARY_DIRECTORIES:
        if (prefix / place / name).is_file():
            return prefix / place / name
    raise NotInstalled(f"there is no {name} in {' or '.join(LIBRARY_DIRECTORIES)} below {prefix}")


def version() -> str:
    """The version of the installation."""
    try:
        return importlib.metadata.version("packwright")
    except importlib.metadata.PackageNotFoundError:
        said = subprocess.run([command(), "version"], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        return said.split()[1]
