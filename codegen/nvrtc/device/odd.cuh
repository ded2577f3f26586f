/* Part of the prelude: some blocks of a list that no word divides, moved by a block of threads. */

/*
 * A block of the list, as far as it lies in the packed bytes that a block of threads is at. These are counted as
 * *places*: from the chunk of 16 bytes of the packed buffer on that holds the first of them, so that a place is aligned
 * as its packed byte is.
 */
struct pw_block {
    pw_u64 delta; /* add this to a place to get its address in memory */
    pw_u32 words; /* the place from which on it may be moved by words, and so many that a word may begin at, << 16 */
    pw_u32 bytes; /* its first place, and its bytes << 16; bit 31: it may be read by whole words */
};

/* 32 slots: the block that the first one is of, and in which of the others a block begins. */
struct pw_group {
    pw_u32 first, begins;
};

/*
 * Blocks of the list in shared memory. Which of them a thread is at is known without a search: threads go through
 * *slots* of 8 places, or of one where blocks are short, of which every block has one more than it needs, so that two
 * never begin in the same.
 */
struct pw_odd {
    pw_group group[PW_ODD_GROUPS];
    pw_span span; /* kept here rather than in registers */
    pw_u64 found;
    pw_u32 from, to;       /* the blocks' places */
    pw_u32 slot, slot_end; /* and slots */
    pw_u32 groups;         /* the last one of those */
    pw_u32 pad[3];
};

/* Behind it: the blocks, R::WINDOW at most, and the staging area, packed bytes at their places. */
PW_FN pw_block *pw_odd_blocks(pw_odd *w)
{
    return (pw_block *)(w + 1);
}

template <class R> PW_FN char *pw_odd_stage(pw_odd *w)
{
    return (char *)(pw_odd_blocks(w) + R::WINDOW);
}

/* ---- which block ------------------------------------------------------------------------------------------------- */

/* The place of byte x of the leaf; those before the span and behind it are where it begins and ends. */
PW_FN pw_u32 pw_place(const pw_span &s, pw_u64 x)
{
    return s.skew + (x <= s.first ? 0 : (pw_u32)((x < s.last ? x : s.last) - s.first));
}

/* Block i of the window has these slots, one at least. The first one has those before it in its group, too. */
PW_FN void pw_odd_slots(pw_odd *w, pw_u32 i, pw_u32 slot, pw_u32 end)
{
    if (i == 0)
        w->group[slot / 32].first = 0;
    else if (slot & 31)
        PW_SET_BITS(&w->group[slot / 32].begins, 1u << (slot & 31));
    for (pw_u32 g = (slot + 31) / 32; g * 32 < end; g++)
        w->group[g].first = i;
}

/* The block that has slot k, or the last one for those behind. `upto`: bit k & 31 and those below it. */
PW_FN pw_u32 pw_odd_block(pw_odd *w, pw_u32 k, pw_u32 upto)
{
    const pw_group g = w->group[k / 32 < w->groups ? k / 32 : w->groups];
    return g.first + PW_COUNT_BITS(g.begins & upto);
}

/* Of `n` bytes at an address, which begin at place `at`: may the words at the ends be read, which hold other bytes
 * beside them, and may not be there? */
PW_FN void pw_odd_whole(const pw_span &s, pw_u64 mem, pw_u32 at, pw_u32 n, pw_block *b)
{
    const bool before = (mem & 7) == 0 || ((mem & ~7ull) >= s.lo && mem < s.hi);
    const bool behind = ((mem + n) & 7) == 0 || (((mem + n + 7) & ~7ull) <= s.hi && mem + n > s.lo);
    const pw_u32 cut = (before ? 0 : 7) + (behind ? 0 : 7);
    b->words = (at + (before ? 0 : 7)) | (n >= 8 + cut ? (n - cut - 7) << 16 : 0);
    b->bytes = at | n << 16 | (before && behind ? 1u << 31 : 0);
}

/* m blocks from number `base` on. SHIFT: places of a slot, as a power of two. */
template <class R, bool UNPACK, class P>
PW_FN void pw_odd_load(const P &p, pw_u32 o, pw_u64 base, pw_u32 m, pw_u32 shift, pw_odd *w, pw_u32 block)
{
    const pw_span &s = w->span;
    const bool fill = UNPACK && (p.w[o + PW_FLAGS] & PW_FILLED);
    const pw_u64 memory = (pw_u64)(UNPACK ? p.dst : p.src);
    PW_EACH_THREAD(t)
    for (pw_u32 i = t; i < m; i += PW_THREADS) {
        const pw_u64 start = pw_list_start<R>(p, o, base + i);
        const pw_u32 at = pw_place(s, start), end = pw_place(s, pw_list_start<R>(p, o, base + i + 1)), n = end - at;
        const pw_u64 delta = s.mem + pw_list_off<R>(p, o, base + i) + s.first - start - s.skew;
        const pw_u32 slot = (at >> shift) + i, stop = (end >> shift) + i + 1;
        pw_odd_blocks(w)[i].delta = delta;
        if (UNPACK) {
            pw_odd_blocks(w)[i].bytes = at | n << 16;
            pw_odd_blocks(w)[i].words = at | (n >= 8 ? n - 7 : 0) << 16;
        } else {
            pw_odd_whole(s, memory + delta + at, at, n, &pw_odd_blocks(w)[i]);
        }
        pw_odd_slots(w, i, slot, stop);
        if (i == 0) {
            w->from = at;
            w->slot = slot;
        }
        if (i == m - 1) {
            w->to = end;
            w->slot_end = stop;
            w->groups = (stop - 1) / 32;
        }
        if (fill && n)
            pw_fill_ends(memory + delta + at, memory + delta + end);
    }
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* Moves short blocks of any lengths between the staging area and memory: a thread for each byte. */
template <bool UNPACK, class P> PW_FN void pw_odd_bytes(const P &p, pw_odd *w, char *stage, pw_u32 block)
{
    const int batch = 4;
    PW_EACH_THREAD(t)
    for (pw_u32 k = (w->slot & ~31u) + t; k < w->slot_end; k += batch * PW_THREADS) {
        const pw_u32 upto = (2u << (t & 31)) - 1;
        char v[batch] = {};
        pw_u32 at[batch];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 i = k + j * PW_THREADS, e = pw_odd_block(w, i, upto), x = i - e;
            const pw_block b = pw_odd_blocks(w)[e];
            const bool is = x - (b.bytes & 0xffff) < (b.bytes >> 16 & 0x7fff);
            char *const d = p.dst + b.delta + x;
            const char *const from = p.src + b.delta + x;
            at[j] = is ? x : ~0u;
            if (UNPACK && is)
                *d = stage[x];
            else if (is)
                v[j] = *from;
        }
        if (!UNPACK)
#pragma unroll
            for (int j = 0; j < batch; j++)
                if (at[j] != ~0u)
                    stage[at[j]] = v[j];
    }
}

/* 8 bytes, of which `lo` holds those from byte `off` on. */
PW_FN pw_u64 pw_shifted(pw_u64 lo, pw_u64 hi, pw_u32 off)
{
    const pw_u32 bits = 8 * (off & 3);
    const pw_u32 v0 = off & 4 ? (pw_u32)(lo >> 32) : (pw_u32)lo, v1 = off & 4 ? (pw_u32)hi : (pw_u32)(lo >> 32);
    const pw_u32 v2 = off & 4 ? (pw_u32)(hi >> 32) : (pw_u32)hi;
    return PW_FUNNEL(v0, v1, bits) | (pw_u64)PW_FUNNEL(v1, v2, bits) << 32;
}

/* Of any lengths: the words of 8 bytes that are aligned at their destination and within a block. Those that are packed
 * are put together of two aligned words of memory, the others of two of the staging area. */
template <bool UNPACK, class P> PW_FN void pw_odd_inner(const P &p, pw_odd *w, char *stage, pw_u32 block)
{
    const int batch = 2;
    PW_EACH_THREAD(t)
    for (pw_u32 k = (w->slot & ~31u) + t; k < w->slot_end; k += batch * PW_THREADS) {
        const pw_u32 upto = (2u << (t & 31)) - 1;
        pw_u64 lo[batch], hi[batch];
        pw_u32 at[batch], off[batch];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const pw_u32 i = k + j * PW_THREADS, e = pw_odd_block(w, i, upto);
            const pw_block b = pw_odd_blocks(w)[e];
            if (UNPACK) {
                char *const d = p.dst + b.delta;
                const pw_u32 phase = (0 - (pw_u32)(pw_u64)d) & 7, x = (i - e) * 8 + phase;
                const pw_u64 *const from = (const pw_u64 *)stage + (i - e);
                if (x - (b.words & 0xffff) < b.words >> 16)
                    pw_store<8>(d + x, pw_shifted(from[0], from[1], phase));
            } else {
                const pw_u32 x = (i - e) * 8;
                const bool is = x - (b.words & 0xffff) < b.words >> 16;
                const char *const from = p.src + b.delta + x;
                off[j] = (pw_u32)(pw_u64)from & 7;
                at[j] = is ? x : ~0u;
                lo[j] = hi[j] = 0;
                if (is)
                    lo[j] = pw_load<8>(from - off[j]);
                if (is && off[j])
                    hi[j] = pw_load<8>(from - off[j] + 8);
            }
        }
        if (!UNPACK)
#pragma unroll
            for (int j = 0; j < batch; j++)
                if (at[j] != ~0u)
                    pw_store<8>(stage + at[j], pw_shifted(lo[j], hi[j], off[j]));
    }
}

/* The 8 bytes at `from`, of which n are wanted, by the aligned words that hold these. */
PW_FN pw_u64 pw_ends_load(const char *from, pw_u32 n)
{
    const pw_u32 off = (pw_u32)(pw_u64)from & 7;
    const pw_u64 lo = pw_load<8>(from - off);
    pw_u64 hi = 0;
    if (off + n > 8)
        hi = pw_load<8>(from - off + 8);
    return pw_shifted(lo, hi, off);
}

/* The next M of the bytes in v, if `at` is a multiple of that and they end at `to` or before. */
template <int M> PW_FN void pw_ends_step(char *d, pw_u64 &v, pw_u32 align, pw_u32 &at, pw_u32 to)
{
    if (((align + at) & (M - 1)) == 0 && at + M <= to) {
        pw_store<M>(d + at, (typename pw_word<M>::type)v);
        v = v >> (8 * M);
        at += M;
    }
}

/* Bytes of v to places [at, to), up to seven, that begin or end at a multiple of 8, or lie between two. */
PW_FN void pw_ends_store(char *d, pw_u64 v, pw_u32 at, pw_u32 to)
{
    const pw_u32 align = (pw_u32)(pw_u64)d;
    if ((align + at) & 1)
        pw_ends_step<1>(d, v, align, at, to);
    if ((align + at) & 2)
        pw_ends_step<2>(d, v, align, at, to);
    pw_ends_step<4>(d, v, align, at, to);
    pw_ends_step<2>(d, v, align, at, to);
    pw_ends_step<1>(d, v, align, at, to);
}

/* What pw_odd_inner leaves: the bytes at the ends of blocks, a thread per end. */
template <bool UNPACK, class P> PW_FN void pw_odd_ends(const P &p, pw_odd *w, pw_u32 m, char *stage, pw_u32 block)
{
    PW_EACH_THREAD(t)
    for (pw_u32 i = t; i < 2 * m; i += PW_THREADS) {
        const pw_block b = pw_odd_blocks(w)[i / 2];
        const pw_u32 at = b.bytes & 0xffff, end = at + (b.bytes >> 16 & 0x7fff);
        pw_u32 head, tail;
        if (UNPACK) {
            const pw_u32 d = (pw_u32)(pw_u64)p.dst + (pw_u32)b.delta;
            head = at + ((0 - (d + at)) & 7);
            tail = end - ((d + end) & 7);
            if (head > end)
                head = tail = end;
        } else {
            const pw_u32 from = b.words & 0xffff, starts = b.words >> 16;
            head = (from + 7) & ~7u;
            tail = (from + starts + 7) & ~7u;
            if (starts == 0 || head >= tail)
                head = tail = end < at + 7 ? end : at + 7;
        }
        const pw_u32 from = i & 1 ? tail : at, to = i & 1 ? end : head;
        if (from >= to)
            continue;
        if (UNPACK)
            pw_ends_store(p.dst + b.delta, pw_ends_load(stage + from, to - from), from, to);
        else if (b.bytes >> 31)
            pw_ends_store(stage, pw_ends_load(p.src + b.delta + from, to - from), from, to);
        else
#pragma unroll 1
            for (pw_u32 x = from; x < to; x++)
                stage[x] = (p.src + b.delta)[x];
    }
}

/* ---- the stage ------------------------------------------------------------------------------------------------- */

/* The packed bytes of the window's blocks out of the staging area, where they were put together so that they can be
 * stored by whole chunks. */
template <class P> PW_FN void pw_odd_stage_store(const P &p, pw_odd *w, const char *stage, pw_u32 block)
{
    char *const d = p.dst + w->span.packed - w->span.skew;
    const pw_u32 from = w->from, to = w->to;
    PW_EACH_THREAD(t)
    for (pw_u32 at = (from / 16 + t) * 16; at < to; at += 16 * PW_THREADS) {
        const pw_u32 a = at < from ? from - at : 0, b = to - at;
        pw_chunk_store(d + at, pw_load<16>(stage + at), a, b < 16 ? b : 16);
    }
}

/* Begins to bring the packed bytes of a span to the staging area: by whole chunks but for those that may not be read.
 */
template <class P> PW_FN void pw_odd_stage_load(const P &p, const pw_span &s, char *stage, pw_u32 block)
{
    const char *const from = p.src + s.packed - s.skew;
    const pw_u32 end = s.end;
    PW_EACH_THREAD(t)
    for (pw_u32 at = t * 16; at < end; at += 16 * PW_THREADS)
        if ((pw_u64)(from + at) >= s.lo && (pw_u64)(from + at) + 16 <= s.hi)
            PW_COPY16(stage + at, from + at);
        else
            for (pw_u32 x = at < s.skew ? s.skew : at; x < at + 16 && x < end; x++)
                stage[x] = from[x];
}

/* What the blocks of a leaf span in memory, as far as its first and its last one say: aligned words of it may be read.
 */
template <class R, class P> PW_FN void pw_list_range(const P &p, pw_u32 o, pw_span &s)
{
    const pw_u64 last = p.w[o + R::TAIL + PW_ENTRIES] - 1, src = (pw_u64)p.src + s.mem;
    s.lo = src + pw_list_off<R>(p, o, 0);
    s.hi = src + pw_list_off<R>(p, o, last) + p.w[o + R::TAIL + PW_LEAF] - pw_list_start<R>(p, o, last);
}

/* What is done before it is known where a span begins in the list: packed bytes are on their way meanwhile. `packed`:
 * where the leaf is. */
template <class R, bool UNPACK, class P>
PW_FN void pw_odd_begin(const P &p, pw_u32 o, pw_span &s, pw_u64 packed, pw_odd *w, pw_u32 block)
{
    s.skew = ((pw_u32)(pw_u64)(UNPACK ? p.src : p.dst) + (pw_u32)s.packed) & 15;
    s.end = s.skew + (pw_u32)(s.last - s.first);
    s.lo = (pw_u64)p.src + packed;
    s.hi = s.lo + p.w[o + R::TAIL + PW_LEAF];
    if (UNPACK)
        pw_odd_stage_load(p, s, pw_odd_stage<R>(w), block);
    else
        pw_list_range<R>(p, o, s);
    PW_EACH_THREAD(t)
    if (t == 0)
        w->span = s;
}

/* A span, whose first byte is of block `base` or one of the PW_SLACK - 1 behind it. */
template <class R, bool UNPACK, class P>
PW_FN void pw_odd_move(const P &p, pw_u32 o, pw_u64 base, pw_odd *w, pw_u32 block)
{
    const bool small = p.w[o + PW_FLAGS] & PW_SHORT;
    const pw_u64 blocks = p.w[o + R::TAIL + PW_ENTRIES];
    const pw_u32 n = (pw_u32)p.w[o + R::TAIL + PW_WINDOW];
    char *const stage = pw_odd_stage<R>(w);
    for (bool more = true; more; base += n) {
        const pw_u32 m = base + n < blocks ? n : (pw_u32)(blocks - base);
        PW_EACH_THREAD(t)
        for (pw_u32 g = t; g < PW_ODD_GROUPS; g += PW_THREADS)
            w->group[g].begins = 0;
        PW_SYNC();
        pw_odd_load<R, UNPACK>(p, o, base, m, small ? 0 : 3, w, block);
        if (UNPACK)
            PW_COPIED();
        PW_SYNC();
        more = w->to < w->span.end;
        if (small) {
            pw_odd_bytes<UNPACK>(p, w, stage, block);
        } else {
            pw_odd_inner<UNPACK>(p, w, stage, block);
            pw_odd_ends<UNPACK>(p, w, m, stage, block);
        }
        if (!UNPACK) {
            PW_SYNC();
            pw_odd_stage_store(p, w, stage, block);
        }
        PW_SYNC();
    }
}
