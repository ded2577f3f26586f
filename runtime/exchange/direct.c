/*
 * Purpose: the sender's side of messages that others take from the program's own memory. Data: channels, each with what
 * became of the messages on it, and stand-ins, each a block of lazy memory with a record in the segment's header.
 * Invariant: a record tells of a message from pw_direct_begin to pw_direct_end only.
 */
#include "runtime/exchange/direct.h"

#include "base/log.h"
#include "runtime/exchange/board.h"
#include "runtime/exchange/evidence.h"
#include "runtime/exchange/heap.h"
#include "runtime/exchange/late.h"
#include "runtime/exchange/lazy.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/xpmem.h"

#include <string.h>

enum {
    CHANNELS = 1024,
    SHIFT = 25 /* of the bytes of a stand-in */
};

/* Two messages must have been taken whole before one has no pages. */
static const pw_evidence_rule rule = {.proven = 2, .patience = 1, .least = 16, .most = 4096};

typedef struct channel {
    pw_evidence taken; /* whether messages were taken whole */
    int64_t least;     /* the length of the shortest of those */
} channel;

/* What a stand-in is used for. Belongs to whoever has taken it. */
typedef struct use {
    uint64_t channel;
    pw_direct_message message; /* bytes 0: there is none */
} use;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    channel channels[CHANNELS];  /* guarded by the lock; one that falls on another's place takes it */
    _Atomic uint64_t generation; /* how often channels were forgotten */
    _Atomic bool learned;        /* a channel was used since then */
    _Atomic(char *) base; /* of the stand-ins, which are the blocks of lazy memory there; NULL: they are not mapped */
    _Atomic bool tried;   /* set last */
    int free[PW_SEGMENT_STAND_INS], nfree; /* guarded by the lock */
    use uses[PW_SEGMENT_STAND_INS];
} direct = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(PW_SEGMENT_STAND_IN_BYTES == 1 << SHIFT, "a stand-in is a block of lazy memory");

/* ---- channels ---------------------------------------------------------------------------------------------------- */

/* The lock must be held. */
static channel *channel_of(uint64_t key)
{
    channel *c = &direct.channels[(key ^ key >> 32) % CHANNELS];

    atomic_store_explicit(&direct.learned, true, memory_order_relaxed);
    if (pw_evidence_of(&c->taken, key))
        c->least = INT64_MAX;
    return c;
}

bool pw_direct_is_proven(uint64_t key, int64_t bytes)
{
    const channel *c;
    bool proven;

    pthread_mutex_lock(&direct.lock);
    c = channel_of(key);
    proven = pw_evidence_is_proven(&c->taken, &rule) && bytes >= c->least;
    pthread_mutex_unlock(&direct.lock);
    return proven;
}

static void note(uint64_t key, int64_t bytes, bool taken)
{
    channel *c;

    pthread_mutex_lock(&direct.lock);
    c = channel_of(key);
    if (taken) {
        pw_evidence_worked(&c->taken, &rule);
        c->least = bytes < c->least ? bytes : c->least;
    } else {
        pw_evidence_failed(&c->taken, &rule);
        c->least = INT64_MAX;
    }
    pthread_mutex_unlock(&direct.lock);
}

uint64_t pw_direct_channel(uint64_t number)
{
    static const uint64_t apart = 0x3f58476d1ce4e5bc; /* a multiple of 4: no channel becomes 0, and parity stays */

    return number + atomic_load_explicit(&direct.generation, memory_order_relaxed) * apart;
}

bool pw_direct_knows_channels(void)
{
    return atomic_load_explicit(&direct.learned, memory_order_relaxed);
}

void pw_direct_forget_channels(void)
{
    atomic_store_explicit(&direct.learned, false, memory_order_relaxed);
    atomic_fetch_add_explicit(&direct.generation, 1, memory_order_relaxed);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Finds the addresses that objects touch. False: that is no range of addresses. */
static bool find_touched(const pw_layout *layout, const void *memory, int64_t count, const void **begin, size_t *all)
{
    int64_t lo, bytes;

    if (!pw_layout_bounds(layout, count, &lo, &bytes) || bytes <= 0)
        return false;
    *begin = (const void *)((uintptr_t)memory + (uintptr_t)lo);
    *all = (size_t)bytes;
    return true;
}

bool pw_direct_is_mapped(const pw_layout *layout, const void *memory, int64_t count)
{
    const void *begin;
    size_t bytes;

    return find_touched(layout, memory, count, &begin, &bytes) && (pw_heap_holds(begin, bytes) || pw_xpmem_is_shown());
}

bool pw_direct_may_receive(uint64_t key)
{
    bool may;

    pthread_mutex_lock(&direct.lock);
    may = pw_evidence_may(&channel_of(key)->taken);
    pthread_mutex_unlock(&direct.lock);
    return may;
}

void pw_direct_note_received(uint64_t key, int64_t bytes, bool taken)
{
    note(key, bytes, taken);
}

/* The stand-ins are mapped once. The lock must be held. */
static void map_stand_ins(void)
{
    char *base = pw_lazy_map(SHIFT, PW_SEGMENT_STAND_INS);

    while (base && direct.nfree < PW_SEGMENT_STAND_INS) {
        direct.free[direct.nfree] = PW_SEGMENT_STAND_INS - 1 - direct.nfree;
        direct.nfree++;
    }
    atomic_store_explicit(&direct.base, base, memory_order_relaxed);
    atomic_store_explicit(&direct.tried, true, memory_order_release);
}

bool pw_direct_is_possible(void)
{
    if (!pw_segment_own_header() || pw_lazy_serves() == PW_LAZY_NOBODY)
        return false;
    if (!atomic_load_explicit(&direct.tried, memory_order_acquire)) {
        pthread_mutex_lock(&direct.lock);
        if (!atomic_load_explicit(&direct.tried, memory_order_relaxed))
            map_stand_ins();
        pthread_mutex_unlock(&direct.lock);
    }
    return atomic_load_explicit(&direct.base, memory_order_relaxed);
}

int pw_direct_take(uint64_t key, int64_t bytes)
{
    int number = -1;

    if (bytes > PW_SEGMENT_STAND_IN_BYTES || !pw_direct_is_possible())
        return -1;
    pthread_mutex_lock(&direct.lock);
    if (pw_evidence_may(&channel_of(key)->taken) && direct.nfree > 0)
        number = direct.free[--direct.nfree];
    pthread_mutex_unlock(&direct.lock);
    if (number >= 0)
        direct.uses[number] = (use){.channel = key};
    return number;
}

void *pw_direct_data(int number)
{
    return atomic_load_explicit(&direct.base, memory_order_relaxed) + ((size_t)number << SHIFT);
}

static pw_segment_stand_in *record_of(int number)
{
    pw_segment_header *h = pw_segment_own_header();

    if (h && !atomic_load_explicit(&h->stand_ins_at, memory_order_relaxed))
        atomic_store_explicit(&h->stand_ins_at, (uintptr_t)pw_direct_data(0), memory_order_release);
    return h ? &h->stand_ins[number] : NULL;
}

int64_t pw_direct_took(int number)
{
    pw_segment_stand_in *record = direct.uses[number].message.bytes > 0 ? record_of(number) : NULL;

    return record ? (int64_t)atomic_load_explicit(&record->took, memory_order_relaxed) : 0;
}

void pw_direct_await(int number)
{
    pw_segment_stand_in *record = direct.uses[number].message.bytes > 0 ? record_of(number) : NULL;

    if (record)
        pw_late_await(&record->late);
}

void pw_direct_end(int number)
{
    use *u = &direct.uses[number];
    int64_t bytes = u->message.bytes;
    pw_segment_stand_in *record = bytes > 0 ? record_of(number) : NULL;
    bool touched;

    if (bytes == 0)
        return;
    touched = pw_lazy_clear(pw_direct_data(number));
    if (record) {
        int64_t taken = (int64_t)atomic_load_explicit(&record->answered, memory_order_acquire);

        atomic_store_explicit(&record->bytes, 0, memory_order_release);
        note(u->channel, bytes, !touched && taken == bytes);
        if (touched || taken != bytes)
            pw_log(PW_LOG_DEBUG,
                   "%lld of %lld bytes were taken from this process's memory%s: messages are packed again",
                   (long long)taken, (long long)bytes, touched ? ", and the stand-in was touched" : "");
    }
    u->message.bytes = 0;
}

/* Without a text on the board, nobody can read the record, which then stays empty. */
static void show(pw_segment_stand_in *record, const pw_direct_message *m)
{
    int text = m->layout ? pw_board_put(m->layout) : PW_SEGMENT_NO_TEXT;

    record->exported = m->exported ? *m->exported : (pw_segment_exported){.number = 0};
    pw_late_begin(&record->late, m->exported);
    atomic_store_explicit(&record->answered, 0, memory_order_relaxed);
    atomic_store_explicit(&record->took, 0, memory_order_relaxed);
    atomic_store_explicit(&record->memory, (uintptr_t)m->memory, memory_order_relaxed);
    atomic_store_explicit(&record->count, (uint64_t)m->count, memory_order_relaxed);
    atomic_store_explicit(&record->text, text, memory_order_relaxed);
    atomic_store_explicit(&record->bytes, m->layout && text < 0 ? 0 : (uint64_t)m->bytes, memory_order_release);
}

static bool pack(void *of, int64_t at, void *to, int64_t bytes)
{
    const pw_direct_message *m = of;

    pw_layout_pack_part(m->layout, m->memory, at, at + bytes, to);
    return true;
}

void pw_direct_begin(int number, const pw_direct_message *message)
{
    pw_segment_stand_in *record = record_of(number);
    use *u = &direct.uses[number];
    pw_direct_message *m = &u->message;
    void *data = pw_direct_data(number);

    pw_direct_end(number);
    *m = *message;
    if (!m->make) {
        m->make = pack;
        m->arg = m;
    }
    pw_lazy_set(data, m->bytes, m->make, m->arg);
    if ((!record || !pw_direct_is_proven(u->channel, m->bytes)) && !pw_lazy_fill(data) && m->make == pack)
        pw_layout_pack(m->layout, m->memory, m->count, data);
    if (record)
        show(record, m);
}

void pw_direct_give(int number)
{
    pw_direct_end(number);
    pthread_mutex_lock(&direct.lock);
    direct.free[direct.nfree++] = number;
    pthread_mutex_unlock(&direct.lock);
}
