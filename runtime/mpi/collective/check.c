/*
 * Finds out what the arguments of a collective mean on this rank, and whether they are valid. Data: none. Invariant:
 * only arguments that mean something on this rank are read, and MPI reports what is wrong with them.
 */
#include "runtime/mpi/collective/collective.h"

#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/types/registry.h"

/* ---- which sides matter ------------------------------------------------------------------------------------------ */

/* Returns whether `root` is a rank: then this process is the root, or exchanges data with it. Otherwise the
 * communicator is an intercommunicator and the root is in this process's own group: `root` is MPI_ROOT on the root and
 * MPI_PROC_NULL elsewhere. Only the root of that group takes part, without a block of its own. */
static bool faces_root(const pw_collective *c)
{
    return c->root >= 0;
}

static bool is_root(const pw_collective *c)
{
    return c->root == c->group->as_root;
}

static bool is_valid_root(const pw_collective *c)
{
    if (faces_root(c))
        return c->root < c->group->peers;
    return c->group->between_groups && (is_root(c) || c->root == MPI_PROC_NULL);
}

static void use(pw_side *side, int blocks, const bool *absent, unsigned how)
{
    side->blocks = blocks;
    side->absent = absent;
    side->use = blocks > 0 ? how : 0;
}

/* Returns whether the call has MPI_IN_PLACE where that means something on this rank. */
static bool is_in_place(const pw_collective *c)
{
    const pw_side *side = c->family == PW_SCATTER ? &c->recv : &c->send;

    return c->family != PW_BCAST && c->family < PW_NEIGHBOUR_ALLGATHER && (c->family > PW_SCATTER || faces_root(c)) &&
           side->buf == MPI_IN_PLACE;
}

static unsigned use_of_received(const pw_collective *c, bool in_place)
{
    if (c->family == PW_BCAST && is_root(c))
        return PW_USE_READ;
    return in_place && (c->family == PW_ALLTOALL || c->recv.computes) ? PW_USE_READ | PW_USE_WRITE : PW_USE_WRITE;
}

/* Returns false if the call must be left to MPI. */
static bool check_family(pw_collective *c)
{
    bool rooted = c->family <= PW_SCATTER, in_place = is_in_place(c);
    pw_blocks b;

    if (rooted ? !is_valid_root(c) : c->family >= PW_NEIGHBOUR_ALLGATHER && !c->group->has_neighbours)
        return false;
    if (in_place && (rooted ? !is_root(c) : c->group->between_groups))
        return false;
    if (pw_broadcasts_alone(c->family, &c->recv, c->group) && pw_memory_place_of(c->recv.buf).kind == PW_PLACE_HOST)
        return false;
    b = pw_blocks_of(c->family, &c->send, &c->recv, c->root, c->group);
    use(&c->send, b.send, b.absent_send, PW_USE_READ);
    use(&c->recv, b.recv, b.absent_recv, use_of_received(c, in_place));
    if (in_place && (c->family == PW_GATHER || c->family == PW_ALLGATHER))
        c->recv.own = c->group->rank;
    return true;
}

/* MPI sends nothing on from the receive buffers of these. A call has many peers, of which the channel names none. */
static void note_exchange(pw_collective *c)
{
    enum { ALL_PEERS = -1 };
    bool exchanges = c->family >= PW_ALLTOALL;

    c->send.channel = exchanges ? pw_message_channel(c->way.comm, ALL_PEERS, PW_SEND) : 0;
    c->recv.channel =
        exchanges && c->recv.use == PW_USE_WRITE ? pw_message_channel(c->way.comm, ALL_PEERS, PW_RECV) : 0;
    c->send.once = c->recv.once = c->way.mode != PW_PERSISTENT;
}

/* ---- are they in order ------------------------------------------------------------------------------------------- */

static bool is_sound(const pw_side *side)
{
    if (!side->use || side->blocks == 0)
        return true;
    if (side->buf == MPI_IN_PLACE)
        return false;
    if (side->form <= PW_SIDE_EQUAL)
        return side->count >= 0;
    if (!side->counts.at || !side->displs.at || (side->form == PW_SIDE_TYPED && !side->types))
        return false;
    for (int i = 0; i < side->blocks; i++)
        if (pw_count_at(side->counts, i) < 0)
            return false;
    return true;
}

/* Returns whether this rank's own blocks in both buffers are the same memory. MPIs look there for the commonest overlap
 * of buffers; like them, this takes the size of the type for its extent. */
static bool own_blocks_meet(const pw_collective *c)
{
    const pw_side *many = c->send.form == PW_SIDE_ONE ? &c->recv : &c->send;
    const pw_side *one = many == &c->send ? &c->recv : &c->send;
    const pw_entry *entry;
    int rank = c->group->rank;
    int64_t before;

    if (c->group->between_groups || one->form != PW_SIDE_ONE || many->form < PW_SIDE_EQUAL ||
        many->form > PW_SIDE_VARYING)
        return false;
    entry = pw_registry_find(many->type);
    before = many->form == PW_SIDE_EQUAL ? rank * many->count : pw_displ_at(many->displs, rank);
    return entry && (char *)one->buf == (char *)many->buf + before * entry->size;
}

/* Returns whether both sides name the same memory, which is an error that MPIs detect in some of its forms. Sending
 * halos from one array and receiving them into the same array, at other displacements, is no error. */
static bool sides_meet(const pw_collective *c)
{
    bool neighbours = c->family >= PW_NEIGHBOUR_ALLGATHER;
    const pw_side *s = &c->send, *r = &c->recv;

    if (!s->use || !r->use || s->buf == MPI_BOTTOM)
        return false;
    if (s->buf != r->buf)
        return !neighbours && own_blocks_meet(c);
    if (r->form < PW_SIDE_VARYING || s->form != r->form)
        return true;
    if (s->counts.at != r->counts.at || (neighbours && s->displs.at != r->displs.at))
        return false;
    return r->form == PW_SIDE_TYPED ? s->types == r->types : s->type == r->type;
}

/* Counts the objects of a side whose blocks have one type. 0: there are too many to count. */
static MPI_Count objects_of(const pw_side *side)
{
    MPI_Count sum = 0;

    for (int i = 0; i < side->blocks; i++)
        if (pw_side_use(side, i) && __builtin_add_overflow(sum, pw_side_count(side, i), &sum))
            return 0;
    return sum;
}

/* Both directions count as a receive, which correctness needs: MPI may pass on to other ranks what it receives, and a
 * root that is not the first rank of its node receives its own broadcast in MPICH, where a message may be cut. */
static bool is_type_known(const pw_collective *c, const pw_side *side, int i, MPI_Count objects)
{
    bool typed = side->form == PW_SIDE_TYPED;
    pw_note_use use = {.buf = (char *)side->buf + (typed ? pw_displ_at(side->displs, i) : 0),
                       .count = objects,
                       .role = PW_BOTH,
                       .times = c->way.mode == PW_PERSISTENT ? PW_NOTE_REPEATED : 1,
                       .staged = pw_side_staged(side, typed ? side->blocks : 1)};

    return pw_registry_use(pw_side_type(side, i), use) != NULL;
}

/* Blocks without objects and those of neighbours that do not exist may have any type. */
static bool is_known(const pw_collective *c, const pw_side *side)
{
    for (int i = 0; side->use && i < side->blocks; i++) {
        if (pw_side_count(side, i) == 0 || !pw_side_use(side, i))
            continue;
        if (side->form != PW_SIDE_TYPED)
            return is_type_known(c, side, i, objects_of(side));
        if (!is_type_known(c, side, i, pw_side_count(side, i)))
            return false;
    }
    return true;
}

/* Returns whether block i of MPI_BOTTOM, of a known type, begins at no address: addresses are not small. */
static bool begins_nowhere(const pw_side *side, int i)
{
    enum { NO_ADDRESS = 4096 };
    int64_t at = pw_displ_at(side->displs, i) + pw_registry_find(pw_side_type(side, i))->lowest;

    return at < NO_ADDRESS && at > -NO_ADDRESS;
}

/* Returns whether the program has forgotten the buffer. A buffer of NULL may be MPI_BOTTOM, which is NULL in both MPIs.
 * Then displacements are addresses. */
static bool is_missing(const pw_side *side)
{
    if (!side->use || side->buf != MPI_BOTTOM || side->form != PW_SIDE_TYPED)
        return false;
    for (int i = 0; i < side->blocks; i++)
        if (pw_side_count(side, i) > 0 && pw_side_use(side, i) && begins_nowhere(side, i))
            return true;
    return false;
}

pw_collective_verdict pw_collective_check(pw_collective *c, int *rc)
{
    c->send.own = c->recv.own = -1;
    c->send.kind = c->recv.kind = pw_family_kind(c->family);
    if (c->way.mode != PW_BLOCKING && !c->way.request)
        return PW_COLLECTIVE_LEFT;
    /* MPI reports an invalid communicator here, where it is looked at first. */
    c->group = pw_communicator_look(c->way.comm, rc);
    if (!c->group)
        return *rc == MPI_SUCCESS ? PW_COLLECTIVE_LEFT : PW_COLLECTIVE_ERROR;
    if (!check_family(c) || !is_sound(&c->send) || !is_sound(&c->recv) || sides_meet(c))
        return PW_COLLECTIVE_LEFT;
    note_exchange(c);
    if (!is_known(c, &c->send) || !is_known(c, &c->recv))
        return PW_COLLECTIVE_UNKNOWN;
    return is_missing(&c->send) || is_missing(&c->recv) ? PW_COLLECTIVE_LEFT : PW_COLLECTIVE_SOUND;
}
