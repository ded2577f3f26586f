/* The loops that a programmer would write between two layouts; sizes and strides are run-time values. */
#include "bench/copy/copy.h"

#include <string.h>

void hand_rows(const copy_row *r, const char *src, char *dst)
{
    for (int64_t i = 0; i < r->n; i++)
        memcpy(dst + i * r->dst_stride, src + i * r->src_stride, (size_t)r->block);
}

void hand_words(const copy_row *r, const char *src, char *dst)
{
    for (int64_t i = 0; i < r->n; i++)
        *(double *)(dst + i * r->dst_stride) = *(const double *)(src + i * r->src_stride);
}

/* Rows of `inner` doubles to single doubles. */
void hand_spread(const copy_row *r, const char *src, char *dst)
{
    int64_t k = 0;

    for (int64_t i = 0; i < r->n / r->inner; i++)
        for (int64_t j = 0; j < r->inner; j++)
            *(double *)(dst + k++ * r->dst_stride) = *(const double *)(src + i * r->src_stride + 8 * j);
}

/* Padded rows of `inner` doubles to the columns of a matrix. */
void hand_transpose(const copy_row *r, const char *src, char *dst)
{
    for (int64_t i = 0; i < r->n / r->inner; i++)
        for (int64_t j = 0; j < r->inner; j++)
            *(double *)(dst + j * r->dst_stride + 8 * i) = *(const double *)(src + i * r->src_stride + 8 * j);
}

/* Records at offsets of a list to padded records. */
void hand_gather(const copy_row *r, const char *src, char *dst)
{
    for (int64_t i = 0; i < r->n; i++)
        memcpy(dst + i * r->dst_stride, src + r->list[i], (size_t)r->block);
}

/* Records of a 4-byte and two 8-byte members, with the members of the other side elsewhere. */
void hand_records(const copy_row *r, const char *src, char *dst)
{
    for (int64_t i = 0; i < r->n; i++, src += r->src_stride, dst += r->dst_stride) {
        *(int *)dst = *(const int *)src;
        *(double *)(dst + 8) = *(const double *)(src + 16);
        *(double *)(dst + 16) = *(const double *)(src + 24);
    }
}
