/* Rows of bench/copy: two layouts and the loop between them. */
#ifndef PW_BENCH_COPY_H
#define PW_BENCH_COPY_H

#include "ir/ir.h"

typedef struct copy_row copy_row;
typedef void hand_fn(const copy_row *r, const char *src, char *dst);

struct copy_row {
    const char *name;
    int64_t n, block, inner; /* blocks and their bytes; blocks of a row of the source */
    int64_t src_stride, dst_stride;
    int64_t *list;
    hand_fn *hand;
    pw_type src, dst; /* one object of each */
};

hand_fn hand_rows, hand_words, hand_spread, hand_transpose, hand_gather, hand_records;

#endif
