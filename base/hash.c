#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

pw_hash pw_hash_bytes(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);

    return (pw_hash){.lo = h.low64, .hi = h.high64};
}

pw_hash pw_hash_mix(pw_hash a, pw_hash b)
{
    uint64_t words[4] = {a.lo, a.hi, b.lo, b.hi};

    return pw_hash_bytes(words, sizeof words);
}

void pw_hash_text(pw_hash h, char out[PW_HASH_TEXT])
{
    snprintf(out, PW_HASH_TEXT, "%016" PRIx64 "%016" PRIx64, h.hi, h.lo);
}
