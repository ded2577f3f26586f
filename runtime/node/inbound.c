#include "runtime/node/inbound.h"

#include "base/clock.h"
#include "base/env.h"

#include <stdatomic.h>
#include <string.h>

enum { EXPECTED = 256, SHIFTS = 64 };

struct pw_inbound {
    char *data;
    int64_t bytes;
    pw_layout *layout; /* referenced by who expects the message */
    void *buf;
    bool timed; /* somebody will be told how long it took */
    _Atomic int64_t in_place, ns;
};

/*
 * The singleton. A place says where in memory its receive is: the address of a block of the pool, whose low bits are
 * zero, and in these the logarithm of its length. So it is read at once, and who is being told of an address in the
 * block knows that the rest of the place is not changing. `high` bounds the places that were ever used.
 */
static struct {
    _Atomic uintptr_t places[EXPECTED]; /* 0: free */
    pw_inbound many[EXPECTED];
    _Atomic int high;
} expected;

enum { BEING_FILLED = 1 };

/* ---- expecting -------------------------------------------------------------------------------------------------- */

static int take_place(void)
{
    for (int i = 0; i < EXPECTED; i++) {
        uintptr_t nothing = 0;

        if (!atomic_load_explicit(&expected.places[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&expected.places[i], &nothing, BEING_FILLED, memory_order_acquire,
                                                    memory_order_relaxed))
            return i;
    }
    return -1;
}

static uintptr_t shift_of(int64_t bytes)
{
    return bytes <= 1 ? 0 : SHIFTS - (uintptr_t)__builtin_clzll((unsigned long long)bytes - 1);
}

pw_inbound *pw_inbound_expect(void *data, int64_t bytes, pw_layout *layout, void *buf)
{
    int place = take_place(), high;
    pw_inbound *in;

    if (place < 0)
        return NULL;
    in = &expected.many[place];
    *in = (pw_inbound){.data = data, .bytes = bytes, .layout = layout, .buf = buf, .timed = pw_env_bool(PW_ENV_STATS)};
    high = atomic_load_explicit(&expected.high, memory_order_relaxed);
    while (place >= high && !atomic_compare_exchange_weak_explicit(&expected.high, &high, place + 1,
                                                                   memory_order_relaxed, memory_order_relaxed))
        ;
    atomic_store_explicit(&expected.places[place], (uintptr_t)data | shift_of(bytes), memory_order_release);
    return in;
}

void pw_inbound_expect_again(pw_inbound *in)
{
    atomic_store_explicit(&in->in_place, 0, memory_order_relaxed);
    atomic_store_explicit(&in->ns, 0, memory_order_relaxed);
}

int64_t pw_inbound_in_place(const pw_inbound *in, int64_t *ns)
{
    int64_t bytes = atomic_load_explicit(&in->in_place, memory_order_acquire);

    *ns = atomic_load_explicit(&in->ns, memory_order_relaxed);
    return bytes;
}

void pw_inbound_forget(pw_inbound *in)
{
    if (in)
        atomic_store_explicit(&expected.places[in - expected.many], 0, memory_order_release);
}

/* ---- arriving --------------------------------------------------------------------------------------------------- */

pw_inbound *pw_inbound_at(const void *to)
{
    int high = atomic_load_explicit(&expected.high, memory_order_relaxed);

    for (int i = 0; i < high; i++) {
        uintptr_t place = atomic_load_explicit(&expected.places[i], memory_order_acquire);
        uintptr_t at = (uintptr_t)to - place / SHIFTS * SHIFTS;

        if (place > BEING_FILLED && at >> place % SHIFTS == 0)
            return &expected.many[i];
    }
    return NULL;
}

int64_t pw_inbound_room(const pw_inbound *in, const void *to)
{
    int64_t room = in->data + in->bytes - (const char *)to;

    return room > 0 ? room : 0;
}

/* Tier 0 moves parts of objects, which is slow: it is worth it where the kernel moves most of the piece. */
static bool is_mostly_whole(const pw_layout *layout, int64_t first, int64_t last)
{
    int64_t begin = (first + layout->size - 1) / layout->size, end = last / layout->size;

    return end > begin && (end - begin) * layout->size >= (last - first) / 2;
}

void pw_inbound_arrive(pw_inbound *in, void *to, const void *from, int64_t bytes)
{
    int64_t first = (char *)to - in->data, begun;

    if (first != atomic_load_explicit(&in->in_place, memory_order_relaxed) ||
        !is_mostly_whole(in->layout, first, first + bytes)) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    begun = in->timed ? pw_clock_ns() : 0;
    pw_layout_unpack_part(in->layout, in->buf, first, first + bytes, from);
    if (in->timed)
        atomic_fetch_add_explicit(&in->ns, pw_clock_ns() - begun, memory_order_relaxed);
    atomic_store_explicit(&in->in_place, first + bytes, memory_order_release);
}
