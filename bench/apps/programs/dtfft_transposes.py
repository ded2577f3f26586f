"""dtFFT's transposes of cubes, which MPI carries out by datatypes (vectors, hvectors, resized) unless --backend names another.

Options: --backend=NAME of dtFFT's, --sizes=64,128, --device (the data lie in the memory of a GPU)."""
import dtfft
import numpy
from rows import Rows, fill

KINDS = {"double": (dtfft.PlanR2R, numpy.float64), "complex": (dtfft.PlanC2C, numpy.complex128)}
MOVES = ("X_TO_Y", "Y_TO_Z", "X_TO_Z")  # the last one only where slabs are allowed, as they are by default


def transposes(rows, size, kind, config):
    plan_of, dtype = KINDS[kind]
    plan = plan_of([size] * 3, comm=rows.comm, config=dtfft.Config(**config))
    source, target = (plan.get_ndarray(plan.alloc_size, dtype=dtype) for _ in range(2))
    room = plan.get_ndarray(max(1, -(-plan.aux_bytes // 8)), dtype=numpy.float64)

    def prepare():
        first = numpy.empty(source.shape, source.dtype)
        fill(first, rows.comm.rank)
        (source.set if "device" in rows.options else lambda values: numpy.copyto(source, values))(first)
        target[...] = 0

    for move in MOVES:
        rows.do(f"{size}^3 {kind}, {move.replace('_', ' ').lower()}", prepare,
                lambda: plan.transpose(source, target, dtfft.Transpose[move], room), lambda: [target],  # pylint: disable=cell-var-from-loop
                lambda array: array.get() if "device" in rows.options else array)
    del source, target, room
    plan.destroy()


def main():
    rows = Rows()
    config = {"backend": dtfft.Backend[rows.options.get("backend", "MPI_DATATYPE")]}
    if "device" in rows.options:
        config["platform"] = dtfft.Platform.CUDA
    for size in rows.options.get("sizes", "64,128,192").split(","):
        for kind in KINDS:
            if any(rows.wanted(f"{size}^3 {kind}, {move.replace('_', ' ').lower()}") for move in MOVES):
                transposes(rows, int(size), kind, config)


if __name__ == "__main__":
    main()
