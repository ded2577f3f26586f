/*
 * Internal to ir/: the facts every node carries (size, bounds, blocks, depth), computed from its own fields
 * and its children's facts. The builder stores them, the verifier compares them.
 */
#ifndef PW_IR_MEASURE_H
#define PW_IR_MEASURE_H

#include "ir/ir.h"

enum { PW_MAX_DEPTH = 256 };

typedef struct pw_measure {
    int64_t size, lo, hi, blocks;
    int depth;
    unsigned kinds;
} pw_measure;

/*
 * Needs: children and arrays present, counts not negative, children's facts right. PW_ERR_OVERFLOW when a size
 * or bound does not fit 64 bits, PW_ERR_UNSUPPORTED when the depth exceeds PW_MAX_DEPTH, PW_ERR_INVALID for a
 * negative length in a blocks list. What touches nothing has no bounds, so its offsets cannot overflow.
 */
pw_status pw_measure_node(const pw_node *node, pw_measure *out);

static inline bool pw_align_is_legal(int64_t align)
{
    return align >= 1 && align <= 16 && (align & (align - 1)) == 0;
}

#endif
