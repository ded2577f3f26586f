/*
 * Blocks of a collective that go to the process itself: one move for each, and the call of MPI without them. A block
 * is moved only if its two buffers are certain to share no byte and hold as many bytes; others stay in the call.
 */
#include "runtime/mpi/collective/self.h"

#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/strategy/strategy.h"

/* ---- which blocks ------------------------------------------------------------------------------------------------ */

/* Block `from` of the send buffer is received as block `to`. */
typedef struct pair {
    int from, to;
} pair;

static int neighbours(const pw_collective *c, pair *pairs)
{
    const pw_neighbours *all = &c->group->neighbours;
    int n = all->self;
    pw_self_order order = n > 1 ? pw_self_order_of(c) : PW_SELF_STRAIGHT;

    if (order == PW_SELF_UNKNOWN || order == PW_SELF_UNCLEAR)
        return 0;
    for (int k = 0; k < n; k++) {
        int other = order == PW_SELF_STRAIGHT ? k : order == PW_SELF_REVERSED ? n - 1 - k : k ^ 1;

        pairs[k] = (pair){all->self_out[k], all->self_in[other]};
    }
    return n;
}

/* Lists the blocks that this process sends to itself. */
static int find_pairs(const pw_collective *c, pair *pairs)
{
    if (c->group->between_groups || !c->send.use || !c->recv.use)
        return 0;
    switch (c->family) {
    case PW_GATHER: pairs[0] = (pair){0, c->group->rank}; return 1;
    case PW_SCATTER: pairs[0] = (pair){c->group->rank, 0}; return 1;
    case PW_ALLTOALL: pairs[0] = (pair){c->group->rank, c->group->rank}; return 1;
    case PW_NEIGHBOUR_ALLTOALL: return neighbours(c, pairs);
    default: return 0;
    }
}

/* ---- can they be copied ------------------------------------------------------------------------------------------ */

static bool describe(const pw_side *side, int i, pw_message *m)
{
    return pw_block_describe(side, i, m) &&
           (pw_buffer_is_on_device(&m->buffer) || m->buffer.bytes >= pw_self_least() || pw_joining_is_forced());
}

/* MPI copies contiguous host memory as well. */
static bool can_copy(const pw_message *from, const pw_message *to)
{
    return (from->buffer.layout || to->buffer.layout || pw_buffer_is_on_device(&from->buffer)) &&
           pw_move_is_possible(&from->buffer, &to->buffer);
}

/* Within a GPU one move always gains: the other ways take two, and mostly the bus. */
static bool gains(const pw_message *from, const pw_message *to)
{
    pw_site *site;

    if (pw_buffer_is_on_device(&from->buffer))
        return !pw_joining_is_barred();
    return pw_message_is_joined(from, to, &site);
}

static bool open_block(const pw_collective *c, pair p, pw_move *out)
{
    pw_message from, to;

    if (!describe(&c->send, p.from, &from) || !describe(&c->recv, p.to, &to) || !can_copy(&from, &to) ||
        !gains(&from, &to) || !pw_move_open(out, &from.buffer, &to.buffer))
        return false;
    pw_message_count_joined(&from, &to);
    return true;
}

/* ---- the call without them --------------------------------------------------------------------------------------- */

/* For each block of a side, memory for its count as MPI gets it, or for whether it is absent. */
typedef MPI_Count substitute;

static bool has_counts(const pw_side *side)
{
    return side->form >= PW_SIDE_VARYING;
}

static void mark_absent(pw_side *side, void *memory, int i)
{
    bool *array = memory;

    if (side->absent != array) {
        memset(array, 0, (size_t)side->blocks * sizeof(bool));
        if (side->absent)
            memcpy(array, side->absent, (size_t)side->blocks * sizeof(bool));
        side->absent = array;
    }
    array[i] = true;
}

static void take_out_of(pw_side *side, substitute *array, int i)
{
    if (has_counts(side))
        pw_block_take_out(side, array, i);
    else
        mark_absent(side, array, i);
}

/* The root's own block is in place; nothing else is. */
static void take_root_out(pw_collective *c, pw_side *one, pw_side *many, substitute *array)
{
    one->buf = MPI_IN_PLACE;
    one->use = 0;
    mark_absent(many, array, c->group->rank);
}

static int used_blocks(const pw_side *side)
{
    int n = 0;

    for (int i = 0; i < side->blocks; i++)
        n += pw_side_use(side, i) != 0;
    return n;
}

/* One process agrees with itself on any count. */
static bool take_all_out(pw_collective *c, int n)
{
    if (has_counts(&c->send) || c->group->size > 1 || n < used_blocks(&c->send) || n < used_blocks(&c->recv))
        return false;
    c->send.count = c->recv.count = 0;
    return true;
}

static void take_out(pw_self *s, pw_collective *c, const pair *pairs, substitute *arrays)
{
    s->in_place = c->family == PW_GATHER || c->family == PW_SCATTER;
    if (c->family == PW_GATHER) {
        take_root_out(c, &c->send, &c->recv, arrays);
    } else if (c->family == PW_SCATTER) {
        take_root_out(c, &c->recv, &c->send, arrays);
    } else if (!take_all_out(c, s->n)) {
        s->in_staging = !has_counts(&c->send);
        for (int i = 0; i < s->n; i++) {
            take_out_of(&c->send, arrays, pairs[i].from);
            take_out_of(&c->recv, arrays + c->send.blocks, pairs[i].to);
        }
    }
}

void pw_self_open(pw_self *s, pw_collective *c)
{
    pw_move found[PW_NEIGHBOURS_SELF];
    pair pairs[PW_NEIGHBOURS_SELF];
    int n = find_pairs(c, pairs), most = c->send.blocks + c->recv.blocks;

    *s = (pw_self){.n = 0};
    for (int i = 0; i < n; i++)
        if (open_block(c, pairs[i], &found[s->n]))
            pairs[s->n++] = pairs[i];
    if (s->n == 0)
        return;
    s->bytes = s->n * (int64_t)sizeof *s->moves + most * (int64_t)sizeof(substitute);
    s->moves = pw_pool_take(s->bytes);
    if (!s->moves) {
        for (int i = 0; i < s->n; i++)
            pw_move_close(&found[i]);
        s->n = 0;
        return;
    }
    memcpy(s->moves, found, (size_t)s->n * sizeof *found);
    take_out(s, c, pairs, (substitute *)(s->moves + s->n));
}

/* ---- the copies -------------------------------------------------------------------------------------------------- */

void pw_self_begin(const pw_self *s)
{
    if (s->n == 0 || s->in_place)
        return;
    for (int i = 0; i < s->n; i++)
        pw_move_begin(&s->moves[i]);
    pw_gpu_launch_begun();
}

pw_status pw_self_copy(const pw_self *s)
{
    pw_status status = PW_OK;

    for (int i = 0; i < s->n; i++) {
        pw_status one = pw_move_finish(&s->moves[i]);

        status = status == PW_OK ? one : status;
    }
    return status;
}

void pw_self_close(pw_self *s)
{
    for (int i = 0; i < s->n; i++)
        pw_move_close(&s->moves[i]);
    pw_pool_give(s->moves, s->bytes);
    *s = (pw_self){.n = 0};
}
