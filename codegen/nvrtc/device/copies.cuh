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

template <int D> PW_FN void pw_store_u32(char *d, const pw_u32 *v)
{
    if (D == 8) {
        pw_store<8>(d, (pw_u64)v[1] << 32 | v[0]);
    } else {
        pw_u128 w;
        w.x = (pw_u64)v[1] << 32 | v[0];
        w.y = (pw_u64)v[3] << 32 | v[2];
        pw_store<16>(d, w);
    }
}

/*
 * A piece of n bytes, cut where its destination is aligned to D bytes: part k of at most (n + 2 * D - 2) / D. Whole parts
 * are put together from aligned words, none of which lies even partly outside of the piece; the others go by bytes.
 */
template <int D> PW_FN void pw_part(char *d, const char *s, pw_u64 n, pw_u64 k)
{
    const pw_i64 at = (pw_i64)(k * D - ((pw_u64)d & (D - 1))), rest = (pw_i64)n - at;
    const char *from = s + at;
    char *to = d + at;
    const pw_u32 off = (pw_u32)(pw_u64)from & 3;
    pw_u32 v[D];
    if (D == 16 && at >= 0 && rest >= 16 && ((pw_u32)(pw_u64)from & 15) == 0) {
        pw_store<16>(to, pw_load<16>(from));
    } else if (at >= off && rest >= D + (off ? 4 - (pw_i64)off : 0)) {
#pragma unroll
        for (int i = 0; i < D / 4; i++)
            v[i] = pw_load<4>(from - off + 4 * i);
        if (off) {
            v[D / 4] = pw_load<4>(from - off + D);
#pragma unroll
            for (int i = 0; i < D / 4; i++)
                v[i] = (pw_u32)(((pw_u64)v[i + 1] << 32 | v[i]) >> (8 * off));
        }
        pw_store_u32<D>(to, v);
    } else {
#pragma unroll
        for (int i = 0; i < D; i++)
            if (at + i >= 0 && i < rest)
                v[i] = (unsigned char)from[i];
#pragma unroll
        for (int i = 0; i < D; i++)
            if (at + i >= 0 && i < rest)
                to[i] = (char)v[i];
    }
}
