/*
 * Where in the program types were committed: the return address of MPI_Type_commit, by handle. Noted only where reports
 * are asked for (pw_note_is_reported), until the program frees the type.
 */
#ifndef PW_RUNTIME_ORIGIN_H
#define PW_RUNTIME_ORIGIN_H

#include "runtime/mpi/types/registry.h"

/* Notes that `caller`, an address in the program, has committed the type; NULL: it is not known. */
void pw_origin_note(MPI_Datatype type, const void *caller);
/* The program is about to free the type. */
void pw_origin_forget(MPI_Datatype type);

/* Returns where the type was committed; NULL: not known. */
const void *pw_origin_of(MPI_Datatype type);

/* Notes that a committed type with this entry was learned, for reports. One thread at a time calls it.
 * runtime/mpi/stats/built.c defines it. */
void pw_built_note(pw_entry *entry, MPI_Datatype type);

/* Calls fn for each type that the program has committed and not freed, by its pw_type_key. */
void pw_origin_each(void (*fn)(void *arg, uint64_t key, void *caller), void *arg);

/* Forgets all types. */
void pw_origin_close(void);

#endif
