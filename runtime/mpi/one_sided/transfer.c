/*
 * Purpose: one call of a one-sided operation: left to the MPI, moved at once (joined.c), or staged. Data: what is known
 * of the process, decided once. Invariant: what fails before the MPI is called leaves the call to it.
 */
#include "runtime/mpi/one_sided/internal.h"

#include "runtime/mpi/entry/calls.h"
#include "runtime/mpi/types/registry.h"

#include "next.h"

#include <limits.h>

/* ---- what is known of the process ------------------------------------------------------------------------------- */

/* Facts about the process, as bits. The first call decides; threads that decide at once find the same answer. */
enum { KNOWN = 1, WHOLE = 2, FORCED = 4 };

/*
 * WHOLE: the calls that complete operations come to this library, too. FORCED: the user has named a strategy, so costs
 * do not count.
 */
static int decide(void)
{
    static const char *const symbols[] = {
        "MPI_Win_fence",     "MPI_Win_complete",    "MPI_Win_unlock",          "MPI_Win_unlock_all", "MPI_Win_flush",
        "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all", "MPI_Win_free",       NULL};
    static pw_calls completing = {.symbols = symbols};
    int answer = KNOWN | WHOLE;

    if (!pw_calls_are_ours(&completing) || !pw_pending_is_seen())
        answer &= ~WHOLE;
    return pw_strategy_is_forced() ? answer | FORCED : answer;
}

static int decided(void)
{
    static _Atomic int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (!answer) {
        answer = decide();
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer;
}

/* Returns whether this process's own CPU may write and read the target of a window, as far as that can be found out. */
static bool is_direct(MPI_Win win)
{
    int found = 0, *flavor = NULL;

    return PMPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found) == MPI_SUCCESS && found &&
           (*flavor == MPI_WIN_FLAVOR_ALLOCATE || *flavor == MPI_WIN_FLAVOR_SHARED);
}

/* ---- what is staged --------------------------------------------------------------------------------------------- */

static bool accumulates(const pw_transfer *t)
{
    return t->family >= PW_ACCUMULATE;
}

/* With MPI_NO_OP neither MPI nor the runtime looks at the buffer that would be sent. */
static bool is_sent(const pw_transfer *t)
{
    return t->family != PW_GET && !(accumulates(t) && t->op == MPI_NO_OP);
}

static bool is_got(const pw_transfer *t)
{
    return t->family == PW_GET || t->family >= PW_GET_ACCUMULATE;
}

/* What a first look at the types has found. */
typedef enum look { IS_UNKNOWN, IS_NATIVE, MAY_BE_STAGED } look;

static look look_at(const pw_origin *origin)
{
    pw_note_use use = {.buf = origin->buf, .count = origin->count, .role = PW_SEND, .times = 1};
    const pw_entry *entry = pw_registry_use(origin->type, use);

    return !entry ? IS_UNKNOWN : entry->layout || entry->dense ? MAY_BE_STAGED : IS_NATIVE;
}

/* Open MPI (4.1.4) fetches nothing where the origin of MPI_Get_accumulate is not contiguous, in windows that it has not
 * allocated. */
static bool is_left_wrong(const pw_transfer *t, pw_role role)
{
    return PW_MPI_IS_OPEN_MPI && role == PW_SEND && t->family == PW_GET_ACCUMULATE && !is_direct(t->win);
}

/* Types are learned by and by, since most are used once; but not where the first use would come out wrong. */
static void learn_at_once(const pw_transfer *t)
{
    pw_registry_learn(t->sent.type);
    pw_registry_learn(t->got.type);
    pw_registry_learn(t->type);
}

static look look_at_all(const pw_transfer *t)
{
    look sent = is_sent(t) ? look_at(&t->sent) : IS_NATIVE, got = is_got(t) ? look_at(&t->got) : IS_NATIVE;
    /* The target's memory belongs to another process; an address of host memory stands for it. */
    pw_note_use target = {.buf = t, .count = t->count, .role = PW_SEND, .times = 1};

    if (sent == IS_UNKNOWN || got == IS_UNKNOWN || !pw_registry_use(t->type, target))
        return IS_UNKNOWN;
    return sent == MAY_BE_STAGED ? sent : got;
}

/* Types are noted by calls that have something to transfer. */
static pw_verdict call_and_note(const pw_transfer *t, int *rc)
{
    *rc = t->next(t);
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    if (is_sent(t) && t->sent.count > 0)
        pw_registry_accepted(t->sent.type);
    if (is_got(t) && t->got.count > 0)
        pw_registry_accepted(t->got.type);
    if (t->count > 0)
        pw_registry_accepted(t->type);
    return PW_DONE;
}

/* Describes the message of one buffer. Returns false if MPI gets the buffer itself. */
static bool describe(const pw_origin *origin, pw_role role, pw_message *m)
{
    *m = (pw_message){.kind = PW_CALL_ONE_SIDED,
                      .role = role,
                      .entry = pw_registry_find(origin->type),
                      .buffer = {.base = origin->buf, .count = origin->count}};
    return pw_message_describe(m);
}

static pw_rma_part part_of(const pw_transfer *t, pw_role role)
{
    if (!accumulates(t))
        return role == PW_RECV ? PW_RMA_GOT : PW_RMA_PUT;
    if (role == PW_RECV)
        return PW_RMA_RESULT;
    return t->family == PW_ACCUMULATE && t->op == MPI_REPLACE ? PW_RMA_REPLACING : PW_RMA_OPERAND;
}

/* Returns whether the message may be packed, which its site decides. Origins of transfers to non-contiguous targets are
 * left to MPI, unless it cannot touch them. */
static bool pays(const pw_transfer *t, pw_message *m)
{
    if (m->buffer.place.kind == PW_PLACE_HOST && pw_registry_find(t->type)->layout && !(decided() & FORCED))
        return false;
    m->left_wrong = is_left_wrong(t, m->role);
    m->variant = (uint8_t)(4 * part_of(t, m->role) + 2 * m->left_wrong + is_direct(t->win));
    return true;
}

/*
 * MPICH's requests of transfers between a contiguous origin and a non-contiguous target complete when the transfer has
 * begun (4.0.2: a get's data comes later, a put's origin is still read).
 */
bool pw_transfer_request_is_honest(const pw_transfer *t)
{
    return PW_MPI_IS_OPEN_MPI || (!pw_registry_find(t->type)->layout && pw_type_is_contiguous(t->type));
}

/*
 * Open MPI (4.1.4, op/avx) adds arrays of 8- and 16-bit integers so that they saturate, and single elements so that
 * they wrap around: in such an array sums come out as for contiguous origins, and not as for those with gaps.
 */
static bool is_done_alike(const pw_transfer *t, const pw_basic_type *elements)
{
    return !PW_MPI_IS_OPEN_MPI || elements->size >= 4 || t->op == MPI_REPLACE || t->op == MPI_NO_OP;
}

/* Finds the elements of a staging buffer. The type that is quicker to take apart is asked first. */
static bool elements_of(const pw_transfer *t, const pw_message *m, MPI_Datatype type, pw_basic_type *out)
{
    if (!accumulates(t)) {
        *out = (pw_basic_type){.type = MPI_BYTE, .size = 1};
        return true;
    }
    return (pw_basic_type_of(t->type, out) || pw_basic_type_of(type, out)) &&
           !atomic_load_explicit(&m->entry->mixed, memory_order_relaxed) && m->entry->size % out->size == 0 &&
           is_done_alike(t, out);
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

/* A buffer whose elements are not all of one type is mirrored, if MPI cannot touch it. */
static bool want(const pw_transfer *t, const pw_origin *origin, pw_role role, pw_rma_wish *wish,
                 pw_basic_type *elements)
{
    pw_message *m = &wish->message;
    pw_basic_type found;

    if (!describe(origin, role, m) || (t->family >= PW_FETCH_AND_OP ? !pw_mirror_is_needed(m) : !pays(t, m)))
        return false;
    wish->mirrored = !elements_of(t, m, origin->type, &found);
    if (wish->mirrored)
        return pw_mirror_is_needed(m);
    *elements = found;
    return true;
}

static void exchange(pw_origin *origin, const pw_operand *side, const pw_basic_type *elements, bool *large)
{
    const pw_staging *staging = &side->staging;

    if (!pw_staging_is_open(staging))
        return;
    if (side->buf) {
        origin->buf = side->buf;
        return;
    }
    *origin =
        (pw_origin){.buf = staging->data, .count = staging->buffer.bytes / elements->size, .type = elements->type};
    *large |= origin->count > INT_MAX;
}

/* Turns the call into its stand-in. *op NULL: the call is left to MPI. */
static pw_status stage(pw_transfer *t, pw_rma_op **op)
{
    pw_rma_wish sent, compared, got;
    pw_basic_type elements = {.size = 1};
    pw_rma_wishes w = {.sent = NULL};
    bool honest = !t->with_request || pw_transfer_request_is_honest(t);
    pw_status status;

    *op = NULL;
    if (is_sent(t) && want(t, &t->sent, PW_SEND, &sent, &elements))
        w.sent = &sent;
    if (t->family == PW_COMPARE_AND_SWAP && want(t, &t->compared, PW_SEND, &compared, &elements))
        w.compared = &compared;
    if (is_got(t) && want(t, &t->got, PW_RECV, &got, &elements)) {
        w.got = &got;
        w.brought = target_bytes(t);
    }
    if ((!w.sent && !w.compared && !w.got) || !(decided() & WHOLE) || (!honest && !pw_rma_wishes_are_needed(&w)))
        return PW_OK;
    status = pw_rma_open(&w, op);
    if (!*op)
        return status;
    (*op)->at_once = t->with_request && !PW_MPI_IS_OPEN_MPI && (!honest || (*op)->sent.memory || (*op)->got.memory);
    exchange(&t->sent, &(*op)->sent, &elements, &t->large);
    exchange(&t->compared, &(*op)->compared, &elements, &t->large);
    exchange(&t->got, &(*op)->got, &elements, &t->large);
    return PW_OK;
}

/* Requests are for passive targets (MPI 4.0 section 12.3.5), where a flush is allowed at any time. */
static void complete_at_once(const pw_transfer *t, pw_rma_op *op, int *rc)
{
    *rc = pw_next.MPI_Win_flush(t->rank, t->win); /* MPICH, of which hooks_win.c says why not locally */
    if (*rc == MPI_SUCCESS)
        *rc = pw_win_fail(t->win, pw_rma_end(op));
    else
        pw_rma_track(op, t->win, t->rank); /* it may still be under way */
}

/* Calls MPI with the stand-in. */
static pw_verdict carry_out(const pw_transfer *t, pw_rma_op *op, int *rc)
{
    *rc = t->next(t);
    if (*rc != MPI_SUCCESS)
        pw_rma_drop(op);
    else if (op->at_once)
        complete_at_once(t, op, rc);
    else if (t->with_request)
        pw_rma_track_request(op, t->win, t->rank, *t->request);
    else
        pw_rma_track(op, t->win, t->rank);
    return PW_DONE;
}

static pw_verdict stage_and_call(pw_transfer *t, int *rc)
{
    pw_rma_op *op;

    *rc = pw_win_fail(t->win, stage(t, &op));
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    return op ? carry_out(t, op, rc) : PW_PASS;
}

pw_verdict pw_transfer_call(pw_transfer *t, int *rc)
{
    look found;

    if (t->rank == MPI_PROC_NULL || t->win == MPI_WIN_NULL || (t->with_request && !t->request))
        return PW_PASS;
    if (is_left_wrong(t, PW_SEND))
        learn_at_once(t);
    found = look_at_all(t);
    if (found == IS_UNKNOWN)
        return call_and_note(t, rc);
    if (pw_transfer_move(t, rc) == PW_DONE)
        return PW_DONE;
    return found == MAY_BE_STAGED ? stage_and_call(t, rc) : PW_PASS;
}
