"""Arrays with __cuda_array_interface__, as CuPy's. A stand-in has its bytes in host memory, which the library's stream
functions take as well. Where there is a GPU, arrays in its memory follow."""
import ctypes
import os

import numpy as np
import packwright
import pytest
from reference import noise, places

TEXT, BLOCKS = "vec(4 2 8)[double]", [(64 * row, 16) for row in range(4)]


class StandIn:
    """An array at its place, or at another address."""

    def __init__(self, array, address=None, readonly=False, strides=None, stream=None):
        self.array = array
        at = array.ctypes.data if address is None else address
        self.__cuda_array_interface__ = {"version": 3, "shape": array.shape, "typestr": array.dtype.str, "data": (at, readonly),
                                         "strides": strides, "stream": stream}


@pytest.fixture
def vector():
    return packwright.Type(TEXT)


def test_pack_unpack_copy(vector):
    memory = noise(416)
    packed = np.zeros(128, np.uint8)
    vector.pack(StandIn(memory), StandIn(packed), 2)
    assert np.array_equal(packed, memory[places(BLOCKS, 208, 2)])
    assert bytes(vector.pack(StandIn(memory), count=2)) == packed.tobytes()
    back, wanted = np.zeros(416, np.uint8), np.zeros(416, np.uint8)
    wanted[places(BLOCKS, 208, 2)] = packed
    vector.unpack(StandIn(back), packed, 2)
    assert np.array_equal(back, wanted)
    copied = np.zeros(416, np.uint8)
    vector.copy(StandIn(memory), copied, count=2)
    assert np.array_equal(copied, wanted)


def test_checks(vector):
    memory = np.zeros(26)
    with pytest.raises(packwright.Error, match="memory has 200 bytes"):
        vector.pack(StandIn(memory[:25]))
    with pytest.raises(BufferError, match="memory: the array is read-only"):
        vector.unpack(StandIn(memory, readonly=True), bytes(64))
    with pytest.raises(BufferError, match="memory: the array is not contiguous"):
        vector.pack(StandIn(memory, strides=(16,)))
    with pytest.raises(packwright.Error, match="range") as caught:
        vector.pack(StandIn(memory), first=1)
    assert caught.value.status == packwright.Status.UNSUPPORTED
    with pytest.raises(packwright.Error, match="overlap"):
        vector.pack(StandIn(memory), StandIn(memory))


def test_both_orders_are_contiguous(vector):
    for order in "C", "F":
        memory = np.arange(26.0).reshape(2, 13, order=order)
        expected = memory.ravel(order="K").view(np.uint8)[places(BLOCKS, 208, 1)]
        assert np.array_equal(np.frombuffer(vector.pack(StandIn(memory, strides=memory.strides)), np.uint8), expected)


def test_streams():
    from packwright._buffers import Buffer, stream_of

    class Stream:
        ptr = 77

    one, other, none = (Buffer(StandIn(np.zeros(8), stream=stream), "memory", False) for stream in (1, 2, None))
    assert stream_of(None, one, none) == 1 and stream_of(None, none) is None
    assert stream_of(Stream(), one, other) == 77 and stream_of(5, one) == 5
    with pytest.raises(packwright.Error, match="different streams"):
        stream_of(None, one, other)


class AsCuPy:
    """An array whose interface has the entries of a cupy.ndarray's: a stream is always named, 1 being the default one;
    strides only where the order is not C's; no address if there are no elements."""

    def __init__(self, array, address=None, stream=1):
        self.array, self.address, self.stream = array, address, stream

    @property
    def __cuda_array_interface__(self):
        array = self.array
        at = array.ctypes.data if self.address is None else self.address
        return {"shape": array.shape, "typestr": array.dtype.str, "descr": array.dtype.descr, "stream": self.stream, "version": 3,
                "strides": None if array.flags.c_contiguous else array.strides, "data": (at if array.size else 0, False)}


@pytest.mark.parametrize("element", ["f8", "c16", "?", "i1", "f2", "V2", "M8[ns]"])
def test_elements(element):
    memory = np.zeros((4, 8), element)
    itemsize = memory.itemsize
    memory.view(np.uint8)[:] = noise(memory.nbytes).reshape(4, -1)
    column = packwright.Type(f"vec(4 1 8)[ctg({itemsize})[byte]]")
    packed = column.pack(AsCuPy(memory))
    assert packed == memory[:, 0].tobytes()
    back = np.zeros_like(memory)
    column.unpack(AsCuPy(back), packed)
    assert back[:, 0].tobytes() == packed and not back[:, 1:].view(np.uint8).any()
    row = packwright.Type(f"vec(8 1 4)[ctg({itemsize})[byte]]")
    assert row.pack(AsCuPy(np.asfortranarray(memory))) == memory[0].tobytes()


def test_no_elements(vector):
    empty = AsCuPy(np.zeros(0))
    assert vector.pack(empty, count=0) == b""
    assert vector.unpack(empty, empty, 0) is empty
    with pytest.raises(packwright.Error, match="memory has 0 bytes"):
        vector.pack(empty)


def device_memory(nbytes):
    """Memory of the first GPU, and functions that write and read it; None where there is no GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
        return None
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(nbytes)) == 0

    def write(data):
        assert driver.cuMemcpyHtoD_v2(address, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes)) == 0

    def read():
        data = np.empty(nbytes, np.uint8)
        assert driver.cuMemcpyDtoH_v2(data.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(nbytes)) == 0
        return data

    return address.value, write, read


def test_memory_of_a_gpu(vector):
    count = 5000
    memory = noise(count * 208)
    named = places(BLOCKS, 208, count)
    taken = device_memory(memory.nbytes)
    if taken is None:
        assert "PW_TEST_GPU" not in os.environ, "no GPU, and no stand-in for the driver"
        pytest.skip("no GPU")
    address, write, read = taken
    write(memory)
    device = StandIn(memory, address)
    packed = vector.pack(device, count=count)
    assert np.array_equal(np.frombuffer(packed, np.uint8), memory[named])
    wanted = np.zeros_like(memory)
    wanted[named] = memory[named]
    assert np.array_equal(vector.copy(device, np.zeros_like(memory), count=count), wanted)
    write(np.zeros_like(memory))
    vector.unpack(device, packed, count)
    assert np.array_equal(read(), wanted)
    other, write_other, read_other = device_memory(len(packed))
    vector.pack(device, StandIn(np.frombuffer(packed, np.uint8), other), count)
    assert np.array_equal(read_other(), memory[named])
    write_other(np.zeros(len(packed), np.uint8))
    write(memory)
    vector.pack(AsCuPy(memory, address), AsCuPy(np.frombuffer(packed, np.uint8), other), count)
    assert np.array_equal(read_other(), memory[named])
