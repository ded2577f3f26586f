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
 * A block that starts at or before `x`, the last one or one of the PW_SLACK - 1 before it: looked for around `middle`,
 * where it would be if all were of one length; and if it is not there, among all, of which a try leaves one in
 * PW_THREADS.
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
    while (hi - lo > PW_SLACK) {
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
 * places beyond all. The first ones may lie before `first`: they begin and end at 0.
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

/* `n` blocks from number `base` on, as far as they lie in [first, last). */
template <class R, class P>
PW_FN void pw_window_load(const P &p, pw_u32 o, pw_u64 mem, pw_u64 base, pw_u64 first, pw_u64 last, pw_u32 n,
                          pw_window *w, pw_u32 block)
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
                w->start[i] = start <= first ? 0 : (pw_u32)((start < last ? start : last) - first);
                if (e < blocks && i < n)
                    w->mem[i] = mem + first - start +
                                p.w[o + R::TAIL + PW_OFFS_SCALE] * R::off(p, o, p.w[o + R::TAIL + PW_OFFS], e);
            }
        }
    }
}

/* Number of the first part of block e, counted through a window: there are two more than chunks in a block's bytes. */
PW_FN pw_u32 pw_window_part(const pw_window *w, pw_u32 e)
{
    return (w->start[e] - w->start[0]) / 16 + 2 * e;
}

/* The window's block that holds packed byte x; or, in parts, part x. */
template <bool PARTS> PW_FN pw_u32 pw_window_find(const pw_window *w, pw_u32 n, pw_u32 x)
{
    pw_u32 e = 0;
    for (pw_u32 step = n / 2; step > 0; step /= 2)
        if ((PARTS ? pw_window_part(w, e + step) : w->start[e + step]) <= x)
            e += step;
    return e;
}

/* Prepares pw_window_block for words of W bytes, of which word k begins at byte k * W - skew. m blocks of n are there.
 */
template <int W> PW_FN void pw_window_index(pw_window *w, pw_u32 n, pw_u32 m, pw_u32 skew, pw_u32 block)
{
    const pw_u32 begin = w->start[0], end = w->start[m];
    PW_EACH_THREAD(t)
    {
        for (pw_u32 i = t; i < m; i += PW_THREADS)
            if (w->start[i] > begin && w->start[i] < end) {
                const pw_u32 k = (w->start[i] + skew + W - 1) / W;
                PW_SET_BITS(&w->begins[k / 32], 1u << (k & 31));
            }
        const pw_u32 x = t * 32 * W > skew ? t * 32 * W - skew : 0;
        if (x < end && x + 32 * W > begin)
            w->first[t] = (pw_u16)pw_window_find<false>(w, n, x > begin ? x : begin);
    }
}

/* The same for parts. */
PW_FN void pw_window_index_parts(pw_window *w, pw_u32 n, pw_u32 m, pw_u32 block)
{
    const pw_u32 end = pw_window_part(w, m);
    PW_EACH_THREAD(t)
    {
        for (pw_u32 i = t; i < m; i += PW_THREADS) {
            const pw_u32 k = pw_window_part(w, i);
            PW_SET_BITS(&w->begins[k / 32], 1u << (k & 31));
        }
        if (t * 32 < end)
            w->first[t] = (pw_u16)pw_window_find<true>(w, n, t * 32);
    }
}

/* How many blocks begin in the group of word, or part, k behind its first one and up to k. */
PW_FN pw_u32 pw_window_begun(const pw_window *w, pw_u32 k)
{
    const pw_u32 upto = (2u << (k & 31)) - 2; /* bits 1 to k & 31 */
    return PW_COUNT_BITS(w->begins[k / 32] & upto);
}

/* The window's block that holds packed byte x, the first one of word k that is in the window. */
PW_FN pw_u32 pw_window_block(const pw_window *w, pw_u32 k, pw_u32 x)
{
    pw_u32 e = w->first[k / 32] + pw_window_begun(w, k);
    while (w->start[e + 1] <= x) /* several began in one word */
        e++;
    return e;
}

/* All lengths and addresses are multiples of W: a thread per word. */
template <int W, bool UNPACK, class P>
PW_FN void pw_window_words(const P &p, pw_u64 packed, const pw_window *w, pw_u32 end, pw_u32 block)
{
    const int batch = W == 16 ? 2 : 4;
    const pw_u32 words = end / W;
    PW_EACH_THREAD(t)
    for (pw_u32 k = w->start[0] / W + t; k < words; k += batch * PW_THREADS) {
        typename pw_word<W>::type v[batch];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 i = k + j * PW_THREADS, x = i * W;
            if (i < words)
                v[j] = pw_load<W>(p.src + (UNPACK ? packed : w->mem[pw_window_block(w, i, x)]) + x);
        }
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 i = k + j * PW_THREADS, x = i * W;
            if (i < words)
                pw_store<W>(p.dst + (UNPACK ? w->mem[pw_window_block(w, i, x)] : packed) + x, v[j]);
        }
    }
}

/* Places of the packed bytes of a window, from block e on. */
struct pw_window_places {
    const pw_window *w;
    pw_u64 base;
    pw_u32 e;
    PW_METHOD pw_place at(pw_u32 x)
    {
        while (w->start[e + 1] <= x)
            e++;
        const pw_place place = {base + w->mem[e] + x, x - w->start[e], w->start[e + 1] - x};
        return place;
    }
    PW_METHOD pw_place chunk(pw_u32 k, pw_u32 x)
    {
        e = pw_window_block(w, k, x);
        return at(x);
    }
    PW_METHOD pw_u32 begin(pw_u32 i) const
    {
        return w->start[i];
    }
    PW_METHOD void seek(pw_u32 i)
    {
        e = i;
    }
};

/* Of any lengths, packed. `packed` is where byte 0 of the window is, which is byte `skew` of a chunk. */
template <class P>
PW_FN void pw_window_pack(const P &p, pw_u64 packed, const pw_window *w, pw_u32 m, pw_u32 skew, pw_u32 block,
                          const pw_range &r)
{
    const pw_window_places places = {w, (pw_u64)p.src, 0};
    PW_EACH_THREAD(t)
    pw_chunks_pack<pw_window_places, pw_u32>(places, p.dst + packed - skew, w->start[0] + skew, w->start[m] + skew,
                                             skew, 0, m, t, r);
}

/* Of any lengths, short: a thread per byte. */
template <class P>
PW_FN void pw_window_unpack_short(const P &p, pw_u64 packed, const pw_window *w, pw_u32 end, pw_u32 block)
{
    PW_EACH_THREAD(t)
    for (pw_u32 x = w->start[0] + t; x < end; x += PW_THREADS)
        p.dst[w->mem[pw_window_block(w, x / 16, x)] + x] = p.src[packed + x];
}

/* The same where blocks are worth it: a thread per part of any of the m blocks. */
template <class P>
PW_FN void pw_window_unpack(const P &p, pw_u64 packed, const pw_window *w, pw_u32 m, pw_u32 block,
                            const pw_range &range)
{
    const pw_u32 end = pw_window_part(w, m);
    PW_EACH_THREAD(t)
    for (pw_u32 k = t; k < end; k += PW_THREADS) {
        const pw_u32 e = w->first[k / 32] + pw_window_begun(w, k), start = w->start[e];
        pw_part_in(p.dst + w->mem[e] + start, p.src + packed + start, w->start[e + 1] - start, k - pw_window_part(w, e),
                   range, false);
    }
}

/* The m blocks of a window will be written. */
template <class P> PW_FN void pw_window_fill(const P &p, const pw_window *w, pw_u32 m, pw_u32 block)
{
    PW_EACH_THREAD(t)
    for (pw_u32 e = t; e < m; e += PW_THREADS)
        if (w->start[e] < w->start[e + 1])
            pw_fill_ends((pw_u64)p.dst + w->mem[e] + w->start[e], (pw_u64)p.dst + w->mem[e] + w->start[e + 1]);
}

/* What the blocks of a leaf span in memory, as far as its first and its last one say. */
template <class R, class P> PW_FN pw_range pw_list_range(const P &p, pw_u32 o, pw_u64 mem)
{
    const pw_u64 last = p.w[o + R::TAIL + PW_ENTRIES] - 1, scale = p.w[o + R::TAIL + PW_OFFS_SCALE];
    const pw_u64 table = p.w[o + R::TAIL + PW_OFFS], src = (pw_u64)p.src + mem;
    pw_range r;
    r.lo = src + scale * R::off(p, o, table, 0);
    r.hi = src + scale * R::off(p, o, table, last) + p.w[o + R::TAIL + PW_LEAF] - pw_list_start<R>(p, o, last);
    return r;
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
    const bool by_parts = UNPACK && W == 1 && !(p.w[o + PW_FLAGS] & PW_SHORT);
    const pw_u64 span = p.w[o + R::TAIL + PW_SPAN], leaf = p.w[o + R::TAIL + PW_LEAF];
    const pw_u64 blocks = p.w[o + R::TAIL + PW_ENTRIES];
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS];
    for (I u = block; u < units; u += step) {
        pw_spot s;
        R::template at<false>(p, o, u, s);
        const pw_u64 first = s.a * span, last = first + span < leaf ? first + span : leaf;
        const pw_u64 middle = s.a * p.w[o + R::TAIL + PW_GUESS] >> 16;
        const pw_u32 skew = W == 1 && !UNPACK ? (pw_u32)((pw_u64)p.dst + s.packed + first) & 15 : 0;
        pw_range range = {(pw_u64)p.src + s.packed, (pw_u64)p.src + s.packed + leaf};
        if (W == 1 && !UNPACK)
            range = pw_list_range<R>(p, o, s.mem);
        pw_u64 base = first ? pw_list_find<R>(p, o, first, middle, block, &w->found) : 0;
        for (bool more = true; more; base += n) {
            const pw_u32 m = base + n < blocks ? n : (pw_u32)(blocks - base);
            pw_window_load<R>(p, o, s.mem, base, first, last, n, w, block);
            PW_SYNC();
            const pw_u32 end = w->start[m];
            more = end < last - first;
            if (UNPACK && (p.w[o + PW_FLAGS] & PW_FILLED))
                pw_window_fill(p, w, m, block);
            if (by_parts)
                pw_window_index_parts(w, n, m, block);
            else
                pw_window_index<(W > 1 ? W : 16)>(w, n, m, skew, block);
            PW_SYNC();
            if (W > 1)
                pw_window_words<W, UNPACK>(p, s.packed + first, w, end, block);
            else if (!UNPACK)
                pw_window_pack(p, s.packed + first, w, m, skew, block, range);
            else if (!by_parts)
                pw_window_unpack_short(p, s.packed + first, w, end, block);
            else
                pw_window_unpack(p, s.packed + first, w, m, block, range);
            PW_SYNC();
        }
    }
}
