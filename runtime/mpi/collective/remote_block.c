/* One rank's view of a block. */
#include "runtime/mpi/collective/block.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <stdlib.h>

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

bool pw_remote_is_ready(pw_remote_slot *s, const pw_side *side, bool *changed)
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

char *pw_remote_text(const pw_buffer *b)
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

bool pw_remote_begin(const pw_remote_call *r, pw_remote_slot *s, const pw_side *side)
{
    s->bytes = block_bytes(side, s->block);
    s->active = s->bytes >= r->group->least && !(r->rests && is_skipped(s));
    s->ready = s->agreed = s->lost = s->done = false;
    s->answer = (pw_remote_reply){.reads = false};
    s->op = (pw_net_op){0};
    return s->active;
}

bool pw_remote_bounds(const pw_buffer *b, char **first, int64_t *bytes)
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
    s->registered = 0;
}
