/*
 * Several moves in one launch (codegen/nvrtc/fused.h): every block of threads finds its job by its number, and all of a
 * job but its addresses is in its record. Nothing is baked but the word. All addresses are whole ones, and units are
 * below 2^31.
 */

/* A job's words, its record, and a loop's; the numbers of codegen/nvrtc/fused.h. */
enum { PW_JOB_DST, PW_JOB_SRC, PW_JOB_ADDRESSES };
enum { PW_JOB_UNITS, PW_JOB_SHAPE, PW_JOB_EXTRA };
enum { PW_JOB_LOOP_COUNT, PW_JOB_LOOP_MEM, PW_JOB_LOOP_PACKED, PW_JOB_LOOP_WORDS };
enum { PW_JOB_W1, PW_JOB_W2, PW_JOB_W4, PW_JOB_W8, PW_JOB_W16, PW_JOB_PARTS, PW_JOB_LIST };
enum { PW_JOB_TABLE = 1 };

/* What a block of threads does: units of a job from `first` to before `last`; its record begins at w[o]. */
struct pw_task {
    pw_u64 dst, src;
    pw_u32 o, first, last;
};

/* Where B units of a job are, and the iteration of its innermost loop. */
template <int B> struct pw_job_spots {
    pw_u64 mem[B], packed[B];
    pw_u32 inner[B];
};

/* u is taken apart innermost loop first, all B units at once, so that the loop over the loops is there once. */
template <int B, class P> PW_FN void pw_job_at(const P &p, pw_u32 o, pw_u32 u, pw_job_spots<B> &s)
{
    const pw_u64 shape = p.w[o + PW_JOB_SHAPE];
    const pw_u32 loops = (pw_u32)(shape >> 8) & 255;
    const bool table = shape >> 16 & PW_JOB_TABLE;
    pw_u32 rest[B], at = o + ((pw_u32)(shape >> 24) & 255);
#pragma unroll
    for (int j = 0; j < B; j++) {
        rest[j] = u + j * PW_THREADS;
        s.mem[j] = s.packed[j] = s.inner[j] = 0;
    }
#pragma unroll 1
    for (pw_u32 k = 0; k < loops; k++, at += PW_JOB_LOOP_WORDS) {
        const pw_u32 count = (pw_u32)p.w[at + PW_JOB_LOOP_COUNT];
        const pw_u64 magic = p.w[at + PW_JOB_LOOP_COUNT] >> 32, packed = p.w[at + PW_JOB_LOOP_PACKED];
        const pw_i64 mem = (pw_i64)p.w[at + PW_JOB_LOOP_MEM];
        const pw_u32 shift = ((pw_u32)mem & 63);
#pragma unroll
        for (int j = 0; j < B; j++) {
            const pw_u32 q = k + 1 < loops ? (pw_u32)(rest[j] * magic >> shift) : 0, i = rest[j] - q * count;
            s.mem[j] += (pw_u64)i * (pw_u64)(mem >> 6);
            s.packed[j] += (pw_u64)i * packed;
            if (k == 0)
                s.inner[j] = i;
            if (table && k == (pw_u32)(p.w[o + PW_JOB_EXTRA + 2] >> 8))
                s.mem[j] += p.w[o + PW_JOB_EXTRA + 1] *
                            pw_entry_of(p.w[o + PW_JOB_EXTRA + 2] & 255, p.w[o + PW_JOB_EXTRA], i < count ? i : 0);
            rest[j] = q;
        }
    }
}

/* B words a thread: all loads before the stores. */
template <int W, int B, bool UNPACK, class P> PW_FN void pw_job_words(const P &p, const pw_task &k, pw_u32 block)
{
    PW_EACH_THREAD(t)
#pragma unroll 1
    for (pw_u32 u = k.first + t; u < k.last; u += B * PW_THREADS) {
        typename pw_word<W>::type v[B];
        pw_job_spots<B> s;
        pw_job_at<B>(p, k.o, u, s);
#pragma unroll
        for (int j = 0; j < B; j++)
            if (u + j * PW_THREADS < k.last)
                v[j] = pw_load<W>((const char *)(k.src + (UNPACK ? s.packed[j] : s.mem[j])));
#pragma unroll
        for (int j = 0; j < B; j++)
            if (u + j * PW_THREADS < k.last)
                pw_store<W>((char *)(k.dst + (UNPACK ? s.mem[j] : s.packed[j])), v[j]);
    }
}

/* Odd pieces, cut where their destination is aligned. */
template <bool UNPACK, class P> PW_FN void pw_job_parts(const P &p, const pw_task &k, pw_u32 block)
{
    const pw_range none = {0, 0};
    PW_EACH_THREAD(t)
#pragma unroll 1
    for (pw_u32 u = k.first + t; u < k.last; u += PW_THREADS) {
        pw_job_spots<1> s;
        pw_job_at<1>(p, k.o, u, s);
        pw_part<pw_u64>((char *)(k.dst + (UNPACK ? s.mem[0] : s.packed[0])),
                        (const char *)(k.src + (UNPACK ? s.packed[0] : s.mem[0])), p.w[k.o + PW_JOB_EXTRA + 3],
                        s.inner[0], none, false);
    }
}

/* Blocks of varying length, 2^log lanes for each. */
template <bool UNPACK, class P> PW_FN void pw_job_list(const P &p, const pw_task &k, pw_u32 block)
{
    const pw_u32 x = k.o + PW_JOB_EXTRA, widths = (pw_u32)p.w[x + 5], log = widths >> 16;
    PW_EACH_THREAD(t)
#pragma unroll 1
    for (pw_u32 u = k.first + (t >> log); u < k.last; u += PW_THREADS >> log) {
        pw_job_spots<1> s;
        pw_job_at<1>(p, k.o, u, s);
        const pw_u64 i = s.inner[0], begin = pw_entry_of(widths >> 8 & 255, p.w[x + 2], i);
        const pw_u64 n = (pw_entry_of(widths >> 8 & 255, p.w[x + 2], i + 1) - begin) * p.w[x + 4];
        const pw_u64 mem = s.mem[0] + p.w[x + 1] * pw_entry_of(widths & 255, p.w[x], i);
        const pw_u64 packed = s.packed[0] + p.w[x + 3] + begin * p.w[x + 4];
        pw_lanes_copy((char *)(k.dst + (UNPACK ? mem : packed)), (const char *)(k.src + (UNPACK ? packed : mem)), n,
                      t & ((1u << log) - 1), 1u << log);
    }
}

/* A word a thread where there is no more, by code that is short; else several. */
template <int W, int B, bool UNPACK, class P> PW_FN void pw_job_words_of(const P &p, const pw_task &k, pw_u32 block)
{
    if (B == 1 || k.last - k.first <= PW_THREADS)
        pw_job_words<W, 1, UNPACK>(p, k, block);
    else
        pw_job_words<W, B, UNPACK>(p, k, block);
}

/* w[0] jobs; for each of them the block behind its last one, and its record; for each its addresses. */
template <class P> PW_FN pw_task pw_task_of(const P &p, pw_u32 block)
{
    const pw_u32 jobs = (pw_u32)p.w[0];
    pw_u32 job = 1;
#pragma unroll 1
    for (pw_u32 n = jobs; n > 1; n -= n / 2)
        if (block >= (pw_u32)p.w[job + n / 2 - 1])
            job += n / 2;
    const pw_u32 o = (pw_u32)(p.w[job] >> 32), a = 1 + jobs + PW_JOB_ADDRESSES * (job - 1);
    const pw_u32 units = (pw_u32)p.w[o + PW_JOB_UNITS], step = (pw_u32)(p.w[o + PW_JOB_SHAPE] >> 32);
    const pw_u32 first = (block - (job > 1 ? (pw_u32)p.w[job - 1] : 0)) * step;
    return {p.w[a + PW_JOB_DST], p.w[a + PW_JOB_SRC], o, first, units - first < step ? units : first + step};
}

template <bool UNPACK, class P> PW_FN void pw_fused(const P &p, pw_u32 id, pw_u32 grid)
{
    const pw_task k = pw_task_of(p, id);
    switch ((pw_u32)p.w[k.o + PW_JOB_SHAPE] & 255) {
    case PW_JOB_W1: pw_job_words<1, 4, UNPACK>(p, k, id); break;
    case PW_JOB_W2: pw_job_words<2, 4, UNPACK>(p, k, id); break;
    case PW_JOB_W4: pw_job_words_of<4, 4, UNPACK>(p, k, id); break;
    case PW_JOB_W8: pw_job_words_of<8, 4, UNPACK>(p, k, id); break;
    case PW_JOB_W16: pw_job_words_of<16, 2, UNPACK>(p, k, id); break;
    case PW_JOB_PARTS: pw_job_parts<UNPACK>(p, k, id); break;
    default: pw_job_list<UNPACK>(p, k, id); break;
    }
    pw_finish(p, id, grid);
}
