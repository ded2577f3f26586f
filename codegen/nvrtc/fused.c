/* Makes the tables of jobs for fused moves. */
#include "codegen/nvrtc/fused.h"

#include "codegen/nvrtc/tier0.h"

#include <string.h>

enum {
    MOST_PARTS = 16,  /* a move of more jobs is faster as a kernel of its own */
    MOST_PIECES = 64, /* only leaves of at most so many pieces are examined */
    MOST_FOLDS = 6,   /* most loops, of at least two iterations, that pieces become */
    MOST_LOOPS = PW_NEST_MAX_DIMS + MOST_FOLDS + 2,
    MOST_WORD = 16,
    SHORT_BYTES = 24, /* shorter odd pieces are not worth cutting */
    LANE_BYTES = 16,  /* each lane that works on a block of a list moves so many bytes */
    MAX_LANES_LOG = 5,
    LONG_BLOCK = 2 << 10,   /* a list with longer blocks is not fused: a warp alone takes too long for one */
    STRIDE_BITS = 57,       /* bits of a memory stride beside its sign */
    RESIDENT = 4,           /* blocks on a multiprocessor, as the kernels' launch bounds say */
    SEVERAL = 4,            /* words that a thread takes when the GPU is full */
    MOST_BYTES = 1 << 20,   /* the longest move that is fused */
    TILED_BYTES = 256 << 10 /* the longest one that a kernel of its own would take through shared memory */
};

static const char name[] = "packwright GPU fused moves 4";

pw_hash pw_gpu_fused_hash(void)
{
    return pw_hash_bytes(name, sizeof name - 1);
}

pw_shape *pw_gpu_fused_shape(void)
{
    return pw_gpu_shape_named(name);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

typedef struct loop {
    int64_t count, mem, packed;
    const pw_table *table;
    uint64_t entries; /* of the table, on the device */
} loop;

/* Where the pieces of a leaf begin, in packed order. */
typedef struct starts {
    int64_t mem[MOST_PIECES], packed[MOST_PIECES];
    int n;
} starts;

static bool is_step(const starts *s, int i, int from, int64_t mem, int64_t packed)
{
    return s->mem[i] - s->mem[i - 1] == mem && s->packed[i] - s->packed[i - 1] == packed && i > from;
}

/* Returns whether the pieces are groups of k, each of which goes on by the same steps. */
static bool are_groups(const starts *s, int k)
{
    int64_t mem = s->mem[1] - s->mem[0], packed = s->packed[1] - s->packed[0];
    for (int i = 0; i < s->n; i++)
        if (i % k > 0 && !is_step(s, i, i - i % k, mem, packed))
            return false;
    return true;
}

/* Turns pieces back into loops, since lowering turns loops of few iterations into pieces. As loops they are one job.
 * Returns how many loops; -1: they are none. */
static int fold_pieces(const pw_region *r, loop *loops)
{
    starts s = {.n = r->npieces};
    int folds = 0;
    if (s.n > MOST_PIECES)
        return -1;
    for (int i = 0; i < s.n; i++) {
        s.mem[i] = r->pieces[i].mem_off;
        s.packed[i] = r->pieces[i].packed_off;
        if (r->pieces[i].bytes != r->pieces[0].bytes)
            return -1;
    }
    while (s.n > 1) {
        int k = s.n;
        while (k > 1 && (s.n % k > 0 || !are_groups(&s, k)))
            k--;
        if (k == 1 || folds == MOST_FOLDS)
            return -1;
        loops[folds++] = (loop){.count = k, .mem = s.mem[1] - s.mem[0], .packed = s.packed[1] - s.packed[0]};
        s.n /= k;
        for (int i = 0; i < s.n; i++) {
            s.mem[i] = s.mem[i * k];
            s.packed[i] = s.packed[i * k];
        }
    }
    return folds;
}

/* Returns how many jobs the region needs. */
static int jobs_of(const pw_region *r)
{
    loop loops[MOST_FOLDS];
    return r->blocks || fold_pieces(r, loops) >= 0 ? 1 : r->npieces;
}

/* ---- which ------------------------------------------------------------------------------------------------------- */

static bool is_simple(const pw_region *r)
{
    int tables = 0;
    for (int i = 0; i < r->ndims; i++) {
        tables += r->dims[i].table != NULL;
        if (r->dims[i].packed_table)
            return false;
    }
    return tables <= (r->blocks ? 0 : 1) && !(r->blocks && r->blocks->packed_offs.data);
}

static int64_t entry(const pw_table *t, int64_t i)
{
    return t->width == 2   ? ((const uint16_t *)t->data)[i]
           : t->width == 4 ? (int64_t)((const uint32_t *)t->data)[i]
                           : ((const int64_t *)t->data)[i];
}

static bool has_long_block(const pw_block_list *list)
{
    for (int64_t i = 0; i < list->n; i++)
        if ((entry(&list->starts, i + 1) - entry(&list->starts, i)) * list->starts.scale > LONG_BLOCK)
            return true;
    return false;
}

/*
 * The longest move that is worth fusing, as measured on an H200. Sixteen moves at once within its memory, as one launch
 * compared with a launch each, are 3 times as fast up to 64 KiB, 1.4 to 2 times at 1 MiB, and between 0.8 and 1.2 at 4
 * MiB, where kernels of their own make good what launches cost. Matrices by columns unpacked: 1.8 times at 256 KiB, 0.9
 * at 1 MiB (bench/gpu/fused.c).
 */
int64_t pw_gpu_fused_most(const pw_nest *nest)
{
    int64_t most = MOST_BYTES;
    int jobs = 0;
    if (!nest)
        return most;
    for (int i = 0; i < nest->nregions; i++) {
        const pw_region *r = &nest->regions[i];
        jobs += jobs_of(r);
        if (!is_simple(r) || jobs > MOST_PARTS || (r->blocks && has_long_block(r->blocks)))
            return 0;
        if (r->tile_outer > 0)
            most = TILED_BYTES;
    }
    return most;
}

/* ---- one job ----------------------------------------------------------------------------------------------------- */

typedef struct job {
    loop loops[MOST_LOOPS]; /* the leaf is the first one */
    int n;
    int64_t mem, packed; /* of the first byte, counted from the two buffers */
    int kind, extras;
    uint64_t extra[6];
    bool tabled;
} job;

static void add_loop(job *j, int64_t count, int64_t mem, int64_t packed)
{
    j->loops[j->n++] = (loop){.count = count, .mem = mem, .packed = packed};
}

/* Adds the region's loops and that over the objects behind the leaf, in any order. */
static void add_loops(job *j, const pw_nest *nest, const pw_region *r, const void *const *tables, int64_t count)
{
    bool objects = false;
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim *d = &r->dims[i];
        objects |= d->is_object;
        add_loop(j, d->is_object ? count : d->count, d->mem_stride, d->packed_stride);
        if (d->table) {
            j->loops[j->n - 1].table = d->table;
            j->loops[j->n - 1].entries = (uint64_t)(uintptr_t)*tables;
            j->loops[j->n - 1].mem = 0;
            j->mem += d->table->base;
        }
    }
    if (!objects)
        add_loop(j, count, nest->extent, nest->packed_extent);
}

/* Drops loops of one iteration, and sorts the others in packed order behind the leaf. Any order would be right, since
 * both strides are stored. */
static void sort_loops(job *j)
{
    int n = 1;
    for (int i = 1; i < j->n; i++) {
        loop l = j->loops[i];
        int at = n;
        if (l.count == 1 && !l.table)
            continue;
        for (; at > 1 && j->loops[at - 1].packed > l.packed; at--)
            j->loops[at] = j->loops[at - 1];
        j->loops[at] = l;
        n++;
    }
    j->n = n;
}

static bool follows(const loop *inner, const loop *outer)
{
    return !inner->table && !outer->table && outer->mem == inner->count * inner->mem &&
           outer->packed == inner->count * inner->packed;
}

/* Merges loops that go on where those inside them end. */
static void merge_loops(job *j)
{
    int n = 1;
    for (int i = 1; i < j->n; i++)
        if (follows(&j->loops[n - 1], &j->loops[i]))
            j->loops[n - 1].count *= j->loops[i].count;
        else
            j->loops[n++] = j->loops[i];
    j->n = n;
}

static int64_t word_of(const job *j, const pw_gpu_call *call)
{
    uint64_t bits = (uint64_t)(uintptr_t)call->dst | (uint64_t)(uintptr_t)call->src | (uint64_t)j->mem |
                    (uint64_t)j->packed | (uint64_t)j->loops[0].count | MOST_WORD;
    for (int i = 1; i < j->n; i++)
        bits |= (uint64_t)j->loops[i].packed | (uint64_t)(j->loops[i].table ? j->loops[i].table->scale : 0) |
                (uint64_t)j->loops[i].mem;
    return (int64_t)(bits & -bits);
}

/* Cuts a leaf of bytes into words, or into parts if no word divides it. */
static void cut_leaf(job *j, const pw_gpu_call *call)
{
    int64_t word = word_of(j, call), bytes = j->loops[0].count;
    if (word < 4 && bytes >= SHORT_BYTES) {
        j->kind = PW_JOB_PARTS;
        j->extra[3] = (uint64_t)bytes;
        j->extras = 4;
        j->loops[0] = (loop){.count = pw_gpu_parts(bytes)};
        return;
    }
    j->kind = PW_JOB_W1 + __builtin_ctzll((unsigned long long)word);
    j->loops[0] = (loop){.count = bytes / word, .mem = word, .packed = word};
    if (bytes == word && j->n > 1) {
        for (int i = 1; i < j->n; i++)
            j->loops[i - 1] = j->loops[i];
        j->n--;
    }
}

static void set_table(job *j)
{
    for (int i = 0; i < j->n; i++)
        if (j->loops[i].table) {
            j->tabled = true;
            j->extra[0] = j->loops[i].entries;
            j->extra[1] = (uint64_t)j->loops[i].table->scale;
            j->extra[2] = (uint64_t)j->loops[i].table->width | (uint64_t)i << 8;
            j->extras = j->extras > 3 ? j->extras : 3;
        }
}

static void set_list(job *j, const pw_block_list *list, const void *const *tables, int64_t leaf)
{
    int64_t mean = list->n > 0 ? leaf / list->n : 1;
    int log = 0;
    while (log < MAX_LANES_LOG && (int64_t)LANE_BYTES << log < mean)
        log++;
    j->kind = PW_JOB_LIST;
    j->mem += list->offs.base;
    j->extra[0] = (uint64_t)(uintptr_t)tables[0];
    j->extra[1] = (uint64_t)list->offs.scale;
    j->extra[2] = (uint64_t)(uintptr_t)tables[1];
    j->extra[3] = (uint64_t)list->starts.base;
    j->extra[4] = (uint64_t)list->starts.scale;
    j->extra[5] = (uint64_t)list->offs.width | (uint64_t)list->starts.width << 8 | (uint64_t)log << 16;
    j->extras = 6;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* The same as in codegen/nvrtc/region_call.c: n / d is n * magic >> shift for n < 2^31. */
static uint64_t magic_of(uint64_t d, int *shift)
{
    int l = d > 1 ? 64 - __builtin_clzll(d - 1) : 0;
    *shift = 31 + l;
    return ((UINT64_C(1) << (31 + l)) + d - 1) / d & UINT32_MAX;
}

/* Returns the iterations of all loops. -1: too many. */
static int64_t units_of(const job *j)
{
    int64_t units = 1;
    for (int i = 0; i < j->n; i++) {
        if (j->loops[i].count <= 0)
            return 0;
        if (__builtin_mul_overflow(units, j->loops[i].count, &units) || units >= INT64_C(1) << 31)
            return -1;
    }
    return units;
}

static bool has_room(const pw_gpu_fused *f, int jobs, int words)
{
    return f->jobs + jobs <= PW_GPU_FUSED_JOBS &&
           1 + PW_JOB_WORDS * (f->jobs + jobs) + f->words + words <= PW_GPU_FUSED_LARGE;
}

/* The strides of a job on its two sides become each other's. */
static void exchange_sides(job *j)
{
    for (int i = 0; i < j->n; i++) {
        int64_t mem = j->loops[i].mem;
        j->loops[i].mem = j->loops[i].packed;
        j->loops[i].packed = mem;
    }
}

static pw_status write_loops(const job *j, uint64_t *to)
{
    for (int i = 0; i < j->n; i++, to += PW_JOB_LOOP_WORDS) {
        const loop *l = &j->loops[i];
        int shift;
        if (l->mem >= INT64_C(1) << STRIDE_BITS || l->mem < -(INT64_C(1) << STRIDE_BITS))
            return PW_ERR_UNSUPPORTED;
        to[PW_JOB_LOOP_COUNT] = (uint64_t)l->count | magic_of((uint64_t)l->count, &shift) << 32;
        to[PW_JOB_LOOP_MEM] = (uint64_t)l->mem << 6 | (uint64_t)shift;
        to[PW_JOB_LOOP_PACKED] = (uint64_t)l->packed;
    }
    return PW_OK;
}

static pw_status write_job(pw_gpu_fused *f, job *j, const pw_gpu_call *call)
{
    int64_t units = units_of(j);
    bool exchanged = f->jobs > 0 && f->direction != call->direction;
    uint64_t *rec = f->records + f->words, *address = f->addresses[f->jobs];
    int words = PW_JOB_EXTRA + j->extras + PW_JOB_LOOP_WORDS * j->n;
    uint64_t dst = (uint64_t)(uintptr_t)call->dst, src = (uint64_t)(uintptr_t)call->src;
    if (units <= 0)
        return units < 0 ? PW_ERR_UNSUPPORTED : PW_OK;
    if (!has_room(f, 1, words) || (exchanged && (j->tabled || j->kind == PW_JOB_LIST)))
        return PW_ERR_OVERFLOW;
    if (f->jobs == 0)
        f->direction = call->direction;
    address[PW_JOB_DST] = dst + (uint64_t)(call->direction == PW_UNPACK ? j->mem : j->packed);
    address[PW_JOB_SRC] = src + (uint64_t)(call->direction == PW_UNPACK ? j->packed : j->mem);
    rec[PW_JOB_UNITS] = (uint64_t)units;
    rec[PW_JOB_SHAPE] = (uint64_t)j->kind | (uint64_t)j->n << 8 | (uint64_t)(j->tabled ? PW_JOB_TABLE : 0) << 16 |
                        (uint64_t)(PW_JOB_EXTRA + j->extras) << 24;
    for (int i = 0; i < j->extras; i++)
        rec[PW_JOB_EXTRA + i] = j->extra[i];
    f->at[f->jobs++] = f->words;
    f->words += words;
    if (exchanged)
        exchange_sides(j);
    return write_loops(j, rec + PW_JOB_EXTRA + j->extras);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static pw_status add_bytes(pw_gpu_fused *f, const pw_gpu_call *call)
{
    job j = {.n = 0};
    add_loop(&j, call->count, 1, 1);
    cut_leaf(&j, call);
    return call->count > 0 ? write_job(f, &j, call) : PW_OK;
}

/* Adds piece number `piece` of a region, or all of them if `whole` is set. */
static pw_status add_piece(pw_gpu_fused *f, const pw_nest *nest, const pw_region *r, int piece, bool whole,
                           const void *const *tables, const pw_gpu_call *call)
{
    job j = {.mem = r->mem_off, .packed = r->packed_off};
    if (r->blocks) {
        add_loop(&j, r->blocks->n, 0, 0);
        set_list(&j, r->blocks, tables, r->leaf_size);
        add_loops(&j, nest, r, NULL, call->count);
        sort_loops(&j);
        return write_job(f, &j, call);
    }
    j.mem += r->pieces[piece].mem_off;
    j.packed += r->pieces[piece].packed_off;
    add_loop(&j, r->pieces[piece].bytes, 1, 1);
    if (whole)
        j.n += fold_pieces(r, j.loops + j.n);
    add_loops(&j, nest, r, tables, call->count);
    sort_loops(&j);
    merge_loops(&j);
    cut_leaf(&j, call);
    set_table(&j);
    return write_job(f, &j, call);
}

static int tables_of(const pw_region *r)
{
    int n = r->blocks ? 2 : 0;
    for (int i = 0; i < r->ndims; i++)
        n += r->dims[i].table != NULL;
    return n;
}

static uint64_t away(const void *to, const void *from)
{
    return (uint64_t)(uintptr_t)to - (uint64_t)(uintptr_t)from;
}

pw_status pw_gpu_fused_again(pw_gpu_fused *f, void *dst, const void *src)
{
    pw_gpu_fused_last *l = &f->last;
    const uint64_t dst_away = away(dst, l->call.dst), src_away = away(src, l->call.src);
    const int from = l->jobs, end = f->jobs;
    if ((dst_away | src_away) % MOST_WORD != 0)
        return PW_ERR_UNSUPPORTED;
    if (!has_room(f, end - from, 0))
        return PW_ERR_OVERFLOW;
    l->call.dst = dst;
    l->call.src = src;
    l->jobs = end;
    for (int i = from; i < end; i++, f->jobs++) {
        f->at[f->jobs] = f->at[i];
        f->addresses[f->jobs][PW_JOB_DST] = f->addresses[i][PW_JOB_DST] + dst_away;
        f->addresses[f->jobs][PW_JOB_SRC] = f->addresses[i][PW_JOB_SRC] + src_away;
    }
    return PW_OK;
}

pw_status pw_gpu_fused_add(pw_gpu_fused *f, const pw_nest *nest, const void *const *tables, const pw_gpu_call *call)
{
    const int jobs = f->jobs, words = f->words;
    pw_status status = PW_OK;
    if (!nest)
        status = add_bytes(f, call);
    for (int i = 0; nest && i < nest->nregions && status == PW_OK; i++) {
        const pw_region *r = &nest->regions[i];
        if (!is_simple(r))
            status = PW_ERR_UNSUPPORTED;
        int parts = jobs_of(r);
        for (int k = 0; k < parts && status == PW_OK; k++)
            status = add_piece(f, nest, r, k, parts == 1, tables, call);
        tables += tables_of(r);
    }
    if (status == PW_OK) {
        f->last = (pw_gpu_fused_last){*call, jobs};
    } else {
        f->jobs = jobs;
        f->words = words;
    }
    return status;
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

/* Returns log2 of the units that a block of threads takes at a time. */
static int units_log(const uint64_t *rec)
{
    int threads = __builtin_ctz(PW_GPU_THREADS);
    bool list = (rec[PW_JOB_SHAPE] & 255) == PW_JOB_LIST;
    return threads - (list ? (int)(rec[PW_JOB_EXTRA + 5] >> 16) : 0);
}

/* `several` is a power of two. */
static int64_t blocks_of(const uint64_t *rec, int64_t several)
{
    int64_t units = (int64_t)rec[PW_JOB_UNITS], step = several << units_log(rec);
    return (units + step - 1) >> __builtin_ctzll((unsigned long long)step);
}

static int64_t all_blocks(const pw_gpu_fused *f, int64_t several)
{
    int64_t blocks = 0;
    for (int i = 0; i < f->jobs; i++)
        blocks += blocks_of(f->records + f->at[i], several);
    return blocks;
}

/* Returns how many of its units a block takes one after the other. The moves are short, so there are at most as many
 * blocks as the GPU holds at once. */
static int64_t choose_several(const pw_gpu_fused *f, const pw_gpu_device *device)
{
    int64_t full = (int64_t)device->multiprocessors * RESIDENT, several = 1;
    if (all_blocks(f, 1) > full)
        several = SEVERAL;
    while (device->max_grid > 0 && several < 1 << 16 && all_blocks(f, several) > device->max_grid)
        several *= SEVERAL;
    return several;
}

void pw_gpu_fused_launch(const pw_gpu_fused *f, const pw_gpu_flag *flag, const pw_gpu_device *device, uint64_t *params,
                         pw_gpu_launch *out)
{
    uint64_t *w = params + PW_GPU_HEAD_WORDS;
    int first = 1 + PW_JOB_WORDS * f->jobs;
    bool large = first + f->words > PW_GPU_FUSED_SMALL;
    size_t bytes = sizeof *w * (size_t)(PW_GPU_HEAD_WORDS + (large ? PW_GPU_FUSED_LARGE : PW_GPU_FUSED_SMALL));
    int64_t several = choose_several(f, device), next = 0, units = 0;
    memset(params, 0, bytes);
    for (int i = 0; i < f->words; i++)
        w[first + i] = f->records[i];
    for (int i = 0; i < f->jobs; i++) {
        uint64_t *rec = w + first + f->at[i];
        units += (int64_t)rec[PW_JOB_UNITS];
        rec[PW_JOB_SHAPE] |= (uint64_t)several << units_log(rec) << 32;
        next += blocks_of(rec, several);
        w[1 + i] = (uint64_t)next | (uint64_t)(first + f->at[i]) << 32;
        for (int k = 0; k < PW_JOB_ADDRESSES; k++)
            w[1 + f->jobs + PW_JOB_ADDRESSES * i + k] = f->addresses[i][k];
    }
    w[0] = (uint64_t)f->jobs;
    params[PW_HEAD_FLAG] = (uint64_t)(uintptr_t)flag->where;
    params[PW_HEAD_ENDS] = (uint64_t)(uintptr_t)flag->ends;
    *out = (pw_gpu_launch){
        .big = large, .grid = (uint32_t)next, .block = PW_GPU_THREADS, .param_bytes = bytes, .total_units = units};
}
