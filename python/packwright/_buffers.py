"""Where the bytes of a Python object are: in host memory by the buffer protocol, on a GPU by __cuda_array_interface__."""
from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_ssize_t, c_void_p
from typing import Any, Optional, Sequence, Tuple

from ._library import Error, Status


class _View(ctypes.Structure):
    """Py_buffer, without a reference to the object of ctypes' own."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("suboffsets", c_void_p),
        ("internal", c_void_p),
    ]


_WRITABLE = 0x1
_ANY_CONTIGUOUS = 0x98  # in C's or in Fortran's order

_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = [ctypes.py_object, ctypes.POINTER(_View), c_int]
_get.restype = c_int
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = [ctypes.POINTER(_View)]
_release.restype = None


def _is_contiguous(shape: Sequence[int], strides: Optional[Sequence[int]], itemsize: int) -> bool:
    def fits(axes: Sequence[int]) -> bool:
        expected = itemsize
        for axis in axes:
            if strides is not None and shape[axis] != 1 and strides[axis] != expected:
                return False
            expected *= shape[axis]
        return True

    axes = range(len(shape))
    return 0 in shape or fits(axes) or fits(axes[::-1])


def _itemsize(typestr: str) -> int:
    """The bytes of an element of a type such as "<f8", "|b1" or "<M8[ns]"."""
    return int(typestr[2:].partition("[")[0])


class Buffer:
    """The bytes of an object, held until the with statement ends. `role` names it in errors."""

    def __init__(self, owner: Any, role: str, writable: bool) -> None:
        self.role = role
        self.stream: Optional[int] = None
        self._view: Optional[_View] = None
        interface = getattr(owner, "__cuda_array_interface__", None)
        self.on_device = interface is not None
        if interface is None:
            self._take_host(owner, writable)
        else:
            self._take_device(interface, writable)

    def _take_host(self, owner: Any, writable: bool) -> None:
        view = _View()
        try:
            _get(owner, ctypes.byref(view), _ANY_CONTIGUOUS | (_WRITABLE if writable else 0))
        except (BufferError, ValueError) as error:
            raise BufferError(f"{self.role}: {error}") from None
        except TypeError:
            raise TypeError(f"{self.role}: {type(owner).__name__} has neither the buffer protocol nor "
                            "__cuda_array_interface__") from None
        self._view = view
        self.address, self.nbytes = view.buf or 0, view.len

    def _take_device(self, interface: Any, writable: bool) -> None:
        self.address, readonly = interface["data"]
        if readonly and writable:
            raise BufferError(f"{self.role}: the array is read-only")
        itemsize = _itemsize(interface["typestr"])
        if not _is_contiguous(interface["shape"], interface.get("strides"), itemsize):
            raise BufferError(f"{self.role}: the array is not contiguous")
        self.nbytes = itemsize
        for length in interface["shape"]:
            self.nbytes *= length
        self.stream = interface.get("stream")

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._view is not None:
            _release(ctypes.byref(self._view))
            self._view = None

    def check(self, span: Tuple[int, int], what: str) -> None:
        """Raises Error unless bytes [span[0], span[1]) are inside. `what` says what touches them."""
        if span[0] != span[1] and (span[0] < 0 or span[1] > self.nbytes):
            raise Error(Status.TRUNCATED, f"{self.role} has {self.nbytes} bytes, but {what} bytes [{span[0]}, {span[1]})")


def check_apart(one: Buffer, one_span: Tuple[int, int], other: Buffer, other_span: Tuple[int, int]) -> None:
    """Raises Error if what is touched of the one overlaps what is touched of the other."""
    first = max(one.address + one_span[0], other.address + other_span[0])
    last = min(one.address + one_span[1], other.address + other_span[1])
    if first < last:
        raise Error(Status.INVALID, f"{one.role} and {other.role} overlap in {last - first} bytes")


def stream_of(given: Any, *buffers: Buffer) -> Optional[int]:
    """The stream as an address: the caller's, else the one that the arrays name."""
    if given is not None:
        for attribute in "ptr", "cuda_stream":  # CuPy, PyTorch
            if hasattr(given, attribute):
                return int(getattr(given, attribute))
        return int(given)
    named = {buffer.stream for buffer in buffers if buffer.stream is not None}
    if len(named) > 1:
        raise Error(Status.INVALID, "the arrays are in use by different streams: synchronize them, and say which with stream=")
    return named.pop() if named else None
