#include "tests/mpi/collective/groups.h"

#include "tests/mpi/support/harness.h"
#include "tests/support/rng.h"

enum { GROUPS = 16 };

static trial_group groups[GROUPS];
static int n_groups;
static bool of_neighbours;

static trial_group *add_group(const char *name, MPI_Comm comm)
{
    trial_group *g = &groups[n_groups++];

    *g = (trial_group){.name = name, .comm = comm, .all = comm};
    if (comm == MPI_COMM_NULL)
        return g;
    MPI_Comm_rank(comm, &g->me);
    MPI_Comm_size(comm, &g->size);
    return g;
}

/* Sets the peers: data comes from and goes to `n` processes, in their order. */
static void set_peers(trial_group *g, int first, int n)
{
    g->in = g->out = n;
    for (int i = 0; i < n; i++)
        g->sources[i] = g->destinations[i] = first + i;
}

/* ---- without topology -------------------------------------------------------------------------------------------- */

static void add_ranks(void)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 1; n <= size + 1; n++) {
        MPI_Comm comm;
        trial_group *g;

        if (n > size) /* all processes in reverse order */
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, rank, &comm);
        g = add_group(n > size ? "the reversed world" : "the first ranks", comm);
        set_peers(g, 0, g->size);
    }
}

/* ---- two groups -------------------------------------------------------------------------------------------------- */

/* Adds the first `n` ranks and all others as two groups. */
static void add_two_groups(const char *name, int n)
{
    int rank, size, second;
    MPI_Comm own, comm;
    trial_group *g;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    second = rank >= n;
    MPI_Comm_split(MPI_COMM_WORLD, second, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, second ? 0 : n, 3, &comm);
    MPI_Comm_free(&own);
    g = add_group(name, comm);
    g->all = MPI_COMM_WORLD;
    g->between = true;
    g->second = second;
    g->first_size = n;
    g->size = size;
    g->me = rank;
    set_peers(g, second ? 0 : n, second ? n : size - n);
}

static void add_pairs_of_groups(void)
{
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    add_two_groups("one and the others", 1);
    if (size > 2)
        add_two_groups("the others and one", size - 1);
    if (size > 3)
        add_two_groups("two halves", size / 2);
}

/* ---- topologies -------------------------------------------------------------------------------------------------- */

static void add_grid(const char *name, int ndims, int periodic)
{
    int dims[3] = {0, 0, 0}, periods[3] = {periodic & 1, periodic & 2, periodic & 4}, size;
    trial_group *g;
    MPI_Comm comm;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, ndims, dims);
    MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &comm);
    g = add_group(name, comm);
    g->in = g->out = 2 * ndims;
    for (int d = 0; d < ndims; d++)
        MPI_Cart_shift(comm, d, 1, &g->sources[2 * d], &g->sources[2 * d + 1]);
    memcpy(g->destinations, g->sources, sizeof g->sources);
}

/* Adds a graph in which all processes are neighbours of the ranks beside them, and the first is a neighbour of all. */
static void add_graph(void)
{
    int size, n = 0, ends[32], index[16];
    trial_group *g;
    MPI_Comm comm;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++)
            if (i != j && (i == 0 || j == 0 || i - j == 1 || j - i == 1))
                ends[n++] = j;
        index[i] = n;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, ends, 0, &comm);
    g = add_group("a graph", comm);
    MPI_Graph_neighbors_count(comm, g->me, &g->in);
    MPI_Graph_neighbors(comm, g->me, g->in, g->sources);
    g->out = g->in;
    memcpy(g->destinations, g->sources, sizeof g->sources);
}

/* Adds a graph of random edges, some from a rank to itself. Some ranks may have none in one direction. */
static void add_distributed_graph(uint64_t seed)
{
    trial_group g = {.lopsided = true};
    pw_rng shared = {seed};
    MPI_Comm comm;
    int size, rank, weights[CALL_MOST_BLOCKS] = {0};

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            bool edge = pw_rng_one_in(&shared, 2);

            if (edge && i == rank)
                g.destinations[g.out++] = j;
            if (edge && j == rank)
                g.sources[g.in++] = i;
        }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, g.in, g.sources, weights, g.out, g.destinations, weights,
                                   MPI_INFO_NULL, 0, &comm);
    g.comm = g.all = comm;
    g.name = "a distributed graph";
    g.me = rank;
    g.size = size;
    groups[n_groups++] = g;
}

static void add_topologies(void)
{
    add_grid("a line", 1, 0);
    add_grid("a ring", 1, 1);
    add_grid("a plane", 2, 0);
    add_grid("a cylinder", 2, 2);
    add_grid("a torus", 2, 3);
    add_grid("a block", 3, 0);
    add_grid("a block, partly periodic", 3, 5);
    add_graph();
    add_distributed_graph(5);
    add_distributed_graph(6);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

void groups_make(const char *what)
{
    of_neighbours = !strcmp(what, "neighbours");
    if (of_neighbours)
        add_topologies();
    else if (!strcmp(what, "between"))
        add_pairs_of_groups();
    else
        add_ranks();
}

void groups_try(int trials, uint64_t first, uint64_t only)
{
    for (int i = 0; i < calls_count * trials; i++) {
        const call *c = &calls[i % calls_count];

        if (c->neighbours == of_neighbours && (!only || only == first + (uint64_t)i))
            trial_run(&groups[(i / calls_count) % n_groups], c, first + (uint64_t)i);
    }
    if (trial_skipped && test_launch_rank() == 0)
        printf("%d trials left out: errors without Packwright\n", trial_skipped);
}

void groups_free(void)
{
    for (int i = 0; i < n_groups; i++)
        if (groups[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&groups[i].comm);
    n_groups = 0;
}
