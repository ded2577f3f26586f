/*
 * Which of the blocks that a neighbourhood sends to its own process is received as which.
 *
 * Several blocks to oneself, as in each periodic direction with one process, match in an order in which MPIs differ
 * among each other, among their functions, and from the standard. So the MPI is asked: a neighbourhood of one process
 * sends four bytes to itself, once for each function.
 */
#include "runtime/mpi/collective/self.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BLOCKS = 4, FORMS = PW_SIDE_TYPED + 1, MODES = PW_PERSISTENT + 1, TAG = 0x5057 };

/* The singleton: what the MPI has answered, by topology and function. 0: it has not been asked. A thread that finds the
 * lock taken does not wait for the answer. */
static struct {
    pthread_mutex_t asking;
    _Atomic(pw_self_order) known[PW_TOPOLOGIES][FORMS][MODES];
} orders = {.asking = PTHREAD_MUTEX_INITIALIZER};

static int make_grid(MPI_Comm alone, MPI_Comm *out)
{
    static const int dims[BLOCKS / 2] = {1, 1}, periods[BLOCKS / 2] = {1, 1};

    return PMPI_Cart_create(alone, BLOCKS / 2, dims, periods, 0, out);
}

static int make_graph(MPI_Comm alone, MPI_Comm *out)
{
    static const int self[BLOCKS] = {0}, weights[BLOCKS] = {1, 1, 1, 1};

    return PMPI_Dist_graph_create_adjacent(alone, BLOCKS, self, weights, BLOCKS, self, weights, MPI_INFO_NULL, 0, out);
}

/* A communicator of its own: other threads may be in a collective on MPI_COMM_SELF. */
static int make_alone(MPI_Comm *out)
{
    MPI_Group group;
    int rc = PMPI_Comm_group(MPI_COMM_SELF, &group);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_create_group(MPI_COMM_SELF, group, TAG, out);
    PMPI_Group_free(&group);
    return rc;
}

static bool make(pw_topology topology, MPI_Comm *out)
{
    MPI_Comm alone;
    int rc = make_alone(&alone);

    if (rc != MPI_SUCCESS)
        return false;
    PMPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
    rc = topology == PW_TOPOLOGY_GRID ? make_grid(alone, out) : make_graph(alone, out);
    PMPI_Comm_free(&alone);
    if (rc == MPI_SUCCESS)
        PMPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
    return rc == MPI_SUCCESS;
}

static int finish(pw_collective_mode mode, MPI_Request *request)
{
    int rc = mode == PW_PERSISTENT ? PMPI_Start(request) : MPI_SUCCESS;

    if (rc == MPI_SUCCESS && mode != PW_BLOCKING)
        rc = PMPI_Wait(request, MPI_STATUS_IGNORE);
    if (mode == PW_PERSISTENT)
        PMPI_Request_free(request);
    return rc;
}

static bool exchange(const pw_collective *like, MPI_Comm comm, unsigned char *to)
{
    unsigned char from[BLOCKS] = {0, 1, 2, 3};
    pw_block_argument arguments[2 * BLOCKS];
    MPI_Request request = MPI_REQUEST_NULL;
    pw_collective c = *like;

    c.way = (pw_collective_way){.mode = like->way.mode, .comm = comm, .info = MPI_INFO_NULL, .request = &request};
    c.send.blocks = c.recv.blocks = BLOCKS;
    pw_blocks_of_bytes(&c, from, to, 1, arguments);
    return c.next(&c) == MPI_SUCCESS && finish(c.way.mode, &request) == MPI_SUCCESS;
}

static pw_self_order order_of(const unsigned char *to)
{
    static const unsigned char straight[BLOCKS] = {0, 1, 2, 3}, reversed[BLOCKS] = {3, 2, 1, 0},
                               crossed[BLOCKS] = {1, 0, 3, 2};

    return memcmp(to, straight, BLOCKS) == 0   ? PW_SELF_STRAIGHT
           : memcmp(to, reversed, BLOCKS) == 0 ? PW_SELF_REVERSED
           : memcmp(to, crossed, BLOCKS) == 0  ? PW_SELF_CROSSED
                                               : PW_SELF_UNCLEAR;
}

static pw_self_order ask(const pw_collective *like, pw_topology topology)
{
    unsigned char to[BLOCKS] = {BLOCKS, BLOCKS, BLOCKS, BLOCKS};
    pw_self_order order = PW_SELF_UNCLEAR;
    MPI_Comm comm;

    if (!make(topology, &comm))
        return order;
    if (exchange(like, comm, to))
        order = order_of(to);
    PMPI_Comm_free(&comm);
    return order == PW_SELF_CROSSED && topology != PW_TOPOLOGY_GRID ? PW_SELF_UNCLEAR : order;
}

pw_self_order pw_self_order_of(const pw_collective *c)
{
    pw_topology topology = c->group->neighbours.topology;
    _Atomic(pw_self_order) *known = &orders.known[topology][c->send.form][c->way.mode];
    pw_self_order order = atomic_load_explicit(known, memory_order_relaxed);

    if (order || pthread_mutex_trylock(&orders.asking) != 0)
        return order;
    order = ask(c, topology);
    atomic_store_explicit(known, order, memory_order_relaxed);
    pthread_mutex_unlock(&orders.asking);
    return order;
}
