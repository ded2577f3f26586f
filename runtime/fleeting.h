/*
 * Types that live for a message or two.
 *
 * Some programs (BLACS, HPL, the linear algebra above them) make a type for each message, and free it behind it. To
 * learn such a type takes longer than packing ourselves gains in a short message. So once types have died young for a
 * while, one that is committed is only noted: short messages of it are left to MPI, and everything else that asks for
 * it (pw_registry_find: a longer message, a collective, a pack) has it learned first, as it would have been at
 * MPI_Type_commit. So has the PW_FLEETING_USES-th short message, and types that stay alive end all this.
 *
 * Where types have been learned for a longer message only to leave that to MPI, time and again for messages of about
 * that size, most such messages are left to MPI, too; now and then one has its type learned, since others may be worth
 * packing.
 *
 * Nothing is noted where a type is to be known from the start: with a strategy forced, with statistics or a trace,
 * where messages may have to be staged (runtime/strategy/fragile.h), and while a GPU's memory may come in, which MPI
 * may be unable to touch. Notes are kept by handle, and end at MPI_Type_free. All functions are thread safe and take no
 * lock.
 */
#ifndef PW_RUNTIME_FLEETING_H
#define PW_RUNTIME_FLEETING_H

#include "runtime/mpi_compat.h"

#include <stdbool.h>

enum {
    /* Longer messages are worth learning their type: where the other way becomes slow. */
    PW_FLEETING_BYTES = PW_MPI_IS_OPEN_MPI ? 2048 : 8192,
    PW_FLEETING_USES = 4,
    PW_FLEETING_IN_VAIN = 8, /* as many types of messages of one size learned in vain, one after the other */
    PW_FLEETING_AGAIN = 32   /* and then only one in as many is */
};

/* Before any other call. */
void pw_fleeting_start(void);

/* Of a type, not known, that MPI has just committed. True: it is noted, and not to be learned now. */
bool pw_fleeting_note(MPI_Datatype type);

/* A type was learned at MPI_Type_commit. */
void pw_fleeting_born(MPI_Datatype type);

/* The user frees a type. True: it was noted, so nothing else is known of it. */
bool pw_fleeting_freed(MPI_Datatype type);

/* Is a message of `count` objects of a type left to MPI without learning it? False of types that are not noted. Counts
 * a use. */
bool pw_fleeting_stays(MPI_Datatype type, const void *buf, MPI_Count count);

/* A message whose type is known was staged or not: if this thread has just been told to learn its type, that was worth
 * it or not. */
void pw_fleeting_decided(bool staged);

/* True: the type was noted, is committed, and is to be learned now. It is noted no longer. */
bool pw_fleeting_take(MPI_Datatype type);

/* MPI has ended, and its handles with it. */
void pw_fleeting_close(void);

#endif
