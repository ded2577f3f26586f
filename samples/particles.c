/*
 * Exchange of border particles on a ring of ranks.
 *
 * Every rank owns N particles. Those near its borders, scattered over the arrays, are needed by the neighbours on both
 * sides, which keep them as ghosts behind their own. As in a molecular dynamics code, the lists of border particles
 * stay the same for many steps, so they are made into indexed types once, and one message moves all attributes.
 *
 * --layout=soa: one array an attribute. A struct of indexed blocks, placed by the distances between the arrays.
 * --layout=aos: an array of structs, with padding. Indexed blocks of a resized struct.
 *
 * With --device the particles, and the buffers that they are packed into, lie in the memory of a GPU.
 */
#include "sample_gpu.h"

#include <stddef.h>

enum { LEFT, RIGHT, SIDES, COMPONENTS = 3 };

static const char *const layout_words[] = {"soa", "aos", NULL};
enum { LAYOUT_SOA, LAYOUT_AOS };
static const char *const mode_words[] = {"pack", "sendrecv", "send", NULL};
enum { MODE_PACK, MODE_SENDRECV, MODE_SEND };

typedef struct options {
    int particles, border, layout, mode, iterations, warmup;
    bool device, help;
} options;

typedef struct particle {
    double position[COMPONENTS];
    double charge;
    float velocity[COMPONENTS];
    int id;
    int kind; /* stays at home */
} particle;

/* Particles with the attributes of `particle`, one array an attribute. */
typedef struct arrays {
    double *position; /* COMPONENTS each */
    double *charge;
    float *velocity; /* COMPONENTS each */
    int *id;
} arrays;

typedef struct world {
    options o;
    int rank, ranks, neighbour[SIDES];
    int *list[SIDES]; /* border particles, ascending */
    arrays soa;
    particle *aos;
    char *memory; /* of all arrays: host memory, for filling and looking */
    char *data;   /* what is exchanged: the same, or its copy on the GPU */
    size_t bytes;
    void *base;               /* the address that goes with the types */
    MPI_Datatype send[SIDES]; /* my border particles on that side */
    MPI_Datatype recv[SIDES]; /* the ghosts from that side */
    char *send_buffer, *recv_buffer;
    int packed_bytes; /* room for one side */
} world;

/* ---- which particles: seeded by the owner, so that every rank can tell what its neighbours send ------------------ */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Chooses `border` of `particles` indices, ascending, each choice equally likely (Knuth 3.4.2, algorithm S). */
static int *choose_border(const options *o, int owner, int side)
{
    int *list = allocate(sizeof *list * (size_t)o->border);
    uint64_t state = (uint64_t)owner * SIDES + (uint64_t)side;
    int chosen = 0;

    for (int i = 0; chosen < o->border; i++)
        if (next_random(&state) % (uint64_t)(o->particles - i) < (uint64_t)(o->border - chosen))
            list[chosen++] = i;
    return list;
}

/* ---- datatypes --------------------------------------------------------------------------------------------------- */

/* A struct of four attributes, each `n` blocks (scattered by `list`, or one run when list is NULL) from `first` on.
 * Its origin is the array of positions. */
static MPI_Datatype make_soa_type(const arrays *a, int first, int n, const int *list)
{
    const MPI_Datatype basic[4] = {MPI_DOUBLE, MPI_DOUBLE, MPI_FLOAT, MPI_INT};
    const int per_particle[4] = {COMPONENTS, 1, COMPONENTS, 1};
    void *const start[4] = {a->position + COMPONENTS * first, a->charge + first, a->velocity + COMPONENTS * first,
                            a->id + first};
    const int one[4] = {1, 1, 1, 1};
    MPI_Datatype part[4], type;
    MPI_Aint base, address, distance[4];
    int *displacement = allocate(sizeof *displacement * (size_t)n);

    MPI_Get_address(a->position, &base);
    for (int k = 0; k < 4; k++) {
        MPI_Get_address(start[k], &address);
        distance[k] = MPI_Aint_diff(address, base);
        for (int i = 0; list && i < n; i++)
            displacement[i] = list[i] * per_particle[k];
        if (list)
            MPI_Type_create_indexed_block(n, per_particle[k], displacement, basic[k], &part[k]);
        else
            MPI_Type_contiguous(n * per_particle[k], basic[k], &part[k]);
    }
    MPI_Type_create_struct(4, one, distance, part, &type);
    for (int k = 0; k < 4; k++)
        MPI_Type_free(&part[k]);
    free(displacement);
    return type;
}

/* One attribute after another, as the arrays have them: both layouts could not talk to each other, and need not. */
static MPI_Datatype make_particle_type(void)
{
    const MPI_Datatype basic[4] = {MPI_DOUBLE, MPI_DOUBLE, MPI_FLOAT, MPI_INT};
    const int length[4] = {COMPONENTS, 1, COMPONENTS, 1};
    const MPI_Aint displacement[4] = {offsetof(particle, position), offsetof(particle, charge),
                                      offsetof(particle, velocity), offsetof(particle, id)};
    MPI_Datatype fields, type;

    MPI_Type_create_struct(4, length, displacement, basic, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(particle), &type);
    MPI_Type_free(&fields);
    return type;
}

static MPI_Datatype make_aos_type(int first, int n, const int *list)
{
    MPI_Datatype one = make_particle_type(), type;

    if (list)
        MPI_Type_create_indexed_block(n, 1, list, one, &type);
    else
        MPI_Type_create_indexed_block(1, n, &first, one, &type);
    MPI_Type_free(&one);
    return type;
}

/* Ghosts from side s follow the own particles, those from the left first. */
static int first_ghost(const world *w, int side)
{
    return w->o.particles + side * w->o.border;
}

static MPI_Datatype make_type(const world *w, int first, const int *list)
{
    MPI_Datatype type = w->o.layout == LAYOUT_SOA ? make_soa_type(&w->soa, first, w->o.border, list)
                                                  : make_aos_type(first, w->o.border, list);

    MPI_Type_commit(&type);
    return type;
}

/* ---- exchanges: a message that travels to the left has tag LEFT -------------------------------------------------- */

static int other(int side)
{
    return LEFT + RIGHT - side;
}

static void exchange_packed(world *w, timing *t)
{
    MPI_Request requests[2 * SIDES];
    int all = SIDES * w->packed_bytes, end[SIDES];
    double begin = MPI_Wtime(), packed, arrived, done;

    for (int s = 0; s < SIDES; s++) {
        end[s] = s * w->packed_bytes;
        MPI_Pack(w->base, 1, w->send[s], w->send_buffer, all, &end[s], MPI_COMM_WORLD);
    }
    packed = MPI_Wtime();
    for (int s = 0; s < SIDES; s++)
        MPI_Irecv(w->recv_buffer + s * w->packed_bytes, w->packed_bytes, MPI_PACKED, w->neighbour[s], other(s),
                  MPI_COMM_WORLD, &requests[s]);
    for (int s = 0; s < SIDES; s++)
        MPI_Isend(w->send_buffer + s * w->packed_bytes, end[s] - s * w->packed_bytes, MPI_PACKED, w->neighbour[s], s,
                  MPI_COMM_WORLD, &requests[SIDES + s]);
    MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);
    arrived = MPI_Wtime();
    for (int s = 0; s < SIDES; s++) {
        int position = s * w->packed_bytes;

        MPI_Unpack(w->recv_buffer, all, &position, w->base, 1, w->recv[s], MPI_COMM_WORLD);
    }
    done = MPI_Wtime();
    if (t)
        timing_add_packed(t, begin, packed, arrived, done);
}

static void sendrecv(world *w, int s)
{
    MPI_Sendrecv(w->base, 1, w->send[s], w->neighbour[s], s, w->base, 1, w->recv[other(s)], w->neighbour[other(s)], s,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* On a ring both parities of ranks occur; the even ones send first. */
static void send_and_receive(world *w, int s)
{
    bool first = w->rank % 2 == 0;

    if (first)
        MPI_Send(w->base, 1, w->send[s], w->neighbour[s], s, MPI_COMM_WORLD);
    MPI_Recv(w->base, 1, w->recv[other(s)], w->neighbour[other(s)], s, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first)
        MPI_Send(w->base, 1, w->send[s], w->neighbour[s], s, MPI_COMM_WORLD);
}

static void exchange(world *w, timing *t)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    if (w->o.mode == MODE_PACK)
        exchange_packed(w, t);
    for (int s = 0; w->o.mode != MODE_PACK && s < SIDES; s++) {
        if (w->o.mode == MODE_SENDRECV || w->ranks == 1)
            sendrecv(w, s);
        else
            send_and_receive(w, s);
    }
    if (t)
        phase_add(&t->exchange, MPI_Wtime() - begin);
}

/* ---- known values ------------------------------------------------------------------------------------------------ */

static particle known_particle(int owner, int index)
{
    long long number = (long long)owner * 10000019 + index;
    particle p = {.charge = (double)number + 0.5, .id = index ^ owner << 24, .kind = -1};

    for (int c = 0; c < COMPONENTS; c++) {
        p.position[c] = (double)number + 0.125 * c;
        p.velocity[c] = (float)(index % 65536 + c * 65536);
    }
    return p;
}

static void put(world *w, int at, const particle *p)
{
    if (w->o.layout == LAYOUT_AOS) {
        w->aos[at] = *p;
        return;
    }
    memcpy(w->soa.position + COMPONENTS * at, p->position, sizeof p->position);
    memcpy(w->soa.velocity + COMPONENTS * at, p->velocity, sizeof p->velocity);
    w->soa.charge[at] = p->charge;
    w->soa.id[at] = p->id;
}

static particle get(const world *w, int at)
{
    particle p = {.charge = w->soa.charge[at], .id = w->soa.id[at]};

    if (w->o.layout == LAYOUT_AOS)
        return w->aos[at];
    memcpy(p.position, w->soa.position + COMPONENTS * at, sizeof p.position);
    memcpy(p.velocity, w->soa.velocity + COMPONENTS * at, sizeof p.velocity);
    return p;
}

/* Own particles get their values; ghosts a particle that occurs nowhere. */
static void fill(world *w)
{
    const particle nobody = {.position = {-1, -1, -1}, .charge = -1, .velocity = {-1, -1, -1}, .id = -1, .kind = -2};

    for (int i = 0; i < w->o.particles; i++) {
        particle p = known_particle(w->rank, i);

        put(w, i, &p);
    }
    for (int i = w->o.particles; i < w->o.particles + SIDES * w->o.border; i++)
        put(w, i, &nobody);
}

static bool same(const particle *a, const particle *b)
{
    return !memcmp(a->position, b->position, sizeof a->position) && a->charge == b->charge &&
           !memcmp(a->velocity, b->velocity, sizeof a->velocity) && a->id == b->id;
}

static void verify_particle(const world *w, verdict *v, int at, const particle *known, int kind)
{
    particle p = get(w, at);

    if (!same(&p, known))
        verdict_add(v, "particle at %d: id %d position %.17g instead of id %d position %.17g", at, p.id, p.position[0],
                    known->id, known->position[0]);
    else if (w->o.layout == LAYOUT_AOS && p.kind != kind)
        verdict_add(v, "particle at %d: its kind was overwritten with %d", at, p.kind);
}

static bool verify(const world *w)
{
    verdict v = {0};

    for (int i = 0; i < w->o.particles; i++) {
        particle known = known_particle(w->rank, i);

        verify_particle(w, &v, i, &known, known.kind);
    }
    for (int s = 0; s < SIDES; s++) {
        int *sent = choose_border(&w->o, w->neighbour[s], other(s));

        for (int i = 0; i < w->o.border; i++) {
            particle known = known_particle(w->neighbour[s], sent[i]);

            verify_particle(w, &v, first_ghost(w, s) + i, &known, -2);
        }
        free(sent);
    }
    return verdict_agree(&v, "particles", MPI_COMM_WORLD);
}

static uint64_t checksum(const world *w)
{
    uint64_t sum = checksum_start(MPI_COMM_WORLD);

    for (int i = 0; i < w->o.particles + SIDES * w->o.border; i++) {
        particle p = get(w, i);

        sum = checksum_add(sum, p.position, sizeof p.position);
        sum = checksum_add(sum, &p.charge, sizeof p.charge);
        sum = checksum_add(sum, p.velocity, sizeof p.velocity);
        sum = checksum_add(sum, &p.id, sizeof p.id);
    }
    return sum;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static const char help_text[] =
    "usage: mpiexec -n RANKS particles [options]\n\n"
    "Exchange of scattered border particles on a ring of ranks, verified against known values.\n\n"
    "  --device          keep particles and packed buffers in the memory of a GPU\n"
    "  --particles=N     of each rank (default 65536)\n"
    "  --border=N        of these, needed by the neighbour on either side (default 8192)\n"
    "  --layout=WORD     soa: struct of arrays, aos: array of structs (default soa)\n"
    "  --mode=WORD       pack: MPI_Pack, exchange, MPI_Unpack (default)\n"
    "                    sendrecv, send: derived types in MPI_Sendrecv, in blocking MPI_Send and MPI_Recv\n"
    "  --iterations=N    timed exchanges (default 20)\n"
    "  --warmup=N        exchanges before these (default 3)\n\n"
    "Times are medians over the iterations, the largest of all ranks. Exit status 1 on a wrong value.\n";

static bool parse_option(options *o, const char *arg)
{
    return option_int(arg, "--particles", 1, 10000000, &o->particles) ||
           option_int(arg, "--border", 1, 10000000, &o->border) ||
           option_word(arg, "--layout", layout_words, &o->layout) || option_word(arg, "--mode", mode_words, &o->mode) ||
           option_int(arg, "--iterations", 1, 1000000, &o->iterations) ||
           option_int(arg, "--warmup", 0, 1000000, &o->warmup);
}

static bool parse(world *w, int argc, char **argv)
{
    w->o = (options){
        .particles = 65536, .border = 8192, .layout = LAYOUT_SOA, .mode = MODE_PACK, .iterations = 20, .warmup = 3};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            w->o.help = true;
        } else if (!strcmp(argv[i], "--device")) {
            w->o.device = true;
        } else if (!parse_option(&w->o, argv[i])) {
            if (!w->rank)
                fprintf(stderr, "particles: bad argument '%s'; see particles --help\n", argv[i]);
            return false;
        }
    }
    if (w->o.border > w->o.particles) {
        if (!w->rank)
            fprintf(stderr, "particles: more border particles than particles\n");
        return false;
    }
    return true;
}

enum { ALIGN = 64 };

static void *carve(const world *w, size_t *at, size_t bytes)
{
    void *p = w->memory + *at;

    *at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return p;
}

static void *allocate_data(const world *w, size_t bytes)
{
    return w->o.device ? gpu_allocate(bytes) : allocate(bytes);
}

static void free_data(const world *w, void *p)
{
    if (w->o.device)
        gpu_free(p);
    else
        free(p);
}

static void make_particles(world *w)
{
    size_t all = (size_t)(w->o.particles + SIDES * w->o.border), at = 0;

    /* One block for all arrays, so that a copy elsewhere has the same distances between them. */
    w->bytes = all * (4 * sizeof(double) + 3 * sizeof(float) + sizeof(int) + sizeof(particle)) + 5 * ALIGN;
    w->memory = allocate(w->bytes);
    w->data = w->o.device ? gpu_allocate(w->bytes) : w->memory;
    w->soa.position = carve(w, &at, all * COMPONENTS * sizeof *w->soa.position);
    w->soa.charge = carve(w, &at, all * sizeof *w->soa.charge);
    w->soa.velocity = carve(w, &at, all * COMPONENTS * sizeof *w->soa.velocity);
    w->soa.id = carve(w, &at, all * sizeof *w->soa.id);
    w->aos = carve(w, &at, all * sizeof *w->aos);
    w->base = w->data + (w->o.layout == LAYOUT_SOA ? (char *)w->soa.position - w->memory : (char *)w->aos - w->memory);
}

static void set_up(world *w)
{
    w->neighbour[LEFT] = (w->rank + w->ranks - 1) % w->ranks;
    w->neighbour[RIGHT] = (w->rank + 1) % w->ranks;
    if (w->o.device)
        gpu_start();
    make_particles(w);
    for (int s = 0; s < SIDES; s++) {
        w->list[s] = choose_border(&w->o, w->rank, s);
        w->send[s] = make_type(w, 0, w->list[s]);
        w->recv[s] = make_type(w, first_ghost(w, s), NULL);
    }
    MPI_Pack_size(1, w->send[LEFT], MPI_COMM_WORLD, &w->packed_bytes);
    w->send_buffer = allocate_data(w, (size_t)w->packed_bytes * SIDES);
    w->recv_buffer = allocate_data(w, (size_t)w->packed_bytes * SIDES);
    if (!w->rank)
        printf("particles: %d ranks, %d particles each, %d of them to either side, %s, mode %s, "
               "%.2f MB per exchange and rank%s\n",
               w->ranks, w->o.particles, w->o.border, layout_words[w->o.layout], mode_words[w->o.mode],
               SIDES * w->packed_bytes * 1e-6, w->o.device ? ", on a GPU" : "");
}

static void tear_down(world *w)
{
    for (int s = 0; s < SIDES; s++) {
        MPI_Type_free(&w->send[s]);
        MPI_Type_free(&w->recv[s]);
        free(w->list[s]);
    }
    if (w->o.device)
        gpu_free(w->data);
    free(w->memory);
    free_data(w, w->send_buffer);
    free_data(w, w->recv_buffer);
}

/* The first exchange and the last are verified. */
static bool verified_exchange(world *w)
{
    fill(w);
    if (w->o.device)
        gpu_upload(w->data, w->memory, w->bytes);
    exchange(w, NULL);
    if (w->o.device)
        gpu_download(w->memory, w->data, w->bytes);
    return verify(w);
}

static bool run(world *w)
{
    timing t = timing_create(w->o.iterations);
    bool right = verified_exchange(w);

    for (int i = 0; i < w->o.warmup; i++)
        exchange(w, NULL);
    for (int i = 0; i < w->o.iterations; i++)
        exchange(w, &t);
    right = verified_exchange(w) && right;
    timing_print(&t, "particles", MPI_COMM_WORLD);
    checksum_print(checksum(w), "particles", MPI_COMM_WORLD);
    if (!w->rank && right)
        printf("particles: verified\n");
    return right;
}

int main(int argc, char **argv)
{
    world w = {0};
    int status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    if (!parse(&w, argc, argv)) {
        status = 2;
    } else if (w.o.help) {
        if (!w.rank)
            fputs(help_text, stdout);
    } else {
        set_up(&w);
        status = run(&w) ? 0 : 1;
        tear_down(&w);
    }
    MPI_Finalize();
    return status;
}
