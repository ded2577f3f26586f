/* Part of the prelude: copies of byte ranges, by several lanes or by parts of a word. */

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

/* ---- copies by parts -------------------------------------------------------------------------------------- */

/* Addresses of the source between which aligned words may be read, whether or not they are wanted as a whole. */
struct pw_range {
    pw_u64 lo, hi;
};

/* Bytes [a, b) of the 8 at `s`, by aligned words that lie in the range, else one by one; what the others are is open.
 */
PW_FN pw_u64 pw_fetch(const char *s, pw_u32 a, pw_u32 b, const pw_range &r)
{
    const pw_u32 off = (pw_u32)(pw_u64)s & 7;
    const char *const word = s - off;
    const bool first = a + off < 8, second = b + off > 8;
    pw_u64 v = 0;
    if ((pw_u64)(first ? word : word + 8) >= r.lo && (pw_u64)(second ? word + 16 : word + 8) <= r.hi) {
        if (first)
            v = pw_load<8>(word) >> (8 * off);
        if (second)
            v |= pw_load<8>(word + 8) << (64 - 8 * off);
    } else {
#pragma unroll
        for (pw_u32 i = 0; i < 8; i++)
            if (i >= a && i < b)
                v |= (pw_u64)pw_load<1>(s + i) << (8 * i);
    }
    return v;
}

/* Bytes [a, b) of v to the 8 at `d`, which is aligned to them: by as few stores as their alignments take. */
PW_FN void pw_store_some(char *d, pw_u64 v, pw_u32 a, pw_u32 b)
{
    if (a == 0 && b >= 8) {
        pw_store<8>(d, v);
        return;
    }
    if ((a & 1) && a + 1 <= b) {
        pw_store<1>(d + a, (unsigned char)(v >> (8 * a)));
        a += 1;
    }
    if ((a & 2) && a + 2 <= b) {
        pw_store<2>(d + a, (pw_u16)(v >> (8 * a)));
        a += 2;
    }
    if (a + 4 <= b) {
        pw_store<4>(d + a, (pw_u32)(v >> (8 * a)));
        a += 4;
    }
    if (a + 2 <= b) {
        pw_store<2>(d + a, (pw_u16)(v >> (8 * a)));
        a += 2;
    }
    if (a < b)
        pw_store<1>(d + a, (unsigned char)(v >> (8 * a)));
}

/*
 * A piece of n bytes, cut where its destination is aligned to 8 bytes: part k of at most (n + 14) / 8.
 */
PW_FN void pw_part(char *d, const char *s, pw_u64 n, pw_u64 k, pw_range r)
{
    const pw_i64 at = (pw_i64)(8 * k - ((pw_u64)d & 7)), rest = (pw_i64)n - at;
    r.lo = r.lo < (pw_u64)s ? r.lo : (pw_u64)s;
    r.hi = r.hi > (pw_u64)s + n ? r.hi : (pw_u64)s + n;
    if (rest > 0) {
        const pw_u32 a = at < 0 ? (pw_u32)(0 - at) : 0, b = rest < 8 ? (pw_u32)rest : 8;
        pw_store_some(d + at, pw_fetch(s + at, a, b, r), a, b);
    }
}

/* ---- copies by chunks: 16 bytes, aligned at their destination ------------------------------------------------ */

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

/* Bytes [a, b) of v to the 16 at `d`, which is aligned to them: by as few stores as their alignments take. */
PW_FN void pw_chunk_store(char *d, pw_u128 v, pw_u32 a, pw_u32 b)
{
    if (a == 0 && b == 16) {
        pw_store<16>(d, v);
        return;
    }
    for (pw_u32 at = a; at < b;) {
        const pw_u32 left = b - at;
        if ((at & 1) || left < 2) {
            pw_chunk_put<1>(d, v, at);
            at += 1;
        } else if ((at & 2) || left < 4) {
            pw_chunk_put<2>(d, v, at);
            at += 2;
        } else if ((at & 4) || left < 8) {
            pw_chunk_put<4>(d, v, at);
            at += 4;
        } else {
            pw_chunk_put<8>(d, v, at);
            at += 8;
        }
    }
}

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
