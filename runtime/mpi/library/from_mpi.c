/*
 * packwright_from_mpi: the decoder's tree in canonical form, as text that the engine's public interface reads. This
 * library knows nothing else of the engine, so that either can be replaced alone.
 */
#include "frontend/mpi/decode.h"
#include "frontend/mpi/handles.h"
#include "passes/passes.h"

#include <packwright/packwright-mpi.h>

#include <stdlib.h>

static packwright_status fail_to_decode(pw_status status, const pw_diag *diag)
{
    return packwright_fail(pw_status_public(status), diag->text[0] ? diag->text : pw_status_text(status));
}

/* The raw tree of nested structs of equal members has few nodes and very many paths to them; canonical trees have few
 * paths, too, which the text spells out. */
static packwright_status convert(const pw_type *raw, pw_arena *arena, packwright_type **out)
{
    pw_diag diag = {.status = PW_OK};
    packwright_status result;
    pw_type canonical;
    pw_status status = pw_canonicalise(raw, arena, &canonical, NULL, &diag);
    char *text = status ? NULL : pw_print(&canonical, 0);

    if (!text)
        return fail_to_decode(status ? status : PW_ERR_NOMEM, &diag);
    result = packwright_from_ir(text, out);
    free(text);
    return result;
}

packwright_status packwright_from_mpi(MPI_Datatype datatype, packwright_type **out)
{
    pw_diag diag = {.status = PW_OK};
    packwright_status result;
    pw_status status;
    pw_arena *arena;
    pw_type type;

    if (!out)
        return packwright_fail(PACKWRIGHT_ERR_INVALID, "out is NULL");
    /* The MPI's functions are weak references, and handles may be addresses in it: both are there when an MPI is. */
    if (!pw_mpi_handles_found() || !PMPI_Type_get_envelope)
        return packwright_fail(PACKWRIGHT_ERR_UNSUPPORTED, "there is no MPI in this process");
    arena = pw_arena_create();
    status = arena ? pw_mpi_decode(datatype, arena, &type, &diag) : PW_ERR_NOMEM;
    result = status ? fail_to_decode(status, &diag) : convert(&type, arena, out);
    pw_arena_destroy(arena);
    return result;
}
