"""Two ranks exchange columns by mpi4py, which must have been built for, or take, an MPI of the standard ABI."""
import sys

try:
    from mpi4py import MPI
except (ModuleNotFoundError, RuntimeError) as error:  # one that does not find its MPI is no reason
    print(f"SKIPPED: no mpi4py for the standard ABI in {sys.prefix}: {error}")
    sys.exit()
if hasattr(MPI, "Get_abi_version") and MPI.Get_abi_version()[0] < 1:
    print("SKIPPED: this mpi4py was built for another ABI")
    sys.exit()
import array

world = MPI.COMM_WORLD
column = MPI.DOUBLE.Create_vector(64, 1, 8).Commit()
for turn in range(20):
    grid = array.array("d", (float(world.rank * 1000 + turn + i) for i in range(64 * 8)))
    got = array.array("d", bytes(8 * 64 * 8))
    peer = 1 - world.rank
    world.Sendrecv([grid, 1, column], peer, recvbuf=[got, 1, column], source=peer)
    assert all(got[i] == (peer * 1000 + turn + i if i % 8 == 0 else 0) for i in range(64 * 8))
column.Free()
print("rank", world.rank, "verified")
