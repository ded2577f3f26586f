/* Part of the prelude: lists of blocks of varying length. */

template <class R, class P> PW_FN pw_u64 pw_list_start(const P &p, pw_u32 o, pw_u64 i)
{
    return p.w[o + R::TAIL + PW_STARTS_BASE] +
           p.w[o + R::TAIL + PW_STARTS_SCALE] * R::start(p, o, p.w[o + R::TAIL + PW_STARTS], i);
}

/* Tries block lo + t * step by every thread t: *found gets the one at or before x whose successor, `step` on, is
 * behind. */
template <class R, class P>
PW_FN void pw_list_try(const P &p, pw_u32 o, pw_u64 x, pw_u64 lo, pw_u64 hi, pw_u64 step, pw_u32 block, pw_u64 *found)
{
    PW_EACH_THREAD(t)
    {
        const pw_u64 i = lo + t * step;
        if (i < hi && pw_list_start<R>(p, o, i) <= x && (i + step >= hi || pw_list_start<R>(p, o, i + step) > x))
            *found = i;
    }
    PW_SYNC();
}

/*
 * The last block that starts at or before `x`: looked for around `middle`, where it would be if all were of one length;
 * and if it is not there, among all, of which a try leaves one in PW_THREADS.
 */
template <class R, class P>
PW_FN pw_u64 pw_list_find(const P &p, pw_u32 o, pw_u64 x, pw_u64 middle, pw_u32 block, pw_u64 *found)
{
    const pw_u64 none = ~0ull, all = p.w[o + R::TAIL + PW_ENTRIES], stride = p.w[o + R::TAIL + PW_STRIDE];
    const pw_u64 before = PW_THREADS / 2 * stride, first = middle > before ? middle - before : 0;
    PW_EACH_THREAD(t)
    if (t == 0)
        *found = none;
    PW_SYNC();
    pw_list_try<R>(p, o, x, first, all, stride, block, found);
    pw_u64 lo = *found, hi = lo != none && lo + stride < all ? lo + stride : all;
    lo = lo != none ? lo : 0;
    PW_SYNC();
    while (hi - lo > 1) {
        const pw_u64 step = (hi - lo + PW_THREADS - 1) / PW_THREADS;
        pw_list_try<R>(p, o, x, lo, hi, step, block, found);
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
    pw_u16 bucket[PW_BUCKETS]; /* which of the blocks holds the first byte of each part of the span */
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
        if ((PARTS ? w->start[e + step] / PW_PART + 2 * (e + step) : w->start[e + step]) <= x)
            e += step;
    return e;
}

/* Once for every bucket, so that the many words need not search all of the window. */
PW_FN void pw_window_sort(pw_window *w, pw_u32 n, pw_u32 end, pw_u32 log, pw_u32 block)
{
    PW_EACH_THREAD(t)
    if (t << log < end && t + 1 << log > w->start[0])
        w->bucket[t] = pw_window_find<false>(w, n, t << log > w->start[0] ? t << log : w->start[0]);
}

/* The window's block that holds packed byte x. */
PW_FN pw_u32 pw_window_block(const pw_window *w, pw_u32 log, pw_u32 x)
{
    pw_u32 e = w->bucket[x >> log];
    while (w->start[e + 1] <= x)
        e++;
    return e;
}

/* All lengths and addresses are multiples of W: a thread per word. */
template <int W, bool UNPACK, class P>
PW_FN void pw_window_words(const P &p, pw_u64 packed, const pw_window *w, pw_u32 log, pw_u32 end, pw_u32 block)
{
    const int batch = 2;
    PW_EACH_THREAD(t)
    for (pw_u32 x = w->start[0] + t * W; x < end; x += batch * PW_THREADS * W) {
        typename pw_word<W>::type v[batch];
        pw_u64 mem[batch];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 y = x + j * PW_THREADS * W;
            if (y < end) {
                mem[j] = w->mem[pw_window_block(w, log, y)] + y;
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

/* Bytes [a, b) of the 8 packed bytes from x on, byte by byte. They begin in block e of the window. */
template <class P> PW_FN pw_u64 pw_window_gather(const P &p, const pw_window *w, pw_u32 e, pw_u32 x, pw_u32 a, pw_u32 b)
{
    const pw_u32 next = w->start[e + 1];
    const bool goes_on = next < x + b;
    const char *const s = p.src + w->mem[e], *const then = p.src + w->mem[goes_on ? e + 1 : e];
    pw_u64 v = 0;
    if (!goes_on || x + b <= w->start[e + 2]) { /* two blocks at most: all loads at once */
        unsigned char c[8];
#pragma unroll
        for (pw_u32 i = 0; i < 8; i++)
            if (i >= a && i < b)
                c[i] = pw_load<1>((x + i < next ? s : then) + (x + i));
#pragma unroll
        for (pw_u32 i = 0; i < 8; i++)
            if (i >= a && i < b)
                v |= (pw_u64)c[i] << (8 * i);
    } else {
#pragma unroll 1
        for (pw_u32 i = a; i < b; i++) {
            while (w->start[e + 1] <= x + i)
                e++;
            v |= (pw_u64)pw_load<1>(p.src + w->mem[e] + (x + i)) << (8 * i);
        }
    }
    return v;
}

/*
 * Of any lengths, packed: a thread per aligned word of 8 packed bytes, most of which are of one block. `packed` is
 * where byte 0 of the window is.
 */
template <class P>
PW_FN void pw_window_pack(const P &p, pw_u64 packed, const pw_window *w, pw_u32 log, pw_u32 end, pw_u32 block)
{
    const pw_u32 first = w->start[0], skew = (pw_u32)((pw_u64)p.dst + packed + first) & 7;
    PW_EACH_THREAD(t)
    for (pw_u32 k = t; 8 * k < end - first + skew; k += PW_THREADS) {
        const pw_u32 a = k == 0 ? skew : 0, x = first + 8 * k - skew, b = end - x < 8 ? end - x : 8;
        const pw_u32 e = pw_window_block(w, log, x + a);
        const char *const s = p.src + w->mem[e] + x;
        const pw_u32 off = (pw_u32)(pw_u64)s & 7, more = off ? 8 - off : 0;
        pw_u64 v;
        if (a == 0 && x >= w->start[e] + off && x + 8 + more <= w->start[e + 1]) {
            v = pw_load<8>(s - off) >> (8 * off);
            if (off)
                v |= pw_load<8>(s - off + 8) << (64 - 8 * off);
        } else {
            v = pw_window_gather(p, w, e, x, a, b);
        }
        pw_store_some(p.dst + packed + (pw_i64)(int)x, v, a, b); /* the first word may begin before the window */
    }
}

/* Of any lengths, short: a thread per byte. */
template <class P>
PW_FN void pw_window_unpack_short(const P &p, pw_u64 packed, const pw_window *w, pw_u32 log, pw_u32 end, pw_u32 block)
{
    PW_EACH_THREAD(t)
    for (pw_u32 x = w->start[0] + t; x < end; x += PW_THREADS)
        p.dst[w->mem[pw_window_block(w, log, x)] + x] = p.src[packed + x];
}

/* The same where blocks are worth it: a thread per part of any of the m blocks. */
template <class P>
PW_FN void pw_window_unpack(const P &p, pw_u64 packed, const pw_window *w, pw_u32 n, pw_u32 m, pw_u32 block,
                            const pw_range &range)
{
    PW_EACH_THREAD(t)
    for (pw_u32 x = w->start[0] / PW_PART + t, end = w->start[m] / PW_PART + 2 * m; x < end; x += PW_THREADS) {
        const pw_u32 e = pw_window_find<true>(w, n, x), start = w->start[e], k = x - start / PW_PART - 2 * e;
        pw_part(p.dst + w->mem[e] + start, p.src + packed + start, w->start[e + 1] - start, k, range);
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
    const pw_u32 log = (pw_u32)p.w[o + R::TAIL + PW_BUCKET];
    const bool by_parts = UNPACK && W == 1 && !(p.w[o + PW_FLAGS] & PW_SHORT);
    const pw_u64 span = p.w[o + R::TAIL + PW_SPAN], leaf = p.w[o + R::TAIL + PW_LEAF];
    const pw_u64 blocks = p.w[o + R::TAIL + PW_ENTRIES];
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS];
    for (I u = block; u < units; u += step) {
        pw_spot s;
        R::template at<false>(p, o, u, s);
        const pw_u64 first = s.a * span, last = first + span < leaf ? first + span : leaf;
        const pw_u64 middle = s.a * p.w[o + R::TAIL + PW_GUESS] >> 16;
        const pw_range leaf_of = {(pw_u64)p.src + s.packed, (pw_u64)p.src + s.packed + leaf};
        pw_u64 base = first ? pw_list_find<R>(p, o, first, middle, block, &w->found) : 0;
        for (bool more = true; more; base += n) {
            const pw_u32 m = base + n < blocks ? n : (pw_u32)(blocks - base);
            pw_window_load<R>(p, o, s.mem, base, first, last, n, w, block);
            PW_SYNC();
            const pw_u32 end = w->start[m];
            more = end < last - first;
            if (!by_parts) {
                pw_window_sort(w, n, end, log, block);
                PW_SYNC();
            }
            if (W > 1)
                pw_window_words<W, UNPACK>(p, s.packed + first, w, log, end, block);
            else if (!UNPACK)
                pw_window_pack(p, s.packed + first, w, log, end, block);
            else if (!by_parts)
                pw_window_unpack_short(p, s.packed + first, w, log, end, block);
            else
                pw_window_unpack(p, s.packed + first, w, n, m, block, leaf_of);
            PW_SYNC();
        }
    }
}
