/*
 * MPI_Pack and MPI_Unpack against PMPI_: every type, counts, positions odd and even, byte for byte with guards; packed
 * data crosses over; the _c forms; MPI_BOTTOM.
 */
#include "tests/mpi/support/harness.h"

static void fail_text(char *out, size_t size, const char *type, int n, int count, int position)
{
    snprintf(out, size, "%s, n=%d count=%d position=%d", type, n, count, position);
}

typedef int pack_fn(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
typedef int unpack_fn(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);

#if MPI_VERSION >= 4
/* The large-count form with the signature of the plain one. */
static int pack_large(const void *in, int count, MPI_Datatype type, void *out, int size, int *position, MPI_Comm comm)
{
    MPI_Count p = *position;
    int rc = MPI_Pack_c(in, count, type, out, size, &p, comm);

    *position = (int)p;
    return rc;
}

static int unpack_large(const void *in, int size, int *position, void *out, int count, MPI_Datatype type, MPI_Comm comm)
{
    MPI_Count p = *position;
    int rc = MPI_Unpack_c(in, size, &p, out, count, type, comm);

    *position = (int)p;
    return rc;
}
#endif

static void check_type(MPI_Datatype type, int count, int start, pack_fn *pack, unpack_fn *unpack, const char *what)
{
    int bytes = test_packed_bytes(type, count), room = bytes + start + 33;
    unsigned char *ours = malloc((size_t)room), *theirs = malloc((size_t)room);
    test_buffer memory = test_buffer_create(type, count), a = test_buffer_create(type, count),
                b = test_buffer_create(type, count);
    int p = start, q = start;

    test_fill(ours, (size_t)room, 1);
    test_fill(theirs, (size_t)room, 1);
    test_buffer_fill(&memory, 2);
    pack(memory.origin, count, type, ours, room, &p, MPI_COMM_SELF);
    PMPI_Pack(memory.origin, count, type, theirs, room, &q, MPI_COMM_SELF);
    CHECK(p == q && q == start + bytes, "%s: position %d, PMPI says %d", what, p, q);
    CHECK(!memcmp(ours, theirs, (size_t)room), "%s: packed bytes differ", what);

    test_buffer_fill(&a, 3);
    test_buffer_fill(&b, 3);
    p = q = start;
    unpack(theirs, room, &p, a.origin, count, type, MPI_COMM_SELF);
    PMPI_Unpack(ours, room, &q, b.origin, count, type, MPI_COMM_SELF);
    CHECK(p == q, "%s: position after unpack %d, PMPI says %d", what, p, q);
    CHECK(test_buffer_equal(&a, &b), "%s: unpacked memory differs", what);
    test_buffer_free(&memory);
    test_buffer_free(&a);
    test_buffer_free(&b);
    free(ours);
    free(theirs);
}

static void check_forms(MPI_Datatype type, int count, int start, const char *what)
{
    check_type(type, count, start, MPI_Pack, MPI_Unpack, what);
#if MPI_VERSION >= 4
    check_type(type, count, start, pack_large, unpack_large, what);
#endif
}

static void check_set(void)
{
    static const int lengths[] = {1, 2, 5, 64, 400}, counts[] = {0, 1, 2, 7}, starts[] = {0, 1, 3, 8, 77};
    char what[128];

    for (int i = 0; i < TEST_TYPES; i++)
        for (int l = 0; l < 5; l++)
            for (int c = 0; c < 4; c++) {
                MPI_Datatype type = test_type(i, lengths[l]);
                int start = starts[(i + l + c) % 5];

                fail_text(what, sizeof what, test_type_name(i), lengths[l], counts[c], start);
                check_forms(type, counts[c], start, what);
                MPI_Type_free(&type);
            }
}

static void check_random(int n)
{
    char what[128];

    for (int i = 1; i <= n; i++) {
        uint64_t state = (uint64_t)i * 7919;
        MPI_Datatype type = test_random_type(&state);
        int count = (int)(test_random(&state) % 4);

        snprintf(what, sizeof what, "random type, seed %d, count %d", i, count);
        check_forms(type, count, i % 11, what);
        MPI_Type_free(&type);
    }
}

/* A few objects of one block each, with gaps between them, are copied one by one once their type is well known; not so
 * many, nor two halves of a block in the other order. */
static void check_one_block(void)
{
    enum { USES = 2000 };
    int halves[] = {3, 0}, sizes[] = {4, 9}, rows[] = {1, 6}, starts[] = {2, 2};
    MPI_Datatype types[3], block;

    MPI_Type_contiguous(3, MPI_SHORT, &block);
    MPI_Type_create_resized(block, -2, 16, &types[0]);
    MPI_Type_create_indexed_block(2, 3, halves, MPI_SHORT, &types[1]);
    MPI_Type_create_subarray(2, sizes, rows, starts, MPI_ORDER_C, MPI_SHORT, &types[2]);
    for (int i = 0; i < 3; i++) {
        MPI_Type_commit(&types[i]);
        for (int use = 0; use < USES; use++)
            check_type(types[i], 1 + use % 9, use % 5, MPI_Pack, MPI_Unpack, "one block, or nearly");
        MPI_Type_free(&types[i]);
    }
    MPI_Type_free(&block);
}

static void check_bottom(void)
{
    double array[64], packed[16], expected[16], back[64];
    MPI_Aint address;
    MPI_Datatype relative, type;
    int p = 0, len = 1, room = sizeof packed;

    test_fill(array, sizeof array, 5);
    MPI_Type_vector(16, 1, 4, MPI_DOUBLE, &relative);
    MPI_Get_address(array, &address);
    MPI_Type_create_struct(1, &len, &address, &relative, &type);
    MPI_Type_commit(&type);
    MPI_Pack(MPI_BOTTOM, 1, type, packed, room, &p, MPI_COMM_SELF);
    for (int i = 0; i < 16; i++)
        memcpy(&expected[i], &array[4 * i], sizeof(double));
    CHECK(!memcmp(packed, expected, sizeof packed), "pack from MPI_BOTTOM");
    memcpy(back, array, sizeof back);
    for (int i = 0; i < 16; i++)
        memset(&array[4 * i], 0, sizeof(double));
    p = 0;
    MPI_Unpack(packed, room, &p, MPI_BOTTOM, 1, type, MPI_COMM_SELF);
    CHECK(!memcmp(array, back, sizeof back), "unpack to MPI_BOTTOM");
    MPI_Type_free(&relative);
    MPI_Type_free(&type);
}

/* Several types behind one another in one buffer, as MPI_Pack is used. */
static void check_sequence(void)
{
    unsigned char ours[8192], theirs[8192];
    int p = 0, q = 0;

    memset(ours, 0, sizeof ours);
    memset(theirs, 0, sizeof theirs);
    for (int i = 0; i < TEST_TYPES; i++) {
        MPI_Datatype type = test_type(i, 9);
        test_buffer memory = test_buffer_create(type, 1);
        char header = (char)i;

        if (i == 17) { /* larger than the buffer; the type is not freed: types alive at the end are legal */
            test_buffer_free(&memory);
            continue;
        }
        test_buffer_fill(&memory, (unsigned)i);
        MPI_Pack(&header, 1, MPI_CHAR, ours, sizeof ours, &p, MPI_COMM_WORLD);
        PMPI_Pack(&header, 1, MPI_CHAR, theirs, sizeof theirs, &q, MPI_COMM_WORLD);
        MPI_Pack(memory.origin, 1, type, ours, sizeof ours, &p, MPI_COMM_WORLD);
        PMPI_Pack(memory.origin, 1, type, theirs, sizeof theirs, &q, MPI_COMM_WORLD);
        test_buffer_free(&memory);
        MPI_Type_free(&type);
    }
    CHECK(p == q, "positions %d and %d", p, q);
    CHECK(!memcmp(ours, theirs, sizeof ours), "a sequence of packs");
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    check_set();
    check_random(argc > 1 ? atoi(argv[1]) : 500);
    check_one_block();
    check_bottom();
    check_sequence();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
