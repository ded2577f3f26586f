/* Hand-written loops over boxes of arrays. */
#include "bench/hand.h"

#define HAND_BOXES(type)                                                                                          \
    static inline __attribute__((always_inline)) type *box_##type(const hand_box *b, type *restrict p, bool pack) \
    {                                                                                                             \
        for (long l = b->lo[3]; l < b->hi[3]; l++)                                                                \
            for (long k = b->lo[2]; k < b->hi[2]; k++)                                                            \
                for (long j = b->lo[1]; j < b->hi[1]; j++) {                                                      \
                    type *row = (type *)b->array + ((l * b->n[2] + k) * b->n[1] + j) * b->n[0];                   \
                    for (long i = b->lo[0]; i < b->hi[0]; i++) {                                                  \
                        if (pack)                                                                                 \
                            *p++ = row[i];                                                                        \
                        else                                                                                      \
                            row[i] = *p++;                                                                        \
                    }                                                                                             \
                }                                                                                                 \
        return p;                                                                                                 \
    }                                                                                                             \
                                                                                                                  \
    void hand_pack_boxes_##type(const void *args, void *packed)                                                   \
    {                                                                                                             \
        const hand_boxes *boxes = args;                                                                           \
        type *p = packed;                                                                                         \
        for (int i = 0; i < boxes->n; i++)                                                                        \
            p = box_##type(&boxes->box[i], p, true);                                                              \
    }                                                                                                             \
                                                                                                                  \
    void hand_unpack_boxes_##type(const void *args, void *packed)                                                 \
    {                                                                                                             \
        const hand_boxes *boxes = args;                                                                           \
        type *p = packed;                                                                                         \
        for (int i = 0; i < boxes->n; i++)                                                                        \
            p = box_##type(&boxes->box[i], p, false);                                                             \
    }

HAND_BOXES(float)
HAND_BOXES(double)
