/*
 * Purpose: the one basic type that a datatype is made of, which accumulating operations need. Data: none. Invariant: a
 * type with several or with gaps is none.
 */
#include "runtime/mpi/one_sided/internal.h"

#include "frontend/mpi/contents.h"
#include "runtime/mpi/types/registry.h"

enum { MAX_DEPTH = 32 };

/* Follows the constructors with one old type, which are all constructors except structs. */
static bool find(MPI_Datatype type, int depth, MPI_Datatype *out)
{
    pw_envelope e;
    pw_contents c;
    bool found;

    if (pw_envelope_read(type, &e, NULL) != PW_OK)
        return false;
    if (pw_envelope_is_basic(&e)) {
        *out = type;
        return true;
    }
    if (e.ntypes != 1 || depth == MAX_DEPTH || pw_contents_read(type, &e, &c, NULL) != PW_OK)
        return false;
    found = find(c.types[0], depth + 1, out);
    pw_contents_release(&c); /* predefined types outlive it */
    return found;
}

bool pw_basic_type_of(MPI_Datatype type, pw_basic_type *out)
{
    const pw_entry *basic = find(type, 0, &out->type) ? pw_registry_find(out->type) : NULL;

    out->size = basic && basic->dense ? basic->size : 0;
    return out->size > 0;
}
