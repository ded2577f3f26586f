/*
 * Blocks that a GPU of the receiver reads in the sender's memory, by one launch for all that come in a call. Data: for
 * each block that leaves, a record, which is the offer of a stand-in that MPI never gets. Invariant: both ranks of a
 * block count all calls that might move it, and a rank that is not ready for it in one of them says so at once.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/exchange/direct.h"
#include "runtime/exchange/gpu/replica.h"
#include "runtime/exchange/gpu/shown.h"
#include "runtime/exchange/late.h"
#include "runtime/exchange/segment.h"
#include "runtime/mpi/collective/remote_slot.h"
#include "runtime/mpi/strategy/direct.h"
#include "runtime/mpi/strategy/operand.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* The word that a rank says in the slot's call. */
static uint64_t word_of(const pw_remote_slot *s, bool yes)
{
    return 2 * s->call + yes;
}

/* A receiver that the sender has not waited for may say a word when the record serves another communicator already. */
static void say(_Atomic uint64_t *word, uint64_t now)
{
    uint64_t before = atomic_load_explicit(word, memory_order_relaxed);

    while (before < now &&
           !atomic_compare_exchange_weak_explicit(word, &before, now, memory_order_release, memory_order_relaxed))
        ;
}

/* ---- agreeing ---------------------------------------------------------------------------------------------------- */

/* What the sender of a block tells its receiver: where the record is, and in how many calls it has served. */
typedef struct card {
    uint64_t owner, address, call; /* owner 0: there is none */
    int64_t pid;
} card;

/* The stand-in is as short as one can be. What was said before of its record belongs to earlier calls. */
static void make_record(pw_remote_slot *s, card *out)
{
    const pw_segment_header *own = pw_segment_own_header();

    s->stand_in = pw_segment_take_stand_in(PW_SEGMENT_GRAIN);
    if (!s->stand_in)
        return;
    s->record = pw_segment_offer_at(s->stand_in);
    s->call = (atomic_load(&s->record->told) >> 1) + 1;
    say(&s->record->told, word_of(s, false));
    *out = (card){own->identity, (uintptr_t)s->stand_in, s->call, own->title.pid};
}

/* A process of another node has another segment. */
static void find_record(pw_remote_slot *s, const card *c)
{
    pw_peer_block block;

    s->stand_in = (void *)(uintptr_t)c->address;
    s->pid = (pid_t)c->pid;
    s->call = c->call;
    if (c->owner == 0 || !pw_peer_memory(s->pid, s->stand_in, 1, &block) || block.replica.segment->identity != c->owner)
        return;
    s->record = block.offer;
    say(&s->record->heard, word_of(s, true));
}

/* MPIs match several blocks between two ranks in several ways, so the cards travel by the call that is asked for. */
static void exchange_cards(pw_remote_request *q, const pw_collective *c, void *memory)
{
    int out = c->send.blocks, all = out + c->recv.blocks;
    pw_collective call = *c;
    card *cards = memory;

    pw_blocks_of_bytes(&call, cards, cards + out, sizeof *cards, (pw_block_argument *)(cards + all));
    for (int i = 0; i < q->n; i++)
        if (!q->slots[i].receives)
            make_record(&q->slots[i], &cards[q->slots[i].block]);
    call.next(&call);
    for (int i = 0; i < q->n; i++)
        if (q->slots[i].receives)
            find_record(&q->slots[i], &cards[out + q->slots[i].block]);
    PMPI_Barrier(c->way.comm);
    for (int i = 0; i < q->n; i++) {
        pw_remote_slot *s = &q->slots[i];

        s->agreed = s->record && atomic_load(&s->record->heard) >= word_of(s, true); /* it may be in the call already */
    }
    pw_remote_keep_agreed(q);
}

static bool can(void)
{
    return pw_memory_has_cuda() && pw_gpu_may_show();
}

/* ---- the talk of a call ------------------------------------------------------------------------------------------ */

static bool read_anew(pw_remote_slot *s)
{
    const pw_gpu_order order = {.buffer = s->m.buffer, .bytes = s->m.buffer.bytes, .direction = PW_UNPACK};
    pw_peer_block block;
    pw_stand_in objects;
    bool begun;

    if (!pw_peer_memory(s->pid, s->stand_in, 1, &block))
        return false;
    block.message = atomic_load(&s->record->bytes); /* more than the stand-in has */
    if (!pw_stand_in_open(&block, block.base, 1, &objects))
        return false;
    begun = objects.bytes == order.bytes && pw_gpu_foreign_move(&order, &objects, &s->reading, &s->repeat);
    pw_stand_in_close(&objects, 0);
    return begun;
}

static bool begin_to_read(pw_remote_slot *s)
{
    uint64_t since = atomic_load_explicit(&s->record->since, memory_order_relaxed);

    if (s->again && s->since == since && pw_gpu_foreign_repeat(&s->repeat, &s->reading))
        return true;
    pw_gpu_repeat_forget(&s->repeat);
    s->since = since;
    return read_anew(s);
}

/* Long blocks in short pieces are packed to replicas, of which no gaps cross the link. */
static bool may_be_read(const pw_message *m)
{
    return pw_direct_is_modelled(m) && m->buffer.bytes <= PW_SEGMENT_STAND_IN_BYTES &&
           (m->buffer.bytes < PW_GPU_REPLICA_LEAST || pw_direct_is_whole(m));
}

static bool is_ready(pw_remote_slot *s, const pw_side *side)
{
    const pw_buffer *b = &s->m.buffer;

    return (!pw_strategy_is_forced() || pw_strategy_is_named(pw_direct_id)) &&
           pw_block_describe(side, s->block, &s->m) && pw_buffer_is_on_device(b) &&
           (b->layout || pw_mirror_is_needed(&s->m)) && (s->receives || may_be_read(&s->m));
}

static bool offer(pw_remote_slot *s)
{
    if (s->again && pw_gpu_offer_again(s->record, &s->m.buffer))
        return true;
    atomic_store_explicit(&s->record->since, s->call, memory_order_relaxed);
    return pw_gpu_offer(s->record, &s->m.buffer);
}

static void begin(pw_remote_slot *s, const pw_side *side, bool ready)
{
    s->call++;
    s->again = s->again && pw_memory_is_where_it_was(&s->m.buffer);
    s->ready = ready && s->active && (s->again || is_ready(s, side)) && (s->receives || offer(s));
    if (!s->again || !s->ready)
        pw_gpu_repeat_forget(&s->repeat);
    s->stage = !s->ready ? PW_REMOTE_OVER : s->receives ? PW_REMOTE_AWAITED : PW_REMOTE_ASKING;
    if (!s->receives || !s->ready)
        say(s->receives ? &s->record->heard : &s->record->told, word_of(s, s->ready));
}

/* A rank that is in a later call was not ready for this one. */
static void step(pw_remote_slot *s)
{
    uint64_t word = atomic_load_explicit(s->receives ? &s->record->told : &s->record->heard, memory_order_acquire);

    if (word >> 1 < s->call)
        return;
    s->stage = PW_REMOTE_OVER;
    s->agreed = word == word_of(s, true);
    if (s->receives) {
        s->agreed = s->agreed && begin_to_read(s);
        say(&s->record->heard, word_of(s, s->agreed));
    }
}

static bool end(pw_remote_slot *s)
{
    void *reading = s->reading;

    s->reading = NULL;
    if (s->agreed && !s->receives)
        pw_late_await(&s->record->late);
    return !reading || pw_gpu_foreign_finish(reading) == PW_OK;
}

static void close_slot(pw_remote_slot *s)
{
    end(s);
    pw_gpu_repeat_forget(&s->repeat);
    if (s->stand_in && !s->receives)
        pw_segment_give(s->stand_in);
}

/* What comes in the call is read by one launch. */
static void gather(pw_remote_phase now)
{
    if (now == PW_REMOTE_WAITS) {
        pw_gpu_foreign_look();
        return;
    }
    pw_memory_together(now == PW_REMOTE_BEGINS);
    pw_gpu_show_together(now == PW_REMOTE_BEGINS);
    pw_gpu_foreign_gather(now == PW_REMOTE_BEGUN ? PW_GATHER_ALL : PW_GATHER_NOTHING);
}

/* In a call of very many blocks, few of which stay in the node, the others are not worth a record. */
const pw_transport pw_remote_near = {.strategy = &pw_direct_id,
                                     .several = true,
                                     .in_world = true,
                                     .most_blocks = PW_SEGMENT_STAND_INS,
                                     .bytes_a_block = sizeof(card) + sizeof(pw_block_argument),
                                     .can = can,
                                     .connect = exchange_cards,
                                     .gather = gather,
                                     .begin = begin,
                                     .step = step,
                                     .is_over = pw_remote_take_steps,
                                     .end = end,
                                     .close = close_slot};
