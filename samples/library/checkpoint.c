/*
 * A checkpoint of a simulation without MPI: a 3-D field with a halo, and particles as a struct of arrays with room for
 * more. One type says where in memory everything is that a checkpoint holds; the library packs it piece by piece, so
 * that writing takes one buffer of fixed size, whatever the size of the simulation. Verifies itself.
 *
 * The file has values only, in the order of the type, and no trace of halos and spare room: the program reads it back
 * into a simulation with another halo and more room.
 */
#include <packwright/packwright.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 48, NY = 40, NZ = 56, PARTICLES = 30000, ATTRIBUTES = 4, PIECE = 1 << 16 };

/* All arrays are allocated one by one, as simulations do. */
typedef struct simulation {
    int halo, capacity;
    double *field;                 /* [NX + 2 * halo][NY + 2 * halo][NZ + 2 * halo] */
    double *attribute[ATTRIBUTES]; /* x, y, z, mass: [capacity], of which PARTICLES are used */
    int64_t *id;                   /* [capacity], of which PARTICLES are used */
} simulation;

/* ---- the simulation --------------------------------------------------------------------------------------- */

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p) {
        fprintf(stderr, "checkpoint: out of memory\n");
        exit(1);
    }
    return p;
}

static size_t points(const simulation *s)
{
    size_t both = 2 * (size_t)s->halo;

    return (NX + both) * (NY + both) * (NZ + both);
}

static simulation make_simulation(int halo, int capacity)
{
    simulation s = {.halo = halo, .capacity = capacity};

    s.field = allocate(points(&s), sizeof *s.field);
    for (int a = 0; a < ATTRIBUTES; a++)
        s.attribute[a] = allocate((size_t)capacity, sizeof *s.attribute[a]);
    s.id = allocate((size_t)capacity, sizeof *s.id);
    return s;
}

static void free_simulation(simulation *s)
{
    free(s->field);
    for (int a = 0; a < ATTRIBUTES; a++)
        free(s->attribute[a]);
    free(s->id);
}

static double *point(const simulation *s, int i, int j, int k)
{
    int h = s->halo;

    return &s->field[((size_t)(h + i) * (size_t)(NY + 2 * h) + (size_t)(h + j)) * (size_t)(NZ + 2 * h) +
                     (size_t)(h + k)];
}

static double field_value(int i, int j, int k)
{
    return i + 1e-3 * j + 1e-6 * k;
}

static double attribute_value(int a, int n)
{
    return 1000 * a + 1e-4 * n;
}

/* Values of a checkpoint, and -1 in the places that must not get into one. */
static void fill(simulation *s)
{
    for (size_t p = 0; p < points(s); p++)
        s->field[p] = -1;
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++)
                *point(s, i, j, k) = field_value(i, j, k);
    for (int n = 0; n < s->capacity; n++) {
        for (int a = 0; a < ATTRIBUTES; a++)
            s->attribute[a][n] = n < PARTICLES ? attribute_value(a, n) : -1;
        s->id[n] = n < PARTICLES ? 7 * (int64_t)n : -1;
    }
}

/* Every value of the checkpoint is there, and halo and spare room are as they were allocated. */
static int is_restored(const simulation *s)
{
    int h = s->halo, wrong = 0;

    for (int i = -h; i < NX + h; i++)
        for (int j = -h; j < NY + h; j++)
            for (int k = -h; k < NZ + h; k++) {
                int inside = i >= 0 && i < NX && j >= 0 && j < NY && k >= 0 && k < NZ;

                wrong += *point(s, i, j, k) != (inside ? field_value(i, j, k) : 0);
            }
    for (int n = 0; n < s->capacity; n++) {
        for (int a = 0; a < ATTRIBUTES; a++)
            wrong += s->attribute[a][n] != (n < PARTICLES ? attribute_value(a, n) : 0);
        wrong += s->id[n] != (n < PARTICLES ? 7 * (int64_t)n : 0);
    }
    return !wrong;
}

/* ---- its checkpoint --------------------------------------------------------------------------------------- */

/* Ends the program with the library's reason when a call failed. */
static void check(packwright_status status)
{
    if (status) {
        fprintf(stderr, "checkpoint: %s: %s\n", packwright_status_text(status), packwright_last_error());
        exit(1);
    }
}

static packwright_type *interior(const simulation *s, const packwright_type *number)
{
    const int64_t h = s->halo, sizes[] = {NX + 2 * h, NY + 2 * h, NZ + 2 * h};
    const int64_t subsizes[] = {NX, NY, NZ}, starts[] = {h, h, h};
    packwright_type *type;

    check(packwright_subarray(3, sizes, subsizes, starts, PACKWRIGHT_ORDER_C, number, &type));
    return type;
}

/* Everything that a checkpoint of `s` holds, as seen from s->field: one member for each array. */
static packwright_type *make_layout(const simulation *s)
{
    enum { MEMBERS = 1 + ATTRIBUTES + 1 };
    packwright_type *number, *type;
    int64_t lengths[MEMBERS], places[MEMBERS];
    packwright_type *types[MEMBERS];

    check(packwright_bytes(8, 8, &number)); /* a double, and an int64_t */
    for (int m = 0; m < MEMBERS; m++) {
        const void *array = m == 0 ? (void *)s->field : m <= ATTRIBUTES ? (void *)s->attribute[m - 1] : (void *)s->id;

        lengths[m] = m == 0 ? 1 : PARTICLES;
        places[m] = (int64_t)((intptr_t)array - (intptr_t)s->field);
        types[m] = number;
    }
    packwright_type *field = interior(s, number);

    types[0] = field;
    check(packwright_struct(MEMBERS, lengths, places, types, &type));
    packwright_type_free(field);
    packwright_type_free(number);
    return type;
}

static int write_checkpoint(const char *path, const simulation *s)
{
    static char piece[PIECE];
    packwright_type *layout = make_layout(s);
    int64_t size = packwright_size(layout);
    FILE *out = fopen(path, "wb");
    int good = out && fwrite(&size, sizeof size, 1, out) == 1;

    for (int64_t first = 0, last; good && first < size; first = last) {
        last = size - first < PIECE ? size : first + PIECE;
        check(packwright_pack_range(layout, s->field, 1, first, last, piece));
        good = fwrite(piece, 1, (size_t)(last - first), out) == (size_t)(last - first);
    }
    if (out)
        good = fclose(out) == 0 && good;
    packwright_type_free(layout);
    return good;
}

static int read_checkpoint(const char *path, simulation *s)
{
    static char piece[PIECE];
    packwright_type *layout = make_layout(s);
    int64_t size = packwright_size(layout), there;
    FILE *in = fopen(path, "rb");
    int good = in && fread(&there, sizeof there, 1, in) == 1 && there == size;

    for (int64_t first = 0, last; good && first < size; first = last) {
        last = size - first < PIECE ? size : first + PIECE;
        good = fread(piece, 1, (size_t)(last - first), in) == (size_t)(last - first);
        if (good)
            check(packwright_unpack_range(layout, s->field, 1, first, last, piece));
    }
    if (in)
        fclose(in);
    packwright_type_free(layout);
    return good;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "checkpoint.data";
    simulation saved = make_simulation(2, PARTICLES + 500), restored = make_simulation(3, 2 * PARTICLES);
    int good;

    fill(&saved);
    good = write_checkpoint(path, &saved) && read_checkpoint(path, &restored);
    if (!good)
        perror(path);
    remove(path);
    good = good && is_restored(&restored);
    printf("checkpoint: %s\n", good ? "verified" : "WRONG");
    free_simulation(&saved);
    free_simulation(&restored);
    return !good;
}
