/*
 * Predefined types. Nearly all are `size` bytes in a row, which needs no list of names and holds for
 * optional and vendor types too. The exceptions are the pair types for MINLOC and MAXLOC, C structs with a hole.
 */
#include "frontend/mpi/decode_internal.h"

/* The structs of MPI 4.0 section 6.9.4. */
#define PAIR(name, ctype) \
    struct name##_pair {  \
        ctype value;      \
        int index;        \
    }
PAIR(float, float);
PAIR(double, double);
PAIR(long, long);
PAIR(short, short);
PAIR(long_double, long double);
#undef PAIR

typedef struct pair_layout {
    MPI_Datatype handle;
    int64_t value, bytes; /* size of the value, of the struct */
} pair_layout;

/* Elements of n bytes have been met. */
static void note_element(pw_decode *d, int64_t n)
{
    if (n > 0)
        d->element_sizes |=
            1U << (63 - __builtin_clzll((unsigned long long)n)) | 1U << __builtin_ctzll((unsigned long long)n);
}

static bool find_pair(MPI_Datatype type, pair_layout *out)
{
#define ROW(h, name, ctype) {h, sizeof(ctype), sizeof(struct name##_pair)}
    /* Not static: handles are not constants in every MPI. */
    const pair_layout pairs[] = {
        ROW(MPI_FLOAT_INT, float, float),
        ROW(MPI_DOUBLE_INT, double, double),
        ROW(MPI_LONG_INT, long, long),
        ROW(MPI_SHORT_INT, short, short),
        ROW(MPI_LONG_DOUBLE_INT, long_double, long double),
    };
#undef ROW
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].handle == type) {
            *out = pairs[i];
            return true;
        }
    }
    return false;
}

pw_status pw_decode_bounds(pw_decode *d, MPI_Datatype type, pw_dt *dt)
{
    MPI_Count lb = 0, extent = 0;
    int rc = PMPI_Type_get_extent_x(type, &lb, &extent);
    /* MPI_UNDEFINED is no error here: it is a number like others, and MPI_Count holds all bounds. */
    if (rc != MPI_SUCCESS)
        return pw_diag_set(d->diag, PW_ERR_MPI, "MPI_Type_get_extent_x failed with error %d", rc);
    dt->lb = lb;
    if (__builtin_add_overflow((int64_t)lb, (int64_t)extent, &dt->ub))
        return pw_diag_set(d->diag, PW_ERR_OVERFLOW, "an upper bound does not fit 64 bits");
    return PW_OK;
}

static pw_status decode(pw_decode *d, MPI_Datatype type, pw_dt *out)
{
    MPI_Count size = 0;
    pw_dt bounds = {0};
    pair_layout pair;
    int rc = PMPI_Type_size_x(type, &size);
    if (rc != MPI_SUCCESS)
        return pw_diag_set(d->diag, PW_ERR_MPI, "MPI_Type_size_x failed with error %d", rc);
    pw_status status = pw_decode_bounds(d, type, &bounds);
    if (status != PW_OK)
        return status;
    bool hole = size > 0 && (bounds.lb != 0 || bounds.ub != size);
    if (!hole) {
        *out = pw_dt_basic(&d->builder, size, 1);
        note_element(d, size);
    } else if (find_pair(type, &pair) && pair.value + (int64_t)sizeof(int) == size && pair.bytes == bounds.ub) {
        *out = pw_dt_pair(&d->builder, pair.value, 1, sizeof(int), _Alignof(int));
        note_element(d, pair.value);
        note_element(d, sizeof(int));
    } else {
        return pw_diag_set(d->diag, PW_ERR_UNSUPPORTED, "a predefined type with a hole that is no known pair type");
    }
    out->lb = bounds.lb;
    out->ub = bounds.ub;
    if (d->builder.status != PW_OK)
        return pw_diag_set(d->diag, d->builder.status, "a predefined type of %lld bytes: %s", (long long)size,
                           pw_status_text(d->builder.status));
    return PW_OK;
}

pw_status pw_decode_named(pw_decode *d, MPI_Datatype type, pw_dt *out)
{
    /* Handles are small integers with a size in the second byte (MPICH) or addresses (Open MPI). */
    uintptr_t bits = (uintptr_t)type;
    size_t slot = (bits ^ bits >> 5 ^ bits >> 9) % PW_DECODE_MEMO;
    if (d->memo[slot].dt.node && d->memo[slot].handle == type) {
        *out = d->memo[slot].dt;
        return PW_OK; /* its elements have been noted */
    }
    pw_status status = decode(d, type, out);
    if (status == PW_OK) {
        d->memo[slot].handle = type;
        d->memo[slot].dt = *out;
    }
    return status;
}
