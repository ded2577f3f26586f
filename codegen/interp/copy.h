/*
 * Copying one block, by class of length. Each class is a fixed number of loads and stores of fixed width:
 * lengths between two powers of two are covered by two moves that overlap inside the block, so nothing
 * outside it is read or written and nothing depends on alignment.
 */
#ifndef PW_CODEGEN_INTERP_COPY_H
#define PW_CODEGEN_INTERP_COPY_H

#include "base/attributes.h"

#include <stdint.h>
#include <string.h>

/* X(suffix, smallest length, largest length); the first that fits is taken. */
#define PW_COPY_SHORT_CLASSES(X) \
    X(8, 8, 8)                   \
    X(4, 4, 4)                   \
    X(12, 12, 12)                \
    X(16, 16, 16)                \
    X(24, 24, 24)                \
    X(1, 1, 1)                   \
    X(2, 2, 2)                   \
    X(3, 3, 3)                   \
    X(7, 5, 7)                   \
    X(15, 9, 15)                 \
    X(32, 17, 32)                \
    X(64, 33, 64)

#define PW_COPY_CLASSES(X)   \
    PW_COPY_SHORT_CLASSES(X) \
    X(128, 65, 128)          \
    X(any, 129, INT64_MAX)   \
    X(ends, 1, 2) /* not chosen by length: a caller names it */

enum pw_copy_class {
#define X(suffix, min, max) PW_COPY_##suffix,
    PW_COPY_CLASSES(X)
#undef X
        PW_COPY_COUNT
};

PW_INLINE enum pw_copy_class pw_copy_class_of(int64_t n)
{
#define X(suffix, min, max)       \
    if (n >= (min) && n <= (max)) \
        return PW_COPY_##suffix;
    PW_COPY_CLASSES(X)
#undef X
    return PW_COPY_any;
}

/* Addresses are integers: an origin may be NULL, and sums of offsets may wrap before they come to the block. */
typedef uintptr_t pw_addr;

PW_INLINE void pw_move(pw_addr dst, pw_addr src, size_t n)
{
    memcpy((void *)dst, (const void *)src, n);
}

/* Copies the first k and the last k bytes, k <= n <= 2k. */
#define PW_ENDS(k)        \
    pw_move(dst, src, k); \
    pw_move(dst + (pw_addr)n - (k), src + (pw_addr)n - (k), k)

PW_INLINE void pw_copy_1(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 1);
}

/* Copies by two moves of one byte, which are the same move if n is 1. */
PW_INLINE void pw_copy_ends(pw_addr dst, pw_addr src, int64_t n)
{
    PW_ENDS(1);
}

PW_INLINE void pw_copy_2(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 2);
}

PW_INLINE void pw_copy_3(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 2);
    pw_move(dst + 2, src + 2, 1);
}

PW_INLINE void pw_copy_4(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 4);
}

PW_INLINE void pw_copy_7(pw_addr dst, pw_addr src, int64_t n)
{
    PW_ENDS(4);
}

PW_INLINE void pw_copy_8(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 8);
}

PW_INLINE void pw_copy_15(pw_addr dst, pw_addr src, int64_t n)
{
    PW_ENDS(8);
}

PW_INLINE void pw_copy_12(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 8);
    pw_move(dst + 8, src + 8, 4);
}

PW_INLINE void pw_copy_24(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 16);
    pw_move(dst + 16, src + 16, 8);
}

PW_INLINE void pw_copy_16(pw_addr dst, pw_addr src, int64_t n)
{
    (void)n;
    pw_move(dst, src, 16);
}

PW_INLINE void pw_copy_32(pw_addr dst, pw_addr src, int64_t n)
{
    PW_ENDS(16);
}

PW_INLINE void pw_copy_64(pw_addr dst, pw_addr src, int64_t n)
{
    PW_ENDS(32);
}

PW_INLINE void pw_copy_128(pw_addr dst, pw_addr src, int64_t n)
{
    PW_ENDS(64);
}

/* The library's memcpy pays from a few hundred bytes on; below, calls cost more than the moves. */
PW_INLINE void pw_copy_any(pw_addr dst, pw_addr src, int64_t n)
{
    if (n > 512) {
        memcpy((void *)dst, (const void *)src, (size_t)n);
        return;
    }
    for (int64_t i = 0; i + 64 <= n; i += 64)
        pw_move(dst + (pw_addr)i, src + (pw_addr)i, 64);
    pw_move(dst + (pw_addr)n - 64, src + (pw_addr)n - 64, 64);
}

#undef PW_ENDS

/* Copies one block of any length >= 1. */
PW_INLINE void pw_copy(pw_addr dst, pw_addr src, int64_t n)
{
    if (n >= 16) {
        if (n <= 32)
            pw_copy_32(dst, src, n);
        else if (n <= 64)
            pw_copy_64(dst, src, n);
        else if (n <= 128)
            pw_copy_128(dst, src, n);
        else
            pw_copy_any(dst, src, n);
    } else if (n >= 8) {
        pw_copy_15(dst, src, n);
    } else if (n >= 4) {
        pw_copy_7(dst, src, n);
    } else {
        pw_move(dst, src, 1);
        if (n > 1)
            pw_move(dst + (pw_addr)n - 2, src + (pw_addr)n - 2, 2);
    }
}

#endif
