/* A block: one rank's view of it, its sender, its receiver. */
#include "runtime/mpi/collective/block.h"
#include "runtime/mpi/collective/remote_slot.h"
#include "runtime/mpi/types/registry.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 65536 };

static int64_t block_bytes(const pw_side *side, int i)
{
    MPI_Count count = pw_side_use(side, i) ? pw_side_count(side, i) : 0, size = 0;
    int64_t bytes;

    if (count <= 0 || PMPI_Type_size_x(pw_side_type(side, i), &size) != MPI_SUCCESS || size < 0 ||
        __builtin_mul_overflow((int64_t)count, (int64_t)size, &bytes))
        return 0;
    return bytes;
}

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

/* Whether the block may be moved by pieces on this side, and is to be. *changed is whether its shape is another one
 * than before. */
static bool is_ready(pw_remote_slot *s, const pw_side *side, bool *changed)
{
    const pw_buffer *b = &s->m.buffer;
    int64_t blocks;
    pw_remote_shape now;

    if (!pw_block_describe(side, s->block, &s->m) || b->place.kind != PW_PLACE_HOST)
        return false;
    blocks = b->layout ? b->layout->blocks : 1;
    now = b->layout ? (pw_remote_shape){b->layout->hash, b->count} : (pw_remote_shape){{(uint64_t)b->bytes, 0}, 1};
    *changed = s->own.count != now.count || !pw_hash_equal(s->own.hash, now.hash);
    if (*changed) {
        s->m.transports = pw_net->transports(s->peer);
        s->gains = blocks <= MOST_BLOCKS / now.count &&
                   (blocks * now.count == 1 || pw_message_guess(&s->m) == pw_remote_strategy);
        s->own = now;
    }
    s->memory = pw_block_memory(&s->m);
    return s->gains;
}

/* Returns the text of the layout, or NULL. */
static char *text_of(const pw_buffer *b)
{
    return b->layout ? pw_layout_text(b->layout) : text_of_bytes(b->bytes);
}

/* Whether this is one of the calls in which the ranks do not talk of a block. Both ranks count the same calls, since
 * both know the bytes and what came of the last talk. */
static bool is_skipped(pw_remote_slot *s)
{
    return s->talks.key == (uint64_t)s->bytes && !pw_evidence_may(&s->talks);
}

/* Talking takes some microseconds. A program whose blocks MPI keeps mostly has such blocks again. Rests are even, so
 * that of two kinds of calls in turn each is talked of. */
void pw_remote_note(pw_remote_slot *s)
{
    static const pw_evidence_rule rule = {.patience = 1, .least = 2, .most = 1024};

    if (!s->active)
        return;
    pw_evidence_of(&s->talks, (uint64_t)s->bytes);
    if (s->agreed)
        pw_evidence_worked(&s->talks, &rule);
    else
        pw_evidence_failed(&s->talks, &rule);
}

/* Begins a slot's part in a call. Returns whether the block is one of which the two ranks talk. */
static bool begin(const pw_remote_talk *t, pw_remote_slot *s, const pw_side *side)
{
    s->bytes = block_bytes(side, s->block);
    s->active = s->bytes >= t->request->least && !(t->rests && is_skipped(s));
    s->ready = s->agreed = s->lost = s->done = false;
    s->answer = (pw_remote_reply){.reads = false};
    s->op = (pw_net_op){0};
    return s->active;
}

/* Finds the memory that the block touches. */
static bool find_bounds(const pw_buffer *b, char **first, int64_t *bytes)
{
    int64_t lo = b->offset;

    *bytes = b->bytes;
    if (b->layout && !pw_layout_bounds(b->layout, b->count, &lo, bytes))
        return false;
    *first = (char *)b->base + lo;
    return true;
}

void pw_remote_withdraw(pw_remote_slot *s)
{
    if (s->registered)
        pw_net->withdraw(s->registered);
    s->registered = NULL;
}

/* ---- the sender -------------------------------------------------------------------------------------------------- */

static size_t offer_bytes(const pw_remote_offer *o)
{
    return offsetof(pw_remote_offer, more) + (o->again ? 0 : o->key_bytes + o->text_bytes);
}

static void forget_text(pw_remote_slot *s)
{
    free(s->text);
    s->text = NULL;
}

/* Writes key and text behind the offer, unless the receiver has them. */
static bool add_details(pw_remote_slot *s, const pw_net_key *key)
{
    pw_remote_offer *o = &s->offer;
    size_t length;

    o->again = s->text && s->key == key->number;
    if (o->again)
        return true;
    forget_text(s);
    s->text = text_of(&s->m.buffer);
    length = s->text ? strlen(s->text) + 1 : 0;
    if (length == 0 || length > PW_REMOTE_TEXT_BYTES) {
        forget_text(s);
        return false;
    }
    s->key = key->number;
    o->key_bytes = key->bytes;
    o->text_bytes = (uint32_t)length;
    memcpy(o->more, key->data, key->bytes);
    memcpy(o->more + key->bytes, s->text, length);
    return true;
}

static void make_offer(pw_remote_slot *s, const pw_side *side)
{
    pw_net_key key;
    bool changed;

    if (!is_ready(s, side, &changed))
        return;
    if (changed)
        forget_text(s);
    if (find_bounds(&s->m.buffer, &s->first, &s->span))
        s->registered = pw_net->offer(s->first, s->span, &key);
    if (!s->registered || !add_details(s, &key))
        return;
    s->offer.address = (uintptr_t)s->memory;
    s->offer.bytes = s->bytes;
}

void pw_remote_begin_out(const pw_remote_talk *t, pw_remote_slot *s)
{
    if (!begin(t, s, &t->call->send))
        return;
    s->offer.bytes = 0;
    s->offer.again = true;
    s->offer.id = pw_remote_made_id(t);
    if (t->ready)
        make_offer(s, &t->call->send);
    pw_net->receive(pw_remote_tag(t->comm->id, PW_REMOTE_ANSWER, s->rank), &s->answer, sizeof s->answer, &s->op);
    pw_net->send(s->peer, pw_remote_tag(s->id, PW_REMOTE_OFFER, t->comm->rank), &s->offer,
                 (int64_t)offer_bytes(&s->offer), &s->op);
}

/* The memory stays offered as long as the persistent request lives, under another key if it was unmapped since. */
static bool renew(pw_remote_slot *s)
{
    pw_remote_offer *o = &s->offer;
    pw_net_key key;
    void *registered = pw_net->offer(s->first, s->span, &key);

    if (!registered)
        return false;
    pw_remote_withdraw(s);
    s->registered = registered;
    o->again = s->key == key.number;
    if (o->again)
        return true;
    s->key = key.number;
    o->key_bytes = key.bytes;
    o->text_bytes = 0;
    memcpy(o->more, key.data, key.bytes);
    return true;
}

void pw_remote_offer_again(pw_remote_slot *s, uint32_t id, int rank)
{
    s->op = (pw_net_op){0};
    s->done = false;
    s->offer.again = true;
    s->offer.bytes = renew(s) ? s->bytes : 0;
    pw_net->receive(pw_remote_tag(id, PW_REMOTE_DONE, s->rank), &s->done, sizeof s->done, &s->op);
    pw_net->send(s->peer, pw_remote_tag(s->id, PW_REMOTE_OFFER, rank), &s->offer, (int64_t)offer_bytes(&s->offer),
                 &s->op);
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

static void forget_joined(pw_remote_slot *s)
{
    pw_layout_unref(s->joined.layout);
    s->joined.layout = NULL;
}

void pw_remote_begin_in(const pw_remote_talk *t, pw_remote_slot *s)
{
    bool changed = false;

    if (!begin(t, s, &t->call->recv))
        return;
    s->ready = t->ready && is_ready(s, &t->call->recv, &changed);
    if (changed)
        forget_joined(s);
    pw_net->receive(pw_remote_tag(t->comm->id, PW_REMOTE_OFFER, s->rank), &s->offer, sizeof s->offer, &s->op);
}

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
    free(s->text);
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

void pw_remote_answer(const pw_remote_talk *t, pw_remote_slot *s)
{
    if (s->offer.bytes > 0 && !s->offer.again && !s->op.failed) {
        keep_key(s);
        keep_text(s);
    }
    s->agreed = s->ready && s->offer.bytes == s->bytes && !s->op.failed && s->source && (s->joined.layout || join(s)) &&
                !is_left_to_mpi(s);
    s->answer = (pw_remote_reply){.reads = s->agreed, .id = pw_remote_made_id(t)};
    pw_net->send(s->peer, pw_remote_tag(s->id, PW_REMOTE_ANSWER, t->comm->rank), &s->answer, sizeof s->answer, &s->op);
    s->agreed &= !s->op.failed;
}

void pw_remote_answered(const pw_remote_talk *t, pw_remote_slot *s)
{
    s->lost = s->agreed && s->op.failed && !t->request->persistent;
    s->agreed &= !s->lost;
}

bool pw_remote_accept(pw_remote_slot *s)
{
    bool is_sound = s->offer.bytes == s->bytes && !s->op.failed;

    if (is_sound && !s->offer.again)
        keep_key(s);
    s->op = (pw_net_op){0};
    return is_sound && s->source;
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

void pw_remote_read(pw_remote_slot *s)
{
    const pw_nest *nest = s->joined.layout->nest;
    batch b = {.slot = s};

    if (is_contiguous(s))
        read_piece(&b, nest->lo, nest->packed_lo, s->bytes);
    else
        pw_nest_walk_joined(nest, s->bytes / nest->size, read_piece, &b);
    flush(&b);
}

void pw_remote_report(pw_remote_slot *s, int rank, bool read)
{
    s->done = read && !s->op.failed;
    s->op = (pw_net_op){0};
    pw_net->send(s->peer, pw_remote_tag(s->id, PW_REMOTE_DONE, rank), &s->done, sizeof s->done, &s->op);
}
