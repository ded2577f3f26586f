/* Stands in for a compiled kernel: pack and unpack copy `count` bytes with a change that shows tests which function
 * ran. */
#include <stdint.h>

#define NAME(verb) pw_##verb##_00000000000000000000000000000000

void NAME(pack)(unsigned char *dst, const unsigned char *src, int64_t count, const void *args);
void NAME(unpack)(unsigned char *dst, const unsigned char *src, int64_t count, const void *args);

#ifdef FIXTURE_POISON
static void __attribute__((constructor)) executed(void)
{
    __builtin_trap();
}
#endif

static void copy(unsigned char *dst, const unsigned char *src, int64_t count)
{
#ifdef FIXTURE_POISON
    __builtin_trap();
#endif
    for (int64_t i = 0; i < count; i++)
        dst[i] = src[i] ^ 0x5a;
}

void NAME(pack)(unsigned char *dst, const unsigned char *src, int64_t count, const void *args)
{
    (void)args;
    copy(dst, src, count);
}

void NAME(unpack)(unsigned char *dst, const unsigned char *src, int64_t count, const void *args)
{
    (void)args;
    copy(dst, src, count);
}
