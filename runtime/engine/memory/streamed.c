/* Purpose: non-temporal stores. Data: none. Invariant: they are visible before all that the caller stores afterwards.
 */
#include "runtime/engine/memory/streamed.h"

#include <string.h>

#if PW_HAS_STREAMED
#include <emmintrin.h>

enum { LINE = 64 };

/* A non-temporal store of part of a line, or beside a plain one, would cost what it is to save: the ends that share
 * their lines with others are plain. The fence orders the stores before whatever tells the reader of them. */
void pw_streamed_copy(void *to, const void *from, int64_t n)
{
    size_t bytes = (size_t)n, head = (LINE - (uintptr_t)to % LINE) % LINE, at;

    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    for (at = head; at + LINE <= bytes; at += LINE) {
        const __m128i *line = (const __m128i *)((const char *)from + at);
        __m128i *out = (__m128i *)((char *)to + at);
        __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
        __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);

        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    memcpy((char *)to + at, (const char *)from + at, bytes - at);
    _mm_sfence();
}
#else
void pw_streamed_copy(void *to, const void *from, int64_t n)
{
    memcpy(to, from, (size_t)n);
}
#endif
