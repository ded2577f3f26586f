#include "bench/node/plan.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, DOUBLE = 8 };

bool node_plan_has_tags(const node_plan *p)
{
    return p->row->exchange == NODE_HALO || p->row->exchange == NODE_PERSISTENT || p->row->exchange == NODE_CUBE;
}

int64_t node_box_bytes(const node_box *b)
{
    return b->count[0] * b->count[1] * b->block;
}

static int64_t end_of(const node_box *b)
{
    return b->at + (b->count[0] - 1) * b->stride[0] + (b->count[1] - 1) * b->stride[1] + b->block;
}

/* ---- messages of each exchange ----------------------------------------------------------------------------------- */

/* Exchanges of equal blocks have strides of their own, so that their types share no decisions. None has that of a
 * transpose's blocks between two ranks. */
static int64_t stride_of(const node_row *row)
{
    return 2 * row->block + DOUBLE * (1 + (int64_t)row->exchange);
}

static MPI_Datatype strided(const node_row *row)
{
    MPI_Datatype type;

    MPI_Type_vector((int)(row->bytes / row->block), (int)(row->block / DOUBLE), (int)(stride_of(row) / DOUBLE),
                    MPI_DOUBLE, &type);
    return type;
}

/* Message i lies in the i-th part of both buffers. */
static void add_strided(node_plan *p, int i)
{
    int64_t n = p->row->bytes / p->row->block, stride = stride_of(p->row);
    node_box box = {.at = i * n * stride, .count = {1, n}, .stride = {0, stride}, .block = p->row->block};

    p->messages[i].send = p->messages[i].recv = box;
    p->send_far[i] = p->recv_far[i] = box.at;
    p->send_types[i] = strided(p->row);
    p->recv_types[i] = strided(p->row);
}

/* Places in a cube with a layer of ghost cells around it; along z, y, x. */
typedef struct face {
    int length[3], from[3], to[3]; /* what is sent begins at `from`, and what is received at `to` */
} face;

/* Messages 2d and 2d + 1 go down and up along dimension d. */
static face face_of(const node_row *row, int i)
{
    int side = row->side;
    face f = {{side, side, side}, {1, 1, 1}, {1, 1, 1}};

    f.length[i / 2] = 1;
    f.from[i / 2] = i % 2 ? side : 1;
    f.to[i / 2] = i % 2 ? side + 1 : 0;
    return f;
}

static void add_side(const node_row *row, const face *f, const int begin[3], node_box *box, MPI_Datatype *type)
{
    int whole = row->side + 2, sizes[3] = {whole, whole, whole};

    *box = (node_box){.at = DOUBLE * (((int64_t)begin[0] * whole + begin[1]) * whole + begin[2]),
                      .count = {f->length[0], f->length[1]},
                      .stride = {(int64_t)DOUBLE * whole * whole, (int64_t)DOUBLE * whole},
                      .block = (int64_t)DOUBLE * f->length[2]};
    MPI_Type_create_subarray(3, sizes, f->length, begin, MPI_ORDER_C, MPI_DOUBLE, type);
}

static void add_cube(node_plan *p, int i)
{
    face f = face_of(p->row, i);

    add_side(p->row, &f, f.from, &p->messages[i].send, &p->send_types[i]);
    add_side(p->row, &f, f.to, &p->messages[i].recv, &p->recv_types[i]);
}

/* The loops over doubles take x first. */
static hand_boxes by_hand(const node_row *row, const face *f, const int begin[3], char *array)
{
    int whole = row->side + 2;
    hand_boxes boxes = {.n = 1, .box = {{.array = array, .n = {whole, whole, whole}, .hi = {0, 0, 0, 1}}}};

    for (int d = 0; d < 3; d++) {
        boxes.box[0].lo[d] = begin[2 - d];
        boxes.box[0].hi[d] = begin[2 - d] + f->length[2 - d];
    }
    return boxes;
}

/* Each rank has `side` rows of a matrix of doubles. The i-th block of `side` columns goes to rank i, which puts the
 * columns into its rows. */
static void add_transposed(node_plan *p, int i)
{
    int side = p->row->side, width = side * p->n;
    int64_t line = (int64_t)width * DOUBLE;
    node_message *m = &p->messages[i];
    MPI_Datatype column, resized;

    m->send = (node_box){
        .at = (int64_t)i * side * DOUBLE, .count = {1, side}, .stride = {0, line}, .block = (int64_t)side * DOUBLE};
    m->recv =
        (node_box){.at = (int64_t)i * side * DOUBLE, .count = {side, side}, .stride = {DOUBLE, line}, .block = DOUBLE};
    p->send_far[i] = p->recv_far[i] = m->send.at;
    MPI_Type_vector(side, side, width, MPI_DOUBLE, &p->send_types[i]);
    MPI_Type_vector(side, 1, width, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, DOUBLE, &resized);
    MPI_Type_contiguous(side, resized, &p->recv_types[i]);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
}

static void add_message(node_plan *p, int i)
{
    node_message *m = &p->messages[i];

    if (p->row->exchange == NODE_ALLTOALLW || p->row->exchange == NODE_TRANSPOSE) {
        m->to = m->from = i;
        m->arrives = p->rank;
    } else {
        int down, up;

        PMPI_Cart_shift(p->comm, i / 2, 1, &down, &up);
        m->to = m->from = i % 2 ? up : down;
        m->arrives = i ^ 1;
    }
    switch (p->row->exchange) {
    case NODE_CUBE: add_cube(p, i); break;
    case NODE_TRANSPOSE: add_transposed(p, i); break;
    default: add_strided(p, i); break;
    }
    p->counts[i] = 1;
    p->send_at[i] = (int)p->send_far[i];
    p->recv_at[i] = (int)p->recv_far[i];
    MPI_Type_set_name(p->send_types[i], p->row->name);
    MPI_Type_set_name(p->recv_types[i], p->row->name);
    MPI_Type_commit(&p->send_types[i]);
    MPI_Type_commit(&p->recv_types[i]);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* MPI_Alloc_mem gives what malloc does, and with PACKWRIGHT_ONE_COPY=1 memory that other ranks can map. */
static char *take(int64_t bytes)
{
    char *memory = NULL;

    if (MPI_Alloc_mem((bytes + PAGE - 1) / PAGE * PAGE, MPI_INFO_NULL, &memory) != MPI_SUCCESS)
        return NULL;
    return memset(memory, 1, (size_t)bytes);
}

static bool take_buffers(node_plan *p)
{
    for (int i = 0; i < p->n; i++) {
        const node_message *m = &p->messages[i];

        p->send_bytes = end_of(&m->send) > p->send_bytes ? end_of(&m->send) : p->send_bytes;
        p->recv_bytes = end_of(&m->recv) > p->recv_bytes ? end_of(&m->recv) : p->recv_bytes;
    }
    p->send = take(p->send_bytes);
    p->recv = take(p->recv_bytes);
    p->packed_send = take(p->row->bytes * p->n);
    p->packed_recv = take(p->row->bytes * p->n);
    return p->send && p->recv && p->packed_send && p->packed_recv;
}

static void add_hand(node_plan *p)
{
    for (int i = 0; i < p->n; i++) {
        face f = face_of(p->row, i);

        p->messages[i].hand_send = by_hand(p->row, &f, f.from, p->send);
        p->messages[i].hand_recv = by_hand(p->row, &f, f.to, p->recv);
    }
}

static bool take_arrays(node_plan *p)
{
    size_t n = (size_t)p->n;

    p->messages = calloc(n, sizeof *p->messages);
    p->send_types = calloc(n, sizeof *p->send_types);
    p->recv_types = calloc(n, sizeof *p->recv_types);
    p->counts = calloc(n, sizeof *p->counts);
    p->send_at = calloc(n, sizeof *p->send_at);
    p->recv_at = calloc(n, sizeof *p->recv_at);
    p->send_far = calloc(n, sizeof *p->send_far);
    p->recv_far = calloc(n, sizeof *p->recv_far);
    return p->messages && p->send_types && p->recv_types && p->counts && p->send_at && p->recv_at && p->send_far &&
           p->recv_far;
}

bool node_plan_make(node_plan *p, const node_row *row, MPI_Comm all, MPI_Comm grid)
{
    bool between_all = row->exchange == NODE_ALLTOALLW || row->exchange == NODE_TRANSPOSE;

    *p = (node_plan){.row = row, .comm = between_all ? all : grid, .n = NODE_SIDES};
    PMPI_Comm_rank(p->comm, &p->rank);
    if (between_all)
        PMPI_Comm_size(p->comm, &p->n);
    if (!take_arrays(p))
        return false;
    for (int i = 0; i < p->n; i++)
        add_message(p, i);
    if (!take_buffers(p))
        return false;
    if (row->exchange == NODE_CUBE)
        add_hand(p);
    return true;
}

void node_plan_free(node_plan *p)
{
    char *buffers[] = {p->send, p->recv, p->packed_send, p->packed_recv};

    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i])
            MPI_Free_mem(buffers[i]);
    for (int i = 0; i < p->n; i++) {
        MPI_Type_free(&p->send_types[i]);
        MPI_Type_free(&p->recv_types[i]);
    }
    free(p->messages);
    free(p->send_types);
    free(p->recv_types);
    free(p->counts);
    free(p->send_at);
    free(p->recv_at);
    free(p->send_far);
    free(p->recv_far);
}
