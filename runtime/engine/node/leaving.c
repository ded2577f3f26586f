#include "runtime/engine/node/leaving.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/engine/node/direct.h"
#include "runtime/engine/node/lazy.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    MESSAGES = 16, /* that leave or are watched at the same time */
    STAND_INS = 8,
    SHIFT = 25 /* of the bytes of a stand-in */
};

/* The evidence of sockets is kept apart from that of direct messages on the same channel. */
static const uint64_t apart = 0x736f636b65747321;

struct pw_leaving {
    _Atomic uintptr_t first, last; /* its memory, for whoever looks for an address; first > last: the place is free */
    uint64_t channel;
    int64_t bytes;
    pw_layout *layout; /* NULL: it is watched */
    const void *memory;
    _Atomic int64_t sent;
    int stand_in; /* -1: it is watched */
};

/* The singleton. Fields without _Atomic are guarded by the lock; those of a message belong to its owner. */
static struct {
    pthread_mutex_t lock;
    pw_leaving messages[MESSAGES];
    bool used[MESSAGES];
    _Atomic int high; /* bounds the messages that were ever used */
    _Atomic int now;  /* how many are used */
    bool tried;       /* to map stand-ins */
    char *base;       /* of the stand-ins; NULL: there are none */
    int free[STAND_INS], nfree;
} leaving = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- taking ------------------------------------------------------------------------------------------------------ */

/* The lock must be held. */
static void map_stand_ins(void)
{
    leaving.tried = true;
    leaving.base = pw_env_bool(PW_ENV_LAZY) ? pw_lazy_map(SHIFT, STAND_INS) : NULL;
    for (int i = 0; leaving.base && i < STAND_INS; i++)
        leaving.free[leaving.nfree++] = i;
}

/* The lock must be held. Returns -1 if there is none. */
static int take_stand_in(void)
{
    if (!leaving.tried)
        map_stand_ins();
    return leaving.nfree > 0 && pw_lazy_serves() != PW_LAZY_NOBODY ? leaving.free[--leaving.nfree] : -1;
}

/* The lock must be held. */
static int free_place(void)
{
    for (int i = 0; i < MESSAGES; i++)
        if (!leaving.used[i])
            return i;
    return -1;
}

/* Lets addresses be found. */
static void show(pw_leaving *l, const void *data)
{
    int place = (int)(l - leaving.messages), high = atomic_load_explicit(&leaving.high, memory_order_relaxed);

    atomic_store_explicit(&l->last, (uintptr_t)data + (uintptr_t)l->bytes, memory_order_relaxed);
    atomic_store_explicit(&l->first, (uintptr_t)data, memory_order_release);
    while (place >= high && !atomic_compare_exchange_weak_explicit(&leaving.high, &high, place + 1,
                                                                   memory_order_release, memory_order_relaxed))
        ;
}

/* `lazy`: takes a stand-in, too. */
static pw_leaving *take(uint64_t channel, int64_t bytes, bool lazy)
{
    pw_leaving *l = NULL;
    int place, stand_in = -1;

    pthread_mutex_lock(&leaving.lock);
    place = free_place();
    if (place >= 0 && lazy)
        stand_in = take_stand_in();
    if (place >= 0 && (!lazy || stand_in >= 0)) {
        leaving.used[place] = true;
        l = &leaving.messages[place];
    }
    pthread_mutex_unlock(&leaving.lock);
    if (!l)
        return NULL;
    atomic_fetch_add_explicit(&leaving.now, 1, memory_order_relaxed);
    l->channel = channel;
    l->bytes = bytes;
    l->layout = NULL;
    l->stand_in = stand_in;
    atomic_store_explicit(&l->sent, 0, memory_order_relaxed);
    return l;
}

pw_leaving *pw_leaving_take(uint64_t channel, int64_t bytes)
{
    channel ^= apart;
    return bytes <= INT64_C(1) << SHIFT && pw_direct_is_proven(channel, bytes) ? take(channel, bytes, true) : NULL;
}

pw_leaving *pw_leaving_watch(uint64_t channel, const void *data, int64_t bytes)
{
    pw_leaving *l;

    channel ^= apart;
    l = pw_direct_may_receive(channel) ? take(channel, bytes, false) : NULL;
    if (l)
        show(l, data);
    return l;
}

bool pw_leaving_is_watched(const pw_leaving *l)
{
    return l->stand_in < 0;
}

void *pw_leaving_data(const pw_leaving *l)
{
    return leaving.base + ((size_t)l->stand_in << SHIFT);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static bool make(void *of, int64_t at, void *to, int64_t bytes)
{
    const pw_leaving *l = of;

    pw_layout_pack_part(l->layout, l->memory, at, at + bytes, to);
    return true;
}

void pw_leaving_begin(pw_leaving *l, pw_layout *layout, const void *memory)
{
    l->layout = layout;
    l->memory = memory;
    pw_lazy_set(pw_leaving_data(l), l->bytes, make, l);
    show(l, pw_leaving_data(l));
}

bool pw_leaving_end(pw_leaving *l)
{
    bool touched, whole;

    if (!l)
        return false;
    atomic_store_explicit(&l->first, UINTPTR_MAX, memory_order_relaxed);
    touched = l->layout && pw_lazy_clear(pw_leaving_data(l));
    whole = !touched && atomic_load_explicit(&l->sent, memory_order_relaxed) == l->bytes;
    if (l->layout && !whole)
        pw_log(PW_LOG_DEBUG, "a message did not leave through sockets alone: messages are packed before they leave");
    pw_direct_note_received(l->channel, l->bytes, whole);
    atomic_fetch_sub_explicit(&leaving.now, 1, memory_order_relaxed);
    pthread_mutex_lock(&leaving.lock);
    if (l->stand_in >= 0)
        leaving.free[leaving.nfree++] = l->stand_in;
    leaving.used[l - leaving.messages] = false;
    pthread_mutex_unlock(&leaving.lock);
    return whole;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

bool pw_leaving_is_any(void)
{
    return atomic_load_explicit(&leaving.now, memory_order_relaxed) > 0;
}

pw_leaving *pw_leaving_at(const void *from)
{
    int high = atomic_load_explicit(&leaving.high, memory_order_acquire);

    for (int i = 0; i < high; i++) {
        pw_leaving *l = &leaving.messages[i];

        if ((uintptr_t)from >= atomic_load_explicit(&l->first, memory_order_acquire) &&
            (uintptr_t)from < atomic_load_explicit(&l->last, memory_order_relaxed))
            return l;
    }
    return NULL;
}

/* Pieces begin at the same bytes of the message, however much of it each call sends. */
int64_t pw_leaving_pack(const pw_leaving *l, const void *from, int64_t bytes, void *piece)
{
    int64_t first = (int64_t)((uintptr_t)from - (uintptr_t)pw_leaving_data(l));
    int64_t last = (first / PW_LEAVING_PIECE + 1) * PW_LEAVING_PIECE;

    last = last < first + bytes ? last : first + bytes;
    last = last < l->bytes ? last : l->bytes;
    pw_layout_pack_part(l->layout, l->memory, first, last, piece);
    return last - first;
}

void pw_leaving_make(pw_leaving *l)
{
    pw_lazy_fill(pw_leaving_data(l));
}

void pw_leaving_sent(pw_leaving *l, int64_t bytes)
{
    atomic_fetch_add_explicit(&l->sent, bytes, memory_order_relaxed);
}
