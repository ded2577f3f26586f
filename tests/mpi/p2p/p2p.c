/*
 * MPI_Send and MPI_Recv between two ranks, in every combination of how each side sees the message: derived type with
 * and without Packwright, another type of the same signature, contiguous basic type, MPI_PACKED; probed or not; short,
 * empty and wildcard messages. Run with each strategy, and with one rank inert ("0" or "1" as argument).
 */
#include "tests/mpi/support/harness.h"

/* ---- one message, seen in different ways ------------------------------------------------------------------------ */

typedef enum form { DERIVED, NATIVE, BYTES, PACKED, FORMS } form;

static const char *const form_names[FORMS] = {"derived", "derived, PMPI_", "contiguous", "MPI_PACKED"};

typedef struct side {
    MPI_Datatype type, basic; /* `basic`: the type of the elements that both types are made of */
    int count;
    test_buffer memory;
    unsigned char *packed; /* the contents in packed form */
    int bytes;
} side;

static side side_create(MPI_Datatype type, MPI_Datatype basic, int count)
{
    side s = {.type = type, .basic = basic, .count = count, .bytes = test_packed_bytes(type, count)};

    s.memory = test_buffer_create(type, count);
    s.packed = calloc(1, (size_t)s.bytes + 1);
    return s;
}

static void side_free(side *s)
{
    test_buffer_free(&s->memory);
    free(s->packed);
}

/* Computes what is sent, on both ranks. */
static void prepare(side *s)
{
    int p = 0;

    test_fill(s->packed, (size_t)s->bytes, 77);
    test_buffer_fill(&s->memory, 5);
    PMPI_Unpack(s->packed, s->bytes, &p, s->memory.origin, s->count, s->type, MPI_COMM_SELF);
}

static void send_as(const side *s, form f, int tag)
{
    int size;

    MPI_Type_size(s->basic, &size);
    switch (f) {
    case DERIVED: MPI_Send(s->memory.origin, s->count, s->type, 1, tag, MPI_COMM_WORLD); break;
    case NATIVE: PMPI_Send(s->memory.origin, s->count, s->type, 1, tag, MPI_COMM_WORLD); break;
    case BYTES: MPI_Send(s->packed, s->bytes / size, s->basic, 1, tag, MPI_COMM_WORLD); break;
    default: MPI_Send(s->packed, s->bytes, MPI_PACKED, 1, tag, MPI_COMM_WORLD); break;
    }
}

/* Receives into fresh memory, and checks the memory. `arriving`: the bytes of the message. */
static void recv_as(const side *s, form f, int tag, int arriving, bool wildcard, const char *what)
{
    int source = wildcard ? MPI_ANY_SOURCE : 0, t = wildcard ? MPI_ANY_TAG : tag, size, n, p = 0;
    unsigned char *packed = calloc(1, (size_t)s->bytes + 1);
    test_buffer got = test_buffer_create(s->type, s->count), expected = test_buffer_create(s->type, s->count);
    MPI_Status status;

    MPI_Type_size(s->basic, &size);
    test_buffer_fill(&got, 6);
    test_buffer_fill(&expected, 6);
    if (f == PACKED) {
        MPI_Recv(packed, s->bytes, MPI_PACKED, source, t, MPI_COMM_WORLD, &status);
        MPI_Unpack(packed, s->bytes, &p, got.origin, s->count, s->type, MPI_COMM_WORLD);
    } else if (f == BYTES) {
        MPI_Recv(packed, s->bytes / size, s->basic, source, t, MPI_COMM_WORLD, &status);
        PMPI_Unpack(packed, s->bytes, &p, got.origin, s->count, s->type, MPI_COMM_WORLD);
    } else {
        (f == DERIVED ? MPI_Recv : PMPI_Recv)(got.origin, s->count, s->type, source, t, MPI_COMM_WORLD, &status);
    }
    p = 0;
    PMPI_Unpack(s->packed, s->bytes, &p, expected.origin, s->count, s->type, MPI_COMM_SELF);
    CHECK(test_buffer_equal(&got, &expected), "%s: received memory", what);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == tag, "%s: source %d, tag %d", what, status.MPI_SOURCE,
          status.MPI_TAG);
    MPI_Get_count(&status, f == PACKED ? MPI_PACKED : s->basic, &n);
    CHECK(n == (f == PACKED ? arriving : arriving / size), "%s: Get_count says %d", what, n);
    MPI_Get_count(&status, s->type, &n);
    CHECK(s->bytes == 0 || n == s->count, "%s: Get_count by the type says %d", what, n);
    MPI_Get_elements(&status, s->type, &n);
    /* MPI_BYTE stands for a type with elements of several kinds. */
    CHECK(n == arriving / size || s->bytes == 0 || s->basic == MPI_BYTE, "%s: Get_elements says %d", what, n);
    test_buffer_free(&got);
    test_buffer_free(&expected);
    free(packed);
}

static void probe(int tag, const side *s, const char *what)
{
    MPI_Status status;
    int n, size;

    MPI_Type_size(s->basic, &size);
    MPI_Probe(0, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, s->basic, &n);
    CHECK(n == s->bytes / size, "%s: probed count %d", what, n);
    MPI_Get_count(&status, s->type, &n);
    CHECK(s->bytes == 0 || n == s->count, "%s: probed count by the type %d", what, n);
}

static void exchange(int rank, side *sender, side *receiver, const char *what)
{
    char text[256];
    int tag = 10;

    prepare(sender);
    prepare(receiver);
    for (form from = DERIVED; from < FORMS; from++)
        for (form to = DERIVED; to < FORMS; to++) {
            bool probed = (from + to) % 2, wildcard = to == DERIVED && from % 2;

            snprintf(text, sizeof text, "%s: %s to %s%s", what, form_names[from], form_names[to],
                     probed ? ", probed" : "");
            tag++;
            if (rank == 0) {
                send_as(sender, from, tag);
            } else if (rank == 1) {
                if (probed)
                    probe(tag, receiver, text);
                recv_as(receiver, to, tag, sender->bytes, wildcard, text);
            }
        }
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

/* Makes a layout of `elements` MPI_DOUBLEs: strided, in blocks, shuffled or dense. */
static MPI_Datatype layout_of(int which, int elements)
{
    MPI_Datatype t;

    switch (which) {
    case 0: MPI_Type_vector(elements, 1, 2, MPI_DOUBLE, &t); break;
    case 1: MPI_Type_create_hvector(elements, 1, 64, MPI_DOUBLE, &t); break;
    case 2:
        if (elements % 8 == 0)
            MPI_Type_vector(elements / 8, 8, 24, MPI_DOUBLE, &t);
        else
            MPI_Type_create_hvector(elements, 1, -24, MPI_DOUBLE, &t);
        break;
    default: {
        int *displs = malloc(sizeof(int) * (size_t)elements);

        for (int i = 0; i < elements; i++)
            displs[i] = 2 * (elements % 3 ? (int)((long)i * 3 % elements) : i);
        MPI_Type_create_indexed_block(elements, 1, displs, MPI_DOUBLE, &t);
        free(displs);
    }
    }
    MPI_Type_commit(&t);
    return t;
}

static void check_matrix(int rank)
{
    static const int elements[] = {1, 8, 9, 64, 510, 512, 4000, 8192, 65536, 1 << 20};
    char what[128];

    for (size_t e = 0; e < sizeof elements / sizeof *elements; e++)
        for (int a = 0; a < (elements[e] > 8192 ? 1 : 4); a++) {
            int b = (a + 1) % 4;
            MPI_Datatype ta = layout_of(a, elements[e]), tb = layout_of(b, elements[e]);
            side sender = side_create(ta, MPI_DOUBLE, 1), receiver = side_create(tb, MPI_DOUBLE, 1);

            snprintf(what, sizeof what, "%d doubles, layout %d to %d", elements[e], a, b);
            exchange(rank, &sender, &receiver, what);
            side_free(&sender);
            side_free(&receiver);
            MPI_Type_free(&ta);
            MPI_Type_free(&tb);
        }
}

/* Sends every type of the set to itself, in several counts. */
static void check_set(int rank)
{
    char what[128];

    for (int i = 0; i < TEST_TYPES; i++)
        for (int n = 1; n <= 300; n = n * 7 + 1)
            for (int count = 0; count < 4; count += 1 + count) {
                MPI_Datatype type = test_type(i, n);
                side s = side_create(type, MPI_BYTE, count), r = side_create(type, MPI_BYTE, count);

                snprintf(what, sizeof what, "%s, n=%d count=%d", test_type_name(i), n, count);
                prepare(&s);
                prepare(&r);
                if (rank == 0)
                    send_as(&s, DERIVED, 3);
                else if (rank == 1) {
                    test_buffer got = test_buffer_create(type, count);

                    test_buffer_fill(&got, 5);
                    MPI_Recv(got.origin, count, type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    CHECK(test_buffer_equal(&got, &r.memory), "%s", what);
                    test_buffer_free(&got);
                }
                side_free(&s);
                side_free(&r);
                MPI_Type_free(&type);
            }
}

/* ---- short messages ---------------------------------------------------------------------------------------------- */

/* `elements` doubles arrive where three objects of eight were posted: what did not arrive must not be touched. */
static void check_short(int rank, int elements)
{
    MPI_Datatype type;
    double values[24];
    test_buffer ours, theirs;
    MPI_Status a, b;
    int n, m;

    MPI_Type_vector(8, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    ours = test_buffer_create(type, 3);
    theirs = test_buffer_create(type, 3);
    test_fill(values, sizeof values, 8);
    test_buffer_fill(&ours, 2);
    test_buffer_fill(&theirs, 2);
    if (rank == 0) {
        MPI_Send(values, elements, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Send(values, elements, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(ours.origin, 3, type, 0, 1, MPI_COMM_WORLD, &a);
        PMPI_Recv(theirs.origin, 3, type, 0, 2, MPI_COMM_WORLD, &b);
        CHECK(test_buffer_equal(&ours, &theirs), "%d elements of 24", elements);
        MPI_Get_count(&a, type, &n);
        MPI_Get_count(&b, type, &m);
        CHECK(n == m, "%d elements: Get_count %d, natively %d", elements, n, m);
        MPI_Get_elements(&a, type, &n);
        CHECK(n == elements, "%d elements: Get_elements %d", elements, n);
    }
    test_buffer_free(&ours);
    test_buffer_free(&theirs);
    MPI_Type_free(&type);
}

static void check_proc_null(void)
{
    MPI_Datatype type = test_type(1, 10);
    test_buffer a = test_buffer_create(type, 1), b = test_buffer_create(type, 1);
    MPI_Status status;
    int n = -1;

    test_buffer_fill(&a, 4);
    test_buffer_fill(&b, 4);
    MPI_Send(a.origin, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(a.origin, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(test_buffer_equal(&a, &b), "MPI_PROC_NULL wrote");
    MPI_Get_count(&status, type, &n);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && n == 0, "status of MPI_PROC_NULL");
    MPI_Recv(a.origin, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    test_buffer_free(&a);
    test_buffer_free(&b);
    MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
/* Sends between the large-count forms, and between these and the plain ones. */
static void check_large_forms(int rank)
{
    for (int forms = 0; forms < 4; forms++) {
        MPI_Datatype type = layout_of(forms, 600);
        side s = side_create(type, MPI_DOUBLE, 2);
        test_buffer got = test_buffer_create(type, 2);
        MPI_Status status;
        MPI_Count n = 0;

        prepare(&s);
        test_buffer_fill(&got, 5);
        if (rank == 0 && forms & 1)
            MPI_Send_c(s.memory.origin, 2, type, 1, forms, MPI_COMM_WORLD);
        else if (rank == 0)
            MPI_Send(s.memory.origin, 2, type, 1, forms, MPI_COMM_WORLD);
        else if (rank == 1) {
            if (forms & 2)
                MPI_Recv_c(got.origin, 2, type, 0, forms, MPI_COMM_WORLD, &status);
            else
                MPI_Recv(got.origin, 2, type, 0, forms, MPI_COMM_WORLD, &status);
            MPI_Get_count_c(&status, type, &n);
            CHECK(n == 2 && test_buffer_equal(&got, &s.memory), "large forms %d: count %ld", forms, (long)n);
        }
        test_buffer_free(&got);
        side_free(&s);
        MPI_Type_free(&type);
    }
}
#endif

static void check_random(int rank, int n)
{
    for (int i = 1; i <= n; i++) {
        uint64_t state = (uint64_t)i * 104729;
        MPI_Datatype type = test_random_type(&state);
        int count = (int)(test_random(&state) % 200);
        side s = side_create(type, MPI_BYTE, count);

        prepare(&s);
        if (rank == 0)
            send_as(&s, DERIVED, i);
        else if (rank == 1) {
            char what[64];

            snprintf(what, sizeof what, "random type, seed %d, count %d", i, count);
            recv_as(&s, BYTES, i, s.bytes, false, what);
        }
        if (rank == 1)
            MPI_Send(s.packed, s.bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
        else if (rank == 0) {
            test_buffer got = test_buffer_create(type, count);

            test_buffer_fill(&got, 5);
            MPI_Recv(got.origin, count, type, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            /* Objects that overlap in memory are written in an order of MPI's choice. */
            CHECK(test_buffer_equal(&got, &s.memory), "random type, seed %d, count %d: received", i, count);
            test_buffer_free(&got);
        }
        side_free(&s);
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv)
{
    int rc, rank;

    if (argc > 1 && atoi(argv[1]) == test_launch_rank())
        setenv("PACKWRIGHT_DISABLE", "1", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_matrix(rank);
    check_set(rank);
    for (int elements = 0; elements <= 24; elements++)
        check_short(rank, elements);
    check_proc_null();
#if MPI_VERSION >= 4
    check_large_forms(rank);
#endif
    check_random(rank, 200);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
