/*
 * What the text of GPU kernels needs to be C++ for the CPU: a kernel becomes a function that runs one block, each of
 * its phases for all threads in an order that changes from block to block, so that what depends on an order shows. The
 * compiler checks that words are read and written where they are aligned, as a GPU does.
 */
#define PW_EMULATED
typedef unsigned short pw_u16;
typedef unsigned int pw_u32;
typedef unsigned long long pw_u64;
typedef long long pw_i64;
struct alignas(16) pw_u128 {
    pw_u64 x, y;
};
#define PW_FN static inline
#define PW_METHOD inline
#define PW_KERNEL(name, type, resident) extern "C" void name(const type &p, pw_u32 pw_block, pw_u32 pw_grid)
#define PW_SHARED alignas(16)
#define PW_SYNC() (void)0
#define PW_EACH_THREAD(t) \
    for (pw_u32 t##_k = 0, t = block % PW_THREADS; t##_k < PW_THREADS; t = (block + 77 * ++t##_k) % PW_THREADS)
#define PW_BLOCK pw_block
#define PW_GRID pw_grid
#define PW_HIGH(a, b) (pw_u64)((unsigned __int128)(a) * (b) >> 64)
#define PW_FIXED(p) (*(p))
#define PW_FENCE() (void)0
#define PW_FENCE_GPU() (void)0
#define PW_ARRIVE(counter, last) pw_arrive(counter, last)
#define PW_SET_BITS(word, bits) (void)(*(word) |= (bits))
#define PW_COUNT_BITS(word) (pw_u32) __builtin_popcount(word)
#define PW_FUNNEL(lo, hi, bits) (pw_u32)(((pw_u64)(hi) << 32 | (lo)) >> (bits))
#define PW_COPY16(to, from) pw_store<16>(to, pw_load<16>(from))
#define PW_COPIED() (void)0
/* Reading ahead must stay within memory that exists. */
#define PW_FILL(at) (void)*(const volatile char *)((at) & ~31ull)
#define PW_FILL_WIDE(at) (void)*(const volatile char *)(at)
/* Is atomicInc: returns what was there before, and begins again behind `last`. */
static inline pw_u32 pw_arrive(pw_u32 *counter, pw_u32 last)
{
    const pw_u32 before = *counter;
    *counter = before >= last ? 0 : before + 1;
    return before;
}
