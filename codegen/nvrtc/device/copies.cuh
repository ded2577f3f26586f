/* Part of the prelude: copies of byte ranges, by several lanes or by parts of a word. */

/* ---- copies by several lanes ------------------------------------------------------------------------------------- */

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

/* ---- chunks: 16 bytes, aligned at their destination -------------------------------------------------------------- */

/* Where aligned words may be read, whether or not they are wanted as a whole: 32 bytes at a time from any of `n`
 * addresses on, of which `lo` is the first. */
struct pw_range {
    pw_u64 lo, n;
};

/* 16 bytes from any address, under way: the two aligned words that hold them. A word that is not wanted is not read. */
struct pw_fetched {
    pw_u128 lo, hi;
    pw_u32 off; /* where they begin in `lo` */
};

/* Begins to read bytes [a, b) of the 16 at `s`, by the aligned words that hold them. What the other bytes are is open.
 */
PW_FN pw_fetched pw_chunk_fetch(const char *s, pw_u32 a, pw_u32 b)
{
    pw_fetched f;
    f.off = (pw_u32)(pw_u64)s & 15;
    if (a + f.off < 16)
        f.lo = pw_load<16>(s - f.off);
    if (b + f.off > 16)
        f.hi = pw_load<16>(s - f.off + 16);
    return f;
}

/* Returns what has come. */
PW_FN pw_u128 pw_chunk_of(const pw_fetched &f)
{
    const bool far = f.off & 8, odd = f.off & 4;
    const pw_u32 bits = 8 * (f.off & 3);
    const pw_u64 x = far ? f.lo.y : f.lo.x, y = far ? f.hi.x : f.lo.y, z = far ? f.hi.y : f.hi.x;
    const pw_u32 v0 = odd ? (pw_u32)(x >> 32) : (pw_u32)x, v1 = odd ? (pw_u32)y : (pw_u32)(x >> 32);
    const pw_u32 v2 = odd ? (pw_u32)(y >> 32) : (pw_u32)y, v3 = odd ? (pw_u32)z : (pw_u32)(y >> 32);
    const pw_u32 v4 = odd ? (pw_u32)(z >> 32) : (pw_u32)z;
    pw_u128 v;
    v.x = PW_FUNNEL(v0, v1, bits) | (pw_u64)PW_FUNNEL(v1, v2, bits) << 32;
    v.y = PW_FUNNEL(v2, v3, bits) | (pw_u64)PW_FUNNEL(v3, v4, bits) << 32;
    return v;
}

/* Bytes [at, at + M) of v, where `at` is a multiple of M. */
template <int M> PW_FN void pw_chunk_put(char *d, pw_u128 v, pw_u32 at)
{
    const pw_u64 half = at & 8 ? v.y : v.x;
    pw_store<M>(d + at, (typename pw_word<M>::type)(half >> (8 * (at & 7))));
}

/* The same of M bytes if `at` is a multiple of M and they end at b or before: then `at` is behind them. */
template <int M> PW_FN void pw_chunk_step(char *d, pw_u128 v, pw_u32 &at, pw_u32 b)
{
    if ((at & (M - 1)) == 0 && at + M <= b) {
        pw_chunk_put<M>(d, v, at);
        at += M;
    }
}

/* Bytes [a, b) of v to the 16 at `d`, which is aligned to them: by as few stores as their alignments take. What begins
 * or ends with the chunk takes one of each width at most, so that lanes with either go the same way. */
PW_FN void pw_chunk_store(char *d, pw_u128 v, pw_u32 a, pw_u32 b)
{
    const pw_u32 n = b - a;
    const bool back = b == 16;
    if (n == 16) {
        pw_store<16>(d, v);
    } else if (a == 0 || back) {
        if (n & 1)
            pw_chunk_put<1>(d, v, back ? a : n & 14);
        if (n & 2)
            pw_chunk_put<2>(d, v, back ? a + (n & 1) : n & 12);
        if (n & 4)
            pw_chunk_put<4>(d, v, back ? a + (n & 3) : n & 8);
        if (n & 8)
            pw_chunk_put<8>(d, v, back ? 8 : 0);
    } else {
        if (a & 1)
            pw_chunk_step<1>(d, v, a, b);
        if (a & 2)
            pw_chunk_step<2>(d, v, a, b);
        if (a & 4)
            pw_chunk_step<4>(d, v, a, b);
        pw_chunk_step<8>(d, v, a, b);
        pw_chunk_step<4>(d, v, a, b);
        pw_chunk_step<2>(d, v, a, b);
        pw_chunk_step<1>(d, v, a, b);
    }
}

/* ---- destinations of which the cache needs the rest -------------------------------------------------------------- */

/*
 * Bytes [from, to) of memory will be written. The sectors that this fills in part only are read into the cache now:
 * when it has to read them to write them back, it does so one by one and much later, and the memory loses its stride.
 */
PW_FN void pw_fill_ends(pw_u64 from, pw_u64 to)
{
    if (from & (PW_SECTOR - 1))
        PW_FILL(from);
    if ((to & (PW_SECTOR - 1)) && ((from & (PW_SECTOR - 1)) == 0 || from / PW_SECTOR != to / PW_SECTOR))
        PW_FILL(to);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/*
 * Part k of a block of n bytes; it is cut where its destination is aligned to chunks, into (n + 30) / 16 at most. It is
 * read by aligned words that lie in the range or in the block, else byte by byte. FILL: its ends are worth PW_FILL.
 */
template <class I> PW_FN void pw_part(char *d, const char *s, I n, I k, const pw_range &r, bool fill)
{
    const pw_u32 off = (pw_u32)(pw_u64)d & 15, a = k == 0 ? off : 0;
    const I at = k * 16, end = n + off; /* the chunk's first byte, and the block's end, counted from the first chunk */
    if (at >= end)
        return;
    const pw_u32 b = end - at < 16 ? (pw_u32)(end - at) : 16;
    if (fill) {
        const bool begins = k == 0 && ((pw_u32)(pw_u64)d & (PW_SECTOR - 1));
        if (begins || (end - at <= 16 && ((pw_u32)((pw_u64)d + n) & (PW_SECTOR - 1))))
            PW_FILL((pw_u64)d + (begins ? 0 : n));
    }
    char *const to = d + at - off;
    const char *const from = s + at - off;
    const pw_u32 skew = (pw_u32)(pw_u64)from & 15;
    const bool wanted = ((pw_u64)from & ~15ull) - r.lo < r.n ||
                        (at + (a + skew < 16 ? 0 : 16) >= off + skew && at + (b + skew > 16 ? 32 : 16) <= end + skew);
    if (wanted)
        pw_chunk_store(to, pw_chunk_of(pw_chunk_fetch(from, a, b)), a, b);
    else
#pragma unroll 1
        for (pw_u32 i = a; i < b; i++)
            to[i] = from[i];
}
