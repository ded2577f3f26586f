/*
 * Halo exchange on a periodic 3-D grid with 26 neighbours.
 *
 * Every rank owns NX x NY x NZ points of F doubles, x fastest, with a halo of R points around them. An exchange fills
 * the halo with the neighbours' points: 6 faces, 12 edges and 8 corners, each described by one MPI datatype.
 *
 * With --device the grid, and the buffers that it is packed into, lie in the memory of a GPU. TEMPI's case study is
 * --device --mode=alltoallv --nx=256 --ny=256 --nz=256 --fields=8 --radius=3.
 */
#include "sample_gpu.h"

enum { NEIGHBOURS = 26 };

static const char *const type_words[] = {"subarray", "hvector", NULL};
enum { TYPES_SUBARRAY, TYPES_HVECTOR };
static const char *const mode_words[] = {"pack", "alltoallv", "sendrecv", "send", "isend", NULL};
enum { MODE_PACK, MODE_ALLTOALLV, MODE_SENDRECV, MODE_SEND, MODE_ISEND };

typedef struct options {
    int n[3]; /* local points: x, y, z */
    int fields, radius, types, mode, iterations, warmup;
    bool device, help;
} options;

/* A box of the local array: what one message carries. */
typedef struct region {
    MPI_Datatype type;
    size_t offset; /* of the address to pass with the type, in doubles */
    int rank;      /* the neighbour in this direction */
    int slot;      /* where its packed form begins in the buffer, and the room there, in bytes */
    int room;
} region;

typedef struct halo {
    options o;
    MPI_Comm comm;
    int dims[3], coords[3]; /* of the process grid: x, y, z */
    int full[3];            /* points with halo */
    double *grid;           /* in host memory, for filling and looking */
    double *data;           /* what is exchanged: the grid, or its copy on the GPU */
    size_t doubles;
    region send[NEIGHBOURS], recv[NEIGHBOURS]; /* by direction; recv[d] lies on the side of direction d */
    char *send_buffer, *recv_buffer;
    int buffer_bytes;
    int *counts, *displs; /* of the slots of each rank, the same in both buffers */
} halo;

/* ---- directions: -1, 0 or 1 on each axis, all but the centre ------------------------------------------------ */

static void direction(int d, int out[3])
{
    int code = d < 13 ? d : d + 1;

    out[0] = code % 3 - 1;
    out[1] = code / 3 % 3 - 1;
    out[2] = code / 9 - 1;
}

static int opposite(int d)
{
    return NEIGHBOURS - 1 - d;
}

/* ---- memory, of the host or of a GPU ------------------------------------------------------------------------- */

static void *allocate_data(const halo *h, size_t bytes)
{
    return h->o.device ? gpu_allocate(bytes) : allocate(bytes);
}

static void free_data(const halo *h, void *p)
{
    if (h->o.device)
        gpu_free(p);
    else
        free(p);
}

/* ---- datatypes ---------------------------------------------------------------------------------------------- */

static MPI_Datatype make_subarray(const halo *h, const int start[3], const int length[3])
{
    int sizes[4] = {h->full[2], h->full[1], h->full[0], h->o.fields};
    int subsizes[4] = {length[2], length[1], length[0], h->o.fields};
    int starts[4] = {start[2], start[1], start[0], 0};
    MPI_Datatype type;

    MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype make_hvector(const halo *h, const int length[3])
{
    MPI_Aint point = (MPI_Aint)sizeof(double) * h->o.fields;
    MPI_Aint row = point * h->full[0];
    MPI_Datatype line, plane, box;

    MPI_Type_contiguous(length[0] * h->o.fields, MPI_DOUBLE, &line);
    MPI_Type_create_hvector(length[1], 1, row, line, &plane);
    MPI_Type_create_hvector(length[2], 1, row * h->full[1], plane, &box);
    MPI_Type_free(&line);
    MPI_Type_free(&plane);
    return box;
}

/* The points next to the halo (inner) or the halo itself, on the side of direction d. */
static region make_region(const halo *h, int d, bool inner)
{
    region r = {0};
    int dir[3], start[3], length[3], where[3];

    direction(d, dir);
    for (int a = 0; a < 3; a++) {
        int radius = h->o.radius, n = h->o.n[a];

        length[a] = dir[a] ? radius : n;
        start[a] = dir[a] < 0 ? (inner ? radius : 0) : dir[a] > 0 ? (inner ? n : n + radius) : radius;
        where[a] = h->coords[a] + dir[a];
    }
    if (h->o.types == TYPES_SUBARRAY) {
        r.type = make_subarray(h, start, length);
    } else {
        r.type = make_hvector(h, length);
        r.offset =
            (((size_t)start[2] * (size_t)h->full[1] + (size_t)start[1]) * (size_t)h->full[0] + (size_t)start[0]) *
            (size_t)h->o.fields;
    }
    MPI_Type_commit(&r.type);
    MPI_Cart_rank(h->comm, where, &r.rank);
    MPI_Pack_size(1, r.type, h->comm, &r.room);
    return r;
}

/* In both buffers the slots of one rank lie together, in the order of the directions in which messages are sent. */
static void place_slots(halo *h)
{
    int ranks;

    MPI_Comm_size(h->comm, &ranks);
    h->counts = allocate(sizeof(int) * (size_t)ranks);
    h->displs = allocate(sizeof(int) * (size_t)ranks);
    h->buffer_bytes = 0;
    for (int rank = 0; rank < ranks; rank++) {
        int send_end = h->buffer_bytes, recv_end = h->buffer_bytes;

        h->displs[rank] = h->buffer_bytes;
        for (int d = 0; d < NEIGHBOURS; d++) {
            region *s = &h->send[d], *r = &h->recv[opposite(d)];

            if (s->rank == rank) {
                s->slot = send_end;
                send_end += s->room;
            }
            if (r->rank == rank) {
                r->slot = recv_end;
                recv_end += r->room;
            }
        }
        h->counts[rank] = send_end - h->buffer_bytes;
        h->buffer_bytes = send_end;
    }
}

static void make_regions(halo *h)
{
    for (int d = 0; d < NEIGHBOURS; d++) {
        h->send[d] = make_region(h, d, true);
        h->recv[d] = make_region(h, d, false);
    }
    place_slots(h);
    h->send_buffer = allocate_data(h, (size_t)h->buffer_bytes);
    h->recv_buffer = allocate_data(h, (size_t)h->buffer_bytes);
}

/* ---- exchanges: a message sent in direction d has tag d ------------------------------------------------------- */

/* Where each packed form ends is stored in end[]. */
static void pack(halo *h, int end[NEIGHBOURS])
{
    for (int d = 0; d < NEIGHBOURS; d++) {
        const region *r = &h->send[d];

        end[d] = r->slot;
        MPI_Pack(h->data + r->offset, 1, r->type, h->send_buffer, h->buffer_bytes, &end[d], h->comm);
    }
}

static void unpack(halo *h)
{
    for (int d = 0; d < NEIGHBOURS; d++) {
        const region *r = &h->recv[d];
        int position = r->slot;

        MPI_Unpack(h->recv_buffer, h->buffer_bytes, &position, h->data + r->offset, 1, r->type, h->comm);
    }
}

static void exchange_slots(halo *h, const int end[NEIGHBOURS])
{
    MPI_Request requests[2 * NEIGHBOURS];

    for (int d = 0; d < NEIGHBOURS; d++)
        MPI_Irecv(h->recv_buffer + h->recv[d].slot, h->recv[d].room, MPI_PACKED, h->recv[d].rank, opposite(d), h->comm,
                  &requests[d]);
    for (int d = 0; d < NEIGHBOURS; d++)
        MPI_Isend(h->send_buffer + h->send[d].slot, end[d] - h->send[d].slot, MPI_PACKED, h->send[d].rank, d, h->comm,
                  &requests[NEIGHBOURS + d]);
    MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
}

static void exchange_packed(halo *h, timing *t)
{
    int end[NEIGHBOURS];
    double begin = MPI_Wtime(), packed, arrived, done;

    pack(h, end);
    packed = MPI_Wtime();
    if (h->o.mode == MODE_ALLTOALLV)
        MPI_Alltoallv(h->send_buffer, h->counts, h->displs, MPI_PACKED, h->recv_buffer, h->counts, h->displs,
                      MPI_PACKED, h->comm);
    else
        exchange_slots(h, end);
    arrived = MPI_Wtime();
    unpack(h);
    done = MPI_Wtime();
    if (t)
        timing_add_packed(t, begin, packed, arrived, done);
}

static void sendrecv(halo *h, int d)
{
    const region *s = &h->send[d], *r = &h->recv[opposite(d)];

    MPI_Sendrecv(h->data + s->offset, 1, s->type, s->rank, d, h->data + r->offset, 1, r->type, r->rank, d, h->comm,
                 MPI_STATUS_IGNORE);
}

static void exchange_sendrecv(halo *h)
{
    for (int d = 0; d < NEIGHBOURS; d++)
        sendrecv(h, d);
}

/*
 * Following direction d from rank to rank closes a ring. On the first axis where the ring moves, coordinates of both
 * parities occur in it; when the even ones send first and the odd ones receive first, no ring of waiting can close.
 */
static bool sends_first(const halo *h, const int dir[3])
{
    for (int a = 0; a < 3; a++)
        if (dir[a] && h->dims[a] > 1)
            return h->coords[a] % 2 == 0;
    return true;
}

static void exchange_send(halo *h)
{
    int self;

    MPI_Comm_rank(h->comm, &self);
    for (int d = 0; d < NEIGHBOURS; d++) {
        const region *s = &h->send[d], *r = &h->recv[opposite(d)];
        int dir[3];
        bool first;

        if (s->rank == self) {
            sendrecv(h, d);
            continue;
        }
        direction(d, dir);
        first = sends_first(h, dir);
        if (first)
            MPI_Send(h->data + s->offset, 1, s->type, s->rank, d, h->comm);
        MPI_Recv(h->data + r->offset, 1, r->type, r->rank, d, h->comm, MPI_STATUS_IGNORE);
        if (!first)
            MPI_Send(h->data + s->offset, 1, s->type, s->rank, d, h->comm);
    }
}

static void exchange_isend(halo *h)
{
    MPI_Request requests[2 * NEIGHBOURS];

    for (int d = 0; d < NEIGHBOURS; d++)
        MPI_Irecv(h->data + h->recv[d].offset, 1, h->recv[d].type, h->recv[d].rank, opposite(d), h->comm, &requests[d]);
    for (int d = 0; d < NEIGHBOURS; d++)
        MPI_Isend(h->data + h->send[d].offset, 1, h->send[d].type, h->send[d].rank, d, h->comm,
                  &requests[NEIGHBOURS + d]);
    MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
}

static void exchange(halo *h, timing *t)
{
    double begin;

    MPI_Barrier(h->comm);
    begin = MPI_Wtime();
    switch (h->o.mode) {
    case MODE_PACK:
    case MODE_ALLTOALLV: exchange_packed(h, t); break;
    case MODE_SENDRECV: exchange_sendrecv(h); break;
    case MODE_SEND: exchange_send(h); break;
    case MODE_ISEND: exchange_isend(h); break;
    }
    if (t)
        phase_add(&t->exchange, MPI_Wtime() - begin);
}

/* ---- known values: every point of the global grid, every field, has a number of its own --------------------- */

/* The global coordinate, wrapped around, of local coordinate i (which counts the halo) on an axis. */
static long long global(const halo *h, int axis, int i)
{
    long long n = (long long)h->o.n[axis] * h->dims[axis];

    return ((long long)h->coords[axis] * h->o.n[axis] + i - h->o.radius + n) % n;
}

static bool in_halo(const halo *h, int axis, int i)
{
    return i < h->o.radius || i >= h->o.radius + h->o.n[axis];
}

static double known_value(const halo *h, int x, int y, int z, int field)
{
    long long nx = (long long)h->o.n[0] * h->dims[0], ny = (long long)h->o.n[1] * h->dims[1];
    long long point = (global(h, 2, z) * ny + global(h, 1, y)) * nx + global(h, 0, x);

    return (double)(point * h->o.fields + field);
}

/* Own points get their values, the halo a value that occurs nowhere. */
static void fill(halo *h)
{
    double *p = h->grid;

    for (int z = 0; z < h->full[2]; z++)
        for (int y = 0; y < h->full[1]; y++)
            for (int x = 0; x < h->full[0]; x++) {
                bool outside = in_halo(h, 0, x) || in_halo(h, 1, y) || in_halo(h, 2, z);

                for (int f = 0; f < h->o.fields; f++)
                    *p++ = outside ? -1.0 : known_value(h, x, y, z, f);
            }
}

static bool verify(const halo *h)
{
    const double *p = h->grid;
    verdict v = {0};

    for (int z = 0; z < h->full[2]; z++)
        for (int y = 0; y < h->full[1]; y++)
            for (int x = 0; x < h->full[0]; x++)
                for (int f = 0; f < h->o.fields; f++, p++) {
                    double known = known_value(h, x, y, z, f);

                    if (*p != known)
                        verdict_add(&v, "at point (%d, %d, %d) field %d: %.17g instead of %.17g", x, y, z, f, *p,
                                    known);
                }
    return verdict_agree(&v, "halo3d", h->comm);
}

/* ---- the program --------------------------------------------------------------------------------------------- */

static const char help_text[] =
    "usage: mpiexec -n RANKS halo3d [options]\n\n"
    "Halo exchange with 26 neighbours on a periodic 3-D grid, verified against known values.\n\n"
    "  --device              keep the grid and the packed buffers in the memory of a GPU\n"
    "  --nx=N --ny=N --nz=N  points of each rank (default 64 each)\n"
    "  --fields=F            doubles per point (default 4)\n"
    "  --radius=R            width of the halo, 1 to 3 (default 2)\n"
    "  --types=WORD          subarray or hvector: how the regions are described (default subarray)\n"
    "  --mode=WORD           pack: MPI_Pack into one buffer, exchange, MPI_Unpack (default)\n"
    "                        alltoallv: the same, exchanged by one MPI_Alltoallv\n"
    "                        sendrecv, send, isend: derived types in MPI_Sendrecv, in blocking MPI_Send and\n"
    "                        MPI_Recv, in MPI_Isend and MPI_Irecv\n"
    "  --iterations=N        timed exchanges (default 20)\n"
    "  --warmup=N            exchanges before these (default 3)\n\n"
    "Times are medians over the iterations, the largest of all ranks. Exit status 1 on a wrong value.\n";

static bool parse_option(options *o, const char *arg)
{
    return option_int(arg, "--nx", 1, 4096, &o->n[0]) || option_int(arg, "--ny", 1, 4096, &o->n[1]) ||
           option_int(arg, "--nz", 1, 4096, &o->n[2]) || option_int(arg, "--fields", 1, 64, &o->fields) ||
           option_int(arg, "--radius", 1, 3, &o->radius) || option_word(arg, "--types", type_words, &o->types) ||
           option_word(arg, "--mode", mode_words, &o->mode) ||
           option_int(arg, "--iterations", 1, 1000000, &o->iterations) ||
           option_int(arg, "--warmup", 0, 1000000, &o->warmup);
}

static bool parse(options *o, int argc, char **argv, int rank)
{
    *o = (options){.n = {64, 64, 64},
                   .fields = 4,
                   .radius = 2,
                   .types = TYPES_SUBARRAY,
                   .mode = MODE_PACK,
                   .iterations = 20,
                   .warmup = 3};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            o->help = true;
        } else if (!strcmp(argv[i], "--device")) {
            o->device = true;
        } else if (!parse_option(o, argv[i])) {
            if (!rank)
                fprintf(stderr, "halo3d: bad argument '%s'; see halo3d --help\n", argv[i]);
            return false;
        }
    }
    for (int a = 0; a < 3; a++)
        if (o->n[a] < o->radius) {
            if (!rank)
                fprintf(stderr, "halo3d: the local grid must be at least as wide as the halo\n");
            return false;
        }
    return true;
}

static void print_head(const halo *h, int ranks, gpu_node node)
{
    int used = node.ranks < node.gpus ? node.ranks : node.gpus;

    printf("halo3d: %d ranks (%d x %d x %d), %d x %d x %d points each, %d fields, radius %d, %s, mode %s, "
           "%.2f MB per exchange and rank",
           ranks, h->dims[0], h->dims[1], h->dims[2], h->o.n[0], h->o.n[1], h->o.n[2], h->o.fields, h->o.radius,
           type_words[h->o.types], mode_words[h->o.mode], h->buffer_bytes * 1e-6);
    if (h->o.device)
        printf(", on %d GPU%s", used, used > 1 ? "s" : "");
    if (h->o.device && node.ranks > used)
        printf(" that %d ranks share", node.ranks);
    printf("\n");
}

static void set_up(halo *h)
{
    int periodic[3] = {1, 1, 1}, ranks, rank;
    gpu_node node = {0};
    size_t points = 1;

    if (h->o.device)
        node = gpu_start();
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, h->dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, h->dims, periodic, 0, &h->comm);
    MPI_Comm_rank(h->comm, &rank);
    MPI_Cart_coords(h->comm, rank, 3, h->coords);
    for (int a = 0; a < 3; a++) {
        h->full[a] = h->o.n[a] + 2 * h->o.radius;
        points *= (size_t)h->full[a];
    }
    h->doubles = points * (size_t)h->o.fields;
    h->grid = allocate(h->doubles * sizeof(double));
    h->data = h->o.device ? gpu_allocate(h->doubles * sizeof(double)) : h->grid;
    make_regions(h);
    if (!rank)
        print_head(h, ranks, node);
}

static void tear_down(halo *h)
{
    for (int d = 0; d < NEIGHBOURS; d++) {
        MPI_Type_free(&h->send[d].type);
        MPI_Type_free(&h->recv[d].type);
    }
    if (h->o.device)
        gpu_free(h->data);
    free(h->grid);
    free(h->counts);
    free(h->displs);
    free_data(h, h->send_buffer);
    free_data(h, h->recv_buffer);
    MPI_Comm_free(&h->comm);
}

/* The first exchange and the last are verified, each with a halo that was cleared before. */
static bool verified_exchange(halo *h)
{
    fill(h);
    if (h->o.device)
        gpu_upload(h->data, h->grid, h->doubles * sizeof(double));
    exchange(h, NULL);
    if (h->o.device)
        gpu_download(h->grid, h->data, h->doubles * sizeof(double));
    return verify(h);
}

static bool run(halo *h)
{
    timing t = timing_create(h->o.iterations);
    bool right = verified_exchange(h);
    int rank;

    for (int i = 0; i < h->o.warmup; i++)
        exchange(h, NULL);
    for (int i = 0; i < h->o.iterations; i++)
        exchange(h, &t);
    right = verified_exchange(h) && right;
    timing_print(&t, "halo3d", h->comm);
    checksum_print(checksum_add(checksum_start(h->comm), h->grid, h->doubles * sizeof(double)), "halo3d", h->comm);
    MPI_Comm_rank(h->comm, &rank);
    if (!rank && right)
        printf("halo3d: verified\n");
    return right;
}

int main(int argc, char **argv)
{
    halo h = {0};
    int rank, status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!parse(&h.o, argc, argv, rank)) {
        status = 2;
    } else if (h.o.help) {
        if (!rank)
            fputs(help_text, stdout);
    } else {
        set_up(&h);
        status = run(&h) ? 0 : 1;
        tear_down(&h);
    }
    MPI_Finalize();
    return status;
}
