/*
 * Transpose of a distributed matrix.
 *
 * An N x N matrix of elements of C doubles lies on P ranks, N/P rows each. Every rank sends every other the block that
 * both have a part in. The send type walks down the columns of the block, so the elements arrive already transposed; it
 * is made of resized columns, since the columns of a block interleave in memory.
 */
#include "sample.h"

static const char *const mode_words[] = {"alltoall", "pack", "send", NULL};
enum { MODE_ALLTOALL, MODE_PACK, MODE_SEND };

typedef struct options {
    int n, components, mode, iterations, warmup;
    bool help;
} options;

typedef struct matrix {
    options o;
    int rank, ranks, rows;
    double *from, *to;      /* rows x n elements, row by row */
    MPI_Datatype send_type; /* a block, column by column; its extent is one block's width */
    MPI_Datatype recv_type; /* a block, row by row; the same extent */
    char *send_buffer, *recv_buffer;
    int block_bytes;
} matrix;

/* ---- datatypes ------------------------------------------------------------------------------------------------ */

static MPI_Datatype resize_and_commit(MPI_Datatype old, MPI_Aint extent, bool free_old)
{
    MPI_Datatype type;

    MPI_Type_create_resized(old, 0, extent, &type);
    MPI_Type_commit(&type);
    if (free_old)
        MPI_Type_free(&old);
    return type;
}

/* resized(contiguous(rows)[resized(one element)[vector(rows, 1, n)]]): columns, one element apart. */
static MPI_Datatype make_send_type(const matrix *m, MPI_Datatype element, MPI_Aint element_bytes)
{
    MPI_Datatype column, narrow, block;

    MPI_Type_vector(m->rows, 1, m->o.n, element, &column);
    MPI_Type_create_resized(column, 0, element_bytes, &narrow);
    MPI_Type_contiguous(m->rows, narrow, &block);
    MPI_Type_free(&column);
    MPI_Type_free(&narrow);
    return resize_and_commit(block, element_bytes * m->rows, true);
}

static MPI_Datatype make_recv_type(const matrix *m, MPI_Datatype element, MPI_Aint element_bytes)
{
    MPI_Datatype block;

    MPI_Type_vector(m->rows, m->rows, m->o.n, element, &block);
    return resize_and_commit(block, element_bytes * m->rows, true);
}

static void make_types(matrix *m)
{
    MPI_Aint element_bytes = (MPI_Aint)sizeof(double) * m->o.components;
    MPI_Datatype element;

    MPI_Type_contiguous(m->o.components, MPI_DOUBLE, &element);
    m->send_type = make_send_type(m, element, element_bytes);
    m->recv_type = make_recv_type(m, element, element_bytes);
    MPI_Type_free(&element);
}

/* ---- exchanges -------------------------------------------------------------------------------------------------- */

static double *block_of(const matrix *m, double *rows, int rank)
{
    return rows + (size_t)rank * (size_t)m->rows * (size_t)m->o.components;
}

static void exchange_packed(matrix *m, timing *t)
{
    int all = m->block_bytes * m->ranks, position = 0;
    double begin = MPI_Wtime(), packed, arrived, done;

    MPI_Pack(m->from, m->ranks, m->send_type, m->send_buffer, all, &position, MPI_COMM_WORLD);
    packed = MPI_Wtime();
    MPI_Alltoall(m->send_buffer, m->block_bytes, MPI_PACKED, m->recv_buffer, m->block_bytes, MPI_PACKED,
                 MPI_COMM_WORLD);
    arrived = MPI_Wtime();
    position = 0;
    MPI_Unpack(m->recv_buffer, all, &position, m->to, m->ranks, m->recv_type, MPI_COMM_WORLD);
    done = MPI_Wtime();
    if (t)
        timing_add_packed(t, begin, packed, arrived, done);
}

/* In step s, rank r meets rank (s - r) mod P: a pairing, so the lower rank may send first. */
static void exchange_send(matrix *m)
{
    for (int s = 0; s < m->ranks; s++) {
        int peer = (s - m->rank + m->ranks) % m->ranks;
        double *out = block_of(m, m->from, peer), *in = block_of(m, m->to, peer);

        if (peer == m->rank)
            MPI_Sendrecv(out, 1, m->send_type, peer, 0, in, 1, m->recv_type, peer, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        if (m->rank < peer)
            MPI_Send(out, 1, m->send_type, peer, 0, MPI_COMM_WORLD);
        if (m->rank != peer)
            MPI_Recv(in, 1, m->recv_type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (m->rank > peer)
            MPI_Send(out, 1, m->send_type, peer, 0, MPI_COMM_WORLD);
    }
}

static void exchange(matrix *m, timing *t)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    switch (m->o.mode) {
    case MODE_ALLTOALL: MPI_Alltoall(m->from, 1, m->send_type, m->to, 1, m->recv_type, MPI_COMM_WORLD); break;
    case MODE_PACK: exchange_packed(m, t); break;
    case MODE_SEND: exchange_send(m); break;
    }
    if (t)
        phase_add(&t->exchange, MPI_Wtime() - begin);
}

/* ---- known values ----------------------------------------------------------------------------------------------- */

static double known_value(const matrix *m, long long row, long long column, int component)
{
    return (double)((row * m->o.n + column) * m->o.components + component);
}

static void fill(matrix *m)
{
    double *p = m->from, *q = m->to;

    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->o.n; j++)
            for (int c = 0; c < m->o.components; c++) {
                *p++ = known_value(m, (long long)m->rank * m->rows + i, j, c);
                *q++ = -1.0;
            }
}

static bool verify(const matrix *m)
{
    const double *p = m->to;
    verdict v = {0};

    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->o.n; j++)
            for (int c = 0; c < m->o.components; c++, p++) {
                double known = known_value(m, j, (long long)m->rank * m->rows + i, c);

                if (*p != known)
                    verdict_add(&v, "at row %d column %d component %d: %.17g instead of %.17g", i, j, c, *p, known);
            }
    return verdict_agree(&v, "transpose", MPI_COMM_WORLD);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static const char help_text[] =
    "usage: mpiexec -n RANKS transpose [options]\n\n"
    "Transpose of a matrix that is distributed by rows, verified against known values.\n\n"
    "  --n=N             rows and columns of the matrix, a multiple of RANKS (default 1024)\n"
    "  --components=C    doubles per element (default 1; 2 is a complex matrix)\n"
    "  --mode=WORD       alltoall: derived types in MPI_Alltoall (default)\n"
    "                    pack: MPI_Pack, MPI_Alltoall of the packed bytes, MPI_Unpack\n"
    "                    send: derived types in blocking MPI_Send and MPI_Recv, pair by pair\n"
    "  --iterations=N    timed exchanges (default 20)\n"
    "  --warmup=N        exchanges before these (default 3)\n\n"
    "Times are medians over the iterations, the largest of all ranks. Exit status 1 on a wrong value.\n";

static bool parse_option(options *o, const char *arg)
{
    return option_int(arg, "--n", 1, 46340, &o->n) || option_int(arg, "--components", 1, 64, &o->components) ||
           option_word(arg, "--mode", mode_words, &o->mode) ||
           option_int(arg, "--iterations", 1, 1000000, &o->iterations) ||
           option_int(arg, "--warmup", 0, 1000000, &o->warmup);
}

static bool parse(matrix *m, int argc, char **argv)
{
    m->o = (options){1024, 1, MODE_ALLTOALL, 20, 3, false};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            m->o.help = true;
        } else if (!parse_option(&m->o, argv[i])) {
            if (!m->rank)
                fprintf(stderr, "transpose: bad argument '%s'; see transpose --help\n", argv[i]);
            return false;
        }
    }
    if (!m->o.help && m->o.n % m->ranks) {
        if (!m->rank)
            fprintf(stderr, "transpose: --n=%d is no multiple of %d ranks\n", m->o.n, m->ranks);
        return false;
    }
    return true;
}

static void set_up(matrix *m)
{
    size_t bytes;

    m->rows = m->o.n / m->ranks;
    bytes = (size_t)m->rows * (size_t)m->o.n * (size_t)m->o.components * sizeof(double);
    m->block_bytes = (int)(bytes / (size_t)m->ranks);
    m->from = allocate(bytes);
    m->to = allocate(bytes);
    m->send_buffer = allocate(bytes);
    m->recv_buffer = allocate(bytes);
    make_types(m);
    if (!m->rank)
        printf("transpose: %d ranks, %d x %d elements of %d doubles, mode %s, %.2f MB per exchange and rank\n",
               m->ranks, m->o.n, m->o.n, m->o.components, mode_words[m->o.mode], (double)bytes * 1e-6);
}

static void tear_down(matrix *m)
{
    MPI_Type_free(&m->send_type);
    MPI_Type_free(&m->recv_type);
    free(m->from);
    free(m->to);
    free(m->send_buffer);
    free(m->recv_buffer);
}

/* The first exchange and the last are verified. */
static bool verified_exchange(matrix *m)
{
    fill(m);
    exchange(m, NULL);
    return verify(m);
}

static bool run(matrix *m)
{
    timing t = timing_create(m->o.iterations);
    size_t bytes = (size_t)m->block_bytes * (size_t)m->ranks;
    bool right = verified_exchange(m);

    for (int i = 0; i < m->o.warmup; i++)
        exchange(m, NULL);
    for (int i = 0; i < m->o.iterations; i++)
        exchange(m, &t);
    right = verified_exchange(m) && right;
    timing_print(&t, "transpose", MPI_COMM_WORLD);
    checksum_print(checksum_add(checksum_start(MPI_COMM_WORLD), m->to, bytes), "transpose", MPI_COMM_WORLD);
    if (!m->rank && right)
        printf("transpose: verified\n");
    return right;
}

int main(int argc, char **argv)
{
    matrix m = {0};
    int status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m.ranks);
    if (!parse(&m, argc, argv)) {
        status = 2;
    } else if (m.o.help) {
        if (!m.rank)
            fputs(help_text, stdout);
    } else {
        set_up(&m);
        status = run(&m) ? 0 : 1;
        tear_down(&m);
    }
    MPI_Finalize();
    return status;
}
