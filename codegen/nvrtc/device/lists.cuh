/* Part of the prelude: lists of blocks of varying length. */

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
        s.mem += pw_list_off<R>(p, o, s.a);
        if constexpr (R::JOINED)
            s.packed += pw_list_packed_off<R>(p, o, s.a);
        else
            s.packed += start;
        pw_lanes_copy(p.dst + (UNPACK ? s.mem : s.packed), p.src + (UNPACK ? s.packed : s.mem), n, t & mask, 1u << log);
    }
}

/*
 * Blocks of varying length. A block of threads takes PW_SPAN packed bytes, so that blocks of very different lengths are
 * equal work: it searches where they begin in the list, and goes through them by windows. Packed bytes that no word
 * divides are on their way into shared memory meanwhile.
 */
template <class R, int W, bool UNPACK, class I, class P>
PW_FN void pw_list(const P &p, pw_u32 o, pw_u32 block, char *shared)
{
    pw_window *w = (pw_window *)shared;
    pw_odd *odd = (pw_odd *)shared;
    const pw_u64 span = p.w[o + R::TAIL + PW_SPAN], leaf = p.w[o + R::TAIL + PW_LEAF];
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS];
    for (I u = block; u < units; u += step) {
        pw_spot at;
        R::template at<false>(p, o, u, at);
        const pw_u64 middle = at.a * p.w[o + R::TAIL + PW_GUESS] >> 16;
        pw_span s;
        s.first = at.a * span;
        s.last = s.first + span < leaf ? s.first + span : leaf;
        s.mem = at.mem;
        s.packed = at.packed + (R::JOINED ? 0 : s.first);
        if (W == 1)
            pw_odd_begin<R, UNPACK>(p, o, s, at.packed, odd, block);
        const pw_u64 base =
            s.first ? pw_list_find<R>(p, o, s.first, middle, block, W == 1 ? &odd->found : &w->found) : 0;
        if (W == 1)
            pw_odd_move<R, UNPACK>(p, o, base, odd, block);
        else
            pw_window_move<R, W, UNPACK>(p, o, base, s, w, block);
    }
}
