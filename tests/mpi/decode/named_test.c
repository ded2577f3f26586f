/* Every predefined type that this MPI has: size, extent, and the bytes that MPI_Pack takes. */
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct named {
    MPI_Datatype type;
    const char *name;
} named;

/* Open MPI does not name what its Fortran compiler lacks. */
#ifndef MPI_INTEGER16
#define MPI_INTEGER16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL16
#define MPI_REAL16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_COMPLEX32
#define MPI_COMPLEX32 MPI_DATATYPE_NULL
#endif

/* clang-format off */
#define EVERY_TYPE(X)                                                                                                  \
    X(MPI_CHAR) X(MPI_SIGNED_CHAR) X(MPI_UNSIGNED_CHAR) X(MPI_BYTE) X(MPI_WCHAR) X(MPI_SHORT)                          \
    X(MPI_UNSIGNED_SHORT) X(MPI_INT) X(MPI_UNSIGNED) X(MPI_LONG) X(MPI_UNSIGNED_LONG) X(MPI_FLOAT) X(MPI_DOUBLE)       \
    X(MPI_LONG_DOUBLE) X(MPI_LONG_LONG_INT) X(MPI_UNSIGNED_LONG_LONG) X(MPI_LONG_LONG) X(MPI_PACKED)                   \
    X(MPI_FLOAT_INT) X(MPI_DOUBLE_INT) X(MPI_LONG_INT) X(MPI_SHORT_INT) X(MPI_2INT) X(MPI_LONG_DOUBLE_INT)             \
    X(MPI_COMPLEX) X(MPI_DOUBLE_COMPLEX) X(MPI_LOGICAL) X(MPI_REAL) X(MPI_DOUBLE_PRECISION) X(MPI_INTEGER)             \
    X(MPI_2INTEGER) X(MPI_2REAL) X(MPI_2DOUBLE_PRECISION) X(MPI_CHARACTER) X(MPI_REAL4) X(MPI_REAL8)                   \
    X(MPI_REAL16) X(MPI_COMPLEX8) X(MPI_COMPLEX16) X(MPI_COMPLEX32) X(MPI_INTEGER1) X(MPI_INTEGER2)                    \
    X(MPI_INTEGER4) X(MPI_INTEGER8) X(MPI_INTEGER16) X(MPI_INT8_T) X(MPI_INT16_T) X(MPI_INT32_T) X(MPI_INT64_T)        \
    X(MPI_UINT8_T) X(MPI_UINT16_T) X(MPI_UINT32_T) X(MPI_UINT64_T) X(MPI_C_BOOL) X(MPI_C_FLOAT_COMPLEX)                \
    X(MPI_C_COMPLEX) X(MPI_C_DOUBLE_COMPLEX) X(MPI_C_LONG_DOUBLE_COMPLEX) X(MPI_AINT) X(MPI_OFFSET) X(MPI_COUNT)       \
    X(MPI_CXX_BOOL) X(MPI_CXX_FLOAT_COMPLEX) X(MPI_CXX_DOUBLE_COMPLEX) X(MPI_CXX_LONG_DOUBLE_COMPLEX)

/* clang-format on */

enum { COUNT = 3, ROOM = 256 };

/* Finds the memory bytes that MPI_Pack takes, in packed order: every byte of memory has its own value. MPI may leave
 * unused bytes of long double alone; `moved` says which packed bytes it wrote. */
static int mpi_order(MPI_Datatype type, unsigned char *order, bool *moved)
{
    unsigned char memory[ROOM], packed[2][ROOM];
    int end = 0;
    for (int i = 0; i < ROOM; i++)
        memory[i] = (unsigned char)i;
    for (int k = 0; k < 2; k++) {
        end = 0;
        memset(packed[k], k == 0 ? 0 : 0xff, ROOM);
        assert_int_equal(MPI_Pack(memory, COUNT, type, packed[k], ROOM, &end, MPI_COMM_SELF), MPI_SUCCESS);
    }
    for (int i = 0; i < end; i++) {
        order[i] = packed[0][i];
        moved[i] = packed[0][i] == packed[1][i];
    }
    return end;
}

typedef struct order {
    int n;
    int64_t off[ROOM];
} order;

static bool add_bytes(void *arg, int64_t off, int64_t n)
{
    order *o = arg;
    for (int64_t i = 0; i < n && o->n < ROOM; i++)
        o->off[o->n++] = off + i;
    return true;
}

/* Open MPI that was built without Fortran has the names of Fortran's types, and refuses them. */
static bool is_usable(MPI_Datatype type)
{
    unsigned char memory[ROOM] = {0}, packed[ROOM];
    int end = 0;

    return MPI_Pack(memory, 1, type, packed, ROOM, &end, MPI_COMM_SELF) == MPI_SUCCESS;
}

static void check(const named *t)
{
    unsigned char expected[ROOM];
    bool moved[ROOM];
    MPI_Count lb, extent, size;
    pw_arena *arena = pw_arena_create();
    pw_type decoded;
    pw_diag diag = {0};
    order got = {0};
    if (pw_mpi_decode(t->type, arena, &decoded, &diag) != PW_OK)
        fail_msg("%s: %s", t->name, diag.text);
    MPI_Type_get_extent_x(t->type, &lb, &extent);
    MPI_Type_size_x(t->type, &size);
    if (decoded.lb != lb || decoded.extent != extent || decoded.root->size != size)
        fail_msg("%s: lb %lld extent %lld size %lld, not %lld %lld %lld", t->name, (long long)decoded.lb,
                 (long long)decoded.extent, (long long)decoded.root->size, (long long)lb, (long long)extent,
                 (long long)size);
    for (int64_t i = 0; i < COUNT; i++)
        pw_walk(decoded.root, i * decoded.extent, add_bytes, &got);
    int end = mpi_order(t->type, expected, moved);
    assert_int_equal(got.n, end);
    for (int i = 0; i < end; i++)
        if (moved[i] && expected[i] != got.off[i])
            fail_msg("%s: packed byte %d is memory byte %d, not %lld", t->name, i, expected[i], (long long)got.off[i]);
    pw_arena_destroy(arena);
}

static void predefined(void **state)
{
    (void)state;
    const named types[] = {
#define X(t) {t, #t},
        EVERY_TYPE(X)
#undef X
    };
    int present = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].type == MPI_DATATYPE_NULL || !is_usable(types[i].type))
            continue; /* the type is optional, and this MPI lacks it */
        check(&types[i]);
        present++;
    }
    assert_true(present >= 40); /* as many as C has */
}

static void fortran_90(void **state)
{
    (void)state;
    named t = {.name = "f90 type"};
    for (int range = 1; range <= 18; range++) {
        assert_int_equal(MPI_Type_create_f90_integer(range, &t.type), MPI_SUCCESS);
        check(&t);
    }
    assert_int_equal(MPI_Type_create_f90_real(6, 30, &t.type), MPI_SUCCESS);
    check(&t);
    assert_int_equal(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &t.type), MPI_SUCCESS);
    check(&t);
    assert_int_equal(MPI_Type_create_f90_complex(6, 30, &t.type), MPI_SUCCESS);
    check(&t);
    assert_int_equal(MPI_Type_create_f90_complex(15, 300, &t.type), MPI_SUCCESS);
    check(&t);
    MPI_Datatype nested;
    MPI_Type_vector(2, 1, 3, t.type, &nested);
    EXPECT_DECODED(nested, {0, 16}, {48, 16});
    check(&t); /* decoding the vector has not freed the type */
}

static void null_handle(void **state)
{
    (void)state;
    pw_arena *arena = pw_arena_create();
    pw_type decoded;
    pw_diag diag = {0};
    assert_int_equal(pw_mpi_decode(MPI_DATATYPE_NULL, arena, &decoded, &diag), PW_ERR_INVALID);
    assert_string_equal(diag.text, "MPI_DATATYPE_NULL");
    pw_arena_destroy(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(predefined),
    cmocka_unit_test(fortran_90),
    cmocka_unit_test(null_handle),
};

MPI_TEST_MAIN(tests)
