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

/* Addresses of the source between which aligned words may be read, whether or not they are wanted as a whole. */
struct pw_range {
    pw_u64 lo, hi;
};

/* 16 bytes of any address that are on their way: two aligned words, of which one that is not wanted was not read. */
struct pw_fetched {
    pw_u128 lo, hi;
    pw_u32 off; /* bytes of `lo` before them */
};

/*
 * Begins to read bytes [a, b) of the 16 at `s`, by aligned words that lie in the range, else one by one. What the other
 * bytes are is open.
 */
PW_FN pw_fetched pw_chunk_fetch(const char *s, pw_u32 a, pw_u32 b, const pw_range &r)
{
    const pw_u32 off = (pw_u32)(pw_u64)s & 15;
    const char *const word = s - off;
    const bool first = a + off < 16, second = b + off > 16;
    pw_fetched f;
    f.off = off;
    f.lo.x = f.lo.y = f.hi.x = f.hi.y = 0;
    if ((pw_u64)(first ? word : word + 16) >= r.lo && (pw_u64)(second ? word + 32 : word + 16) <= r.hi) {
        if (first)
            f.lo = pw_load<16>(word);
        if (second)
            f.hi = pw_load<16>(word + 16);
    } else {
        f.off = 0;
#pragma unroll 4
        for (pw_u32 i = a; i < b; i++) {
            const pw_u64 c = (pw_u64)pw_load<1>(s + i) << (8 * (i & 7));
            f.lo.x |= i < 8 ? c : 0;
            f.lo.y |= i < 8 ? 0 : c;
        }
    }
    return f;
}

/* What has come. */
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

/* The n lowest bytes of v and all others of w; n < 16. */
PW_FN pw_u128 pw_chunk_join(pw_u128 v, pw_u128 w, pw_u32 n)
{
    const pw_u64 some = (1ull << (8 * (n & 7))) - 1, x = n < 8 ? some : ~0ull, y = n < 8 ? 0 : some;
    w.x = (v.x & x) | (w.x & ~x);
    w.y = (v.y & y) | (w.y & ~y);
    return w;
}

/* Bytes [at, at + M) of v, where `at` is a multiple of M. */
template <int M> PW_FN void pw_chunk_put(char *d, pw_u128 v, pw_u32 at)
{
    const pw_u64 half = at & 8 ? v.y : v.x;
    pw_store<M>(d + at, (typename pw_word<M>::type)(half >> (8 * (at & 7))));
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
#pragma unroll 1
        for (pw_u32 at = a; at < b; at++)
            pw_chunk_put<1>(d, v, at);
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

/* ---- unpacking by parts ------------------------------------------------------------------------------------------ */

/* Part k of a block of n bytes, which lies in the range; it is cut where its destination is aligned to chunks, into
 * (n + 30) / 16 at most. FILL: the block's ends are worth PW_FILL. */
PW_FN void pw_part_in(char *d, const char *s, pw_u64 n, pw_u64 k, const pw_range &r, bool fill)
{
    const pw_u32 off = (pw_u32)(pw_u64)d & 15;
    const pw_i64 at = (pw_i64)(16 * k - off), rest = (pw_i64)n - at;
    if (rest > 0) {
        const pw_u32 a = at < 0 ? off : 0, b = rest < 16 ? (pw_u32)rest : 16;
        const bool begins = k == 0 && ((pw_u64)d & (PW_SECTOR - 1));
        if (fill && (begins || (rest <= 16 && (((pw_u64)d + n) & (PW_SECTOR - 1)))))
            PW_FILL(begins ? (pw_u64)d : (pw_u64)d + n);
        pw_chunk_store(d + at, pw_chunk_of(pw_chunk_fetch(s + at, a, b, r)), a, b);
    }
}

/* The same where the block need not lie in the range. */
PW_FN void pw_part(char *d, const char *s, pw_u64 n, pw_u64 k, pw_range r)
{
    r.lo = r.lo < (pw_u64)s ? r.lo : (pw_u64)s;
    r.hi = r.hi > (pw_u64)s + n ? r.hi : (pw_u64)s + n;
    pw_part_in(d, s, n, k, r, false);
}

/* ---- packing by chunks ------------------------------------------------------------------------------------------- */

/* Where a packed byte is: its address in memory, and how many bytes of its block lie before it, and from it on. */
struct pw_place {
    pw_u64 mem, before, n;
};

PW_FN pw_range pw_place_range(const pw_place &at, const pw_range &r)
{
    pw_range all;
    all.lo = r.lo < at.mem - at.before ? r.lo : at.mem - at.before;
    all.hi = r.hi > at.mem + at.n ? r.hi : at.mem + at.n;
    return all;
}

/*
 * Bytes [a, b) of the chunk at `d` from the blocks that hold them, usually two: byte i is packed byte x + i.
 * places.at() says where a packed byte is, and is asked from the first one on.
 */
template <class L, class I> PW_FN void pw_chunk_pack(L &places, char *d, I x, pw_u32 a, pw_u32 b, const pw_range &r)
{
    pw_u128 v;
    v.x = v.y = 0;
#pragma unroll 1
    for (pw_u32 from = a; from < b;) {
        const pw_place at = places.at((I)(x + from));
        const pw_u32 to = at.n < b - from ? from + (pw_u32)at.n : b;
        v = pw_chunk_join(
            v, pw_chunk_of(pw_chunk_fetch((const char *)(at.mem - from), from, to, pw_place_range(at, r))), from);
        from = to;
    }
    pw_chunk_store(d, v, a, b);
}

/*
 * Blocks e0 to e1 - 1, which follow each other in packed order: bytes [head, end) from `d` on, which is aligned to
 * chunks; packed byte x is at d + skew + x. First those chunks that lie in one block, some at a time; then, a thread
 * for each end of a block, those that are of several. The chunk that a block ends in is its business if it holds the
 * chunk's first byte; a first part of one comes as if behind the last block. `places` knows where blocks begin.
 */
template <class L, class I>
PW_FN void pw_chunks_pack(L places, char *d, I head, I end, pw_u32 skew, I e0, I e1, pw_u32 t, const pw_range &r)
{
    const I k1 = end / 16;
    for (I k = (head + 15) / 16 + t; k < k1; k += PW_BATCH * PW_THREADS) {
        pw_fetched f[PW_BATCH];
        bool whole[PW_BATCH];
#pragma unroll
        for (int j = 0; j < PW_BATCH; j++) {
            const I i = k + j * PW_THREADS;
            whole[j] = i < k1;
            if (whole[j]) {
                const pw_place at = places.chunk(i, (I)(i * 16 - skew));
                whole[j] = at.n >= 16;
                if (whole[j])
                    f[j] = pw_chunk_fetch((const char *)at.mem, 0, 16, pw_place_range(at, r));
            }
        }
#pragma unroll
        for (int j = 0; j < PW_BATCH; j++)
            if (whole[j])
                pw_store<16>(d + (k + j * PW_THREADS) * 16, pw_chunk_of(f[j]));
    }
    for (I i = e0 + (PW_THREADS - 1 - t); i <= e1; i += PW_THREADS) {
        const bool ends = i < e1;
        const I e = ends ? i : e0, from = places.begin(e) + skew, to = ends ? places.begin((I)(e + 1)) + skew : head;
        const I low = to / 16 * 16;
        const pw_u32 a = ends ? 0 : (pw_u32)(to - low);
        if (ends ? from <= low && low < to && low >= head && to <= end : a > 0) {
            places.seek(e);
            pw_chunk_pack(places, d + low, (I)(low - skew), a, end - low < 16 ? (pw_u32)(end - low) : 16, r);
        }
    }
}
