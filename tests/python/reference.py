"""What the tests hold the library against: moves by lists of places."""
import numpy as np


def places(blocks, extent, count):
    """The bytes that `count` objects name, in packed order. `blocks`: (displacement, length) of one object."""
    one = [place for start, length in blocks for place in range(start, start + length)]
    return np.array([index * extent + place for index in range(count) for place in one], dtype=np.int64)


def noise(nbytes, seed=1):
    """Bytes that do not repeat."""
    return np.random.default_rng(seed).integers(0, 256, nbytes, dtype=np.uint8)
