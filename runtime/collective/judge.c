/* What the arguments of a collective mean on this rank, and whether they are all in order. */
#include "runtime/collective/collective.h"
#include "runtime/registry.h"

/* ---- which sides matter --------------------------------------------------------------------------------------- */

static void use(pw_side *side, int blocks, unsigned how)
{
    side->blocks = blocks;
    side->use = how;
}

static bool judge_gather(pw_collective *c, int rank, int size)
{
    bool in_place = c->send.buf == MPI_IN_PLACE;

    if (rank == c->root)
        use(&c->recv, size, PW_USE_WRITE);
    if (!in_place)
        use(&c->send, 1, PW_USE_READ);
    else
        c->recv.own = rank;
    return !in_place || rank == c->root;
}

static bool judge_scatter(pw_collective *c, int rank, int size)
{
    bool in_place = c->recv.buf == MPI_IN_PLACE;

    if (rank == c->root)
        use(&c->send, size, PW_USE_READ);
    if (!in_place)
        use(&c->recv, 1, PW_USE_WRITE);
    return !in_place || rank == c->root;
}

static void judge_allgather(pw_collective *c, int rank, int size)
{
    use(&c->recv, size, PW_USE_WRITE);
    if (c->send.buf == MPI_IN_PLACE)
        c->recv.own = rank;
    else
        use(&c->send, 1, PW_USE_READ);
}

static void judge_alltoall(pw_collective *c, int size)
{
    if (c->send.buf == MPI_IN_PLACE) {
        use(&c->recv, size, PW_USE_READ | PW_USE_WRITE);
    } else {
        use(&c->send, size, PW_USE_READ);
        use(&c->recv, size, PW_USE_WRITE);
    }
}

static bool judge_neighbours(pw_collective *c)
{
    bool to_all = c->family == PW_NEIGHBOUR_ALLGATHER;
    const bool *absent = c->neighbours.absent;

    if (!pw_neighbours_of(c->comm, &c->neighbours))
        return false;
    use(&c->send, to_all ? 1 : c->neighbours.out, PW_USE_READ);
    use(&c->recv, c->neighbours.in, PW_USE_WRITE);
    if (c->neighbours.some_absent) {
        c->recv.absent = absent;
        c->send.absent = to_all ? NULL : absent;
    }
    return true;
}

/* False: that is for MPI. */
static bool judge_family(pw_collective *c)
{
    int rank, size;

    if (c->family >= PW_NEIGHBOUR_ALLGATHER)
        return judge_neighbours(c);
    if (PMPI_Comm_rank(c->comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(c->comm, &size) != MPI_SUCCESS)
        return false;
    if (c->family <= PW_SCATTER && (c->root < 0 || c->root >= size))
        return false;
    switch (c->family) {
    case PW_BCAST: use(&c->send, 1, rank == c->root ? PW_USE_READ : PW_USE_WRITE); return true;
    case PW_GATHER: return judge_gather(c, rank, size);
    case PW_SCATTER: return judge_scatter(c, rank, size);
    case PW_ALLGATHER: judge_allgather(c, rank, size); return true;
    default: judge_alltoall(c, size); return true;
    }
}

/* ---- are they in order ------------------------------------------------------------------------------------------ */

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

/* The blocks of this rank itself, where MPIs look for the commonest overlap of buffers; as they do, with the size of
 * the type for its extent. */
static bool own_blocks_meet(const pw_collective *c)
{
    const pw_side *many = c->send.form == PW_SIDE_EQUAL ? &c->send : &c->recv;
    const pw_side *one = many == &c->send ? &c->recv : &c->send;
    const pw_entry *entry = pw_registry_find(many->type);
    int rank;

    return many->form == PW_SIDE_EQUAL && one->form == PW_SIDE_ONE && entry &&
           PMPI_Comm_rank(c->comm, &rank) == MPI_SUCCESS &&
           (char *)one->buf == (char *)many->buf + rank * many->count * entry->size;
}

/* Do both sides name the same memory? That is an error, and MPIs find some of its forms. One array from which halos are
 * sent and into which they are received, at other displacements, is none. */
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

/* Blocks without objects and those of neighbours that do not exist may have any type. */
static bool is_known(const pw_side *side)
{
    if (!side->use)
        return true;
    for (int i = 0; i < side->blocks; i++) {
        if (pw_side_count(side, i) == 0 || !pw_side_use(side, i))
            continue;
        if (!pw_registry_find(pw_side_type(side, i)))
            return false;
        if (side->form != PW_SIDE_TYPED)
            break;
    }
    return true;
}

pw_judgement pw_collective_judge(pw_collective *c, int *rc)
{
    int between_groups;

    c->send.own = c->recv.own = -1;
    if (c->mode != PW_BLOCKING && !c->request)
        return PW_FOR_MPI;
    /* The first to look at the communicator is the one to complain of it. */
    *rc = PMPI_Comm_test_inter(c->comm, &between_groups);
    if (*rc != MPI_SUCCESS)
        return PW_IS_ERROR;
    if (between_groups || !judge_family(c) || !is_sound(&c->send) || !is_sound(&c->recv) || sides_meet(c))
        return PW_FOR_MPI;
    return is_known(&c->send) && is_known(&c->recv) ? PW_IS_SOUND : PW_IS_UNKNOWN;
}
