"""Types from mpi4py's datatypes, by what MPI says about them (MPI_Type_get_envelope, MPI_Type_get_contents). This works
with any MPI that mpi4py is built for."""
from __future__ import annotations

import ctypes
from ctypes import c_void_p
from typing import Any, Callable, Dict, List

from ._library import Error, Reference, Status, make, numbers
from ._types import Type

# Named types with holes. All others are dense.
_PAIRS = ("FLOAT_INT", "DOUBLE_INT", "LONG_INT", "SHORT_INT", "LONG_DOUBLE_INT")
_C, _FORTRAN = 0, 1


# Open MPI 6.0.0a1 gives a program of the standard ABI its own numbers of orders and distributions, which have no other
# meaning in any ABI (frontend/mpi/contents.c).
def _order(MPI: Any, given: Dict[str, Any]) -> int:
    return {0: _C, 1: _FORTRAN, MPI.ORDER_C: _C, MPI.ORDER_FORTRAN: _FORTRAN}[given["order"]]


def _distribution(MPI: Any, kind: int) -> int:
    return {0: 1, 1: 2, 2: 0, MPI.DISTRIBUTE_NONE: 0, MPI.DISTRIBUTE_BLOCK: 1, MPI.DISTRIBUTE_CYCLIC: 2}[kind]


def _list(constructor: str) -> Callable[..., Reference]:
    def build(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
        lengths, places = given["blocklengths"], given["displacements"]
        return make(constructor, len(places), numbers(lengths), numbers(places), olds[0].address)

    return build


def _blocks(constructor: str) -> Callable[..., Reference]:
    def build(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
        places = given["displacements"]
        return make(constructor, len(places), given["blocklength"], numbers(places), olds[0].address)

    return build


def _vector(constructor: str) -> Callable[..., Reference]:
    def build(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
        return make(constructor, given["count"], given["blocklength"], given["stride"], olds[0].address)

    return build


def _dup(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
    return olds[0]


def _contiguous(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
    return make("contiguous", given["count"], olds[0].address)


def _resized(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
    return make("resized", given["lb"], given["extent"], olds[0].address)


def _struct(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
    addresses = (c_void_p * len(olds))(*(old.address for old in olds))
    return make("struct", len(olds), numbers(given["blocklengths"]), numbers(given["displacements"]), addresses)


def _subarray(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
    sizes = given["sizes"]
    return make("subarray", len(sizes), numbers(sizes), numbers(given["subsizes"]), numbers(given["starts"]),
                _order(MPI, given), olds[0].address)


def _darray(MPI: Any, given: Dict[str, Any], olds: List[Reference]) -> Reference:
    gsizes = given["gsizes"]
    kinds = (ctypes.c_int * len(gsizes))(*(_distribution(MPI, kind) for kind in given["distribs"]))
    arguments = numbers(-1 if value == MPI.DISTRIBUTE_DFLT_DARG else value for value in given["dargs"])
    return make("darray", given["size"], given["rank"], len(gsizes), numbers(gsizes), kinds, arguments,
                numbers(given["psizes"]), _order(MPI, given), olds[0].address)


_BUILDERS: Dict[str, Callable[..., Reference]] = {
    "DUP": _dup,
    "CONTIGUOUS": _contiguous,
    "VECTOR": _vector("vector"),
    "HVECTOR": _vector("hvector"),
    "INDEXED": _list("indexed"),
    "HINDEXED": _list("hindexed"),
    "INDEXED_BLOCK": _blocks("indexed_block"),
    "HINDEXED_BLOCK": _blocks("hindexed_block"),
    "STRUCT": _struct,
    "SUBARRAY": _subarray,
    "DARRAY": _darray,
    "RESIZED": _resized,
}


def _predefined(MPI: Any, datatype: Any) -> Reference:
    """A named type, or one of MPI_Type_create_f90_real and its kin."""
    if datatype == MPI.DATATYPE_NULL:
        raise Error(Status.INVALID, "the datatype is MPI_DATATYPE_NULL")
    size = datatype.Get_size()
    if datatype.Get_extent() == (0, size):
        one = make("bytes", 1, 1)
        return make("contiguous", size, one.address)
    for name in _PAIRS:
        if datatype == getattr(MPI, name):
            return Type(f"MPI_{name}")._open()
    raise Error(Status.UNSUPPORTED, f"the predefined datatype {datatype.Get_name() or datatype.combiner} is not known")


def _derived(MPI: Any, datatype: Any) -> Reference:
    old, combiner, given = datatype.decode()
    olds = given["datatypes"] if combiner == "STRUCT" else [old]
    try:
        if combiner not in _BUILDERS:
            raise Error(Status.UNSUPPORTED, f"the combiner {combiner} is not known")
        return _BUILDERS[combiner](MPI, given, [_decode(MPI, one) for one in olds])
    finally:
        # MPI_Type_get_contents has made references to these.
        for one in olds:
            if not one.is_predefined:
                one.Free()


def _decode(MPI: Any, datatype: Any) -> Reference:
    made = Type._of(_predefined(MPI, datatype) if datatype.is_predefined else _derived(MPI, datatype))
    # MPI's bounds hold: how it aligns a struct is its own affair, and matters to what is built on it.
    lb, extent = datatype.Get_extent()
    if (made.lb, made.extent) != (lb, extent):
        made = Type._of(make("resized", lb, extent, made._open().address))
    if made.size != datatype.Get_size():
        raise Error(Status.UNSUPPORTED, f"a datatype of combiner {datatype.combiner} has {datatype.Get_size()} bytes in this "
                                        f"MPI, but {made.size} by its contents")
    return made._open()


def from_mpi(datatype: Any) -> Type:
    """The type that a datatype of mpi4py describes: the bytes of its Pack, with its lower bound and extent.

    The datatype need not be committed and may be freed at once. Raises Error for MPI.DATATYPE_NULL and for what the
    library does not know. Calls MPI, as the thread level of the program allows.
    """
    from mpi4py import MPI

    if not isinstance(datatype, MPI.Datatype):
        raise TypeError(f"{type(datatype).__name__} is no mpi4py.MPI.Datatype")
    return Type._of(_decode(MPI, datatype))
