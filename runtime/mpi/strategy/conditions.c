/*
 * Purpose: the conditions of a message. Data: none. Invariant: what only costs depend on is found out in pw_ask_all,
 * since the way of most messages is known by their site.
 */
#include "runtime/mpi/strategy/conditions.h"

#include "base/env.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/exchange/gpu/lazy.h"
#include "runtime/exchange/sharing.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/strategy/direct.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>
#include <unistd.h>

static unsigned when(bool holds, unsigned conditions)
{
    return holds ? conditions : 0;
}

/* Returns how many bytes the objects of a message, or of one of its blocks, stretch over, from first to last. */
static int64_t stretch_of(const pw_message *m)
{
    const pw_layout *layout = m->entry->layout;
    int64_t one = layout->nest->hi - layout->nest->lo, all;
    int64_t count = m->cost_bytes == m->buffer.bytes ? (int64_t)m->buffer.count : m->cost_bytes / m->entry->size;

    if (__builtin_mul_overflow(count > 0 ? count - 1 : 0, layout->extent, &all))
        return INT64_MAX;
    all = all < 0 ? -all : all;
    return __builtin_add_overflow(all, one, &all) ? INT64_MAX : all;
}

/* Counts the blocks by bytes and not by `count`: the staging buffer of a collective has the bytes of many blocks. */
static pw_cost_shape shape_of(const pw_message *m)
{
    const pw_entry *entry = m->entry;
    double block = entry->blocks > 0 ? (double)entry->size / (double)entry->blocks : (double)m->cost_bytes;
    double blocks = (double)m->cost_bytes / block;

    return pw_cost_shape_of(m->cost_bytes, blocks < 1 ? 1 : (int64_t)blocks,
                            entry->layout ? stretch_of(m) : m->cost_bytes);
}

bool pw_message_is_one_block(const pw_message *m)
{
    const pw_layout *layout = m->entry->layout;

    return layout && m->buffer.count == 1 && m->entry->blocks == 1 &&
           layout->nest->hi - layout->nest->lo == m->buffer.bytes;
}

/* A message that is sent packed is contiguous to MPI, which may read a long one in the sender's process. That fails if
 * the system does not let processes of the node read each other's memory (runtime/exchange/sharing.h). */
static bool may_be_read(const pw_message *m)
{
    return m->to || m->buffer.bytes < PW_LEAST_READ || m->kind == PW_CALL_IO || !pw_sharing_is_refused();
}

static unsigned in_host_memory(const pw_message *m, bool is_countable)
{
    unsigned cut = pw_split_conditions(m);

    return cut | when(m->buffer.bytes <= pw_env_size(PW_ENV_STAGING), PW_IF_SHORT) |
           when(is_countable && !(cut & PW_IF_CUT_THERE) && may_be_read(m), PW_IF_BYTES) |
           when(pw_message_is_one_block(m), PW_MPI_IS_OPEN_MPI ? PW_IF_ONE_BLOCK | PW_IF_SENT_DENSE : PW_IF_ONE_BLOCK) |
           when(pw_pipeline_serves(m), PW_IF_IN_PIECES);
}

/* Messages longer than PACKWRIGHT_STAGING are left to an MPI that takes GPU memory; no other MPI could carry them. Such
 * an MPI gets a dense message that is followed as it lies. */
static unsigned in_gpu_memory(const pw_message *m, bool is_countable)
{
    bool is_taken = pw_gpu_mpi_is_aware(), is_dense = !m->entry->layout || pw_message_is_one_block(m);

    return when(m->is_followed, is_taken && is_dense ? PW_IF_FOLLOWED | PW_IF_ONE_BLOCK : PW_IF_FOLLOWED) |
           PW_IF_ON_DEVICE | when(!is_taken, PW_IF_NOT_TAKEN) | when(is_countable, PW_IF_BYTES) |
           when(!is_taken || m->buffer.bytes <= pw_env_size(PW_ENV_STAGING), PW_IF_SHORT);
}

int64_t pw_cached_bytes(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); /* 0: not known */

    return bytes > 0 ? bytes / 2 : 256 << 10;
}

unsigned pw_message_conditions(const pw_message *m)
{
    bool is_countable = m->buffer.bytes <= INT_MAX || PW_MPI_LARGE;
    unsigned set =
        when(m->entry->layout, PW_IF_LAYOUT) | when(m->kind <= PW_CALL_NONBLOCKING, PW_IF_BETWEEN_TWO) |
        when(m->role != PW_BOTH, PW_IF_ONE_WAY) | when(m->to, PW_IF_TO_ONESELF) | when(m->transports, PW_IF_FAR) |
        (pw_buffer_is_on_device(&m->buffer) ? in_gpu_memory(m, is_countable) : in_host_memory(m, is_countable));

    return set | when(m->channel && pw_direct_serves(m, set), PW_IF_SHOWN);
}

bool pw_message_can(const pw_message *m, pw_strategy_id id)
{
    return pw_way_can(id, pw_message_conditions(m));
}

void pw_ask(pw_asked *a, const pw_message *m)
{
    a->message = m;
    a->is_complete = false;
    a->now = (pw_conditions){
        .set = pw_message_conditions(m), .kind = m->kind, .shape = shape_of(m), .to = m->to ? &a->to : NULL};
    if (m->to)
        a->to = (pw_conditions){
            .set = when(m->to->entry->layout, PW_IF_LAYOUT), .kind = m->to->kind, .shape = shape_of(m->to)};
}

const pw_conditions *pw_ask_all(pw_asked *a)
{
    const pw_message *m = a->message;
    pw_conditions *c = &a->now;

    if (a->is_complete)
        return c;
    a->is_complete = true;
    c->set |= when(pw_sharing_is_likely(), PW_IF_SHARED) |
              when(pw_call_is_passed_on(m->kind) && m->buffer.bytes <= pw_cached_bytes(), PW_IF_CACHED);
    if (c->set & PW_IF_FAR)
        c->far_part = pw_model_remote_part(pw_model_now(), m->transports, m->buffer.bytes, c->shape.block);
    if (pw_buffer_is_on_device(&m->buffer))
        c->set |= when(c->set & PW_IF_SHOWN && pw_gpu_lazy_is_possible(), PW_IF_OPENED) |
                  when(m->entry->layout && pw_gpu_is_odd(m->entry->layout, m->buffer.bytes), PW_IF_ODD);
    return c;
}
