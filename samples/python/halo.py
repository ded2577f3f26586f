#!/usr/bin/env python3
"""The halo of a NumPy array, packed: what halo.c of samples/library is in C. Needs NumPy; PYTHONPATH=python in a build."""
import numpy as np
import packwright


def main():
    field = np.arange(68.0**3).reshape(68, 68, 68)

    # Five lines: two planes on one side of the grid go to the two planes behind the other side.
    face = packwright.Type("sub(68 68 68 | 64 64 2 | 2 2 64)[double]")
    ghost = packwright.Type("sub(68 68 68 | 64 64 2 | 2 2 0)[double]")
    buffer = np.empty(face.size // 8)
    face.pack(field, buffer)
    ghost.unpack(field, buffer)

    inner = field[2:66, 2:66]
    if not np.array_equal(inner[:, :, 0:2], inner[:, :, 64:66]) or not np.array_equal(buffer, inner[:, :, 64:66].ravel()):
        raise SystemExit("halo.py: wrong values")
    print(f"halo.py: verified, {face.size} bytes in {face.blocks} blocks")


if __name__ == "__main__":
    main()
