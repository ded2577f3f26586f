/*
 * The steps of a staged message, each by its strategy: opened, packed, expected, unpacked, closed. Every staging that
 * was opened is closed once, unless an error handler leaves the call by longjmp.
 */
#include "runtime/mpi/strategy/staging.h"

#include "runtime/exchange/inbound.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/conditions.h"
#include "runtime/mpi/strategy/judge.h"
#include "runtime/mpi/types/registry.h"

/* ---- opening ---------------------------------------------------------------------------------------------------- */

pw_status pw_staging_open_by(pw_staging *s, const pw_message *m, const pw_strategy *strategy)
{
    pw_status status;

    /* Field by field: a copy of the whole buffer would wait for the stores that have just filled it. */
    *s = (pw_staging){.strategy = strategy,
                      .buffer = {.layout = m->entry->layout,
                                 .place = m->buffer.place,
                                 .base = m->buffer.base,
                                 .offset = m->entry->lowest,
                                 .count = m->buffer.count,
                                 .bytes = m->buffer.bytes},
                      .role = m->role,
                      .kind = m->kind,
                      .once = m->once,
                      .channel = m->channel};
    status = strategy->take(s);
    if (status != PW_OK)
        *s = (pw_staging){.strategy = NULL};
    else if (s->buffer.layout)
        pw_layout_ref(s->buffer.layout);
    return status;
}

/* A message that its receiver cannot move now, as thousands of a channel may not be, goes on as one of those that
 * receivers never move, which have a site. */
static void refuse(pw_asked *a, pw_strategy_id id, unsigned *refused)
{
    if (pw_ways[id].needs & PW_IF_SHOWN)
        a->now.set &= ~(unsigned)PW_IF_SHOWN;
    else
        *refused |= 1U << id;
}

/* Finishes the opening of a message by a strategy that has taken what it needs, or needs nothing. */
static bool settle(pw_staging *s, const pw_message *m, const pw_strategy *strategy, pw_site *record)
{
    if (strategy->take) {
        s->site = record;
        return true;
    }
    if (strategy->leave)
        strategy->leave(m);
    *s = (pw_staging){.site = strategy->leave ? NULL : record};
    return false;
}

bool pw_staging_open(pw_staging *s, const pw_message *m)
{
    unsigned refused = 0;
    int way;
    pw_site *record = pw_strategy_again(m, &way);
    const pw_strategy *strategy = pw_strategy_of((pw_strategy_id)way);
    pw_strategy_id id;
    pw_asked asked;

    if (record && (!strategy->take || pw_staging_open_by(s, m, strategy) == PW_OK))
        return settle(s, m, strategy, record);
    pw_ask(&asked, m);
    while ((strategy = pw_strategy_of(id = pw_strategy_choose(&asked, refused, &record)))->take &&
           pw_staging_open_by(s, m, strategy) != PW_OK)
        refuse(&asked, id, &refused);
    pw_message_count(m, id);
    return settle(s, m, strategy, record);
}

/* While a round is timed: if the staging's kernel is not there yet, lets the bytes that the site has moved in other
 * ways count towards it. Otherwise a way that loses by the interpreter would never get the kernel by which it wins. */
static void ask_for_kernel(const pw_staging *s, pw_direction direction)
{
    pw_kernel *k = s->buffer.place.kind == PW_PLACE_HOST && s->buffer.layout && !s->buffer.layout->contiguous
                       ? s->buffer.layout->kernel
                       : NULL;

    if (!s->site || !k || !pw_judge_is_timing() ||
        atomic_load_explicit(direction == PW_PACK ? &k->pack : &k->unpack, memory_order_relaxed))
        return;
    pw_layout_expect_bytes(s->buffer.layout,
                           s->buffer.bytes * atomic_load_explicit(&s->site->rounds, memory_order_relaxed));
}

void pw_staging_announce(pw_staging *s)
{
    if (s->strategy && s->strategy->announce)
        s->strategy->announce(s);
}

pw_status pw_staging_pack(pw_staging *s)
{
    if (s->under_way)
        return s->strategy->finish(s);
    ask_for_kernel(s, PW_PACK);
    return s->strategy->pack ? s->strategy->pack(s) : PW_OK;
}

void pw_staging_expect(pw_staging *s)
{
    if (s->strategy && s->strategy->expect)
        s->strategy->expect(s);
}

pw_status pw_staging_unpack(pw_staging *s, int64_t received)
{
    if (received <= 0 || received > s->buffer.bytes)
        return PW_OK;
    if (s->under_way)
        return s->strategy->finish(s);
    ask_for_kernel(s, PW_UNPACK);
    return s->strategy->unpack ? s->strategy->unpack(s, received) : PW_OK;
}

int64_t pw_received_bytes(const MPI_Status *status)
{
#if PW_MPI_LARGE
    MPI_Count n = 0;
    int rc = PMPI_Get_count_c(status, MPI_BYTE, &n);
#else
    int n = 0;
    int rc = PMPI_Get_count(status, MPI_BYTE, &n);
#endif

    return rc == MPI_SUCCESS && n != MPI_UNDEFINED ? n : -1;
}

int pw_received_unpack(pw_staging *s, const MPI_Status *status)
{
    return pw_mpi_error(pw_staging_unpack(s, pw_received_bytes(status)));
}

bool pw_staging_begin_pack(pw_staging *s)
{
    return !s->strategy || !s->strategy->begin || s->strategy->begin(s, PW_PACK, s->buffer.bytes);
}

bool pw_staging_is_fusable(const pw_staging *s)
{
    return s->strategy && s->strategy->is_fusable && s->strategy->is_fusable(s);
}

bool pw_staging_is_packed(const pw_staging *s)
{
    return s->under_way ? s->strategy->is_over(s) : !s->strategy->begin;
}

bool pw_staging_begin_unpack(pw_staging *s, int64_t received)
{
    return !s->strategy || !s->strategy->begin || received <= 0 || received > s->buffer.bytes ||
           s->strategy->begin(s, PW_UNPACK, received);
}

void pw_staging_await(const pw_staging *s)
{
    if (s->strategy && s->strategy->await)
        s->strategy->await(s);
}

void pw_staging_close(pw_staging *s)
{
    if (!s->strategy)
        return;
    pw_staging_await(s);
    if (s->under_way)
        s->strategy->finish(s);
    if (s->strategy->give)
        s->strategy->give(s);
    s->strategy = NULL;
    pw_layout_unref(s->buffer.layout);
    s->buffer.layout = NULL;
}
