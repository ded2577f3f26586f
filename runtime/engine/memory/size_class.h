/* Size classes of memory blocks, in powers of two: class 0 has blocks of 4 KiB, the last class blocks of 1 TiB. */
#ifndef PW_RUNTIME_SIZE_CLASS_H
#define PW_RUNTIME_SIZE_CLASS_H

#include <stdint.h>

enum {
    PW_SIZE_FIRST_SHIFT = 12,
    PW_SIZE_LAST_SHIFT = 40,
    PW_SIZE_CLASSES = PW_SIZE_LAST_SHIFT - PW_SIZE_FIRST_SHIFT + 1
};

/* The smallest class whose blocks have at least `bytes` bytes. PW_SIZE_CLASSES or more: no class is large enough. */
static inline int pw_size_class(int64_t bytes)
{
    int shift = bytes <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)bytes - 1);

    return shift < PW_SIZE_FIRST_SHIFT ? 0 : shift - PW_SIZE_FIRST_SHIFT;
}

static inline int64_t pw_size_class_bytes(int size_class)
{
    return (int64_t)1 << (size_class + PW_SIZE_FIRST_SHIFT);
}

#endif
