/* The two directions in which bytes move between objects in memory and their packed form. */
#ifndef PW_BASE_DIRECTION_H
#define PW_BASE_DIRECTION_H

#include "base/attributes.h"

#include <stdint.h>
#include <string.h>

typedef enum pw_direction { PW_PACK, PW_UNPACK } pw_direction;

enum { PW_DIRECTIONS = 2 };

/* Moves contiguous bytes. */
PW_INLINE void pw_direction_copy(pw_direction direction, char *mem, char *packed, int64_t bytes)
{
    if (direction == PW_UNPACK)
        memcpy(mem, packed, (size_t)bytes);
    else
        memcpy(packed, mem, (size_t)bytes);
}

#endif
