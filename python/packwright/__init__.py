"""Packwright, a compiler for MPI datatypes.

The command starts MPI programs with Packwright: ``packwright run -- mpiexec -n 4 python app.py``.

The classes and functions here are the engine as a library, which needs no MPI: types that describe where data are, and
moves of NumPy and CuPy arrays by them (docs/python.md).
"""
from typing import Any

from ._install import NotInstalled, command, library, version
from ._library import Error, Status, configure
from ._mpi import from_mpi
from ._types import Statistics, Type

__all__ = ["Error", "NotInstalled", "Statistics", "Status", "Type", "command", "configure", "from_mpi", "library", "version"]


def __getattr__(name: str) -> Any:
    # Asked for only when wanted: it may start the command.
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
