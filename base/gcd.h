/* The greatest common divisor of strides, offsets and lengths. */
#ifndef PW_BASE_GCD_H
#define PW_BASE_GCD_H

#include <stdint.h>

/* gcd(x, 0) is x, so 0 begins an accumulation. */
static inline uint64_t pw_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

#endif
