"""Arrays of CuPy and tensors of PyTorch themselves, in the memory of a GPU."""
import os

import numpy as np
import packwright
import pytest
from reference import noise, places

COUNT = 5000
VECTOR, BLOCKS, EXTENT = "vec(4 2 8)[double]", [(64 * row, 16) for row in range(4)], 208


class CuPy:
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")
        try:
            self.cupy.cuda.runtime.getDeviceCount()
        except self.cupy.cuda.runtime.CUDARuntimeError:
            pytest.skip("no GPU")

    def put(self, data):
        return self.cupy.asarray(data)

    def get(self, array):
        return self.cupy.asnumpy(array)

    def zeros(self, nbytes):
        return self.cupy.zeros(nbytes, "u1")

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def late(self, stream, array):
        """Work of some milliseconds on the stream, then all elements of the array one higher."""
        with stream:
            for _ in range(20):
                self.cupy.ones((1 << 24,), "f4").sum()
            array += 1


class PyTorch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("no GPU")

    def put(self, data):
        return self.torch.from_numpy(data).cuda()

    def get(self, tensor):
        return tensor.cpu().numpy()

    def zeros(self, nbytes):
        return self.torch.zeros(nbytes, dtype=self.torch.uint8, device="cuda")

    def stream(self):
        return self.torch.cuda.Stream()

    def late(self, stream, tensor):
        """Work of some milliseconds on the stream, then all elements of the tensor one higher."""
        with self.torch.cuda.stream(stream):
            for _ in range(20):
                self.torch.ones(1 << 24, device="cuda").sum()
            tensor += 1


@pytest.fixture(params=[CuPy, PyTorch])
def arrays(request):
    return request.param()


@pytest.fixture
def vector():
    return packwright.Type(VECTOR)


def test_pack_unpack_copy(arrays, vector):
    memory = noise(COUNT * EXTENT)
    named = places(BLOCKS, EXTENT, COUNT)
    wanted = np.zeros_like(memory)
    wanted[named] = memory[named]
    device = arrays.put(memory)
    packed = arrays.zeros(len(named))
    assert vector.pack(device, packed, COUNT) is packed
    assert np.array_equal(arrays.get(packed), memory[named])
    assert bytes(vector.pack(device, count=COUNT)) == memory[named].tobytes()
    back = arrays.zeros(memory.nbytes)
    vector.unpack(back, packed, COUNT)
    assert np.array_equal(arrays.get(back), wanted)
    copied = arrays.zeros(memory.nbytes)
    vector.copy(device, copied, count=COUNT)
    assert np.array_equal(arrays.get(copied), wanted)
    assert np.array_equal(vector.copy(device, np.zeros_like(memory), count=COUNT), wanted)


def test_elements_and_orders(arrays):
    memory = np.arange(4 * 8, dtype="f4").reshape(4, 8)
    column = packwright.Type("vec(4 1 8)[float]")
    device = arrays.put(memory)
    assert column.pack(device) == memory[:, 0].tobytes()
    with pytest.raises(BufferError, match="memory: the array is not contiguous"):
        column.pack(device[:, :4])
    with pytest.raises(packwright.Error, match="memory has 64 bytes"):
        column.pack(device[:2])


def test_earlier_work_of_a_stream(arrays, vector):
    memory = noise(COUNT * EXTENT)
    named = places(BLOCKS, EXTENT, COUNT)
    device, stream = arrays.put(memory), arrays.stream()
    arrays.late(stream, device)
    packed = vector.pack(device, count=COUNT, stream=stream)
    assert np.array_equal(np.frombuffer(packed, np.uint8), memory[named] + np.uint8(1))


def test_a_gpu_is_there():
    """PW_TEST_GPU_ARRAYS says that both packages and a GPU are there, so that none of the others may be left out."""
    if "PW_TEST_GPU_ARRAYS" not in os.environ:
        pytest.skip("PW_TEST_GPU_ARRAYS is not set")
    CuPy(), PyTorch()
