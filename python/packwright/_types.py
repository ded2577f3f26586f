"""Types, and the moves that they describe."""
from __future__ import annotations

import ctypes
import operator
from ctypes import c_int64, c_uint64, c_void_p
from typing import Any, List, NamedTuple, Optional, Tuple

from . import _pictures
from ._buffers import Buffer, check_apart, stream_of
from ._library import Error, Iov, Reference, StatisticsFields, Status, call, engine, make, text_bytes

_DDT, _IR = 0, 1
# packwright_iovs gives addresses; from this one they say displacements, also negative ones.
_ORIGIN = 1 << 62

_libc = ctypes.CDLL(None)
_libc.free.argtypes = [c_void_p]
_libc.free.restype = None


class Statistics(NamedTuple):
    """The uses of a type and of all that are equal to it."""

    packs: int
    unpacks: int
    bytes: int
    kernel_calls: int


class Type:
    """A layout of data in memory: a map from packed bytes to places, as MPI's derived datatypes are.

    Type("vec(32 2 8)[double]") reads the datatype language (docs/ddt.md); `name` chooses one of several types of a text.
    from_mpi takes a datatype of mpi4py.

    Any number of threads may use a type. close(), or the end of a with statement, gives it back early; otherwise that
    happens when it is collected. A move that another thread has begun is finished first.
    """

    def __init__(self, text: str, name: Optional[str] = None) -> None:
        self._reference: Optional[Reference] = make("from_ddt_named", text_bytes(text),
                                                   None if name is None else text_bytes(name))
        self._written: Optional[Tuple[str, Optional[str]]] = text, name

    @classmethod
    def from_ir(cls, text: str) -> Type:
        """The type that the text form of the layout IR describes (docs/ir.md)."""
        return cls._of(make("from_ir", text_bytes(text)))

    @classmethod
    def _of(cls, reference: Reference) -> Type:
        made = cls.__new__(cls)
        made._reference = reference
        made._written = None
        return made

    # ---- lifetime

    def _open(self) -> Reference:
        reference = self._reference
        if reference is None:
            raise ValueError("the type is closed")
        return reference

    def close(self) -> None:
        """Gives the type back. What is asked of it later is a ValueError."""
        self._reference = None

    def __enter__(self) -> Type:
        self._open()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- what it is

    def _pair(self, function: str) -> Tuple[int, int]:
        reference = self._open()
        one, other = c_int64(), c_int64()
        getattr(engine(), f"packwright_{function}")(reference.address, ctypes.byref(one), ctypes.byref(other))
        return one.value, other.value

    @property
    def size(self) -> int:
        """Packed bytes of one object."""
        reference = self._open()
        return int(engine().packwright_size(reference.address))

    @property
    def lb(self) -> int:
        """The lower bound."""
        return self._pair("extent")[0]

    @property
    def extent(self) -> int:
        """The distance of one object to the next, in bytes."""
        return self._pair("extent")[1]

    @property
    def true_lb(self) -> int:
        """The first byte that is touched."""
        return self._pair("true_extent")[0]

    @property
    def true_extent(self) -> int:
        """From the first to the last byte that is touched."""
        return self._pair("true_extent")[1]

    @property
    def blocks(self) -> int:
        """Contiguous blocks of one object."""
        reference = self._open()
        return int(engine().packwright_blocks(reference.address))

    @property
    def hash(self) -> str:
        """32 hexadecimal digits, equal for types that move the same bytes in the same order and have the same extent,
        and for no others. They hold for one version of the library."""
        reference = self._open()
        words = (c_uint64 * 2)()
        call("hash", reference.address, words)
        return f"{words[0]:016x}{words[1]:016x}"

    def _text(self, form: int) -> str:
        reference = self._open()
        out = c_void_p()
        call("text_of", reference.address, form, ctypes.byref(out))
        try:
            return ctypes.string_at(out.value or 0).decode().strip()
        finally:
            _libc.free(out)

    @property
    def text(self) -> str:
        """The type in the datatype language, in canonical form: Type(t.text).hash == t.hash."""
        return self._text(_DDT)

    @property
    def ir(self) -> str:
        """The type in the text form of the layout IR."""
        return self._text(_IR)

    def statistics(self) -> Statistics:
        """The uses so far, all 0 unless configure(statistics=True) or PACKWRIGHT_STATS=1 asked for them."""
        reference = self._open()
        fields = StatisticsFields(ctypes.sizeof(StatisticsFields))
        call("type_statistics", reference.address, ctypes.byref(fields))
        return Statistics(fields.packs, fields.unpacks, fields.bytes, fields.kernel_calls)

    def iov(self, count: int = 1, first: int = 0, limit: Optional[int] = None) -> List[Tuple[int, int]]:
        """The contiguous blocks of `count` objects as (displacement, length), in packed order, from block `first` on, at
        most `limit` of them."""
        reference = self._open()
        count, first = operator.index(count), operator.index(first)
        if count < 0 or first < 0 or (limit is not None and limit < 0):
            raise ValueError(f"count {count}, first {first} or limit {limit} is negative")
        there = max(0, count * self.blocks - first)
        wanted = there if limit is None else min(limit, there)
        blocks, filled = (Iov * wanted)(), c_int64()
        call("iovs", reference.address, _ORIGIN, count, first, wanted, blocks, ctypes.byref(filled))
        return [(block.base - _ORIGIN, block.length) for block in blocks[: filled.value]]

    # ---- moves

    def _touched(self, memory: Buffer, count: int, offset: int) -> Tuple[int, int]:
        """The bytes of `memory` that `count` objects touch. Raises Error if not all are inside."""
        if count < 0:
            raise ValueError(f"count is {count}")
        if count == 0 or self.size == 0:
            return 0, 0
        true_lb, true_extent = self._pair("true_extent")
        reach = (count - 1) * self.extent
        span = offset + true_lb + min(0, reach), offset + true_lb + true_extent + max(0, reach)
        memory.check(span, f"{count} object{'' if count == 1 else 's'} of true extent {true_extent} from {true_lb}, {self.extent} apart, at offset "
                           f"{offset}, touch")
        return span

    def _move(self, function: str, memory: Buffer, packed: Buffer, count: int, offset: int, first: int, last: int,
              stream: Any) -> None:
        reference = self._open()
        count, offset, first, last = map(operator.index, (count, offset, first, last))
        span = self._touched(memory, count, offset)
        total = self.size * count
        if not 0 <= first <= last <= total:
            raise ValueError(f"[{first}, {last}) is no range of the {total} packed bytes")
        packed.check((0, last - first), "the range has" if last - first < total else "the objects have")
        check_apart(memory, span, packed, (0, last - first))
        whole = first == 0 and last == total
        at = memory.address + offset
        if memory.on_device or packed.on_device:
            if not whole:
                raise Error(Status.UNSUPPORTED, "a range of the packed bytes cannot be moved to or from a GPU")
            call(f"{function}_stream", reference.address, at, count, packed.address, stream_of(stream, memory, packed))
        elif whole:
            call(function, reference.address, at, count, packed.address)
        else:
            call(f"{function}_range", reference.address, at, count, first, last, packed.address)

    def pack(self, memory: Any, packed: Any = None, count: int = 1, *, offset: int = 0, first: int = 0,
             last: Optional[int] = None, stream: Any = None) -> Any:
        """Packs `count` objects of `memory` into `packed`, a new bytearray if it is left out, and returns that.

        memory, packed: contiguous objects with the buffer protocol, or with __cuda_array_interface__. offset: the byte of
        `memory` that displacement 0 stands for. first, last: only the bytes [first, last) of the packed ones, which go to
        the beginning of `packed`; not on a GPU. stream: the CUDA stream whose earlier work comes first.
        """
        last = self.size * count if last is None else last
        if packed is None:
            packed = bytearray(max(0, last - first))
        with Buffer(memory, "memory", False) as source, Buffer(packed, "packed", True) as target:
            self._move("pack", source, target, count, offset, first, last, stream)
        return packed

    def unpack(self, memory: Any, packed: Any, count: int = 1, *, offset: int = 0, first: int = 0,
               last: Optional[int] = None, stream: Any = None) -> Any:
        """Unpacks `packed` to `count` objects of `memory`, and returns `memory`. Arguments are those of pack."""
        last = self.size * count if last is None else last
        with Buffer(memory, "memory", True) as target, Buffer(packed, "packed", False) as source:
            self._move("unpack", target, source, count, offset, first, last, stream)
        return memory

    def copy(self, source: Any, target: Any, to: Optional[Type] = None, count: int = 1, to_count: Optional[int] = None, *,
             offset: int = 0, to_offset: int = 0, stream: Any = None) -> Any:
        """Copies `count` objects of this type at `source` to `to_count` of type `to` at `target`, in packed order, and
        returns `target`. `to` is this type, and `to_count` is `count`, if they are left out. Source and target may be one
        array, but no byte may be both read and written; that is not checked."""
        to = self if to is None else to
        to_count = count if to_count is None else operator.index(to_count)
        count, offset, to_offset = map(operator.index, (count, offset, to_offset))
        one, other = self._open(), to._open()
        with Buffer(source, "source", False) as read, Buffer(target, "target", True) as written:
            self._touched(read, count, offset)
            to._touched(written, to_count, to_offset)
            arguments = (one.address, read.address + offset, count, other.address, written.address + to_offset, to_count)
            if read.on_device or written.on_device:
                call("copy_stream", *arguments, stream_of(stream, read, written))
            else:
                call("copy", *arguments)
        return target

    # ---- in a shell and in a notebook

    def __repr__(self) -> str:
        if self._reference is None:
            return "<packwright.Type, closed>"
        text = self.text
        return f"packwright.Type({text!r})" if len(text) <= 200 else f"<packwright.Type {text[:200]}…>"

    def _repr_svg_(self) -> Optional[str]:
        """The picture has the text, the name and the elements that the type was made of, if they were text."""
        if self._reference is None:
            return None
        return _pictures.svg(*(self._written or (self.text, None)))

    def _repr_html_(self) -> Optional[str]:
        picture = self._repr_svg_()
        facts = ("size", "lb", "extent", "true_lb", "true_extent", "blocks")
        return None if picture is None else _pictures.page(picture, {fact: getattr(self, fact) for fact in facts})
