/*
 * Collectives that stayed native as a whole, remembered by thread: runtime/mpi/strategy/recall.h for calls with all
 * their arguments.
 *
 * Arrays of counts, displacements and types are compared by what is in them, as far as their blocks mattered, up to
 * PW_RECALL_BLOCKS on a side. Buffers are compared by address.
 */
#ifndef PW_RUNTIME_COLLECTIVE_RECALL_H
#define PW_RUNTIME_COLLECTIVE_RECALL_H

#include "runtime/mpi/collective/shapes.h"
#include "runtime/mpi/strategy/recall.h"

/* PW_RECALL_BLOCKS: a cube has 26 neighbours. */
enum { PW_RECALL_CALL_BITS = 4, PW_RECALL_LIST_BITS = 2, PW_RECALL_BLOCKS = 26 };

/* Calls that share an answer: the blocking and the nonblocking form of one collective. */
typedef enum pw_recall_id {
#define X(blocking, nonblocking, persistent, shape, family) PW_RECALL_##blocking,
    PW_COLLECTIVES(X) PW_NEIGHBOURHOODS(X)
#undef X
} pw_recall_id;

/* The buffers of a call; nothing is filled in that pw_collective_check would. */
typedef struct pw_sides {
    pw_side send, recv;
    int root;
} pw_sides;

typedef struct pw_recalled_side {
    const void *buf;
    int64_t count;     /* ONE, EQUAL; else 0 */
    MPI_Datatype type; /* all but TYPED */
} pw_recalled_side;

typedef struct pw_recalled_call {
    uint64_t version; /* 0: nothing is remembered here */
    MPI_Comm comm;
    pw_recall_id id;
    int root, left; /* as in pw_recalled_message */
    pw_recalled_side send, recv;
} pw_recalled_call;

typedef struct pw_recalled_list {
    int blocks;
    int counts[PW_RECALL_BLOCKS];
    MPI_Aint displs[PW_RECALL_BLOCKS];
    MPI_Datatype types[PW_RECALL_BLOCKS]; /* TYPED */
} pw_recalled_list;

/* A call with arrays. */
typedef struct pw_recalled_lists {
    pw_recalled_call call;
    pw_recalled_list send, recv;
} pw_recalled_lists;

#pragma GCC visibility push(hidden)
extern _Thread_local pw_recalled_call pw_recalled_calls[1 << PW_RECALL_CALL_BITS];
extern _Thread_local pw_recalled_lists pw_recalled_with_lists[1 << PW_RECALL_LIST_BITS];
#pragma GCC visibility pop

#define PW_RECALL_INLINE inline __attribute__((always_inline))

static PW_RECALL_INLINE bool pw_side_has_list(const pw_side *side)
{
    return side->form == PW_SIDE_VARYING || side->form == PW_SIDE_TYPED;
}

static PW_RECALL_INLINE bool pw_sides_have_list(const pw_sides *s)
{
    return pw_side_has_list(&s->send) || pw_side_has_list(&s->recv);
}

/* Lists of wide numbers are not remembered. */
static PW_RECALL_INLINE bool pw_side_is_wide(const pw_side *side)
{
    return pw_side_has_list(side) && side->counts.wide;
}

static PW_RECALL_INLINE uint64_t pw_recall_hash(pw_recall_id id, const pw_sides *s)
{
    uint64_t mixed = (uint64_t)(uintptr_t)s->send.buf + 2 * (uint64_t)(uintptr_t)s->recv.buf + (uint64_t)id;

    return (mixed + (uint64_t)s->send.count) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Where a call with these arguments is remembered. */
static PW_RECALL_INLINE pw_recalled_lists *pw_recall_lists_place(pw_recall_id id, const pw_sides *s)
{
    return &pw_recalled_with_lists[pw_recall_hash(id, s) >> (64 - PW_RECALL_LIST_BITS)];
}

static PW_RECALL_INLINE pw_recalled_call *pw_recall_call_place(pw_recall_id id, const pw_sides *s)
{
    return &pw_recalled_calls[pw_recall_hash(id, s) >> (64 - PW_RECALL_CALL_BITS)];
}

static PW_RECALL_INLINE bool pw_recalls_side(const pw_recalled_side *r, const pw_side *side)
{
    return side->form == PW_SIDE_NONE || (r->buf == side->buf && (pw_side_has_list(side) || r->count == side->count) &&
                                          (side->form == PW_SIDE_TYPED || r->type == side->type));
}

static PW_RECALL_INLINE bool pw_recalls_list(const pw_recalled_list *r, const pw_side *side)
{
    if (!pw_side_has_list(side) || r->blocks == 0)
        return true;
    if (!side->counts.at || !side->displs.at || (side->form == PW_SIDE_TYPED && !side->types))
        return false;
    for (int i = 0; i < r->blocks; i++)
        if (r->counts[i] != ((const int *)side->counts.at)[i] || r->displs[i] != pw_displ_at(side->displs, i) ||
            (side->form == PW_SIDE_TYPED && r->types[i] != side->types[i]))
            return false;
    return true;
}

/* False: not known. */
static PW_RECALL_INLINE bool pw_recalls_call(pw_recall_id id, const pw_sides *s, MPI_Comm comm)
{
    bool lists = pw_sides_have_list(s);
    pw_recalled_lists *l = lists ? pw_recall_lists_place(id, s) : NULL;
    pw_recalled_call *c = lists ? &l->call : pw_recall_call_place(id, s);

    PW_RECALL_ADDRESS(c);
    l = (pw_recalled_lists *)c;
    return !pw_side_is_wide(&s->send) && !pw_side_is_wide(&s->recv) && pw_recalls_side(&c->send, &s->send) &&
           pw_recalls_side(&c->recv, &s->recv) && c->comm == comm && c->id == id && c->root == s->root &&
           pw_generation_now() == c->version &&
           (!lists || (pw_recalls_list(&l->send, &s->send) && pw_recalls_list(&l->recv, &s->recv))) && --c->left >= 0;
}

/* The answer was no. */
static PW_RECALL_INLINE void pw_recall_drop_call(pw_recall_id id, const pw_sides *s)
{
    if (pw_sides_have_list(s))
        pw_recall_lists_place(id, s)->call.version = 0;
    else
        pw_recall_call_place(id, s)->version = 0;
}

static PW_RECALL_INLINE pw_recalled_side pw_recall_side(const pw_side *side)
{
    return (pw_recalled_side){.buf = side->buf, .count = side->count, .type = side->type};
}

/* Copies the first blocks of lists; `types` NULL: there is one type. */
void pw_recall_list(pw_recalled_list *list, int blocks, const int *counts, pw_displs displs, const MPI_Datatype *types);

static PW_RECALL_INLINE void pw_recall_lists_of(pw_recalled_list *list, const pw_side *side, int blocks)
{
    if (pw_side_has_list(side))
        pw_recall_list(list, blocks, side->counts.at, side->displs, side->form == PW_SIDE_TYPED ? side->types : NULL);
}

/* The answer was yes. Of lists so many blocks mattered. */
static PW_RECALL_INLINE void pw_recall_call(pw_recall_id id, const pw_sides *s, MPI_Comm comm, int send_blocks,
                                            int recv_blocks, uint64_t version, int left)
{
    bool lists = pw_sides_have_list(s);
    pw_recalled_lists *l = lists ? pw_recall_lists_place(id, s) : NULL;
    pw_recalled_call *c = lists ? &l->call : pw_recall_call_place(id, s);

    if ((pw_side_has_list(&s->send) && send_blocks > PW_RECALL_BLOCKS) ||
        (pw_side_has_list(&s->recv) && recv_blocks > PW_RECALL_BLOCKS) || pw_side_is_wide(&s->send) ||
        pw_side_is_wide(&s->recv))
        return;
    PW_RECALL_ADDRESS(c);
    *c = (pw_recalled_call){.version = version,
                            .comm = comm,
                            .id = id,
                            .root = s->root,
                            .left = left,
                            .send = pw_recall_side(&s->send),
                            .recv = pw_recall_side(&s->recv)};
    if (lists) {
        l = (pw_recalled_lists *)c;
        pw_recall_lists_of(&l->send, &s->send, send_blocks);
        pw_recall_lists_of(&l->recv, &s->recv, recv_blocks);
    }
}

#endif
