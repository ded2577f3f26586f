/* The stress test's pool of types, and what buffers hold. */
#include "tests/mpi/stress/stress.h"

/* Makes one of those types of the common set that have several basic types or several kinds of holes. */
static MPI_Datatype of_the_set(lane *l, bool *mixed)
{
    static const int chosen[] = {1, 3, 4, 9, 14, 17, 7, 8, 16}; /* the last three are mixed */
    int i = stress_draw(l, (int)(sizeof chosen / sizeof *chosen));

    *mixed = i >= 6;
    return test_type(chosen[i], 1 + stress_draw(l, stress_draw(l, 4) ? 40 : 600));
}

static MPI_Datatype duplicate(lane *l, bool *mixed)
{
    int i = stress_draw(l, LANE_TYPES);
    MPI_Datatype type;

    if (l->types[i] == MPI_DATATYPE_NULL)
        return of_the_set(l, mixed);
    *mixed = l->mixed[i];
    MPI_Type_dup(l->types[i], &type);
    return type;
}

static MPI_Datatype make_type(lane *l, bool *mixed)
{
    MPI_Datatype type;
    int size;

    for (;;) {
        *mixed = false;
        switch (stress_draw(l, 6)) {
        case 0: type = duplicate(l, mixed); break;
        case 1: type = of_the_set(l, mixed); break;
        default: type = test_random_type(&l->schedule);
        }
        PMPI_Type_size(type, &size);
        if (size > 0)
            return type;
        MPI_Type_free(&type);
    }
}

/* From then on, plain messages under way are counted in bytes. */
static void leave_type(lane *l, MPI_Datatype type)
{
    for (int k = 0; k < LANE_REQUESTS; k++) {
        slot *s = &l->slots[k];

        if (s->used && !s->owns_type && s->reserved == type) {
            PMPI_Type_dup(type, &s->reserved);
            s->type = s->reserved;
            s->owns_type = true;
        } else if (s->used && s->type == type) {
            s->type = MPI_BYTE;
            s->count = s->bytes;
        }
    }
}

static void drop_at(lane *l, int i)
{
    leave_type(l, l->types[i]);
    MPI_Type_free(&l->types[i]);
    l->operations[TYPE]++;
}

void stress_drop_type(lane *l, MPI_Datatype type)
{
    for (int i = 0; i < LANE_TYPES; i++)
        if (l->types[i] == type) {
            drop_at(l, i);
            return;
        }
}

MPI_Datatype stress_type(lane *l)
{
    int i = stress_draw(l, LANE_TYPES);

    if (l->types[i] != MPI_DATATYPE_NULL && stress_draw(l, 8) == 0)
        drop_at(l, i);
    if (l->types[i] == MPI_DATATYPE_NULL) {
        bool mixed;
        MPI_Datatype type = make_type(l, &mixed);

        l->types[i] = type;
        l->mixed[i] = mixed;
        l->operations[TYPE]++;
    }
    return l->types[i];
}

bool stress_is_split(const lane *l, MPI_Datatype type)
{
#if defined MPICH && MPICH_NUMVERSION < 50000000
    for (int i = 0; i < LANE_TYPES; i++)
        if (l->types[i] == type)
            return l->mixed[i];
#else
    (void)l;
    (void)type;
#endif
    return false;
}

MPI_Datatype stress_plain_type(lane *l, MPI_Datatype basic, int n)
{
    MPI_Datatype type;
    int size, shape = stress_draw(l, 4);

    PMPI_Type_size(basic, &size);
    switch (shape) {
    case 0: MPI_Type_contiguous(n, basic, &type); break;
    case 1: MPI_Type_vector(n, 1, 3, basic, &type); break;
    case 2: MPI_Type_create_hvector(n, 1, 40, basic, &type); break;
    default: {
        int displs[2] = {0, n + 1}, lengths[2] = {n - n / 2, n / 2};

        MPI_Type_indexed(2, lengths, displs, basic, &type);
    }
    }
    MPI_Type_commit(&type);
    l->operations[TYPE]++;
    return type;
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

unsigned stress_fill(const lane *l, int rank)
{
    return (unsigned)(l->step * 11 + rank * 5 + l->id);
}

unsigned char *stress_packed(MPI_Datatype type, int count, unsigned fill)
{
    test_buffer b = test_buffer_create(type, count);
    int bytes = test_packed_bytes(type, count), p = 0;
    unsigned char *packed = malloc((size_t)bytes + 1);

    test_buffer_fill(&b, fill);
    PMPI_Pack(b.origin, count, type, packed, bytes, &p, MPI_COMM_SELF);
    test_buffer_free(&b);
    return packed;
}

void stress_place(MPI_Datatype type, int count, unsigned fill, void *at)
{
    unsigned char *packed = stress_packed(type, count, fill);
    int p = 0;

    PMPI_Unpack(packed, test_packed_bytes(type, count), &p, at, count, type, MPI_COMM_SELF);
    free(packed);
}

const char *stress_difference(lane *l, const test_buffer *got, const test_buffer *want)
{
    size_t first = 0, wrong = 0;

    for (size_t i = want->bytes; i-- > 0;)
        if (got->memory[i] != want->memory[i]) {
            first = i;
            wrong++;
        }
    snprintf(l->text, sizeof l->text, "%zu of %zu bytes wrong, from %zd behind the origin on (%d for %d)", wrong,
             want->bytes, want->memory + first - want->origin, got->memory[first], want->memory[first]);
    return l->text;
}

void stress_check(lane *l, family f, const char *what, const test_buffer *got, const test_buffer *want)
{
    l->operations[f]++;
    if (!test_buffer_equal(got, want)) {
        stress_fail(l, what, NULL);
        stress_fail(l, stress_difference(l, got, want), NULL);
    }
}
