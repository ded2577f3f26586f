/* The receiver of a block. */
#include "runtime/mpi/collective/remote_slot.h"
#include "runtime/mpi/types/registry.h"

#include <stdlib.h>
#include <string.h>

static void forget_joined(pw_remote_slot *s)
{
    pw_layout_unref(s->joined.layout);
    s->joined.layout = NULL;
}

void pw_remote_begin_in(const pw_remote_call *r, pw_remote_slot *s)
{
    bool changed = false;

    if (!pw_remote_begin(r, s, &r->call->recv))
        return;
    s->ready = r->ready && pw_remote_is_ready(s, &r->call->recv, &changed);
    if (changed)
        forget_joined(s);
    pw_net->receive(pw_remote_tag(r->remote->id, PW_REMOTE_OFFER, s->rank), &s->offer, sizeof s->offer, &s->op);
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
    char *text = pw_remote_text(&s->m.buffer);
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

void pw_remote_answer(const pw_remote_call *r, pw_remote_slot *s)
{
    if (s->offer.bytes > 0 && !s->offer.again && !s->op.failed) {
        keep_key(s);
        keep_text(s);
    }
    s->agreed = s->ready && s->offer.bytes == s->bytes && !s->op.failed && s->source && (s->joined.layout || join(s)) &&
                !is_left_to_mpi(s);
    s->answer = (pw_remote_reply){.reads = s->agreed, .id = r->id};
    pw_net->send(s->peer, pw_remote_tag(s->id, PW_REMOTE_ANSWER, r->remote->rank), &s->answer, sizeof s->answer,
                 &s->op);
    s->agreed &= !s->op.failed;
}

void pw_remote_answered(const pw_remote_call *r, pw_remote_slot *s)
{
    s->lost = s->agreed && s->op.failed;
    s->agreed &= !s->lost || r->id != 0;
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
