"""NGSolve: vectors of finite element spaces over a distributed mesh are cumulated: ranks send and add the values that they share, by indexed
types. Rank 0 has no part of a mesh.

Options: --orders=2,4"""
import ngsolve
import numpy
from netgen.csg import unit_cube
from netgen.meshing import Mesh
from rows import Rows, fill

PARALLEL = ngsolve.la.PARALLEL_STATUS


def distributed(comm):
    """A cube of tetrahedra."""
    if comm.rank == 0:
        return ngsolve.Mesh(unit_cube.GenerateMesh(maxh=0.15).Distribute(comm))
    return ngsolve.Mesh(Mesh.Receive(comm))


def spaces(mesh, order):
    yield "H1", ngsolve.H1(mesh, order=order)
    yield "H1 of vectors", ngsolve.H1(mesh, order=order, dim=3)
    yield "HCurl", ngsolve.HCurl(mesh, order=order)


class Vector:
    def __init__(self, comm, space):
        self.comm, self.vector = comm, ngsolve.GridFunction(space).vec.CreateVector()

    def values(self):
        return self.vector.FV().NumPy()

    def prepare(self):
        fill(self.values(), self.comm.rank)

    def cumulate(self):
        self.vector.SetParallelStatus(PARALLEL.DISTRIBUTED)
        self.vector.Cumulate()

    def result(self):
        return [numpy.array(self.values())]


def main():
    rows = Rows()
    mesh = distributed(rows.comm)
    for order in map(int, rows.options.get("orders", "2,4").split(",")):
        for name, space in spaces(mesh, order):
            vector = Vector(rows.comm, space)
            rows.do(f"cumulate {name}, order {order}", vector.prepare, vector.cumulate, vector.result)


if __name__ == "__main__":
    main()
