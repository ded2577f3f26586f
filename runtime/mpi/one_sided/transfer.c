/*
 * Purpose: one-sided transfers (MPI 4.0 section 12.3): left to the MPI, moved at once (joined.c), or staged. Data:
 * none. Invariant: what fails before the MPI is called leaves the call to it.
 */
#include "runtime/mpi/one_sided/internal.h"

#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>

/* Returns whether this process's own CPU may write and read the target of a window, as far as that can be found out. */
static bool is_direct(MPI_Win win)
{
    int found = 0, *flavor = NULL;

    return PMPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found) == MPI_SUCCESS && found &&
           (*flavor == MPI_WIN_FLAVOR_ALLOCATE || *flavor == MPI_WIN_FLAVOR_SHARED);
}

/* ---- what is staged --------------------------------------------------------------------------------------------- */

/* Whether MPI gets an origin in host memory itself since the target has gaps. Its answer is in *left, too. */
static bool leaves_host(void *left, const pw_entry *target)
{
    return *(bool *)left = target->layout && !pw_strategy_is_forced();
}

/* Counts a use of each type. Returns false if one of them is not known, or the call is an accumulate that is certainly
 * left to MPI: of no other call is that known before it is clear that its blocks cannot be moved. */
static bool are_known(const pw_transfer *t)
{
    bool left = false;
    pw_note_use origin = {.buf = t->buf, .count = t->origin_count, .role = PW_SEND, .times = 1};
    /* The target's memory belongs to another process; an address of host memory stands for it. */
    pw_note_use target = {.buf = t, .count = t->count, .role = PW_SEND, .times = 1, .arg = &left};

    target.is_native = t->accumulates && pw_memory_is_host_only() ? leaves_host : NULL;
    return pw_registry_use(t->type, target) && !left && pw_registry_use(t->origin, origin);
}

/* MPIs treat each kind of origin in their own way, so each has sites of its own. */
static int kind_of(const pw_transfer *t)
{
    return !t->accumulates ? t->gets : t->op == MPI_REPLACE ? 2 : 3;
}

/* Describes the origin, about which its site decides. Returns false if MPI gets it itself. */
static bool describe(const pw_transfer *t, pw_message *m)
{
    *m = (pw_message){.kind = PW_CALL_ONE_SIDED,
                      .role = t->gets ? PW_RECV : PW_SEND,
                      .entry = pw_registry_find(t->origin),
                      .buffer = {.base = t->buf, .count = t->origin_count}};
    m->variant = (uint8_t)(2 * kind_of(t) + is_direct(t->win));
    return pw_message_describe(m) &&
           (m->buffer.place.kind != PW_PLACE_HOST || !leaves_host(&(bool){false}, pw_registry_find(t->type)));
}

/*
 * Finds the elements of the staging buffer. The type that is quicker to take apart is asked first. Open MPI (4.1.4,
 * op/avx) adds arrays of 8- and 16-bit integers so that they saturate, and single elements so that they wrap around: in
 * such an array sums come out as for contiguous origins, and not as for those with gaps.
 */
static bool elements_of(const pw_transfer *t, const pw_message *m, pw_basic_type *out)
{
    *out = (pw_basic_type){.type = MPI_BYTE, .size = 1};
    return !t->accumulates ||
           ((pw_basic_type_of(t->type, out) || pw_basic_type_of(t->origin, out)) &&
            !atomic_load_explicit(&m->entry->mixed, memory_order_relaxed) && m->entry->size % out->size == 0 &&
            (!PW_MPI_IS_OPEN_MPI || out->size >= 4 || t->op == MPI_REPLACE));
}

/* Returns the bytes of the target. */
static int64_t target_bytes(const pw_transfer *t)
{
    MPI_Count size = pw_registry_find(t->type)->size;
    int64_t bytes;

    if (size == 0 && PMPI_Type_size_x(t->type, &size) != MPI_SUCCESS)
        return INT64_MAX;
    return __builtin_mul_overflow((int64_t)t->count, (int64_t)size, &bytes) ? INT64_MAX : bytes;
}

/* ---- one call on its way ---------------------------------------------------------------------------------------- */

static pw_verdict stage_and_call(pw_transfer *t, int *rc)
{
    pw_basic_type elements;
    pw_rma_op *op;
    pw_message m;

    if (!pw_pending_is_seen() || !describe(t, &m) || !elements_of(t, &m, &elements))
        return PW_PASS;
    *rc = pw_win_fail(t->win, pw_rma_open(&m, target_bytes(t), &op));
    if (*rc != MPI_SUCCESS || !op)
        return *rc != MPI_SUCCESS ? PW_DONE : PW_PASS;
    t->buf = op->staging.data;
    t->origin_count = op->staging.buffer.bytes / elements.size;
    t->origin = elements.type;
    t->large |= t->origin_count > INT_MAX;
    *rc = t->next(t);
    if (*rc == MPI_SUCCESS)
        pw_rma_track(op, t->win, t->rank);
    else
        pw_rma_drop(op);
    return PW_DONE;
}

pw_verdict pw_transfer_call(pw_transfer *t, int *rc)
{
    const pw_entry *origin;
    pw_again again;

    if (t->rank == MPI_PROC_NULL || t->win == MPI_WIN_NULL || (t->accumulates && t->op == MPI_NO_OP))
        return PW_PASS;
    again = t->accumulates ? PW_AGAIN_UNKNOWN : pw_transfer_move_again(t, rc);
    if (again == PW_AGAIN_JOINED)
        return PW_DONE;
    if (!are_known(t))
        return PW_PASS;
    if (!t->accumulates && again == PW_AGAIN_UNKNOWN && pw_transfer_move(t, rc) == PW_DONE)
        return PW_DONE;
    origin = pw_registry_find(t->origin);
    return !t->with_request && (origin->layout || origin->dense) ? stage_and_call(t, rc) : PW_PASS;
}
