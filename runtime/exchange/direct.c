/*
 * Purpose: the sender's side of messages that others take from the program's own memory. Data: channels, each with what
 * became of the messages on it, and stand-ins, each a block of lazy memory of the segment.
 * Invariant: an offer tells of a message from pw_direct_begin to pw_direct_end only.
 */
#include "runtime/exchange/direct.h"

#include "base/lock.h"
#include "base/log.h"
#include "runtime/exchange/board.h"
#include "runtime/exchange/evidence.h"
#include "runtime/exchange/heap.h"
#include "runtime/exchange/late.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/xpmem.h"

enum { CHANNELS = 1024 };

/* Two messages must have been taken whole before one has no pages. */
static const pw_evidence_rule rule = {.proven = 2, .patience = 1, .least = 16, .most = 4096};

typedef struct channel {
    pw_evidence taken; /* whether messages were taken whole */
    int64_t least;     /* the length of the shortest of those */
    pw_evidence brief; /* the same of messages of up to `longest` bytes, shorter than any of those */
    int64_t longest;
} channel;

/* A stand-in. Belongs to whoever has taken it. */
typedef struct stand_in {
    void *block;
    pw_segment_offer *offer; /* of the block */
    pw_segment_text text;    /* of the layout of its messages */
    uint64_t channel;
    bool proven;               /* the next message needs no pages */
    pw_direct_message message; /* of 0 bytes: there is none */
} stand_in;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    channel channels[CHANNELS];  /* guarded by the lock; one that falls on another's place takes it */
    _Atomic uint64_t generation; /* how often channels were forgotten */
    _Atomic bool learned;        /* a channel was used since then */
    /* Blocks are added when all others are in use, under the lock, and are kept. */
    pthread_once_t first; /* to add the first one */
    _Atomic int n;
    int free[PW_SEGMENT_STAND_INS], nfree; /* guarded by the lock */
    stand_in many[PW_SEGMENT_STAND_INS];
} direct = {.lock = PTHREAD_MUTEX_INITIALIZER, .first = PTHREAD_ONCE_INIT};

/* ---- channels ---------------------------------------------------------------------------------------------------- */

/* The lock must be held. */
static channel *channel_of(uint64_t key)
{
    channel *c = &direct.channels[(key ^ key >> 32) % CHANNELS];

    atomic_store_explicit(&direct.learned, true, memory_order_relaxed);
    if (pw_evidence_of(&c->taken, key))
        *c = (channel){.taken = c->taken, .least = INT64_MAX};
    return c;
}

/* The lock must be held. */
static bool may(channel *c, int64_t bytes)
{
    return pw_evidence_may(bytes <= c->longest ? &c->brief : &c->taken);
}

bool pw_channel_may(uint64_t key, int64_t bytes)
{
    PW_HOLD(&direct.lock);

    return may(channel_of(key), bytes);
}

/* Whether messages of `bytes` bytes on this channel need no pages. The lock must be held. */
static bool is_proven(const channel *c, int64_t bytes)
{
    return pw_evidence_is_proven(&c->taken, &rule) && bytes >= c->least;
}

bool pw_channel_note(uint64_t key, int64_t bytes, bool taken)
{
    PW_HOLD(&direct.lock);
    channel *c = channel_of(key);

    if (taken) {
        pw_evidence_worked(&c->taken, &rule);
        c->least = bytes < c->least ? bytes : c->least;
        c->longest = bytes <= c->longest ? bytes - 1 : c->longest;
    } else if (bytes < c->least && c->taken.next == 0) { /* longer ones were taken, or none was tried */
        pw_evidence_failed(&c->brief, &rule);
        c->longest = bytes;
    } else {
        pw_evidence_failed(&c->taken, &rule);
        c->least = INT64_MAX;
    }
    return is_proven(c, bytes);
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

bool pw_direct_is_mapped(const pw_buffer *objects)
{
    int64_t lo, bytes;

    return pw_view_bounds(objects, &lo, &bytes) &&
           (pw_heap_holds((const void *)((uintptr_t)objects->base + (uintptr_t)lo), (size_t)bytes) ||
            pw_xpmem_is_shown());
}

/* The lock must be held. */
static void add_stand_in(void)
{
    int n = atomic_load_explicit(&direct.n, memory_order_relaxed);
    void *block = n < PW_SEGMENT_STAND_INS ? pw_segment_take_stand_in(PW_SEGMENT_STAND_IN_BYTES) : NULL;

    if (!block)
        return;
    direct.many[n].block = block;
    direct.many[n].offer = pw_segment_offer_at(block);
    direct.free[direct.nfree++] = n;
    atomic_store_explicit(&direct.n, n + 1, memory_order_relaxed);
}

static void add_first(void)
{
    pthread_mutex_lock(&direct.lock);
    add_stand_in();
    pthread_mutex_unlock(&direct.lock);
}

bool pw_direct_is_possible(void)
{
    if (!pw_segment_own_header() || pw_lazy_serves() == PW_LAZY_NOBODY)
        return false;
    pthread_once(&direct.first, add_first);
    return atomic_load_explicit(&direct.n, memory_order_relaxed) > 0;
}

int pw_direct_take(uint64_t key, const pw_layout *layout, int64_t bytes)
{
    pw_segment_text text = {.address = 0};
    int number = -1;
    channel *c;

    if (bytes > PW_SEGMENT_STAND_IN_BYTES || !pw_direct_is_possible() || (layout && !pw_board_put(layout, &text)))
        return -1;
    PW_HOLD(&direct.lock);
    c = channel_of(key);
    if (may(c, bytes)) {
        if (direct.nfree == 0)
            add_stand_in();
        number = direct.nfree > 0 ? direct.free[--direct.nfree] : -1;
    }
    if (number >= 0) {
        direct.many[number].text = text;
        direct.many[number].channel = key;
        direct.many[number].proven = is_proven(c, bytes);
    }
    return number;
}

void *pw_direct_data(int number)
{
    return direct.many[number].block;
}

/* The offer of a message that is under way. NULL: there is no message, or this is a child of the owner. */
static pw_segment_offer *offer_of(int number)
{
    const stand_in *s = &direct.many[number];

    return s->message.objects.bytes > 0 && pw_segment_own_header() ? s->offer : NULL;
}

void pw_direct_end(int number)
{
    stand_in *s = &direct.many[number];
    int64_t bytes = s->message.objects.bytes, taken;
    pw_segment_offer *offer = offer_of(number);
    bool touched;

    if (bytes == 0)
        return;
    touched = pw_lazy_clear(s->block);
    if (offer) {
        taken = (int64_t)atomic_load_explicit(&offer->answered, memory_order_acquire);
        atomic_store_explicit(&offer->bytes, 0, memory_order_release);
        s->proven = pw_channel_note(s->channel, bytes, !touched && taken == bytes);
        if (touched || taken != bytes)
            pw_log(PW_LOG_DEBUG,
                   "%lld of %lld bytes were taken from this process's memory%s: messages are packed again",
                   (long long)taken, (long long)bytes, touched ? ", and the stand-in was touched" : "");
    }
    s->message.objects.bytes = 0;
}

void pw_direct_await(int number)
{
    pw_segment_offer *offer = offer_of(number);

    if (offer)
        pw_late_await(&offer->late);
    pw_direct_end(number);
}

void pw_direct_offer(pw_segment_offer *o, const pw_buffer *b, const pw_segment_exported *exported,
                     const pw_segment_text *text)
{
    o->text = b->layout ? *text : (pw_segment_text){.address = 0};
    o->exported = exported ? *exported : (pw_segment_exported){.number = 0};
    atomic_store_explicit(&o->answered, 0, memory_order_relaxed);
    atomic_store_explicit(&o->memory, (uintptr_t)pw_view_origin(b), memory_order_relaxed);
    atomic_store_explicit(&o->count, (uint64_t)(b->layout ? b->count : b->bytes), memory_order_relaxed);
    pw_segment_fill(o, (size_t)b->bytes, PW_OFFER_OBJECTS, exported);
}

static bool pack(void *of, void *to, int64_t bytes)
{
    const pw_buffer *b = of;

    (void)bytes;
    pw_layout_pack(b->layout, b->base, b->count, to);
    return true;
}

void pw_direct_begin(int number, const pw_direct_message *message)
{
    stand_in *s = &direct.many[number];
    pw_direct_message *m = &s->message;
    pw_segment_offer *offer;

    pw_direct_end(number); /* nothing has ended the last message of a persistent send from host memory */
    *m = *message;
    if (!m->make) {
        m->make = pack;
        m->arg = &m->objects;
    }
    offer = offer_of(number);
    pw_lazy_set(s->block, m->objects.bytes, m->make, m->arg, !offer || !s->proven);
    if (offer)
        pw_direct_offer(offer, &m->objects, m->exported, &s->text);
}

bool pw_direct_again(int number, int64_t bytes)
{
    stand_in *s = &direct.many[number];

    pw_direct_await(number);
    PW_HOLD(&direct.lock);
    channel *c = channel_of(s->channel);

    s->proven = is_proven(c, bytes);
    return may(c, bytes);
}

void pw_direct_give(int number)
{
    pw_direct_end(number);
    PW_HOLD(&direct.lock);
    direct.free[direct.nfree++] = number;
}
