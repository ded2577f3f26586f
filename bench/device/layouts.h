/*
 * Datatypes of applications for the benchmarks of messages between GPUs, as DDTBench has them ("Micro-Applications for
 * Communication Data Access Patterns and MPI Datatypes", EuroMPI 2012). None is committed.
 */
#ifndef PW_BENCH_DEVICE_LAYOUTS_H
#define PW_BENCH_DEVICE_LAYOUTS_H

#include <mpi.h>

/* n points of three floats in a list, as the meshes of SPECFEM3D exchange them. */
MPI_Datatype device_points(int n);
/* A face of NAS MG's grid of n x (n/2) x (n/2) points, across the second dimension. */
MPI_Datatype device_face(int n);
/* MILC's su3 vectors across the third dimension of a lattice of n^4, even and odd. */
MPI_Datatype device_lattice(int n);
/* WRF's halo in y: three rows of n points of four levels in each of seven arrays of floats. */
MPI_Datatype device_weather(int n);
/* n of LAMMPS' particles out of six arrays: positions of three doubles, and five of one double. */
MPI_Datatype device_particles(int n);

/* The layout of the name (specfem3d_cm, nas_mg_y, milc_su3_zd, wrf_y, lammps_full) that packs into about so many bytes.
 * MPI_DATATYPE_NULL: there is none of that name. */
MPI_Datatype device_layout(const char *name, int bytes);

#endif
