/*
 * Purpose: tells senders when late reads are over. Data: none; what both sides say lies in their segments. Invariant: a
 * late read is over when the reader's signal has reached the value in the sender's offer, or the reader has ended.
 */
#include "runtime/exchange/late.h"

#include "base/thread.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"

#include <sched.h>

enum { SPINS_PER_LOOK = 1 << 9 /* looks at a signal, some 10 us, between two looks whether its owner lives */ };

void pw_late_begin(pw_segment_late *late, bool allowed)
{
    atomic_store_explicit(&late->reader, 0, memory_order_relaxed);
    atomic_store_explicit(&late->allowed, allowed, memory_order_release);
}

static bool is_reached(const pw_segment_header *reader, uint32_t signal, uint64_t value)
{
    uint64_t now = atomic_load_explicit(&reader->signals[signal].value, memory_order_acquire);

    return (int64_t)(now - value) >= 0;
}

static bool is_reading(const pw_segment_header *reader)
{
    return atomic_load_explicit(&reader->open, memory_order_acquire) && pw_segment_owner_lives(reader);
}

/* A process in another namespace of the system may have the same number. */
static void watch(pid_t reader, const pw_segment_header *segment, uint64_t identity)
{
    pw_segment_header *own = pw_segment_own_header();

    if (own && segment->identity == identity)
        atomic_store_explicit(&own->watched[(uint32_t)reader % PW_SEGMENT_WATCHED], reader, memory_order_release);
}

static void await(const pw_segment_header *reader, uint32_t signal, uint64_t value)
{
    for (int64_t spins = 1; !is_reached(reader, signal, value); spins++) {
        pw_thread_pause();
        if (spins % SPINS_PER_LOOK)
            continue;
        if (!is_reading(reader))
            return;
        sched_yield();
    }
}

void pw_late_await(pw_segment_late *late)
{
    pid_t pid = atomic_load_explicit(&late->reader, memory_order_acquire);
    uint32_t signal = atomic_load_explicit(&late->signal, memory_order_relaxed);
    uint64_t value = atomic_load_explicit(&late->value, memory_order_relaxed);
    const pw_segment_header *reader = pid > 0 ? pw_peer_header(pid) : NULL;

    pw_late_begin(late, false);
    if (reader && signal == PW_SEGMENT_NO_SIGNAL)
        watch(pid, reader, value);
    else if (reader && signal < PW_SEGMENT_SIGNALS)
        await(reader, signal, value);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

enum { BEING_FILLED = 1 };

static void raise_to(_Atomic uint32_t *high, uint32_t n)
{
    uint32_t now = atomic_load_explicit(high, memory_order_relaxed);

    while (now < n && !atomic_compare_exchange_weak_explicit(high, &now, n, memory_order_release, memory_order_relaxed))
        ;
}

static bool take(pw_segment_part *part)
{
    uint64_t nothing = 0;

    return !atomic_load_explicit(&part->address, memory_order_relaxed) &&
           atomic_compare_exchange_strong_explicit(&part->address, &nothing, BEING_FILLED, memory_order_acquire,
                                                   memory_order_relaxed);
}

void pw_late_begin_part(const void *data)
{
    pw_segment_header *own = pw_segment_own_header();

    for (uint32_t i = 0; own && i < PW_SEGMENT_PARTS; i++)
        if (take(&own->parts[i])) {
            pw_late_begin(&own->parts[i].late, true);
            atomic_store_explicit(&own->parts[i].address, (uintptr_t)data, memory_order_release);
            raise_to(&own->nparts, i + 1);
            return;
        }
}

void pw_late_await_parts(const void *data, int64_t bytes)
{
    pw_segment_header *own = pw_segment_own_header();
    uint32_t n = own ? atomic_load_explicit(&own->nparts, memory_order_relaxed) : 0;

    for (uint32_t i = 0; i < n; i++) {
        pw_segment_part *part = &own->parts[i];

        if (atomic_load_explicit(&part->address, memory_order_relaxed) - (uintptr_t)data >= (uint64_t)bytes)
            continue;
        pw_late_await(&part->late);
        atomic_store_explicit(&part->address, 0, memory_order_release);
    }
}

pw_segment_late *pw_late_part_at(pw_segment_header *sender, uint64_t address)
{
    uint32_t n = atomic_load_explicit(&sender->nparts, memory_order_acquire);

    for (uint32_t i = 0; i < n && i < PW_SEGMENT_PARTS; i++)
        if (atomic_load_explicit(&sender->parts[i].address, memory_order_acquire) == address)
            return &sender->parts[i].late;
    return NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool pw_late_may(const pw_segment_header *sender, pw_segment_late *late)
{
    const pw_segment_header *own = pw_segment_own_header();
    pid_t pid = own ? own->title.pid : 0;

    if (pid == 0 || !pw_segment_owner_lives(own) || !atomic_load_explicit(&late->allowed, memory_order_acquire))
        return false;
    if (atomic_load_explicit(&sender->watched[(uint32_t)pid % PW_SEGMENT_WATCHED], memory_order_acquire) == pid)
        return true;
    pw_late_tell(late, PW_SEGMENT_NO_SIGNAL, own->identity);
    return false;
}

void pw_late_tell(pw_segment_late *late, uint32_t signal, uint64_t value)
{
    atomic_store_explicit(&late->signal, signal, memory_order_relaxed);
    atomic_store_explicit(&late->value, value, memory_order_relaxed);
    atomic_store_explicit(&late->reader, pw_segment_own_header()->title.pid, memory_order_release);
}
