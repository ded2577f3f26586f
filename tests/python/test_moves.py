"""Moves of host memory, against moves by lists of places."""
import array
import random

import numpy as np
import packwright
import pytest
from reference import noise, places

VECTOR = [(64 * row, 16) for row in range(4)]  # vec(4 2 8)[double]


@pytest.fixture
def vector():
    return packwright.Type("vec(4 2 8)[double]")


def test_a_halo_face():
    field = np.arange(8 * 8 * 8, dtype=float).reshape(8, 8, 8)
    face = packwright.Type("sub(8 8 8 | 8 2 8 | 0 5 0)[double]")
    packed = face.pack(field)
    assert np.array_equal(np.frombuffer(packed).reshape(8, 2, 8), field[:, 5:7, :])
    other = np.zeros_like(field)
    assert face.unpack(other, packed) is other
    expected = np.zeros_like(field)
    expected[:, 5:7, :] = field[:, 5:7, :]
    assert np.array_equal(other, expected)


def test_fortran_order():
    field = np.asfortranarray(np.arange(24.0).reshape(4, 6))
    rows = packwright.Type("sub(4 6 | 2 6 | 1 0 | fortran)[double]")
    assert np.array_equal(np.frombuffer(rows.pack(field)), field[1:3].ravel(order="F"))


def test_random_types_counts_and_offsets():
    choose = random.Random(7)
    for seed in range(150):
        blocks, at = [], choose.randrange(-20, 20)
        for _ in range(choose.randrange(1, 9)):
            length = choose.randrange(1, 12)
            blocks.append((at, length))
            at += length + choose.randrange(0, 9)
        choose.shuffle(blocks)
        extent, count = choose.choice([-1, 1]) * choose.randrange(130, 220), choose.randrange(1, 5)
        text = f"resized(0 {extent})[hidx({' '.join(f'{place},{length}' for place, length in blocks)})[byte]]"
        named = places(blocks, extent, count)
        offset = int(-named.min()) + choose.randrange(0, 5)
        memory = noise(offset + int(named.max()) + 1, seed)
        expected = memory[offset + named]
        t = packwright.Type(text)
        packed = np.empty(t.size * count, np.uint8)
        assert t.pack(memory, packed, count, offset=offset) is packed
        assert np.array_equal(packed, expected), text
        unpacked, wanted = np.zeros_like(memory), np.zeros_like(memory)
        wanted[offset + named] = expected
        t.unpack(unpacked, packed, count, offset=offset)
        assert np.array_equal(unpacked, wanted), text
        first, last = sorted(choose.randrange(0, t.size * count + 1) for _ in "fl")
        assert bytes(t.pack(memory, count=count, offset=offset, first=first, last=last)) == bytes(expected[first:last]), text


def test_unpack_of_a_range(vector):
    memory, wanted = np.zeros(208, np.uint8), np.zeros(208, np.uint8)
    piece = noise(20)
    wanted[places(VECTOR, 208, 1)[10:30]] = piece
    vector.unpack(memory, piece, first=10, last=30)
    assert np.array_equal(memory, wanted)


def test_copy(vector):
    memory = noise(2 * 208)
    to = packwright.Type("hvec(8 1 40)[ctg(16)[byte]]")
    target, wanted = np.zeros(320, np.uint8), np.zeros(320, np.uint8)
    wanted[8 + places([(40 * row, 16) for row in range(8)], 320, 1)[:128]] = memory[places(VECTOR, 208, 2)]
    assert vector.copy(memory, target, to, 2, 1, to_offset=8) is target
    assert np.array_equal(target, wanted)
    with pytest.raises(packwright.Error) as caught:
        vector.copy(memory, target, to, 1, 1)
    assert caught.value.status == packwright.Status.INVALID


@pytest.mark.parametrize("memory", [bytes(range(208)), bytearray(range(208)), array.array("B", range(208)),
                                    memoryview(bytes(range(208))), np.arange(208, dtype=np.uint8).reshape(2, 8, 13)])
def test_every_buffer(vector, memory):
    assert bytes(vector.pack(memory)) == bytes(int(place) for place in places(VECTOR, 208, 1))


@pytest.mark.parametrize("nbytes, count, offset", [(207, 1, 0), (208, 1, 1), (208, 1, -1), (415, 2, 0), (0, 1, 0)])
def test_memory_is_checked(vector, nbytes, count, offset):
    memory = np.zeros(nbytes, np.uint8)
    for move in lambda: vector.pack(memory, count=count, offset=offset), lambda: vector.unpack(memory, bytes(128), count, offset=offset):
        with pytest.raises(packwright.Error, match=f"memory has {nbytes} bytes.* true extent 208 ") as caught:
            move()
        assert caught.value.status == packwright.Status.TRUNCATED


def test_blocks_before_the_buffer_are_found():
    with pytest.raises(packwright.Error, match=r"touch bytes \[-8, 8\)"):
        packwright.Type("hvec(2 1 -8)[double]").pack(bytes(64))


def test_packed_is_checked(vector):
    with pytest.raises(packwright.Error, match="packed has 63 bytes"):
        vector.pack(bytes(208), bytearray(63))
    with pytest.raises(packwright.Error, match="packed has 63 bytes"):
        vector.unpack(bytearray(208), bytes(63))
    with pytest.raises(ValueError, match=r"\[10, 65\)"):
        vector.pack(bytes(208), first=10, last=65)
    with pytest.raises(ValueError, match="count is -1"):
        vector.pack(bytes(208), count=-1)


def test_overlap_is_an_error(vector):
    memory = bytearray(1000)
    view = memoryview(memory)
    with pytest.raises(packwright.Error, match="overlap in 64 bytes"):
        vector.pack(view, view[100:])
    vector.pack(view[:208], view[208:])


def test_copy_within_an_array():
    """A periodic halo: what is read lies between what is written."""
    field = np.arange(36.0).reshape(6, 6)
    wanted = field.copy()
    wanted[:, 0] = field[:, 4]
    packwright.Type("sub(6 6 | 6 1 | 0 4)[double]").copy(field, field, packwright.Type("sub(6 6 | 6 1 | 0 0)[double]"))
    assert np.array_equal(field, wanted)


def test_numbers_of_numpy(vector):
    memory = noise(416)
    assert vector.pack(memory, count=np.int64(2)) == vector.pack(memory, count=2)
    assert vector.iov(np.int32(1)) == VECTOR
    with pytest.raises(TypeError):
        vector.pack(memory, count=1.0)


def test_read_only_and_scattered_memory(vector):
    with pytest.raises(BufferError, match="memory: "):
        vector.unpack(bytes(208), bytes(64))
    with pytest.raises(BufferError, match="memory: .*contiguous"):
        vector.pack(np.zeros(1000)[::2])
    with pytest.raises(TypeError, match="memory: int has neither"):
        vector.pack(3)


def test_buffers_are_released(vector):
    memory = bytearray(208)
    vector.pack(memory)
    with pytest.raises(packwright.Error):
        vector.pack(memory, offset=1)
    memory.append(0)  # a BufferError while somebody holds the buffer


def test_nothing_to_move(vector):
    assert vector.pack(b"", count=0) == b""
    assert packwright.Type("ctg(0)[int]").pack(b"", count=3) == b""
