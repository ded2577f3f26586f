/* Part of the prelude: some blocks of a list, moved by a block of threads, where words divide them (else: odd.cuh). */

/*
 * Blocks of the list in shared memory: where they begin in the packed bytes that a block of threads is at (counted from
 * the first of them), and what is to be added to such a place to have it in memory. Behind the last one stand the end,
 * and places beyond all. The first ones may lie before these bytes: they begin and end at 0.
 *
 * Which of them a packed word is of is known without a search: for each group of 32 words the block that its first byte
 * is of, and for each word of it whether blocks begin there.
 */
struct pw_window {
    pw_u64 mem[PW_LIST_MOST];
    pw_u64 found;
    pw_u32 start[PW_LIST_MOST + 1];
    pw_u32 begins[PW_GROUPS]; /* bit i: a block begins in word i of the group, or in the one before behind its first
                                 byte */
    pw_u16 first[PW_GROUPS];
};

/* The window of a joined region, whose packed side is memory, too: `packed` leads from a place to that side. */
struct pw_window_joined : pw_window {
    pw_u64 packed[PW_LIST_MOST];
};

/* What a block of threads moves: bytes [first, last) of a leaf, in packed order. */
struct pw_span {
    pw_u64 first, last;
    pw_u64 mem, packed; /* where the leaf is in memory, and where the first byte is in the packed buffer; in a joined
                           region, where the leaf is there */
    pw_u64 lo, hi;      /* aligned words of the source may be read between these addresses */
    pw_u32 skew, end;   /* places (odd.cuh) of the first byte, and behind the last */
};

/* ---- which block ------------------------------------------------------------------------------------------------- */

/* Where block i begins in the leaf's packed bytes. */
template <class R, class P> PW_FN pw_u64 pw_list_start(const P &p, pw_u32 o, pw_u64 i)
{
    return p.w[o + R::TAIL + PW_STARTS_BASE] +
           p.w[o + R::TAIL + PW_STARTS_SCALE] * R::start(p, o, p.w[o + R::TAIL + PW_STARTS], i);
}

/* Where block i is in memory. */
template <class R, class P> PW_FN pw_u64 pw_list_off(const P &p, pw_u32 o, pw_u64 i)
{
    return p.w[o + R::TAIL + PW_OFFS_SCALE] * R::off(p, o, p.w[o + R::TAIL + PW_OFFS], i);
}

/* Where block i is on the packed side of a joined region. */
template <class R, class P> PW_FN pw_u64 pw_list_packed_off(const P &p, pw_u32 o, pw_u64 i)
{
    return p.w[o + R::TAIL + PW_PACKED_SCALE] * R::packed_off(p, o, p.w[o + R::TAIL + PW_PACKED_OFFS], i);
}

/* `n` blocks from number `base` on, as far as they lie in the span. */
template <class R, class P>
PW_FN void pw_window_load(const P &p, pw_u32 o, pw_u64 base, pw_u32 n, const pw_span &s, pw_window *w, pw_u32 block)
{
    const pw_u64 blocks = p.w[o + R::TAIL + PW_ENTRIES];
    PW_EACH_THREAD(t)
    {
        w->begins[t] = 0;
        for (pw_u32 i = t; i <= n; i += PW_THREADS) {
            const pw_u64 e = base + i;
            w->start[i] = ~0u;
            if (e <= blocks) {
                const pw_u64 start = pw_list_start<R>(p, o, e);
                w->start[i] = start <= s.first ? 0 : (pw_u32)((start < s.last ? start : s.last) - s.first);
                if (e < blocks && i < n)
                    w->mem[i] = s.mem + s.first - start + pw_list_off<R>(p, o, e);
                if constexpr (R::JOINED)
                    if (e < blocks && i < n)
                        ((pw_window_joined *)w)->packed[i] =
                            s.packed + s.first - start + pw_list_packed_off<R>(p, o, e);
            }
        }
    }
}

/* The window's block that holds packed byte x. */
PW_FN pw_u32 pw_window_find(const pw_window *w, pw_u32 n, pw_u32 x)
{
    pw_u32 e = 0;
    for (pw_u32 step = PW_LIST_MOST / 2; step > 0; step /= 2)
        if (e + step < n && w->start[e + step] <= x)
            e += step;
    return e;
}

/* Prepares pw_window_block for words of W bytes. m blocks of n are there. */
template <int W> PW_FN void pw_window_index(pw_window *w, pw_u32 n, pw_u32 m, pw_u32 block)
{
    const pw_u32 begin = w->start[0], end = w->start[m];
    PW_EACH_THREAD(t)
    {
        for (pw_u32 i = t; i < m; i += PW_THREADS)
            if (w->start[i] > begin && w->start[i] < end) {
                const pw_u32 k = (w->start[i] + W - 1) / W;
                PW_SET_BITS(&w->begins[k / 32], 1u << (k & 31));
            }
        const pw_u32 x = t * 32 * W;
        if (x < end && x + 32 * W > begin)
            w->first[t] = (pw_u16)pw_window_find(w, n, x > begin ? x : begin);
    }
}

/* The block of word k. */
PW_FN pw_u32 pw_window_block(const pw_window *w, pw_u32 k)
{
    const pw_u32 upto = (2u << (k & 31)) - 2; /* bits 1 to k & 31 */
    return w->first[k / 32] + PW_COUNT_BITS(w->begins[k / 32] & upto);
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* What is to be added to the place of word i in the span to have it on the packed side. */
template <bool JOINED> PW_FN pw_u64 pw_window_packed(const pw_span &s, const pw_window *w, pw_u32 i)
{
    if (JOINED)
        return ((const pw_window_joined *)w)->packed[pw_window_block(w, i)];
    return s.packed;
}

/* All lengths and addresses are multiples of W: a thread per word. */
template <int W, bool UNPACK, bool JOINED, class P>
PW_FN void pw_window_words(const P &p, const pw_span &s, const pw_window *w, pw_u32 end, pw_u32 block)
{
    const int batch = W == 16 ? 2 : 4;
    const pw_u32 words = end / W;
    PW_EACH_THREAD(t)
    for (pw_u32 k = w->start[0] / W + t; k < words; k += batch * PW_THREADS) {
        typename pw_word<W>::type v[batch];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 i = k + j * PW_THREADS;
            if (i < words)
                v[j] = pw_load<W>(p.src + (UNPACK ? pw_window_packed<JOINED>(s, w, i) : w->mem[pw_window_block(w, i)]) + i * W);
        }
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 i = k + j * PW_THREADS;
            if (i < words)
                pw_store<W>(p.dst + (UNPACK ? w->mem[pw_window_block(w, i)] : pw_window_packed<JOINED>(s, w, i)) + i * W, v[j]);
        }
    }
}

/* The m blocks of a window will be written; `to` is what leads there. */
template <class P> PW_FN void pw_window_fill(const P &p, const pw_window *w, const pw_u64 *to, pw_u32 m, pw_u32 block)
{
    PW_EACH_THREAD(t)
    for (pw_u32 e = t; e < m; e += PW_THREADS)
        if (w->start[e] < w->start[e + 1])
            pw_fill_ends((pw_u64)p.dst + to[e] + w->start[e], (pw_u64)p.dst + to[e] + w->start[e + 1]);
}

/*
 * A span, whose first byte is of block `base` or one of the PW_SLACK - 1 behind it. W: what divides all lengths and
 * addresses.
 */
template <class R, int W, bool UNPACK, class P>
PW_FN void pw_window_move(const P &p, pw_u32 o, pw_u64 base, const pw_span &s, pw_window *w, pw_u32 block)
{
    const pw_u64 flags = p.w[o + PW_FLAGS], blocks = p.w[o + R::TAIL + PW_ENTRIES];
    const pw_u32 n = (pw_u32)p.w[o + R::TAIL + PW_WINDOW];
    for (bool more = true; more; base += n) {
        const pw_u32 m = base + n < blocks ? n : (pw_u32)(blocks - base);
        pw_window_load<R>(p, o, base, n, s, w, block);
        PW_SYNC();
        const pw_u32 end = w->start[m];
        more = end < s.last - s.first;
        if ((UNPACK || R::JOINED) && (flags & PW_FILLED))
            pw_window_fill(p, w, UNPACK ? w->mem : ((pw_window_joined *)w)->packed, m, block);
        pw_window_index<W>(w, n, m, block);
        PW_SYNC();
        pw_window_words<W, UNPACK, R::JOINED>(p, s, w, end, block);
        PW_SYNC();
    }
}
