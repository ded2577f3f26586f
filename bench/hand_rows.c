/* Hand-written loops over byte rows of a fixed width: one loop for each width, as somebody who knows it writes it. */
#include "bench/hand.h"

#include <string.h>

#define HAND_WIDTHS(X) X(1) X(2) X(4) X(8) X(16) X(32) X(40) X(64) X(128) X(256) X(512)

#define HAND_ROWS(width)                                                                  \
    static void pack_##width(const hand_rows *r, char *restrict p)                        \
    {                                                                                     \
        for (long o = 0; o < r->count; o++, p += r->n * (width))                          \
            for (long i = 0; i < r->n; i++)                                               \
                memcpy(p + i * (width), r->array + o * r->extent + i * r->stride, width); \
    }                                                                                     \
                                                                                          \
    static void unpack_##width(const hand_rows *r, const char *restrict p)                \
    {                                                                                     \
        for (long o = 0; o < r->count; o++, p += r->n * (width))                          \
            for (long i = 0; i < r->n; i++)                                               \
                memcpy(r->array + o * r->extent + i * r->stride, p + i * (width), width); \
    }

HAND_WIDTHS(HAND_ROWS)

void hand_pack_rows(const void *args, void *packed)
{
    const hand_rows *r = args;
    switch (r->b) {
#define X(width) \
    case width: pack_##width(r, packed); break;
        HAND_WIDTHS(X)
#undef X
    }
}

void hand_unpack_rows(const void *args, void *packed)
{
    const hand_rows *r = args;
    switch (r->b) {
#define X(width) \
    case width: unpack_##width(r, packed); break;
        HAND_WIDTHS(X)
#undef X
    }
}
