/*
 * Puts and gets without a copy in between: where this process has mapped the target's memory, one kernel moves the data
 * from the user's memory to the user's (runtime/engine/move). MPI gets the same call with counts of zero first. So it
 * checks the arguments and the epoch, takes a lock that it has put off, and makes the request, which is complete. The
 * data is then in place before the call returns, and so before any call that completes it.
 */
#include "runtime/engine/move/move.h"
#include "runtime/mpi/one_sided/internal.h"
#include "runtime/mpi/one_sided/reached.h"
#include "runtime/mpi/types/predefined.h"
#include "runtime/mpi/types/registry.h"

#include <stdatomic.h>

/* Describes objects in host memory. Returns false if their type is not one that is handled. */
static bool describe(void *base, int64_t count, MPI_Datatype type, pw_message *m)
{
    const pw_entry *entry = pw_registry_find(type);
    pw_buffer *b = &m->buffer;
    int64_t size;

    if (!entry || entry->gpu_only || count <= 0)
        return false;
    size = pw_entry_is_left(entry) ? pw_predefined_size(type) : entry->size;
    *m = (pw_message){.kind = PW_CALL_ONE_SIDED, .entry = entry, .buffer = {.base = base, .count = count}};
    if (size <= 0 || __builtin_mul_overflow(count, size, &b->bytes))
        return false;
    b->layout = entry->layout;
    b->offset = pw_entry_is_left(entry) ? 0 : entry->offset;
    b->place = pw_memory_place_of((char *)base + (b->layout ? b->layout->nest->lo : b->offset));
    m->cost_bytes = b->bytes;
    return b->place.kind == PW_PLACE_HOST && !(base == MPI_BOTTOM && (!b->layout || entry->touches_origin));
}

/* Returns whether all objects lie in `bytes` bytes, from displacement `at` on. */
static bool lie_within(const pw_buffer *b, int64_t at, int64_t bytes)
{
    int64_t lo = b->offset, length = b->bytes;

    if (b->layout && !pw_layout_bounds(b->layout, b->count, &lo, &length))
        return false;
    return !__builtin_add_overflow(at, lo, &at) && at >= 0 && at <= bytes && length <= bytes - at;
}

/* Describes the target's side. Returns false if this process does not reach it, or it goes beyond the window, which MPI
 * reports or not. */
static bool describe_target(const pw_transfer *t, pw_message *m)
{
    pw_window_memory memory;
    int64_t at;

    return pw_reached_find(t->win, t->rank, &memory) && !__builtin_mul_overflow((int64_t)t->disp, memory.unit, &at) &&
           at >= 0 && at <= memory.bytes && describe(memory.base + at, t->count, t->type, m) &&
           lie_within(&m->buffer, at, memory.bytes);
}

static bool open_move(const pw_transfer *t, pw_move *move)
{
    bool puts = t->family == PW_PUT;
    const pw_origin *origin = puts ? &t->sent : &t->got;
    pw_message own, other, *from = puts ? &own : &other, *to = puts ? &other : &own;

    if (!describe_target(t, &other) || !describe(origin->buf, origin->count, origin->type, &own) ||
        !(own.buffer.layout || other.buffer.layout) || !pw_move_is_possible(&from->buffer, &to->buffer))
        return false;
    from->variant = (uint8_t)(4 * (puts ? PW_RMA_PUT : PW_RMA_GOT));
    from->left_wrong = t->with_request && !pw_transfer_request_is_honest(t);
    if (!pw_message_is_joined(from, to) || !pw_move_open(move, &from->buffer, &to->buffer))
        return false;
    pw_message_count_joined(from, to);
    return true;
}

static int call_with_nothing(const pw_transfer *t)
{
    pw_transfer nothing = *t;

    nothing.sent.count = nothing.got.count = nothing.count = 0;
    return nothing.next(&nothing);
}

pw_verdict pw_transfer_move(const pw_transfer *t, int *rc)
{
    pw_move move;

    if ((t->family != PW_PUT && t->family != PW_GET) || !open_move(t, &move))
        return PW_PASS;
    *rc = call_with_nothing(t);
    if (*rc == MPI_SUCCESS) {
        atomic_thread_fence(memory_order_seq_cst); /* MPI's fences in synchronising calls may be for its own accesses */
        *rc = pw_win_fail(t->win, pw_move_finish(&move));
        atomic_thread_fence(memory_order_seq_cst);
    }
    pw_move_close(&move);
    return PW_DONE;
}
