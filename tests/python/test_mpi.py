"""Types from mpi4py's datatypes: the bytes, their order and the bounds are those of its MPI."""
import random
from types import SimpleNamespace

import numpy as np
import packwright
import pytest
from packwright import _mpi
from reference import noise

MPI = pytest.importorskip("mpi4py.MPI", reason="no mpi4py (package python3-mpi4py)")

ROOM = 1 << 16
MIDDLE = ROOM // 2
LIMIT = 6000  # of what types touch, so that all of it is in the room
NAMED = [MPI.BYTE, MPI.CHAR, MPI.SHORT, MPI.INT, MPI.DOUBLE, MPI.DOUBLE_COMPLEX, MPI.INT64_T, MPI.FLOAT_INT, MPI.SHORT_INT,
         MPI.DOUBLE_INT, MPI.LONG_INT]
# Open MPI 5.0 receives complex numbers in wrong places (docs/mpi-libraries.md, "Types").
LOSES_COMPLEX = MPI.Get_library_version().startswith("Open MPI v5.0.")


class Maker:
    """Random types; frees at the end what it has made."""

    def __init__(self, seed):
        self.choose = random.Random(seed)
        self.made = []
        self.has_complex = False

    def number(self, last):
        return self.choose.randrange(0, last + 1)

    def keep(self, datatype):
        self.made.append(datatype)
        return datatype

    def type(self, depth):
        if depth > 0:
            return self.keep(self.derived(depth))
        named = self.choose.choice(NAMED)
        self.has_complex |= named == MPI.DOUBLE_COMPLEX
        return named

    def derived(self, depth):
        old = self.type(depth - 1)
        n = 1 + self.number(3)
        lengths = [self.number(3) for _ in range(n)]
        starts = np.cumsum([0] + [3 + self.number(2) for _ in range(n)])[:n].tolist()
        in_bytes = [start * abs(old.extent) for start in starts]
        kind = self.choose.choice(["contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block",
                                   "struct", "subarray", "darray", "resized", "dup"])
        if kind == "contiguous":
            return old.Create_contiguous(n)
        if kind == "vector":
            return old.Create_vector(n, 1 + self.number(2), self.choose.choice([-3, 3, 5]))
        if kind == "hvector":
            return old.Create_hvector(n, 1 + self.number(2), 3 * abs(old.extent) + self.number(9))
        if kind == "indexed":
            return old.Create_indexed(lengths, starts)
        if kind == "hindexed":
            return old.Create_hindexed(lengths, in_bytes)
        if kind == "indexed_block":
            return old.Create_indexed_block(2, starts)
        if kind == "hindexed_block":
            return old.Create_hindexed_block(2, in_bytes)
        if kind == "struct":
            other = self.type(depth - 1)
            reach = 3 * (abs(old.extent) + abs(other.extent)) + abs(old.lb) + abs(other.lb)
            return MPI.Datatype.Create_struct([2, 1, 2], [0, reach + self.number(7), 2 * reach + 9], [old, other, old])
        if kind == "subarray":
            sizes = [2 + self.number(2) for _ in range(1 + self.number(2))]
            inner = [1 + self.number(size - 1) for size in sizes]
            first = [self.number(size - part) for size, part in zip(sizes, inner)]
            return old.Create_subarray(sizes, inner, first, self.choose.choice([MPI.ORDER_C, MPI.ORDER_F]))
        if kind == "darray":
            how = [self.choose.choice([MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC]), MPI.DISTRIBUTE_NONE]
            try:
                return old.Create_darray(2, self.number(1), [3 + self.number(3), 2], how, [MPI.DISTRIBUTE_DFLT_DARG] * 2, [2, 1],
                                         self.choose.choice([MPI.ORDER_C, MPI.ORDER_F]))
            except MPI.Exception:  # Open MPI 4.1 refuses some old types.
                return old.Dup()
        if kind == "resized":
            return old.Create_resized(old.lb - self.number(8), old.extent + self.number(16))
        return old.Dup()

    def free(self):
        for datatype in self.made:
            datatype.Free()


def transfer(sent, received):
    """MPI's pack and unpack: mpi4py's Datatype.Pack takes the count from the length of the buffer, a message does not."""
    MPI.COMM_SELF.Sendrecv(sent, 0, 0, received, 0, 0)


def is_misplaced(datatype):
    """Are there blocks that lie no multiple of a complex number apart?"""
    starts = [start for start, _ in packwright.from_mpi(datatype).iov(2)]
    return any((start - starts[0]) % MPI.DOUBLE_COMPLEX.size for start in starts)


def compare(datatype, seed=1, received=True):
    """Holds a type against MPI, two objects of it; what MPI receives only if `received`."""
    t = packwright.from_mpi(datatype)
    assert (t.size, t.lb, t.extent) == (datatype.size, datatype.lb, datatype.extent)
    source = noise(ROOM, seed)
    size, count = t.size * 2, 2
    packed = np.zeros(size, np.uint8)
    transfer([source[MIDDLE:], count, datatype], [packed, size, MPI.PACKED])
    assert np.array_equal(np.frombuffer(t.pack(source, count=count, offset=MIDDLE), np.uint8), packed), t
    if not received:
        return
    by_mpi, by_us = np.zeros(ROOM, np.uint8), np.zeros(ROOM, np.uint8)
    transfer([packed, size, MPI.PACKED], [by_mpi[MIDDLE:], count, datatype])
    t.unpack(by_us, packed, count, offset=MIDDLE)
    assert np.array_equal(by_mpi, by_us), t


def test_random_types():
    compared, unreceived, combiners = 0, 0, set()
    for seed in range(2000):
        maker = Maker(seed)
        datatype = maker.type(1 + seed % 3)
        if 0 < datatype.size and abs(datatype.true_lb) + datatype.true_extent + abs(datatype.extent) < LIMIT:
            datatype.Commit()
            lost = LOSES_COMPLEX and maker.has_complex and is_misplaced(datatype)
            compare(datatype, seed, received=not lost)
            compared += 1
            unreceived += lost
            combiners.add(datatype.combiner)
        maker.free()
    assert compared > 1200 and unreceived < compared / 10 and len(combiners) >= 12, (compared, unreceived, combiners)


def test_every_predefined_type():
    """Dense ones and pairs alike; what this MPI does not have has no size."""
    tried = 0
    for name in dir(MPI):
        datatype = getattr(MPI, name)
        if not isinstance(datatype, MPI.Datatype) or datatype == MPI.DATATYPE_NULL:
            continue
        try:
            size = datatype.Get_size()
        except MPI.Exception:
            continue
        if size > 0 and name != "PACKED":
            compare(datatype)
            tried += 1
    assert tried > 30


def test_fortran_s_types():
    for datatype in (MPI.Datatype.Create_f90_integer(9), MPI.Datatype.Create_f90_real(15, 300), MPI.Datatype.Create_f90_complex(6, 30)):
        compare(datatype)
        strided = datatype.Create_vector(3, 1, 2).Commit()
        compare(strided)
        strided.Free()


def test_equal_to_a_type_from_text():
    datatype = MPI.DOUBLE.Create_vector(4, 2, 8)
    t = packwright.from_mpi(datatype)
    datatype.Free()
    assert t.hash == packwright.Type("vec(4 2 8)[double]").hash


def test_contents_are_left_as_they_were():
    """What decoding gives back are references of its own: the old types go on, used by the user."""
    old = MPI.INT.Create_vector(2, 1, 3).Commit()
    nested = MPI.Datatype.Create_struct([1, 1], [0, 64], [old, old]).Commit()
    for _ in range(100):
        packwright.from_mpi(nested)
    compare(old)
    compare(nested)
    nested.Free()
    compare(old)
    old.Free()


def test_own_numbers_of_open_mpi():
    """Version 6.0.0a1 gives a program of the standard ABI these in place of the ABI's constants."""
    abi = SimpleNamespace(ORDER_C=12, ORDER_FORTRAN=15, DISTRIBUTE_BLOCK=16, DISTRIBUTE_CYCLIC=17, DISTRIBUTE_NONE=18)
    assert [_mpi._order(abi, {"order": own}) for own in (0, 1)] == [_mpi._order(abi, {"order": n}) for n in (12, 15)] == [0, 1]
    kinds = [_mpi._distribution(abi, kind) for kind in (16, 17, 18)]
    assert [_mpi._distribution(abi, own) for own in (0, 1, 2)] == kinds == [1, 2, 0]


def test_errors():
    with pytest.raises(packwright.Error, match="MPI_DATATYPE_NULL") as caught:
        packwright.from_mpi(MPI.DATATYPE_NULL)
    assert caught.value.status == packwright.Status.INVALID
    with pytest.raises(TypeError, match="str is no mpi4py.MPI.Datatype"):
        packwright.from_mpi("MPI_INT")
