/*
 * What every GPU kernel of Packwright begins with: words, division by multiplication, and one loop for each way to
 * share out work (docs/gpu.md). Generated code adds a struct per region, whose at() says where unit u of the
 * region's packed order is, and the kernels that call the loops.
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
#define PW_KERNEL(name, type) \
    extern "C" __global__ void __launch_bounds__(PW_THREADS, 4) name(const __grid_constant__ type p)
#define PW_SHARED __shared__ __align__(16)
#define PW_SYNC() __syncthreads()
#define PW_EACH_THREAD(t) if (const pw_u32 t = threadIdx.x; true)
#define PW_BLOCK blockIdx.x
#define PW_GRID gridDim.x
#define PW_HIGH(a, b) __umul64hi(a, b)
#define PW_FIXED(p) __ldg(p)
#endif

/* Record of a region, then of a loop, in words; the numbers of codegen/nvrtc/record.h. */
enum { PW_FIRST, PW_BLOCKS, PW_UNITS, PW_MEM, PW_PACKED, PW_FLAGS, PW_LANES, PW_SPARE, PW_DIMS };
enum { PW_COUNT, PW_MAGIC32, PW_MAGIC64, PW_SHIFT64, PW_MSTRIDE, PW_PSTRIDE, PW_TABLE, PW_SCALE, PW_DIM_WORDS };
enum { PW_OFFS, PW_OFFS_SCALE, PW_STARTS, PW_STARTS_BASE, PW_STARTS_SCALE, PW_ENTRIES, PW_LEAF };
enum { PW_ALIGNED = 1, PW_DENSE = 2, PW_CHUNKED = 4 };
enum { PW_TILE = 32, PW_PIECE_CHUNK = 4096, PW_LIST_CHUNK = 8192, PW_BATCH = 4, PW_LANE_BATCH = 2 };

/* What generated kernels take, by value: no byte of it is ever in GPU memory. */
template <int N> struct pw_params {
    char *dst;
    const char *src;
    pw_u64 blocks;
    pw_u64 w[N];
};

/* Where a unit is. */
struct pw_spot {
    pw_u64 mem, packed;
    pw_u64 n;    /* bytes, of a part of a piece; not positive: nothing */
    pw_u64 a, b; /* index in the leaf (blocks), or of the tile in both directions */
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

/* ---- copies by several lanes ----------------------------------------------------------------------------- */

/* n words. */
template <int W> PW_FN void pw_lanes_words(char *d, const char *s, pw_u64 n, pw_u32 lane, pw_u32 lanes)
{
    for (pw_u64 i = lane; i < n; i += PW_LANE_BATCH * lanes) {
        typename pw_word<W>::type v[PW_LANE_BATCH];
#pragma unroll
        for (int j = 0; j < PW_LANE_BATCH; j++)
            if (i + j * lanes < n)
                v[j] = pw_load<W>(s + (i + j * lanes) * W);
#pragma unroll
        for (int j = 0; j < PW_LANE_BATCH; j++)
            if (i + j * lanes < n)
                pw_store<W>(d + (i + j * lanes) * W, v[j]);
    }
}

PW_FN void pw_lanes_bytes(char *d, const char *s, pw_u64 n, pw_u32 lane, pw_u32 lanes)
{
    for (pw_u64 i = lane; i < n; i += lanes)
        d[i] = s[i];
}

/* n words of 4 bytes, d aligned to them, s not: each is put together from the two aligned words that hold it,
 * both of which lie in what the caller may read. */
PW_FN void pw_lanes_shifted(char *d, const char *s, pw_u64 n, pw_u32 lane, pw_u32 lanes)
{
    const pw_u32 off = (pw_u32)(pw_u64)s & 3;
    const pw_u32 *from = (const pw_u32 *)(s - off);
    for (pw_u64 i = lane; i < n; i += lanes) {
        const pw_u64 both = (pw_u64)from[i + 1] << 32 | from[i];
        *(pw_u32 *)(d + i * 4) = (pw_u32)(both >> (8 * off));
    }
}

template <int W> PW_FN void pw_lanes_aligned(char *d, const char *s, pw_u64 n, pw_u32 lane, pw_u32 lanes)
{
    pw_u64 head = (0 - (pw_u64)d) & (W - 1);
    if (head > n)
        head = n;
    const pw_u64 words = (n - head) / W, body = head + words * W;
    pw_lanes_bytes(d, s, head, lane, lanes);
    pw_lanes_words<W>(d + head, s + head, words, lane, lanes);
    pw_lanes_bytes(d + body, s + body, n - body, lane, lanes);
}

/* n bytes at any addresses, by `lanes` threads: in the widest words to which both sides can be aligned. */
PW_FN void pw_lanes_copy(char *d, const char *s, pw_u64 n, pw_u32 lane, pw_u32 lanes)
{
    const pw_u32 apart = (pw_u32)((pw_u64)d - (pw_u64)s) & 15;
    if (n < 4) {
        pw_lanes_bytes(d, s, n, lane, lanes);
    } else if (apart == 0) {
        pw_lanes_aligned<16>(d, s, n, lane, lanes);
    } else if (apart == 8) {
        pw_lanes_aligned<8>(d, s, n, lane, lanes);
    } else if ((apart & 3) == 0) {
        pw_lanes_aligned<4>(d, s, n, lane, lanes);
    } else if (n < 16) {
        pw_lanes_bytes(d, s, n, lane, lanes);
    } else {
        /* The first aligned word of the source must not begin before it, the last not end behind it. */
        const pw_u64 head = ((0 - (pw_u64)d) & 3) + 4;
        const pw_u64 words = (n - head - 4) / 4, body = head + words * 4;
        pw_lanes_bytes(d, s, head, lane, lanes);
        pw_lanes_shifted(d + head, s + head, words, lane, lanes);
        pw_lanes_bytes(d + body, s + body, n - body, lane, lanes);
    }
}

/* ---- the loops: a region's units among its blocks -------------------------------------------------------- */

/*
 * A thread per word. Threads next to each other take words next to each other in packed order; a thread takes
 * PW_BATCH words far apart, all loads before the stores.
 */
template <class R, int W, bool UNPACK, class I, bool FAST, class P>
PW_FN void pw_words(const P &p, pw_u32 o, pw_u32 block)
{
    const int batch = FAST ? PW_BATCH : 1;
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS] * PW_THREADS;
    PW_EACH_THREAD(t)
    for (I u = (I)block * PW_THREADS + t; u < units; u += batch * step) {
        typename pw_word<W>::type v[batch];
        pw_spot at[batch];
#pragma unroll
        for (int j = 0; j < batch; j++)
            if (u + j * step < units) {
                R::at(p, o, (I)(u + j * step), at[j]);
                v[j] = pw_get<W, FAST>(p.src + (UNPACK ? at[j].packed : at[j].mem));
            }
#pragma unroll
        for (int j = 0; j < batch; j++)
            if (u + j * step < units)
                pw_put<W, FAST>(p.dst + (UNPACK ? at[j].mem : at[j].packed), v[j]);
    }
}

/* The element in row a and column b of a tile: rows are close in packed order, columns in memory. */
template <class R, int W, bool UNPACK, bool LOAD, class P>
PW_FN pw_u64 pw_tile_at(const P &p, pw_u32 o, const pw_spot &s, pw_u32 a, pw_u32 b)
{
    return UNPACK == LOAD ? s.packed + a * R::packed_a(p, o) + b * R::packed_b(p, o)
                          : s.mem + a * R::mem_a(p, o) + b * R::mem_b(p, o);
}

/* A tile of 32 x 32 words per block, through shared memory: both sides are walked along their close direction. */
template <class R, int W, bool UNPACK, class I, bool FAST, class P>
PW_FN void pw_tile(const P &p, pw_u32 o, pw_u32 block, char *shared)
{
    typedef typename pw_word<W>::type word;
    const int rows = PW_THREADS / PW_TILE, batch = PW_TILE / rows;
    word *tile = (word *)shared;
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS];
    for (I u = block; u < units; u += step) {
        pw_spot s;
        R::at(p, o, u, s);
        const pw_u64 na = R::count_a(p, o) - s.a * PW_TILE, nb = R::count_b(p, o) - s.b * PW_TILE;
        PW_EACH_THREAD(t)
        {
            const pw_u32 x = t % PW_TILE, y = t / PW_TILE;
            word v[batch];
#pragma unroll
            for (int j = 0; j < batch; j++) {
                const pw_u32 a = UNPACK ? x : y + j * rows, b = UNPACK ? y + j * rows : x;
                if (a < na && b < nb)
                    v[j] = pw_get<W, FAST>(p.src + pw_tile_at<R, W, UNPACK, true>(p, o, s, a, b));
            }
#pragma unroll
            for (int j = 0; j < batch; j++) {
                const pw_u32 a = UNPACK ? x : y + j * rows, b = UNPACK ? y + j * rows : x;
                if (a < na && b < nb)
                    tile[a * (PW_TILE + 1) + b] = v[j];
            }
        }
        PW_SYNC();
        PW_EACH_THREAD(t)
        {
            const pw_u32 x = t % PW_TILE, y = t / PW_TILE;
#pragma unroll
            for (int j = 0; j < batch; j++) {
                const pw_u32 a = UNPACK ? y + j * rows : x, b = UNPACK ? x : y + j * rows;
                if (a < na && b < nb)
                    pw_put<W, FAST>(p.dst + pw_tile_at<R, W, UNPACK, false>(p, o, s, a, b),
                                    tile[a * (PW_TILE + 1) + b]);
            }
        }
        PW_SYNC();
    }
}

/* Some lanes of a warp per part of a piece. */
template <class R, bool UNPACK, class I, class P> PW_FN void pw_pieces(const P &p, pw_u32 o, pw_u32 block)
{
    const pw_u32 log = (pw_u32)p.w[o + PW_LANES], groups = PW_THREADS >> log;
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS] * groups;
    PW_EACH_THREAD(t)
    for (I u = (I)block * groups + (t >> log); u < units; u += step) {
        pw_spot s;
        R::at(p, o, u, s);
        if ((pw_i64)s.n > 0)
            pw_lanes_copy(p.dst + (UNPACK ? s.mem : s.packed), p.src + (UNPACK ? s.packed : s.mem), s.n,
                          t & ((1u << log) - 1), 1u << log);
    }
}

template <class R, class P> PW_FN pw_u64 pw_list_start(const P &p, pw_u32 o, pw_u64 i)
{
    return p.w[o + R::TAIL + PW_STARTS_BASE] +
           p.w[o + R::TAIL + PW_STARTS_SCALE] * R::start(p, o, p.w[o + R::TAIL + PW_STARTS], i);
}

/* What of block i of the list lies in [first, last) of the packed leaf. */
template <class R, bool UNPACK, class P>
PW_FN void pw_list_copy(const P &p, pw_u32 o, const pw_spot &s, pw_u64 i, pw_u64 first, pw_u64 last, pw_u32 lane,
                        pw_u32 lanes)
{
    const pw_u64 start = pw_list_start<R>(p, o, i);
    pw_u64 from = start, to = pw_list_start<R>(p, o, i + 1);
    from = from < first ? first : from;
    to = to > last ? last : to;
    if (from >= to)
        return;
    const pw_u64 mem = s.mem + (from - start) +
                       p.w[o + R::TAIL + PW_OFFS_SCALE] * R::off(p, o, p.w[o + R::TAIL + PW_OFFS], i),
                 packed = s.packed + from;
    pw_lanes_copy(p.dst + (UNPACK ? mem : packed), p.src + (UNPACK ? packed : mem), to - from, lane, lanes);
}

/* The last block that starts at or before `x`: every thread tries a place, until one is left. */
template <class R, class P> PW_FN pw_u64 pw_list_find(const P &p, pw_u32 o, pw_u64 x, pw_u32 block, pw_u64 *found)
{
    pw_u64 lo = 0, hi = p.w[o + R::TAIL + PW_ENTRIES];
    while (hi - lo > 1) {
        const pw_u64 step = (hi - lo + PW_THREADS - 1) / PW_THREADS;
        PW_EACH_THREAD(t)
        {
            const pw_u64 i = lo + t * step;
            if (i < hi && pw_list_start<R>(p, o, i) <= x && (i + step >= hi || pw_list_start<R>(p, o, i + step) > x))
                *found = i;
        }
        PW_SYNC();
        lo = *found;
        hi = lo + step < hi ? lo + step : hi;
        PW_SYNC();
    }
    return lo;
}

/*
 * Blocks of varying length. Short leaves: some lanes per block of the list. Long ones: a block of threads per
 * PW_LIST_CHUNK packed bytes, so that blocks of very different lengths make equal work.
 */
template <class R, bool UNPACK, class I, class P> PW_FN void pw_list(const P &p, pw_u32 o, pw_u32 block, char *shared)
{
    const pw_u32 log = (pw_u32)p.w[o + PW_LANES], groups = PW_THREADS >> log, mask = (1u << log) - 1;
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS];
    if (!(p.w[o + PW_FLAGS] & PW_CHUNKED)) {
        PW_EACH_THREAD(t)
        for (I u = (I)block * groups + (t >> log); u < units; u += step * groups) {
            pw_spot s;
            R::at(p, o, u, s);
            pw_list_copy<R, UNPACK>(p, o, s, s.a, 0, ~(pw_u64)0, t & mask, 1u << log);
        }
        return;
    }
    for (I u = block; u < units; u += step) {
        pw_spot s;
        R::at(p, o, u, s);
        const pw_u64 first = s.a * PW_LIST_CHUNK, last = first + PW_LIST_CHUNK, n = p.w[o + R::TAIL + PW_ENTRIES];
        const pw_u64 begin = pw_list_find<R>(p, o, first, block, (pw_u64 *)shared);
        PW_EACH_THREAD(t)
        for (pw_u64 i = begin + (t >> log); i < n && pw_list_start<R>(p, o, i) < last; i += groups)
            pw_list_copy<R, UNPACK>(p, o, s, i, first, last, t & mask, 1u << log);
    }
}
