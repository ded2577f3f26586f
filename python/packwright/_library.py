"""The engine's C interface (packwright.h), by ctypes: declarations, options and errors. No global interpreter lock is
held during a call."""
from __future__ import annotations

import ctypes
import enum
import functools
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Iterable, Optional, Sequence

from ._install import NotInstalled, library

_NUMBERS = POINTER(c_int64)
_TYPE = c_void_p
_OUT = POINTER(c_void_p)
# What comes back is a status, but for the functions of _RETURNS.
_FUNCTIONS: dict[str, Sequence[Any]] = {
    "status_text": (c_int,),
    "last_error": (),
    "version": (),
    "configure": (c_void_p,),
    "bytes": (c_int64, c_int64, _OUT),
    "contiguous": (c_int64, _TYPE, _OUT),
    "vector": (c_int64, c_int64, c_int64, _TYPE, _OUT),
    "hvector": (c_int64, c_int64, c_int64, _TYPE, _OUT),
    "indexed": (c_int64, _NUMBERS, _NUMBERS, _TYPE, _OUT),
    "hindexed": (c_int64, _NUMBERS, _NUMBERS, _TYPE, _OUT),
    "indexed_block": (c_int64, c_int64, _NUMBERS, _TYPE, _OUT),
    "hindexed_block": (c_int64, c_int64, _NUMBERS, _TYPE, _OUT),
    "struct": (c_int64, _NUMBERS, _NUMBERS, POINTER(c_void_p), _OUT),
    "subarray": (c_int64, _NUMBERS, _NUMBERS, _NUMBERS, c_int, _TYPE, _OUT),
    "darray": (c_int64, c_int64, c_int64, _NUMBERS, POINTER(c_int), _NUMBERS, _NUMBERS, c_int, _TYPE, _OUT),
    "resized": (c_int64, c_int64, _TYPE, _OUT),
    "dup": (_TYPE,),
    "type_free": (_TYPE,),
    "from_ddt_named": (c_char_p, c_char_p, _OUT),
    "from_ir": (c_char_p, _OUT),
    "size": (_TYPE,),
    "extent": (_TYPE, _NUMBERS, _NUMBERS),
    "true_extent": (_TYPE, _NUMBERS, _NUMBERS),
    "blocks": (_TYPE,),
    "hash": (_TYPE, POINTER(c_uint64)),
    "text_of": (_TYPE, c_int, _OUT),
    "type_statistics": (_TYPE, c_void_p),
    "pack": (_TYPE, c_void_p, c_int64, c_void_p),
    "unpack": (_TYPE, c_void_p, c_int64, c_void_p),
    "pack_range": (_TYPE, c_void_p, c_int64, c_int64, c_int64, c_void_p),
    "unpack_range": (_TYPE, c_void_p, c_int64, c_int64, c_int64, c_void_p),
    "iovs": (_TYPE, c_void_p, c_int64, c_int64, c_int64, c_void_p, _NUMBERS),
    "copy": (_TYPE, c_void_p, c_int64, _TYPE, c_void_p, c_int64),
    "pack_stream": (_TYPE, c_void_p, c_int64, c_void_p, c_void_p),
    "unpack_stream": (_TYPE, c_void_p, c_int64, c_void_p, c_void_p),
    "copy_stream": (_TYPE, c_void_p, c_int64, _TYPE, c_void_p, c_int64, c_void_p),
}
_RETURNS: dict[str, Any] = {
    "status_text": c_char_p,
    "last_error": c_char_p,
    "version": c_char_p,
    "dup": c_void_p,
    "type_free": None,
    "size": c_int64,
    "extent": None,
    "true_extent": None,
    "blocks": c_int64,
}


class Status(enum.IntEnum):
    """packwright_status: what kind of failure an Error is."""

    OK = 0
    NOMEM = 1
    INVALID = 2
    OVERFLOW = 3
    UNSUPPORTED = 4
    TRUNCATED = 5
    DEVICE = 6


class Error(Exception):
    """A failed call. Its text is the library's; `status` says which kind it is."""

    def __init__(self, status: Status, text: str) -> None:
        super().__init__(text)
        self.status = status


class Iov(ctypes.Structure):
    """packwright_iov"""

    _fields_ = [("base", c_uint64), ("length", c_size_t)]


class StatisticsFields(ctypes.Structure):
    """packwright_statistics"""

    _fields_ = [("size", c_size_t), ("packs", c_int64), ("unpacks", c_int64), ("bytes", c_int64), ("kernel_calls", c_int64)]


class _Options(ctypes.Structure):
    """packwright_options"""

    _fields_ = [
        ("size", c_size_t),
        ("jit", c_int),
        ("cache_dir", c_char_p),
        ("hot_bytes", c_int64),
        ("statistics", ctypes.c_bool),
        ("quiet", ctypes.c_bool),
    ]


@functools.lru_cache(maxsize=None)
def engine() -> Any:
    """The library, loaded by the first use. It is the installation's, or else the dynamic linker's."""
    try:
        path = str(library())
    except NotInstalled as error:
        path = "libpackwright.so.1"
        try:
            loaded = ctypes.CDLL(path)
        except OSError:
            raise error from None
    else:
        loaded = ctypes.CDLL(path)
    for name, arguments in _FUNCTIONS.items():
        function = getattr(loaded, f"packwright_{name}")
        function.argtypes = list(arguments)
        function.restype = _RETURNS.get(name, c_int)
    return loaded


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status. Raises Error."""
    loaded = engine()
    status = getattr(loaded, f"packwright_{name}")(*arguments)
    if status:
        # The text is this thread's.
        raise Error(Status(status), loaded.packwright_last_error().decode())


def text_bytes(text: str) -> bytes:
    """A text for a function that takes a C string."""
    if not isinstance(text, str):
        raise TypeError(f"expected a str, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError("the text has a null character")
    return text.encode()


def numbers(values: Iterable[int]) -> Any:
    """A C array of 64-bit integers."""
    listed = list(values)
    return (c_int64 * len(listed))(*listed)


class Reference:
    """A packwright_type. The reference is given back when nobody, no call under way either, has this object any more."""

    __slots__ = ("address", "_free")

    def __init__(self, address: int) -> None:
        self.address = address
        self._free = engine().packwright_type_free

    def __del__(self) -> None:
        self._free(self.address)


def make(constructor: str, *arguments: Any) -> Reference:
    """Calls a function that makes a type."""
    out = c_void_p()
    call(constructor, *arguments, ctypes.byref(out))
    assert out.value is not None
    return Reference(out.value)


_JIT = {None: 0, "sync": 1, "async": 2, "off": 3}


def configure(*, jit: Optional[str] = None, cache_dir: Optional[str] = None, hot_bytes: int = 0, statistics: bool = False,
              quiet: bool = False) -> None:
    """Sets the options of the process, in place of environment variables, before the first move.

    jit: "sync", "async" or "off". cache_dir: where kernels are kept, "" for nowhere. hot_bytes: after how many packed
    bytes "async" compiles a type. statistics: count moves for Type.statistics(). quiet: nothing on stderr. What is left
    out is as the variable says, else the default.
    """
    if jit not in _JIT:
        raise ValueError(f"jit is {jit!r}, and not sync, async or off")
    given = _Options(ctypes.sizeof(_Options), _JIT[jit], None if cache_dir is None else text_bytes(cache_dir), hot_bytes,
                     statistics, quiet)
    call("configure", ctypes.byref(given))
