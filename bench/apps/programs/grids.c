/*
 * Three small two-dimensional applications, in the spirit of arXiv 2511.13804. Each is timed twice: whole steps, and
 * only their exchange.
 *
 *   stencil    Jacobi iteration on doubles; columns of the grid go to the left and to the right
 *   flow       a lattice-Boltzmann channel, D2Q9, nine doubles a cell; of a column only the three that cross it go
 *   diffusion  implicit diffusion by alternating directions; the grid is transposed between the ranks after each
 *
 * Ranks lie along x, periodically. Each exchange is done in three ways: nonblocking messages ("isend"), one collective
 * ("alltoallw": MPI_Neighbor_alltoallw for halos, MPI_Alltoallw for transposes) and persistent messages. With --hand
 * the same messages carry buffers that the program packs.
 *
 * Options: --sizes=128,512 (points of a side).
 */
#include "grids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ISEND, ALLTOALLW, PERSISTENT, MODES };

static const char *const mode_names[MODES] = {"isend", "alltoallw", "persistent"};

/* A grid and one way to do its exchange. */
typedef struct run {
    grid *g;
    int mode;
    double *packed[2]; /* buffers that are sent and received, packed by hand */
    MPI_Comm neighbours;
    bool natively;                             /* calls go past Packwright */
    MPI_Request requests[2][2][2 * MAX_PEERS]; /* natively or not: one set; persistent: one for each field */
} run;

/* ---- where messages lie ------------------------------------------------------------------------------------------ */

/* The field that an exchange of the field `now` writes to. */
static int filled(const grid *g, int now)
{
    return g->transposes ? !now : now;
}

static char *base(const run *r, int now, bool in)
{
    if (r->g->all->hand)
        return (char *)r->packed[in];
    return (char *)r->g->field[in ? filled(r->g, now) : now];
}

static MPI_Aint offset(const run *r, const part *p)
{
    return r->g->all->hand ? p->packed_at : p->at;
}

static int count(const run *r, const part *p)
{
    return r->g->all->hand ? p->doubles : 1;
}

static MPI_Datatype type(const run *r, const part *p)
{
    return r->g->all->hand ? MPI_DOUBLE : p->type;
}

static void copy_all(const run *r, bool packs)
{
    const grid *g = r->g;

    for (int i = 0; i < g->nparts; i++) {
        const part *p = packs ? &g->out[i] : &g->in[i];
        double *field = g->field[packs ? g->now : filled(g, g->now)];

        g->copy(g, p, packs, field, r->packed[!packs] + p->packed_at / (MPI_Aint)sizeof(double));
    }
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

typedef int message_fn(void *buffer, int n, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm,
                       MPI_Request *request);

static int send_message(void *buffer, int n, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm,
                        MPI_Request *request)
{
    return MPI_Isend(buffer, n, datatype, peer, tag, comm, request);
}

static int make_send(void *buffer, int n, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Send_init(buffer, n, datatype, peer, tag, comm, request);
}

/* Posts all receives, then all sends. */
static void post(const run *r, int now, message_fn *receive, message_fn *send, MPI_Request *requests)
{
    const grid *g = r->g;

    for (int i = 0; i < g->nparts; i++)
        receive(base(r, now, true) + offset(r, &g->in[i]), count(r, &g->in[i]), type(r, &g->in[i]), g->in[i].peer, 0,
                MPI_COMM_WORLD, requests + i);
    for (int i = 0; i < g->nparts; i++)
        send(base(r, now, false) + offset(r, &g->out[i]), count(r, &g->out[i]), type(r, &g->out[i]), g->out[i].peer, 0,
             MPI_COMM_WORLD, requests + g->nparts + i);
}

static void alltoallw(const run *r)
{
    const grid *g = r->g;
    int counts[2][MAX_PEERS], near[2][MAX_PEERS];
    MPI_Aint far[2][MAX_PEERS];
    MPI_Datatype types[2][MAX_PEERS];
    char *out = base(r, g->now, false), *in = base(r, g->now, true);

    for (int side = 0; side < 2; side++)
        for (int i = 0; i < g->nparts; i++) {
            const part *p = side ? &g->in[i] : &g->out[i];

            counts[side][i] = count(r, p);
            types[side][i] = type(r, p);
            far[side][i] = offset(r, p);
            near[side][i] = (int)far[side][i];
        }
    if (g->transposes)
        MPI_Alltoallw(out, counts[0], near[0], types[0], in, counts[1], near[1], types[1], MPI_COMM_WORLD);
    else
        MPI_Neighbor_alltoallw(out, counts[0], far[0], types[0], in, counts[1], far[1], types[1], r->neighbours);
}

static void exchange(void *data)
{
    run *r = data;
    grid *g = r->g;

    if (g->all->hand)
        copy_all(r, true);
    if (r->mode == ALLTOALLW) {
        alltoallw(r);
    } else {
        MPI_Request *requests = r->requests[r->natively][r->mode == PERSISTENT ? g->now : 0];

        if (r->mode == PERSISTENT)
            MPI_Startall(2 * g->nparts, requests);
        else
            post(r, g->now, MPI_Irecv, send_message, requests);
        MPI_Waitall(2 * g->nparts, requests, MPI_STATUSES_IGNORE);
    }
    if (g->all->hand)
        copy_all(r, false);
}

static void step(void *data)
{
    run *r = data;
    grid *g = r->g;

    if (g->transposes)
        g->compute(g);
    exchange(r);
    if (!g->transposes)
        g->compute(g);
    g->now = !g->now;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void prepare(void *data)
{
    const run *r = data;
    grid *g = r->g;

    g->now = 0;
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < g->bytes / sizeof(double); i++)
            g->field[f][i] = 1 + (double)(i % 97) / 100 + g->all->rank;
}

static uint64_t digest(void *data)
{
    const run *r = data;

    return rows_digest(rows_digest(0, r->g->field[0], r->g->bytes), r->g->field[1], r->g->bytes);
}

/* Neighbours in the order of parts, so that what goes to the left comes from the right. */
static MPI_Comm neighbours_of(const grid *g)
{
    int from[MAX_PEERS], to[MAX_PEERS];
    MPI_Comm comm;

    for (int i = 0; i < g->nparts; i++) {
        from[i] = g->in[i].peer;
        to[i] = g->out[i].peer;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, g->nparts, from, MPI_UNWEIGHTED, g->nparts, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    return comm;
}

static void turned(void *data, bool natively)
{
    ((run *)data)->natively = natively;
}

/* Makes the persistent requests of both fields, or frees them; through Packwright and past it. */
static void keep_requests(run *r, bool makes)
{
    for (int side = 0; side < 4; side++) {
        MPI_Request *requests = r->requests[side / 2][side % 2];

        rows_call_natively(side / 2);
        if (makes)
            post(r, side % 2, MPI_Recv_init, make_send, requests);
        for (int i = 0; !makes && i < 2 * r->g->nparts; i++)
            MPI_Request_free(&requests[i]);
    }
    rows_call_natively(false);
}

static void do_mode(const rows *all, const char *name, run *r)
{
    char text[100];

    if (r->mode == PERSISTENT)
        keep_requests(r, true);
    snprintf(text, sizeof text, "%s %d^2, %s: step", name, r->g->n, mode_names[r->mode]);
    rows_do(all, text, &(row){r, prepare, step, digest, turned});
    snprintf(text, sizeof text, "%s %d^2, %s: exchange", name, r->g->n, mode_names[r->mode]);
    rows_do(all, text, &(row){r, prepare, exchange, digest, turned});
    if (r->mode == PERSISTENT)
        keep_requests(r, false);
}

static void do_application(const rows *all, const char *name, grid g)
{
    run r = {.g = &g, .neighbours = neighbours_of(&g)};

    for (int i = 0; i < 2; i++) {
        g.field[i] = rows_allocate(g.bytes);
        r.packed[i] = rows_allocate(g.bytes);
    }
    for (r.mode = 0; r.mode < MODES; r.mode++)
        do_mode(all, name, &r);
    for (int i = 0; i < 2; i++) {
        free(g.field[i]);
        free(r.packed[i]);
    }
    MPI_Comm_free(&r.neighbours);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "sizes");

    if (all.ranks > MAX_PEERS) {
        fprintf(stderr, "grids: at most %d ranks\n", MAX_PEERS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (const char *n = rows_option(argc, argv, "sizes", "128,512"); *n; n += strcspn(n, ","), n += *n == ',') {
        do_application(&all, "stencil", grid_stencil(&all, atoi(n)));
        do_application(&all, "flow", grid_flow(&all, atoi(n)));
        do_application(&all, "diffusion", grid_diffusion(&all, atoi(n)));
    }
    rows_end();
    return 0;
}
