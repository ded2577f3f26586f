/*
 * What every GPU kernel of Packwright begins with: words, division by multiplication; then copies.cuh, loops.cuh (one
 * loop for each way to share out work, codegen/nvrtc/README.md), windows.cuh and lists.cuh. Generated code adds a struct
 * per region, whose at() says where unit u of the region's packed order is, and the kernels that call the loops.
 *
 * The same text is compiled for the CPU by the tests (PW_EMULATED, tests/codegen/nvrtc/emulate.h). Therefore code
 * that depends on the thread stands in PW_EACH_THREAD, which the emulation runs for all threads of a block;
 * barriers stand between such phases, and no value of a thread lives longer than its phase.
 */
#ifndef PW_EMULATED
typedef unsigned short pw_u16;
typedef unsigned int pw_u32;
typedef unsigned long long pw_u64;
typedef long long pw_i64;
typedef ulonglong2 pw_u128;
#define PW_FN static __device__ __forceinline__
#define PW_METHOD __device__ __forceinline__
#define PW_KERNEL(name, type, resident) \
    extern "C" __global__ void __launch_bounds__(PW_THREADS, resident) name(const __grid_constant__ type p)
#define PW_SHARED __shared__ __align__(16)
#define PW_SYNC() __syncthreads()
#define PW_EACH_THREAD(t) if (const pw_u32 t = threadIdx.x; true)
#define PW_BLOCK blockIdx.x
#define PW_GRID gridDim.x
#define PW_HIGH(a, b) __umul64hi(a, b)
#define PW_FIXED(p) __ldg(p)
#define PW_FENCE() __threadfence_system()
#define PW_FENCE_GPU() __threadfence()
#define PW_ARRIVE(counter, last) atomicInc(counter, last)
#define PW_SET_BITS(word, bits) atomicOr(word, bits)
#define PW_COUNT_BITS(word) __popc(word)
#define PW_FUNNEL(lo, hi, bits) __funnelshift_r(lo, hi, bits)
/* 16 bytes from global to shared memory, which are there after PW_COPIED; for other threads after PW_SYNC, too. */
#if __CUDA_ARCH__ >= 800
#define PW_COPY16(to, from)                                                                                         \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((pw_u32)__cvta_generic_to_shared(to)), "l"(from) \
                 : "memory")
#define PW_COPIED() asm volatile("cp.async.wait_all;" ::: "memory")
#else
#define PW_COPY16(to, from) pw_store<16>(to, pw_load<16>(from))
#define PW_COPIED() (void)0
#endif
/* Brings the sector at an address into the second-level cache; WIDE: its neighbours, too (an H200 takes 128 bytes). */
#define PW_FILL_WIDE(at) asm volatile("prefetch.global.L2 [%0];" ::"l"(at))
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
#define PW_FILL(at) asm volatile("cp.async.bulk.prefetch.L2.global [%0], 32;" ::"l"((at) & ~31ull))
#else
#define PW_FILL(at) PW_FILL_WIDE(at)
#endif
#endif

/* Record of a region, then of a loop, in words; the numbers of codegen/nvrtc/record.h. */
enum { PW_FIRST, PW_BLOCKS, PW_UNITS, PW_MEM, PW_PACKED, PW_FLAGS, PW_LANES, PW_SPARE, PW_CHUNK, PW_STEP, PW_DIMS };
enum { PW_COUNT, PW_MAGIC32, PW_MAGIC64, PW_SHIFT64, PW_MSTRIDE, PW_PSTRIDE, PW_TABLE, PW_SCALE, PW_DIM_WORDS };
enum {
    PW_OFFS,
    PW_OFFS_SCALE,
    PW_STARTS,
    PW_STARTS_BASE,
    PW_STARTS_SCALE,
    PW_ENTRIES,
    PW_LEAF,
    PW_SPAN,
    PW_WINDOW,
    PW_GUESS,
    PW_STRIDE,
    PW_PACKED_OFFS,
    PW_PACKED_SCALE
};
enum { PW_PIECE_WORDS = 4, PW_SPAN_MEM = 0, PW_SPAN_PACKED = 2 };
enum {
    PW_ALIGNED = 1,
    PW_DENSE = 2,
    PW_CHUNKED = 4,
    PW_NARROW = 8,
    PW_SHORT = 16,
    PW_FILLED = 256,
    PW_FILLED_WIDE = 512
};
enum { PW_LIST_MOST = 512, PW_GROUPS = 256, PW_ODD_GROUPS = 208, PW_SLACK = 16, PW_SECTOR = 32, PW_LANE_BATCH = 2 };

/* Blocks that are through, and launches that have written the flag. */
struct pw_ends {
    pw_u32 arrivals;
    pw_u64 count;
};

/* What generated kernels take, by value: no byte of it is ever in GPU memory. */
template <int N> struct pw_params {
    char *dst;
    const char *src;
    volatile pw_u64 *flag; /* to be set to the count when all blocks are through; 0: there is none */
    pw_ends *ends;
    pw_u64 w[N];
};

/* Where a unit is. */
struct pw_spot {
    pw_u64 mem, packed;
    pw_u64 n;    /* bytes of the piece */
    pw_u64 a, b; /* index in the leaf (blocks, or spans), of the piece's part, or of the tile in both directions; of
                    words: is it the first one, and the last one, of a block? */
    const pw_u32 *offs; /* given: pw_offsets, of regions that have them */
};

/* ---- words ------------------------------------------------------------------------------------------- */

template <int W> struct pw_word;
template <> struct pw_word<1> {
    typedef unsigned char type;
};
template <> struct pw_word<2> {
    typedef pw_u16 type;
};
template <> struct pw_word<4> {
    typedef pw_u32 type;
};
template <> struct pw_word<8> {
    typedef pw_u64 type;
};
template <> struct pw_word<16> {
    typedef pw_u128 type;
};

template <int W> PW_FN typename pw_word<W>::type pw_load(const char *s)
{
    return *(const typename pw_word<W>::type *)s;
}

template <int W> PW_FN void pw_store(char *d, typename pw_word<W>::type v)
{
    *(typename pw_word<W>::type *)d = v;
}

/* The same at addresses of any alignment, in registers: W bytes by parts of M. */
template <int W, int M> PW_FN pw_u64 pw_gather(const char *s)
{
    pw_u64 v = 0;
#pragma unroll
    for (int i = 0; i < W; i += M)
        v |= (pw_u64)pw_load<M>(s + i) << (8 * i);
    return v;
}

template <int W, int M> PW_FN void pw_scatter(char *d, pw_u64 v)
{
#pragma unroll
    for (int i = 0; i < W; i += M)
        pw_store<M>(d + i, (typename pw_word<M>::type)(v >> (8 * i)));
}

template <int W> struct pw_any {
    typedef typename pw_word<W>::type word;
    PW_FN word load(const char *s)
    {
        if (((pw_u32)(pw_u64)s & (W - 1)) == 0)
            return pw_load<W>(s);
        return (word)(W > 4 && ((pw_u32)(pw_u64)s & 3) == 0 ? pw_gather < W, W<4 ? 1 : 4>(s) : pw_gather<W, 1>(s));
    }
    PW_FN void store(char *d, word v)
    {
        if (((pw_u32)(pw_u64)d & (W - 1)) == 0)
            pw_store<W>(d, v);
        else if (W > 4 && ((pw_u32)(pw_u64)d & 3) == 0)
            pw_scatter < W, W<4 ? 1 : 4>(d, v);
        else
            pw_scatter<W, 1>(d, v);
    }
};

template <> struct pw_any<16> {
    PW_FN pw_u128 load(const char *s)
    {
        pw_u128 v;
        v.x = pw_any<8>::load(s);
        v.y = pw_any<8>::load(s + 8);
        return v;
    }
    PW_FN void store(char *d, pw_u128 v)
    {
        pw_any<8>::store(d, v.x);
        pw_any<8>::store(d + 8, v.y);
    }
};

template <int W, bool FAST> PW_FN typename pw_word<W>::type pw_get(const char *s)
{
    return FAST ? pw_load<W>(s) : pw_any<W>::load(s);
}

template <int W, bool FAST> PW_FN void pw_put(char *d, typename pw_word<W>::type v)
{
    if (FAST)
        pw_store<W>(d, v);
    else
        pw_any<W>::store(d, v);
}

/* ---- division by numbers of the launch ----------------------------------------------------------------- */

/* n / d for n < 2^31, or 2^63; d's record says how. */
PW_FN pw_u32 pw_quot(pw_u32 n, const pw_u64 *dim)
{
    return (pw_u32)(((pw_u64)n * (pw_u32)dim[PW_MAGIC32]) >> (dim[PW_MAGIC32] >> 32));
}

PW_FN pw_u64 pw_quot(pw_u64 n, const pw_u64 *dim)
{
    return dim[PW_COUNT] == 1 ? n : PW_HIGH(n, dim[PW_MAGIC64]) >> dim[PW_SHIFT64];
}

/* ---- tables -------------------------------------------------------------------------------------------- */

template <int WIDTH> PW_FN pw_u64 pw_entry(pw_u64 table, pw_u64 i)
{
    if (WIDTH == 2)
        return PW_FIXED((const pw_u16 *)table + i);
    if (WIDTH == 4)
        return PW_FIXED((const pw_u32 *)table + i);
    return PW_FIXED((const pw_u64 *)table + i);
}

/* The same when the width is known at the launch only. */
PW_FN pw_u64 pw_entry_of(pw_u64 width, pw_u64 table, pw_u64 i)
{
    return width == 2 ? pw_entry<2>(table, i) : width == 4 ? pw_entry<4>(table, i) : pw_entry<8>(table, i);
}
