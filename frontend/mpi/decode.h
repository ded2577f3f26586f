/*
 * MPI datatype handles -> IR, through MPI_Type_get_envelope and MPI_Type_get_contents (MPI 4.0 section
 * 5.1.13); the large-count decoders where the MPI has them. Calls only PMPI_ functions, so it is safe to use
 * from inside an interposer, and frees the derived handles that get_contents returns.
 */
#ifndef PW_FRONTEND_MPI_DECODE_H
#define PW_FRONTEND_MPI_DECODE_H

#include "ir/ir.h"

#include "frontend/mpi/contents.h"
#include "frontend/mpi/handles.h"
#include "frontend/mpi/weak.h"

#include <mpi.h>

/* Decodes a committed or uncommitted type. lb and extent are what MPI says. PW_ERR_UNSUPPORTED for a
 * combiner this build does not know; PW_ERR_MPI when MPI itself fails. */
pw_status pw_mpi_decode(MPI_Datatype type, pw_arena *arena, pw_type *out, pw_diag *diag);

/* Decodes as pw_mpi_decode, and tells of what sizes the basic elements are: bit n stands for 2^n up to 2^(n + 1) - 1
 * bytes; of a size that is no power of two the largest that divides it is there, too. Both parts of a pair type count.
 * `contents`: those of the type, if the caller has read them already, and releases them; else NULL. */
pw_status pw_mpi_decode_elements(MPI_Datatype type, pw_contents *contents, pw_arena *arena, pw_type *out,
                                 unsigned *element_sizes, pw_diag *diag);

#endif
