/* Part of the prelude: lists of blocks of varying length. */

template <class R, class P> PW_FN pw_u64 pw_list_start(const P &p, pw_u32 o, pw_u64 i)
{
    return p.w[o + R::TAIL + PW_STARTS_BASE] +
           p.w[o + R::TAIL + PW_STARTS_SCALE] * R::start(p, o, p.w[o + R::TAIL + PW_STARTS], i);
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

/* Short leaves: some lanes per block of the list. */
template <class R, bool UNPACK, class I, class P> PW_FN void pw_list_lanes(const P &p, pw_u32 o, pw_u32 block)
{
    const pw_u32 log = (pw_u32)p.w[o + PW_LANES], groups = PW_THREADS >> log, mask = (1u << log) - 1;
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS] * groups;
    PW_EACH_THREAD(t)
    for (I u = (I)block * groups + (t >> log); u < units; u += step) {
        pw_spot s;
        R::template at<false>(p, o, u, s);
        const pw_u64 start = pw_list_start<R>(p, o, s.a), n = pw_list_start<R>(p, o, s.a + 1) - start;
        s.mem += p.w[o + R::TAIL + PW_OFFS_SCALE] * R::off(p, o, p.w[o + R::TAIL + PW_OFFS], s.a);
        s.packed += start;
        pw_lanes_copy(p.dst + (UNPACK ? s.mem : s.packed), p.src + (UNPACK ? s.packed : s.mem), n, t & mask, 1u << log);
    }
}

/*
 * Blocks of the list in shared memory: where they begin in the packed bytes that a block of threads is at (counted from
 * `first`), and what is to be added to such a place to have it in memory. Behind the last one stand the end, and
 * places beyond all.
 */
struct pw_window {
    pw_u64 mem[PW_LIST_MOST];
    pw_u64 found;
    pw_u32 start[PW_LIST_MOST + 1];
};

/* `n` blocks from number `base` on, as far as they lie in [first, last). */
template <class R, class P>
PW_FN void pw_window_load(const P &p, pw_u32 o, pw_u64 mem, pw_u64 base, pw_u64 first, pw_u64 last, pw_u32 n,
                          pw_window *w, pw_u32 block)
{
    const pw_u64 blocks = p.w[o + R::TAIL + PW_ENTRIES];
    PW_EACH_THREAD(t)
    for (pw_u32 i = t; i <= n; i += PW_THREADS) {
        const pw_u64 e = base + i;
        w->start[i] = ~0u;
        if (e <= blocks) {
            const pw_u64 start = pw_list_start<R>(p, o, e);
            w->start[i] = start <= first ? 0 : (pw_u32)((start < last ? start : last) - first);
            if (e < blocks && i < n)
                w->mem[i] = mem + first - start +
                            p.w[o + R::TAIL + PW_OFFS_SCALE] * R::off(p, o, p.w[o + R::TAIL + PW_OFFS], e);
        }
    }
}

/* The window's block that holds packed byte x; or, in parts with two more for each block, part x. */
template <bool PARTS> PW_FN pw_u32 pw_window_find(const pw_window *w, pw_u32 n, pw_u32 x)
{
    pw_u32 e = 0;
    for (pw_u32 step = n / 2; step > 0; step /= 2)
        if ((PARTS ? w->start[e + step] / PW_LIST_PART + 2 * (e + step) : w->start[e + step]) <= x)
            e += step;
    return e;
}

/* All lengths and addresses are multiples of W: a thread per word. */
template <int W, bool UNPACK, class P>
PW_FN void pw_window_words(const P &p, pw_u64 packed, const pw_window *w, pw_u32 n, pw_u32 end, pw_u32 block)
{
    const int batch = W < 16 ? 4 : 2;
    PW_EACH_THREAD(t)
    for (pw_u32 x = w->start[0] + t * W; x < end; x += batch * PW_THREADS * W) {
        typename pw_word<W>::type v[batch];
        pw_u64 mem[batch];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 y = x + j * PW_THREADS * W;
            if (y < end) {
                mem[j] = w->mem[pw_window_find<false>(w, n, y)] + y;
                v[j] = pw_load<W>(p.src + (UNPACK ? packed + y : mem[j]));
            }
        }
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 y = x + j * PW_THREADS * W;
            if (y < end)
                pw_store<W>(p.dst + (UNPACK ? mem[j] : packed + y), v[j]);
        }
    }
}

/* Of any lengths: a thread per byte. */
template <bool UNPACK, class P>
PW_FN void pw_window_bytes(const P &p, pw_u64 packed, const pw_window *w, pw_u32 n, pw_u32 end, pw_u32 block)
{
    PW_EACH_THREAD(t)
    for (pw_u32 x = w->start[0] + t; x < end; x += PW_THREADS) {
        const pw_u64 mem = w->mem[pw_window_find<false>(w, n, x)] + x;
        p.dst[UNPACK ? mem : packed + x] = p.src[UNPACK ? packed + x : mem];
    }
}

/* The same where blocks are worth it: a thread per part of any of the m blocks. */
template <bool UNPACK, class P>
PW_FN void pw_window_parts(const P &p, pw_u64 packed, const pw_window *w, pw_u32 n, pw_u32 m, pw_u32 block)
{
    PW_EACH_THREAD(t)
    for (pw_u32 x = w->start[0] / PW_LIST_PART + t, end = w->start[m] / PW_LIST_PART + 2 * m; x < end; x += PW_THREADS) {
        const pw_u32 e = pw_window_find<true>(w, n, x), start = w->start[e], k = x - start / PW_LIST_PART - 2 * e;
        const pw_u64 mem = w->mem[e] + start, at = packed + start;
        pw_part<PW_LIST_PART>(p.dst + (UNPACK ? mem : at), p.src + (UNPACK ? at : mem), w->start[e + 1] - start, k);
    }
}

/*
 * Blocks of varying length. A block of threads takes PW_SPAN packed bytes, so that blocks of very different lengths are
 * equal work: it searches where they begin in the list, and goes through them by windows.
 */
template <class R, int W, bool UNPACK, class I, class P>
PW_FN void pw_list(const P &p, pw_u32 o, pw_u32 block, char *shared)
{
    pw_window *w = (pw_window *)shared;
    const pw_u32 n = (pw_u32)p.w[o + R::TAIL + PW_WINDOW];
    const pw_u64 span = p.w[o + R::TAIL + PW_SPAN], leaf = p.w[o + R::TAIL + PW_LEAF];
    const pw_u64 blocks = p.w[o + R::TAIL + PW_ENTRIES];
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS];
    for (I u = block; u < units; u += step) {
        pw_spot s;
        R::template at<false>(p, o, u, s);
        const pw_u64 first = s.a * span, last = first + span < leaf ? first + span : leaf;
        pw_u64 base = first ? pw_list_find<R>(p, o, first, block, &w->found) : 0;
        for (bool more = true; more; base += n) {
            const pw_u32 m = base + n < blocks ? n : (pw_u32)(blocks - base);
            pw_window_load<R>(p, o, s.mem, base, first, last, n, w, block);
            PW_SYNC();
            const pw_u32 end = w->start[m];
            more = end < last - first;
            if (W > 1)
                pw_window_words<W, UNPACK>(p, s.packed + first, w, n, end, block);
            else if (p.w[o + PW_FLAGS] & PW_SHORT)
                pw_window_bytes<UNPACK>(p, s.packed + first, w, n, end, block);
            else
                pw_window_parts<UNPACK>(p, s.packed + first, w, n, m, block);
            PW_SYNC();
        }
    }
}
