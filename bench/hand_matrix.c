/* Hand-written loops over matrices: transposes, blocks, triangles, every second element. */
#include "bench/hand.h"

#include <string.h>

typedef struct complex16 {
    double re, im;
} complex16;

/* Packed: column after column. */
#define HAND_TRANSPOSE(name, type)                                    \
    void hand_pack_transpose_##name(const void *args, void *packed)   \
    {                                                                 \
        const hand_matrix *m = args;                                  \
        const type *a = m->array;                                     \
        type *restrict p = packed;                                    \
        for (long i = 0; i < m->columns; i++)                         \
            for (long j = 0; j < m->rows; j++)                        \
                p[i * m->rows + j] = a[j * m->n + i];                 \
    }                                                                 \
                                                                      \
    void hand_unpack_transpose_##name(const void *args, void *packed) \
    {                                                                 \
        const hand_matrix *m = args;                                  \
        type *restrict a = m->array;                                  \
        const type *p = packed;                                       \
        for (long i = 0; i < m->columns; i++)                         \
            for (long j = 0; j < m->rows; j++)                        \
                a[j * m->n + i] = p[i * m->rows + j];                 \
    }

HAND_TRANSPOSE(double, double)
HAND_TRANSPOSE(complex, complex16)

void hand_pack_block_complex(const void *args, void *packed)
{
    const hand_matrix *m = args;
    const complex16 *a = m->array;
    complex16 *restrict p = packed;
    for (long j = 0; j < m->rows; j++)
        for (long i = 0; i < m->columns; i++)
            p[j * m->columns + i] = a[j * m->n + i];
}

void hand_unpack_block_complex(const void *args, void *packed)
{
    const hand_matrix *m = args;
    complex16 *restrict a = m->array;
    const complex16 *p = packed;
    for (long j = 0; j < m->rows; j++)
        for (long i = 0; i < m->columns; i++)
            a[j * m->n + i] = p[j * m->columns + i];
}

void hand_pack_triangle(const void *args, void *packed)
{
    const hand_matrix *m = args;
    const double *a = m->array;
    double *restrict p = packed;
    for (long i = 0; i < m->rows; i++)
        for (long j = 0; j <= i; j++)
            *p++ = a[i * m->n + j];
}

void hand_unpack_triangle(const void *args, void *packed)
{
    const hand_matrix *m = args;
    double *restrict a = m->array;
    const double *p = packed;
    for (long i = 0; i < m->rows; i++)
        for (long j = 0; j <= i; j++)
            a[i * m->n + j] = *p++;
}

void hand_pack_checker(const void *args, void *packed)
{
    const hand_matrix *m = args;
    const double *a = m->array;
    double *restrict p = packed;
    for (long i = 0; i < m->rows; i += 2)
        for (long j = 0; j < m->columns; j += 2)
            *p++ = a[i * m->n + j];
}

void hand_unpack_checker(const void *args, void *packed)
{
    const hand_matrix *m = args;
    double *restrict a = m->array;
    const double *p = packed;
    for (long i = 0; i < m->rows; i += 2)
        for (long j = 0; j < m->columns; j += 2)
            a[i * m->n + j] = *p++;
}
