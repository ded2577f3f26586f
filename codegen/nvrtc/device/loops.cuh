/* Part of the prelude: a loop over the units of a region for each way to share them out; and what kernels begin and end
 * with. */

/* ---- the loops: a region's units among its blocks -------------------------------------------------------- */

/* Where each word of a leaf of several pieces is in memory, worked out once by each block of threads. */
template <class R> PW_FN const pw_u32 *pw_offsets(char *shared, pw_u32 block)
{
    pw_u32 *const offs = (pw_u32 *)shared;
    PW_EACH_THREAD(t)
    for (pw_u32 i = t; i < R::LEAF; i += PW_THREADS)
        offs[i] = R::off(i);
    PW_SYNC();
    return offs;
}

/* The words u, u + step, ... of one thread: all loads before the stores. FILL: those at the beginning or end of a block
 * (s.a, s.b), in sectors that it fills in part, are worth PW_FILL. */
template <class R, int W, bool UNPACK, class I, bool DENSE, bool FILL, class P>
PW_FN void pw_words_batch(const P &p, pw_u32 o, I u, I step, const pw_u32 *offs)
{
    typename pw_word<W>::type v[R::BATCH];
    pw_spot at[R::BATCH];
#pragma unroll
    for (int j = 0; j < R::BATCH; j++) {
        at[j].offs = offs;
        R::template at<DENSE>(p, o, (I)(u + j * step), at[j]);
    }
#pragma unroll
    for (int j = 0; j < R::BATCH; j++)
        v[j] = pw_load<W>(p.src + (UNPACK ? at[j].packed : at[j].mem));
    if (FILL)
#pragma unroll
        for (int j = 0; j < R::BATCH; j++) {
            const pw_u64 to = (pw_u64)p.dst + (UNPACK ? at[j].mem : at[j].packed);
            if ((at[j].a && to % PW_SECTOR != 0) || (at[j].b && (to + W) % PW_SECTOR != 0)) {
                if (p.w[o + PW_FLAGS] & PW_FILLED_WIDE)
                    PW_FILL_WIDE(to);
                else
                    PW_FILL(to);
            }
        }
#pragma unroll
    for (int j = 0; j < R::BATCH; j++)
        pw_store<W>(p.dst + (UNPACK ? at[j].mem : at[j].packed), v[j]);
}

/* One word; unless FAST by the parts that are aligned. */
template <class R, int W, bool UNPACK, class I, bool FAST, bool DENSE, class P>
PW_FN void pw_words_one(const P &p, pw_u32 o, I u, const pw_u32 *offs)
{
    pw_spot at;
    at.offs = offs;
    R::template at<DENSE>(p, o, u, at);
    pw_put<W, FAST>(p.dst + (UNPACK ? at.mem : at.packed), pw_get<W, FAST>(p.src + (UNPACK ? at.packed : at.mem)));
}

/*
 * A thread per word. Threads next to each other take words next to each other in packed order; a thread takes
 * BATCH words: at once, or one after the other where there are fewer, by code that is short, since it may have to be
 * fetched from DRAM. DENSE: word u is at u * W of the region's packed bytes.
 */
template <class R, int W, bool UNPACK, class I, bool FAST, bool DENSE, class P>
PW_FN void pw_words(const P &p, pw_u32 o, pw_u32 block, const pw_u32 *offs)
{
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_STEP];
    const I round = (I)p.w[o + PW_BLOCKS] * (PW_THREADS * R::BATCH);
    PW_EACH_THREAD(t)
    for (I u = (I)block * (I)p.w[o + PW_CHUNK] + t; u < units; u += round) {
        if (FAST && u + (R::BATCH - 1) * step < units) {
            if ((UNPACK || R::JOINED) && R::FILLS && (p.w[o + PW_FLAGS] & (PW_FILLED | PW_FILLED_WIDE)))
                pw_words_batch<R, W, UNPACK, I, DENSE, true>(p, o, u, step, offs);
            else
                pw_words_batch<R, W, UNPACK, I, DENSE, false>(p, o, u, step, offs);
        } else {
            I one = u;
#pragma unroll 1
            for (int j = 0; j < R::BATCH && one < units; j++, one += step)
                pw_words_one<R, W, UNPACK, I, FAST, DENSE>(p, o, one, offs);
        }
    }
}

/*
 * Words of one and two bytes, dense: a thread takes as many as fill a word of four bytes of the packed side, which is
 * aligned to that.
 */
template <class R, int W, bool UNPACK, class I, class P>
PW_FN void pw_words_narrow(const P &p, pw_u32 o, pw_u32 block, const pw_u32 *offs)
{
    const int several = 4 / W;
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_STEP];
    const I round = (I)p.w[o + PW_BLOCKS] * (PW_THREADS * R::BATCH);
    PW_EACH_THREAD(t)
    for (I g = (I)block * (I)p.w[o + PW_CHUNK] + t; g * several < units; g += round)
        for (I u = g * several, j = 0; j < R::BATCH && u < units; u += step * several, j++) {
            pw_spot at[several];
#pragma unroll
            for (int k = 0; k < several; k++)
                at[k].offs = offs;
            if (u + several > units) {
#pragma unroll 1
                for (; u < units; u++) {
                    R::template at<true>(p, o, u, at[0]);
                    pw_store<W>(p.dst + (UNPACK ? at[0].mem : at[0].packed),
                                pw_load<W>(p.src + (UNPACK ? at[0].packed : at[0].mem)));
                }
                break;
            }
#pragma unroll
            for (int k = 0; k < several; k++)
                R::template at<true>(p, o, (I)(u + k), at[k]);
            pw_u32 v = UNPACK ? pw_load<4>(p.src + at[0].packed) : 0;
#pragma unroll
            for (int k = 0; k < several; k++)
                if (UNPACK)
                    pw_store<W>(p.dst + at[k].mem, (typename pw_word<W>::type)(v >> (8 * W * k)));
                else
                    v |= (pw_u32)pw_load<W>(p.src + at[k].mem) << (8 * W * k);
            if (!UNPACK)
                pw_store<4>(p.dst + at[0].packed, v);
        }
}

/* Where thread t's elements of a tile are that are close on one side: memory, or packed. The first one, in row t /
 * SIDE, the bytes from each to the next, some rows on, and how many of them there are. */
template <class R, bool PACKED, class P>
PW_FN pw_u32 pw_tile_walk(const P &p, pw_u32 o, const pw_spot &s, pw_u32 t, pw_u64 &at, pw_u64 &step)
{
    const pw_u32 rows = PW_THREADS / R::SIDE, x = t % R::SIDE, y = t / R::SIDE;
    const pw_u64 na = R::count_a(p, o) - s.a * R::SIDE, nb = R::count_b(p, o) - s.b * R::SIDE;
    const pw_u64 across = PACKED ? na : nb, along = PACKED ? nb : na;
    at = PACKED ? s.packed + x * R::packed_a(p, o) + y * R::packed_b(p, o)
                : s.mem + y * R::mem_a(p, o) + x * R::mem_b(p, o);
    step = rows * (PACKED ? R::packed_b(p, o) : R::mem_a(p, o));
    return x >= across || y >= along ? 0 : along >= R::SIDE ? R::SIDE / rows : (pw_u32)((along - y + rows - 1) / rows);
}

/* A square tile of words per block, through shared memory: both sides are walked along their close direction. */
template <class R, int W, bool UNPACK, class I, bool FAST, class P>
PW_FN void pw_tile(const P &p, pw_u32 o, pw_u32 block, char *shared)
{
    typedef typename pw_word<W>::type word;
    const int side = R::SIDE, rows = PW_THREADS / side, batch = side / rows;
    word *tile = (word *)shared;
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS];
    for (I u = block; u < units; u += step) {
        pw_spot s;
        R::template at<false>(p, o, u, s);
        PW_EACH_THREAD(t)
        {
            pw_u64 at, next;
            const int n = (int)pw_tile_walk<R, UNPACK>(p, o, s, t, at, next);
            const char *const from = p.src + at;
            word *const to = tile + t / side * (side + 1) + t % side;
            word v[batch];
            if (n == batch)
#pragma unroll
                for (int j = 0; j < batch; j++)
                    v[j] = pw_get<W, FAST>(from + j * next);
            else
#pragma unroll
                for (int j = 0; j < batch; j++)
                    if (j < n)
                        v[j] = pw_get<W, FAST>(from + j * next);
#pragma unroll
            for (int j = 0; j < batch; j++)
                to[j * rows * (side + 1)] = v[j]; /* what is open is not looked at */
        }
        PW_SYNC();
        PW_EACH_THREAD(t)
        {
            pw_u64 at, next;
            const int n = (int)pw_tile_walk<R, !UNPACK>(p, o, s, t, at, next);
            char *const to = p.dst + at;
            const word *const from = tile + t % side * (side + 1) + t / side;
            if (n == batch)
#pragma unroll
                for (int j = 0; j < batch; j++)
                    pw_put<W, FAST>(to + j * next, from[j * rows]);
            else
#pragma unroll 1
                for (int j = 0; j < n; j++)
                    pw_put<W, FAST>(to + j * next, from[j * rows]);
        }
        PW_SYNC();
    }
}

/* A thread per part of a piece. Behind the pieces stands what the region spans on both sides. */
template <class R, bool UNPACK, class I, class P> PW_FN void pw_pieces(const P &p, pw_u32 o, pw_u32 block)
{
    const I units = (I)p.w[o + PW_UNITS], step = (I)p.w[o + PW_BLOCKS] * PW_THREADS;
    const pw_u32 span = o + R::TAIL + PW_PIECE_WORDS * R::PIECES + (UNPACK ? PW_SPAN_PACKED : PW_SPAN_MEM);
    const bool fill = (UNPACK || R::JOINED) && (p.w[o + PW_FLAGS] & PW_FILLED);
    const pw_range range = {(pw_u64)p.src + p.w[span], p.w[span + 1]};
    PW_EACH_THREAD(t)
    for (I u = (I)block * PW_THREADS + t; u < units; u += step) {
        pw_spot s;
        R::template at<false>(p, o, u, s);
        pw_part<I>(p.dst + (UNPACK ? s.mem : s.packed), p.src + (UNPACK ? s.packed : s.mem), (I)s.n, (I)s.a, range,
                   fill);
    }
}

/* Which of the region's pieces part `k` of its leaf is of, and which of its parts. */
template <class R, class P> PW_FN void pw_choose_piece(const P &p, pw_u32 o, pw_u64 k, pw_spot &s)
{
    pw_u32 at = o + R::TAIL;
#pragma unroll
    for (int i = 1; i < R::PIECES; i++)
        if (k >= p.w[o + R::TAIL + PW_PIECE_WORDS * i + 3])
            at = o + R::TAIL + PW_PIECE_WORDS * i;
    s.mem += p.w[at];
    s.packed += p.w[at + 1];
    s.n = p.w[at + 2];
    s.a = k - p.w[at + 3];
}

/* ---- regions ----------------------------------------------------------------------------------------------- */

/* The region that block b is of: how many of N regions end at or before it. */
template <int N, class P> PW_FN pw_u32 pw_region_of(const P &p, pw_u32 b)
{
    pw_u32 r = 0;
#pragma unroll
    for (int step = N < 4     ? 2
                    : N < 8   ? 4
                    : N < 16  ? 8
                    : N < 32  ? 16
                    : N < 64  ? 32
                    : N < 128 ? 64
                              : 128;
         step; step /= 2)
        if (r + step < N && b >= (pw_u32)p.w[2 * (r + step - 1)])
            r += step;
    return r;
}

/* ---- the end ---------------------------------------------------------------------------------------------- */

/*
 * Every block makes what it wrote visible to all of the GPU before it says that it is through; the last one, which has
 * seen that of all others, makes it visible to the host and to every GPU, and says so.
 */
template <class P> PW_FN void pw_finish(const P &p, pw_u32 block, pw_u32 grid)
{
    if (p.flag == 0)
        return;
    PW_SYNC();
    PW_EACH_THREAD(t)
    if (t == 0) {
        PW_FENCE_GPU();
        const pw_u64 count = p.ends->count + 1;
        if (grid == 1 || PW_ARRIVE(&p.ends->arrivals, grid - 1) == grid - 1) {
            PW_FENCE();
            *p.flag = count;
            p.ends->count = count;
        }
    }
}
