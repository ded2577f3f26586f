/*
 * The entries of the last types, by what MPI says of a type.
 *
 * Programs that make a type for each message make types of few shapes over and over, often with other counts each time.
 *
 * - A type that was *constructed* as an earlier one, by one constructor call over a basic type (MPI 4.0
 * section 5.1.13), gets that type's entry, in a third of the time that learning takes.
 * - Learning a type is in vain if its messages turn out to be left to MPI, as those of long blocks are, and costs as
 *   much as a short message each time. So a noted type that *looks* like a learned one, and whose message would be left
 *   to MPI with that type's layout, is not learned for this message (pw_registry_alike). A look is the classes
 *   (pw_site_size) of the type's size, of its true extent, and of the length of the blocks that its constructor was
 *   given. Where MPI does not say at once how long blocks are, size and extent must be the same. Two layouts that look
 *   alike may be different; then the message is carried out by MPI all the same, and the type that is learned next
 * takes the place: the site of the first one asks for that when its next trial is due.
 */
#ifndef PW_RUNTIME_RECENT_H
#define PW_RUNTIME_RECENT_H

#include "base/hash.h"
#include "frontend/mpi/contents.h"
#include "runtime/mpi/mpi_compat.h"

typedef enum pw_recent_kind { PW_RECENT_CONSTRUCTED, PW_RECENT_LOOK, PW_RECENT_KINDS } pw_recent_kind;

/* Tells how a type with these contents was made. Returns false if it was not made of one type and few numbers. The
 * table is for types that were made of a basic one. */
bool pw_constructed_read(const pw_contents *contents, pw_hash *out);

/* Tells how a type looks. Returns false if MPI has failed, or the type moves no bytes. */
bool pw_look_read(MPI_Datatype type, pw_hash *out);

#endif
