/*
 * A block: one rank's view of it, and its stages. In a talk the sender offers the block and the receiver answers
 * whether it reads it. In a start of an agreed block the receiver reads, and says so; a persistent one is offered again
 * before that.
 */
#include "base/log.h"
#include "runtime/engine/memory/view.h"
#include "runtime/mpi/collective/remote_slot.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 65536 };

/* ---- connecting -------------------------------------------------------------------------------------------------- */

/* What a rank tells all others. */
typedef struct card {
    uint32_t id, bytes;
    unsigned char address[PW_NET_ADDRESS_BYTES];
} card;

static bool find_peers(pw_remote_request *q, const card *cards)
{
    for (int i = 0; i < q->n; i++) {
        pw_remote_slot *s = &q->slots[i];
        const card *other = &cards[s->rank];

        s->id = other->id;
        s->peer = pw_net->connect(other->address, other->bytes);
        if (!s->peer)
            return false;
    }
    return true;
}

/* Returns the bytes of the shortest block that may gain by being read by this rank or from it, or PW_REMOTE_NEVER. */
static int64_t least_over(const char *transports)
{
    int64_t least = pw_model_remote_least(pw_model_now(), transports);

    if (pw_strategy_is_named(pw_remote_strategy))
        return 1;
    if (least == PW_REMOTE_NEVER)
        pw_log(PW_LOG_INFO, "PACKWRIGHT_NET: reading blocks over %s is not known to gain",
               *transports ? transports : "unknown transports");
    return least;
}

/* Returns the largest one of what the slots' transports need. */
static int64_t least_of(const pw_remote_request *q)
{
    const char *before = NULL;
    int64_t least = 1;

    for (int i = 0; i < q->n && least < PW_REMOTE_NEVER; i++) {
        const char *transports = pw_net->transports(q->slots[i].peer);
        int64_t here = before && !strcmp(transports, before) ? least : least_over(transports);

        least = here > least ? here : least;
        before = transports;
    }
    return least;
}

/* Tells all ranks this rank's address, and connects to those of the slots. */
static void exchange_addresses(pw_remote_request *q, const pw_collective *c, void *cards)
{
    card own = {.id = q->id};
    bool done;

    own.bytes = (uint32_t)pw_net->address(own.address, sizeof own.address);
    done =
        PMPI_Allgather(&own, (int)sizeof own, MPI_BYTE, cards, (int)sizeof own, MPI_BYTE, c->way.comm) == MPI_SUCCESS &&
        own.bytes > 0 && find_peers(q, cards);
    q->least = pw_remote_largest(c->way.comm, done ? least_of(q) : PW_REMOTE_NEVER);
}

/* ---- its shape --------------------------------------------------------------------------------------------------- */

/* The text of a contiguous block, as one object. */
static char *text_of_bytes(int64_t bytes)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    char *text = NULL;
    pw_type type;

    if (!arena)
        return NULL;
    type = (pw_type){.root = pw_build_bytes(&b, bytes, 1), .extent = bytes};
    if (type.root)
        text = pw_print(&type, 0);
    pw_arena_destroy(arena);
    return text;
}

/* Returns the text of the layout, or NULL. */
static char *text_of(const pw_buffer *b)
{
    return b->layout ? pw_layout_text(b->layout) : text_of_bytes(b->bytes);
}

static void forget_text(pw_remote_slot *s)
{
    free(s->text);
    s->text = NULL;
}

static void forget_joined(pw_remote_slot *s)
{
    pw_layout_unref(s->joined.layout);
    s->joined.layout = NULL;
}

/* Whether the block may be and is to be moved by pieces here. If its shape is a new one, forgets what depends on it. */
static bool is_ready(pw_remote_slot *s, const pw_side *side)
{
    const pw_buffer *b = &s->m.buffer;
    int64_t blocks;
    pw_remote_shape now;

    if (!pw_block_describe(side, s->block, &s->m) || b->place.kind != PW_PLACE_HOST)
        return false;
    blocks = b->layout ? b->layout->blocks : 1;
    now = b->layout ? (pw_remote_shape){b->layout->hash, b->count} : (pw_remote_shape){{(uint64_t)b->bytes, 0}, 1};
    if (s->own.count != now.count || !pw_hash_equal(s->own.hash, now.hash)) {
        s->m.transports = pw_net->transports(s->peer);
        s->gains = blocks <= MOST_BLOCKS / now.count &&
                   (blocks * now.count == 1 || pw_message_guess(&s->m) == pw_remote_strategy);
        s->own = now;
        if (s->receives)
            forget_joined(s);
        else
            forget_text(s);
    }
    s->memory = (char *)b->base + (b->layout ? 0 : b->offset);
    return s->gains;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef enum message { OFFER, ANSWER, DONE } message;

/* What a rank is known by to another one. `id`: what that one calls the communicator, or the persistent request. */
static uint64_t tag_of(uint32_t id, message kind, int rank)
{
    return (uint64_t)id << 32 | (uint64_t)kind << 30 | (uint64_t)rank;
}

static void tell(pw_remote_slot *s, message kind, const void *data, size_t bytes)
{
    pw_net->send(s->peer, tag_of(s->id, kind, s->self), data, (int64_t)bytes, &s->op);
}

static void hear(pw_remote_slot *s, message kind, void *data, size_t bytes)
{
    pw_net->receive(tag_of(s->own_id, kind, s->rank), data, (int64_t)bytes, &s->op);
}

/* ---- the sender -------------------------------------------------------------------------------------------------- */

static void withdraw(pw_remote_slot *s)
{
    if (s->registered)
        pw_net->withdraw(s->registered);
    s->registered = NULL;
}

/* Finds the memory that the block touches. */
static bool find_bounds(pw_remote_slot *s)
{
    int64_t lo;

    if (!pw_view_bounds(&s->m.buffer, &lo, &s->span))
        return false;
    s->first = (char *)s->m.buffer.base + lo;
    return true;
}

/* Writes key and text behind the offer, unless the receiver has them. */
static bool add_details(pw_remote_slot *s, const pw_net_key *key)
{
    pw_remote_offer *o = &s->offer;
    size_t length;

    if (s->text && s->key == key->number)
        return true;
    if (!s->text)
        s->text = text_of(&s->m.buffer);
    length = s->text ? strlen(s->text) + 1 : 0;
    if (length == 0 || length > PW_REMOTE_TEXT_BYTES) {
        forget_text(s);
        return false;
    }
    s->key = key->number;
    o->again = false;
    o->key_bytes = key->bytes;
    o->text_bytes = (uint32_t)length;
    memcpy(o->more, key->data, key->bytes);
    memcpy(o->more + key->bytes, s->text, length);
    return true;
}

/* Registers the block's memory for others to read. It stays so as long as the persistent request lives, under another
 * key if it was unmapped since. */
static bool is_registered(pw_remote_slot *s)
{
    pw_net_key key;
    void *registered = pw_net->offer(s->first, s->span, &key);

    withdraw(s);
    s->registered = registered;
    return registered && add_details(s, &key);
}

static void offer(pw_remote_slot *s, bool ready)
{
    pw_remote_offer *o = &s->offer;

    o->id = s->made;
    o->again = true;
    o->bytes = ready && is_registered(s) ? s->bytes : 0;
    o->address = (uintptr_t)s->memory;
    tell(s, OFFER, o, offsetof(pw_remote_offer, more) + (o->again ? 0 : o->key_bytes + o->text_bytes));
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

static void keep_key(pw_remote_slot *s)
{
    const pw_remote_offer *o = &s->offer;

    pw_net->source_close(s->source);
    s->source = o->key_bytes <= PW_NET_KEY_BYTES ? pw_net->source_open(s->peer, o->more, o->key_bytes) : NULL;
}

static void keep_text(pw_remote_slot *s)
{
    const pw_remote_offer *o = &s->offer;
    bool is_whole = o->key_bytes <= PW_NET_KEY_BYTES && o->text_bytes <= PW_REMOTE_TEXT_BYTES;

    forget_joined(s);
    forget_text(s);
    s->text = is_whole ? strndup(o->more + o->key_bytes, o->text_bytes) : NULL;
}

static pw_layout *layout_of(const char *text)
{
    return text ? pw_layout_of_text(pw_registry_engine(), text) : NULL;
}

/* Joins the offered layout to that of this rank, of which the walk over blocks is wanted, and no kernel. */
static bool join(pw_remote_slot *s)
{
    char *text = text_of(&s->m.buffer);
    pw_layout *from = layout_of(s->text), *to = layout_of(text);
    pw_diag diag;
    bool joined = from && to && pw_layout_join(from, to, &s->joined, &diag) == PW_OK;

    free(text);
    pw_layout_unref(from);
    pw_layout_unref(to);
    return joined;
}

/* Whether the block is contiguous on both sides. Its objects may be bytes then. */
static bool is_contiguous(const pw_remote_slot *s)
{
    const pw_nest *n = s->joined.layout->nest;

    return pw_nest_blocks(n) == 1 && (s->bytes == n->size || (n->extent == n->size && n->packed_extent == n->size));
}

/* MPI moves a block that is contiguous on both sides as well as it can be moved. */
static bool is_left_to_mpi(const pw_remote_slot *s)
{
    return is_contiguous(s) && !pw_strategy_is_named(pw_remote_strategy);
}

/* Whether the offer that has come is one of this block. */
static bool is_offered(const pw_remote_slot *s)
{
    return s->offer.bytes == s->bytes && !s->op.failed;
}

/* Looks at the offer, and tells the sender whether this rank reads the block. */
static void answer(pw_remote_slot *s)
{
    if (s->offer.bytes > 0 && !s->offer.again && !s->op.failed) {
        keep_key(s);
        keep_text(s);
    }
    s->agreed = s->ready && is_offered(s) && s->source && (s->joined.layout || join(s)) && !is_left_to_mpi(s);
    s->answer = (pw_remote_reply){.reads = s->agreed, .id = s->made};
    tell(s, ANSWER, &s->answer, sizeof s->answer);
    s->agreed &= !s->op.failed;
}

/* Pieces on their way to the network. */
typedef struct batch {
    pw_remote_slot *slot;
    int64_t n;
    pw_net_piece pieces[64];
} batch;

static void flush(batch *b)
{
    if (b->n > 0)
        pw_net->read(b->slot->source, b->pieces, b->n, &b->slot->op);
    b->n = 0;
}

/* A pw_joined_block_fn. */
static bool read_piece(void *arg, int64_t mem, int64_t packed, int64_t bytes)
{
    batch *b = arg;
    pw_remote_slot *s = b->slot;
    int64_t from = s->joined.backwards ? packed : mem, to = s->joined.backwards ? mem : packed;

    b->pieces[b->n++] = (pw_net_piece){s->offer.address + (uint64_t)from, s->memory + to, bytes};
    if (b->n == sizeof b->pieces / sizeof *b->pieces)
        flush(b);
    return !s->op.failed;
}

static void begin_reading(pw_remote_slot *s)
{
    const pw_nest *nest = s->joined.layout->nest;
    batch b = {.slot = s};

    s->stage = PW_REMOTE_READING;
    s->op = (pw_net_op){0};
    if (is_contiguous(s))
        read_piece(&b, nest->lo, nest->packed_lo, s->bytes);
    else
        pw_nest_walk_joined(nest, s->bytes / nest->size, read_piece, &b);
    flush(&b);
}

/* Tells the sender whether its memory is read, or could not be. */
static void report(pw_remote_slot *s, bool read)
{
    s->stage = PW_REMOTE_REPORTING;
    s->done = read;
    s->op = (pw_net_op){0};
    tell(s, DONE, &s->done, sizeof s->done);
}

/* Reads an agreed block that is offered again. */
static void take(pw_remote_slot *s)
{
    bool is_sound = is_offered(s);

    if (is_sound && !s->offer.again)
        keep_key(s);
    if (is_sound && s->source)
        begin_reading(s);
    else
        report(s, false);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static void begin(pw_remote_slot *s, const pw_side *side, bool ready)
{
    s->lost = s->done = s->ready = false;
    s->answer = (pw_remote_reply){.reads = false};
    s->op = (pw_net_op){0};
    if (!s->active)
        return;
    s->ready = ready && is_ready(s, side);
    if (s->receives) {
        s->stage = PW_REMOTE_AWAITED;
        hear(s, OFFER, &s->offer, sizeof s->offer);
    } else {
        s->stage = PW_REMOTE_ASKING;
        hear(s, ANSWER, &s->answer, sizeof s->answer);
        offer(s, s->ready && find_bounds(s));
    }
}

/* The block of a blocking call has just been offered. */
static void move(pw_remote_slot *s)
{
    s->op = (pw_net_op){0};
    s->done = false;
    if (!s->receives) {
        s->stage = PW_REMOTE_OFFERED;
        hear(s, DONE, &s->done, sizeof s->done);
        if (s->made)
            offer(s, true);
    } else if (s->made) {
        s->stage = PW_REMOTE_AWAITED;
        hear(s, OFFER, &s->offer, sizeof s->offer);
    } else {
        begin_reading(s);
    }
}

static void step(pw_remote_slot *s)
{
    if (!pw_net->is_over(&s->op))
        return;
    switch (s->stage) {
    case PW_REMOTE_AWAITED:
        if (s->agreed) {
            take(s);
            return;
        }
        answer(s);
        s->stage = PW_REMOTE_ANSWERING;
        return;
    case PW_REMOTE_READING: report(s, !s->op.failed); return;
    case PW_REMOTE_ASKING: s->agreed = s->answer.reads; break;
    /* If the answer may be lost, nobody knows whether the sender gives the block to MPI: MPI receives it, and the call
     * fails. A persistent request keeps such a block, and its starts fail. */
    case PW_REMOTE_ANSWERING:
        s->lost = s->agreed && s->op.failed && !s->made;
        s->agreed &= !s->lost;
        break;
    default: break;
    }
    s->stage = PW_REMOTE_OVER;
}

static bool end(pw_remote_slot *s)
{
    if (!s->made)
        withdraw(s);
    return !s->lost && (!s->agreed || s->done);
}

static void close_slot(pw_remote_slot *s)
{
    withdraw(s);
    forget_text(s);
    forget_joined(s);
    if (s->source)
        pw_net->source_close(s->source);
    s->source = NULL;
}

const pw_transport pw_remote_net = {.strategy = &pw_remote_strategy,
                                    .persistent = true,
                                    .most_blocks = INT_MAX,
                                    .bytes_a_rank = sizeof(card),
                                    .can = pw_net_start,
                                    .connect = exchange_addresses,
                                    .begin = begin,
                                    .move = move,
                                    .step = step,
                                    .is_over = pw_remote_attend,
                                    .end = end,
                                    .close = close_slot};
