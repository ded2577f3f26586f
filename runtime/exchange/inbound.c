/*
 * The table of expected messages, which is looked up by address without a lock, and what becomes of each piece that MPI
 * asks for. A message is in the user's buffer as a whole, and `in_place` says how long it is, or in the staging memory.
 */
#include "runtime/exchange/inbound.h"

#include <stdatomic.h>
#include <string.h>

enum { EXPECTED = 256 };

struct pw_inbound {
    char *data;
    int64_t bytes;
    pw_layout *layout; /* the caller that expects the message holds a reference; NULL: messages are copied */
    void *buf;
    const pw_inbound_taker *take; /* unpacks in place of layout and buf; NULL: there is none */
    bool exact;                   /* the message is as long as the memory that expects it */
    _Atomic(const char *) whole;  /* the message in the sender's memory, once it was unpacked */
    pw_peer_block whole_in;       /* the block there, where it is known */
    _Atomic int64_t in_place;
    _Atomic(void *) late;                  /* the taker's late read under way; NULL: none */
    _Alignas(16) char arg[PW_INBOUND_ARG]; /* argument of the taker */
};

/*
 * The singleton. places[i] and ends[i] say where the memory of receive many[i] is, and are read without a lock. Who is
 * asked by MPI to write into that memory may then read many[i]: a receive is not forgotten before MPI is through with
 * it. `high` bounds the places that were ever used. The next receive takes the first free place from `next` on, and MPI
 * mostly asks for the one behind `found`, the last that it asked for.
 */
static struct {
    _Atomic uintptr_t places[EXPECTED]; /* 0: free; set after the end */
    _Atomic uintptr_t ends[EXPECTED];
    pw_inbound many[EXPECTED];
    _Atomic int high, next, found, takers;
} expected;

enum { BEING_FILLED = 1 };

/* ---- expecting --------------------------------------------------------------------------------------------------- */

/* Returns a free place, for the caller to fill in and to publish. NULL: there is none. */
static pw_inbound *take_place(void)
{
    int next = atomic_load_explicit(&expected.next, memory_order_relaxed);

    for (int n = 0; n < EXPECTED; n++) {
        int i = (next + n) % EXPECTED;
        uintptr_t nothing = 0;

        if (!atomic_load_explicit(&expected.places[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&expected.places[i], &nothing, BEING_FILLED, memory_order_acquire,
                                                    memory_order_relaxed)) {
            atomic_store_explicit(&expected.next, i + 1, memory_order_relaxed);
            return &expected.many[i];
        }
    }
    return NULL;
}

static pw_inbound *publish(pw_inbound *in, void *data, int64_t bytes)
{
    int place = (int)(in - expected.many), high = atomic_load_explicit(&expected.high, memory_order_relaxed);

    while (place >= high && !atomic_compare_exchange_weak_explicit(&expected.high, &high, place + 1,
                                                                   memory_order_relaxed, memory_order_relaxed))
        ;
    in->data = data;
    in->bytes = bytes;
    atomic_store_explicit(&expected.ends[place], (uintptr_t)data + (uintptr_t)bytes, memory_order_release);
    atomic_store_explicit(&expected.places[place], (uintptr_t)data, memory_order_release);
    return in;
}

pw_inbound *pw_inbound_expect(void *data, int64_t bytes, pw_layout *layout, void *buf)
{
    pw_inbound *in = take_place();

    if (!in)
        return NULL;
    *in = (pw_inbound){.layout = layout, .buf = buf};
    return publish(in, data, bytes);
}

pw_inbound *pw_inbound_expect_by(void *data, int64_t bytes, bool is_block, const pw_inbound_taker *take,
                                 const void *arg, size_t arg_bytes)
{
    pw_inbound *in = arg_bytes <= PW_INBOUND_ARG ? take_place() : NULL;

    if (!in)
        return NULL;
    *in = (pw_inbound){.take = take, .exact = is_block};
    memcpy(in->arg, arg, arg_bytes);
    atomic_fetch_add_explicit(&expected.takers, 1, memory_order_relaxed);
    return publish(in, data, bytes);
}

int pw_inbound_takers(void)
{
    return atomic_load_explicit(&expected.takers, memory_order_relaxed);
}

void pw_inbound_expect_again(pw_inbound *in)
{
    pw_inbound_finish(in);
    atomic_store_explicit(&in->whole, NULL, memory_order_relaxed);
    atomic_store_explicit(&in->in_place, 0, memory_order_relaxed);
}

int64_t pw_inbound_in_place(const pw_inbound *in)
{
    return atomic_load_explicit(&in->in_place, memory_order_acquire);
}

pw_status pw_inbound_finish(pw_inbound *in)
{
    void *late = atomic_load_explicit(&in->late, memory_order_relaxed)
                     ? atomic_exchange_explicit(&in->late, NULL, memory_order_acq_rel)
                     : NULL;

    return late ? in->take->finish(late) : PW_OK;
}

void pw_inbound_forget(pw_inbound *in)
{
    int place = in ? (int)(in - expected.many) : 0;

    if (!in)
        return;
    pw_inbound_finish(in);
    if (in->take)
        atomic_fetch_sub_explicit(&expected.takers, 1, memory_order_relaxed);
    if (place < atomic_load_explicit(&expected.next, memory_order_relaxed))
        atomic_store_explicit(&expected.next, place, memory_order_relaxed);
    atomic_store_explicit(&expected.places[place], 0, memory_order_release);
}

void pw_inbound_forget_blocks(const void *data, int64_t bytes)
{
    int high = atomic_load_explicit(&expected.high, memory_order_relaxed);

    for (int i = 0; i < high; i++) {
        uintptr_t place = atomic_load_explicit(&expected.places[i], memory_order_acquire);

        if (place > BEING_FILLED && place - (uintptr_t)data < (uintptr_t)bytes)
            pw_inbound_forget(&expected.many[i]);
    }
}

/* ---- arriving ---------------------------------------------------------------------------------------------------- */

pw_inbound *pw_inbound_at(const void *to)
{
    int high = atomic_load_explicit(&expected.high, memory_order_relaxed);
    int found = atomic_load_explicit(&expected.found, memory_order_relaxed);

    for (int n = 0, i = found; n < high; n++, i = i + 1 < high ? i + 1 : 0) {
        uintptr_t place = atomic_load_explicit(&expected.places[i], memory_order_acquire);
        uintptr_t end = atomic_load_explicit(&expected.ends[i], memory_order_acquire);

        /* The end may be another receive's, if the place is another one by now. */
        if (place > BEING_FILLED && (uintptr_t)to - place < end - place &&
            atomic_load_explicit(&expected.places[i], memory_order_relaxed) == place) {
            atomic_store_explicit(&expected.found, i, memory_order_relaxed);
            return &expected.many[i];
        }
    }
    return NULL;
}

int64_t pw_inbound_room(const pw_inbound *in, const void *to)
{
    int64_t room = in->data + in->bytes - (const char *)to;

    return room > 0 ? room : 0;
}

/* Whether this process can put what is in the block in its place. */
static bool can_take(const pw_inbound *in, const pw_peer_block *block)
{
    return in->take ? block != NULL : in->layout && !(block && block->lazy);
}

/* The bytes of the whole message, if its first byte is asked for and this process can read all of it there; else 0. */
static int64_t whole_message(const pw_inbound *in, int64_t first, const char *from, int64_t bytes,
                             const pw_peer_block *block, const pw_stand_in *objects)
{
    if (first != 0 || atomic_load_explicit(&in->in_place, memory_order_relaxed) > 0)
        return 0;
    if (objects)
        return objects->first == 0 && objects->bytes <= in->bytes && (in->take || in->layout) ? objects->bytes : 0;
    if (!can_take(in, block))
        return 0;
    if (in->exact)
        return block && in->bytes <= block->base + block->bytes - from ? in->bytes : 0;
    if (block && from == block->base && (int64_t)block->message >= bytes && (int64_t)block->message <= in->bytes)
        return (int64_t)block->message;
    return bytes == in->bytes ? bytes : 0;
}

/* Moves the message to the user's buffer. Returns its bytes; 0: those of this call have to go to staging memory. */
static int64_t put_in_place(pw_inbound *in, int64_t first, const char *from, int64_t bytes, const pw_peer_block *block,
                            pw_stand_in *objects)
{
    int64_t now = whole_message(in, first, from, bytes, block, objects);
    bool done = now > 0;
    void *late = NULL;

    if (done && objects)
        done = objects->whole =
            in->take ? in->take->move(in->arg, objects, &late) : pw_stand_in_move(objects, in->layout, in->buf);
    else if (done && in->take)
        done = in->take->unpack(in->arg, from, now, block, &late);
    else if (done)
        pw_layout_unpack_part(in->layout, in->buf, 0, now, from);
    if (!done)
        return 0;
    atomic_store_explicit(&in->late, late, memory_order_release);
    return now;
}

static bool copy(const pw_peer_block *block, void *to, const void *from, int64_t bytes)
{
    if (block)
        return pw_peer_copy(block, to, from, (size_t)bytes);
    memcpy(to, from, (size_t)bytes);
    return true;
}

/* All of a message was unpacked at its first piece, and now comes a piece that is none of it: what was unpacked goes to
 * staging memory, from where everything will be unpacked again. */
static bool take_back(pw_inbound *in, const char *whole)
{
    int64_t bytes = atomic_load_explicit(&in->in_place, memory_order_relaxed);

    pw_inbound_finish(in);
    if (in->layout)
        pw_layout_pack_part(in->layout, in->buf, 0, bytes, in->data);
    else if (!copy(&in->whole_in, in->data, whole, bytes))
        return false;
    atomic_store_explicit(&in->whole, NULL, memory_order_relaxed);
    atomic_store_explicit(&in->in_place, 0, memory_order_release);
    return true;
}

/* Whether all of the message was unpacked already, which is at `from` from its byte `first` on. */
static bool is_done(const pw_inbound *in, const char *from, int64_t first, int64_t bytes)
{
    const char *whole = atomic_load_explicit(&in->whole, memory_order_relaxed);

    return whole && from == whole + first && first + bytes <= atomic_load_explicit(&in->in_place, memory_order_relaxed);
}

bool pw_inbound_arrive(pw_inbound *in, void *to, const void *from, int64_t bytes, const pw_peer_block *block,
                       pw_stand_in *objects)
{
    const char *whole = atomic_load_explicit(&in->whole, memory_order_relaxed);
    int64_t first = (char *)to - in->data, now;

    if (is_done(in, from, first, bytes))
        return true;
    now = whole ? 0 : put_in_place(in, first, from, bytes, block, objects);
    if (now == 0)
        return (!whole || take_back(in, whole)) &&
               (objects ? pw_stand_in_pack(objects, to, bytes) : copy(block, to, from, bytes));
    in->whole_in = block ? *block : (pw_peer_block){.lazy = false};
    atomic_store_explicit(&in->whole, from, memory_order_relaxed);
    atomic_store_explicit(&in->in_place, now, memory_order_release);
    return true;
}
