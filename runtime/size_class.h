/* Blocks of memory in powers of two: class 0 has those of 1 << first bytes. */
#ifndef PW_RUNTIME_SIZE_CLASS_H
#define PW_RUNTIME_SIZE_CLASS_H

#include <stdint.h>

/* The smallest class whose blocks have at least `bytes` bytes. */
static inline int pw_size_class(int64_t bytes, int first)
{
    int shift = bytes <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)bytes - 1);

    return shift < first ? 0 : shift - first;
}

static inline int64_t pw_size_class_bytes(int size_class, int first)
{
    return (int64_t)1 << (size_class + first);
}

#endif
