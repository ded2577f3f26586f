/* Grid and parameters of one call. */
#include "codegen/nvrtc/launch.h"

#include "codegen/nvrtc/record.h"

enum {
    MAX_REGION_BLOCKS = 1 << 20, /* beyond it blocks of threads go round again */
    CHUNKED_FROM = 64 << 10,     /* bytes of a list that are searched rather than shared out by entries */
    LANE_BYTES = 16,             /* of a block of bytes per lane that works on it */
    MAX_LANES_LOG = 5
};

/* A region's loops with the numbers of this call. */
typedef struct region_call {
    const pw_gpu_region *g;
    const pw_gpu_call *call;
    uint64_t *rec;
    int64_t count[PW_GPU_MAX_DIMS], mem[PW_GPU_MAX_DIMS], packed[PW_GPU_MAX_DIMS];
    int64_t units;
    bool chunked;
} region_call;

static int64_t value(const region_call *c, pw_num n)
{
    return n.slot < 0 ? n.value : c->call->args->params[n.slot];
}

static uint64_t table_pointer(const region_call *c, const pw_shape_table *t)
{
    return (uint64_t)(uintptr_t)c->call->args->tables[t->slot];
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t longest_piece(const region_call *c)
{
    const pw_shape_region *r = c->g->shape;
    int64_t most = 0;
    for (int i = 0; i < r->npieces; i++) {
        int64_t bytes = value(c, r->pieces[i].bytes);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static int64_t whole_count(const region_call *c, const pw_gpu_dim *d)
{
    const pw_shape_region *r = c->g->shape;
    if (d->is_object)
        return c->call->count;
    if (d->role == PW_GPU_CHUNK)
        return ceil_div(longest_piece(c), PW_PIECE_CHUNK_BYTES);
    if (d->role == PW_GPU_ENTRY)
        return c->chunked ? ceil_div(value(c, r->leaf_size), PW_LIST_CHUNK_BYTES) : value(c, r->nblocks);
    return value(c, d->count);
}

/* Is loop i to stand inside loop j? Loops of one iteration go inside, so that they keep no other from its place. */
static bool is_inner(const region_call *c, int i, int j)
{
    if ((c->count[i] == 1) != (c->count[j] == 1))
        return c->count[i] == 1;
    return c->packed[i] < c->packed[j];
}

static void exchange(int64_t *v, int i, int j)
{
    int64_t t = v[i];
    v[i] = v[j];
    v[j] = t;
}

/* Loops of which the code knows nothing are put into packed order. */
static void sort_free(region_call *c)
{
    for (int i = 0; i < c->g->ndims; i++)
        for (int j = i + 1; j < c->g->ndims; j++)
            if (c->g->dims[i].free && c->g->dims[j].free && is_inner(c, i, j)) {
                exchange(c->count, i, j);
                exchange(c->mem, i, j);
                exchange(c->packed, i, j);
            }
}

static pw_status read_loops(region_call *c)
{
    c->units = 1;
    for (int i = 0; i < c->g->ndims; i++) {
        const pw_gpu_dim *d = &c->g->dims[i];
        c->count[i] = ceil_div(whole_count(c, d), d->per);
        c->mem[i] = value(c, d->mem);
        c->packed[i] = value(c, d->packed);
        if (c->count[i] <= 0)
            c->count[i] = 0;
        if (__builtin_mul_overflow(c->units, c->count[i], &c->units) || c->units >= INT64_C(1) << 62)
            return PW_ERR_OVERFLOW;
    }
    sort_free(c);
    return PW_OK;
}

/* Is the u-th word of the region at u * word in the packed bytes? */
static bool is_dense(const region_call *c)
{
    int64_t next = c->g->word;
    if (c->g->kind != PW_GPU_WORDS || !pw_gpu_pieces_are_dense(c->g->shape))
        return false;
    for (int i = c->g->ndims - 1; i >= 0; i--) {
        if (c->count[i] == 1)
            continue;
        if (c->packed[i] != next)
            return false;
        next *= c->count[i];
    }
    return true;
}

/* ---- the record -------------------------------------------------------------------------------------------- */

/* n / d as a multiplication: by ceil(2^(31 + l) / d) and of the high half by ceil(2^(63 + l) / d), where
 * 2^(l - 1) < d <= 2^l. Exact for n < 2^31 and n < 2^63. */
static void write_magic(uint64_t *dim, uint64_t d)
{
    int l = 0;
    while (l < 62 && (UINT64_C(1) << l) < d)
        l++;
    if (d <= UINT64_C(1) << 31) {
        uint64_t magic = ((UINT64_C(1) << (31 + l)) + d - 1) / d;
        dim[PW_DIM_MAGIC32] = (magic & UINT32_MAX) | (uint64_t)(31 + l) << 32;
    }
    if (d > 1) {
        unsigned __int128 top = (unsigned __int128)1 << (63 + l);
        dim[PW_DIM_MAGIC64] = (uint64_t)((top + d - 1) / d);
        dim[PW_DIM_SHIFT64] = (uint64_t)(l - 1);
    }
}

static void write_loops(region_call *c)
{
    for (int i = 0; i < c->g->ndims; i++) {
        const pw_gpu_dim *d = &c->g->dims[i];
        uint64_t *dim = c->rec + PW_REC_DIMS + PW_DIM_WORDS * i;
        for (int k = 0; k < PW_DIM_WORDS; k++)
            dim[k] = 0;
        dim[PW_DIM_COUNT] = (uint64_t)c->count[i];
        if (c->count[i] > 0)
            write_magic(dim, (uint64_t)c->count[i]);
        dim[PW_DIM_MEM] = (uint64_t)c->mem[i];
        dim[PW_DIM_PACKED] = (uint64_t)c->packed[i];
        if (pw_gpu_table_is_there(&d->table)) {
            dim[PW_DIM_TABLE] = table_pointer(c, &d->table);
            dim[PW_DIM_SCALE] = (uint64_t)value(c, d->table.scale);
        }
    }
}

static void write_tail(region_call *c)
{
    const pw_shape_region *r = c->g->shape;
    const pw_gpu_dim *inner = &c->g->dims[c->g->ndims - 1];
    uint64_t *tail = c->rec + c->g->tail;
    if (c->g->kind == PW_GPU_TILE) {
        tail[PW_TAIL_COUNT_A] = (uint64_t)whole_count(c, inner);
        tail[PW_TAIL_COUNT_B] = (uint64_t)whole_count(c, inner - 1);
    } else if (c->g->kind == PW_GPU_PIECES) {
        for (int i = 0; i < r->npieces; i++, tail += PW_TAIL_PIECE) {
            tail[0] = (uint64_t)value(c, r->pieces[i].mem_off);
            tail[1] = (uint64_t)value(c, r->pieces[i].packed_off);
            tail[2] = (uint64_t)value(c, r->pieces[i].bytes);
        }
    } else if (c->g->kind == PW_GPU_LIST) {
        tail[PW_TAIL_OFFS] = table_pointer(c, &r->block_offs);
        tail[PW_TAIL_OFFS_SCALE] = (uint64_t)value(c, r->block_offs.scale);
        tail[PW_TAIL_STARTS] = table_pointer(c, &r->block_starts);
        tail[PW_TAIL_STARTS_BASE] = (uint64_t)value(c, r->block_starts.base);
        tail[PW_TAIL_STARTS_SCALE] = (uint64_t)value(c, r->block_starts.scale);
        tail[PW_TAIL_N] = (uint64_t)value(c, r->nblocks);
        tail[PW_TAIL_LEAF] = (uint64_t)value(c, r->leaf_size);
    }
}

/* Lanes that share `bytes` bytes. */
static uint64_t lanes_log(int64_t bytes)
{
    int log = 0;
    while (log < MAX_LANES_LOG && (int64_t)LANE_BYTES << log < bytes)
        log++;
    return (uint64_t)log;
}

static uint64_t region_lanes(const region_call *c)
{
    const pw_shape_region *r = c->g->shape;
    int64_t n = r->npieces > 0 ? r->npieces : value(c, r->nblocks);
    if (c->g->kind != PW_GPU_LIST && c->g->kind != PW_GPU_PIECES)
        return 0;
    return lanes_log(n > 0 ? value(c, r->leaf_size) / n : 1);
}

static void write_header(region_call *c)
{
    const pw_shape_region *r = c->g->shape;
    uint64_t *rec = c->rec;
    int64_t mem = value(c, r->mem_off), packed = value(c, r->packed_off);
    uint64_t bits = (uint64_t)(uintptr_t)c->call->dst | (uint64_t)(uintptr_t)c->call->src;
    for (int i = 0; i < c->g->ndims; i++)
        if (pw_gpu_table_is_there(&c->g->dims[i].table))
            mem += value(c, c->g->dims[i].table.base);
    if (c->g->kind == PW_GPU_LIST)
        mem += value(c, r->block_offs.base);
    if (r->npieces == 1 && c->g->kind != PW_GPU_PIECES) {
        mem += value(c, r->pieces[0].mem_off);
        packed += value(c, r->pieces[0].packed_off);
    }
    rec[PW_REC_UNITS] = (uint64_t)c->units;
    rec[PW_REC_MEM] = (uint64_t)mem;
    rec[PW_REC_PACKED] = (uint64_t)packed;
    rec[PW_REC_LANES] = region_lanes(c);
    rec[PW_REC_FLAGS] = (bits & (uint64_t)(c->g->word - 1)) == 0 ? PW_FLAG_ALIGNED : 0;
    rec[PW_REC_FLAGS] |= is_dense(c) ? PW_FLAG_DENSE : 0;
    rec[PW_REC_FLAGS] |= c->chunked ? PW_FLAG_CHUNKED : 0;
    rec[PW_REC_SPARE] = 0;
}

/* ---- the grid ------------------------------------------------------------------------------------------------ */

/*
 * Blocks for a region. A thread takes several words when there are enough to fill the GPU; when there are not,
 * fewer words a thread are sooner done.
 */
static int64_t region_blocks(const region_call *c, const pw_gpu_device *device)
{
    int threads = device->threads > 0 ? device->threads : 2048;
    int64_t full = (int64_t)device->multiprocessors * threads / PW_GPU_THREADS, blocks = c->units;
    if (c->g->kind == PW_GPU_WORDS) {
        int64_t most = ceil_div(c->units, PW_GPU_THREADS);
        blocks = ceil_div(c->units, PW_GPU_THREADS * PW_BATCH_WORDS);
        if (blocks < full)
            blocks = most < full ? most : full;
    } else if (c->g->kind != PW_GPU_TILE && !c->chunked) {
        blocks = ceil_div(c->units, PW_GPU_THREADS >> c->rec[PW_REC_LANES]);
    }
    return blocks < MAX_REGION_BLOCKS ? blocks : MAX_REGION_BLOCKS;
}

static pw_status make_region(const pw_gpu_region *g, const pw_gpu_call *call, uint64_t *w, region_call *c)
{
    *c = (region_call){.g = g, .call = call, .rec = w + g->record};
    c->chunked = g->kind == PW_GPU_LIST && value(c, g->shape->leaf_size) >= CHUNKED_FROM;
    pw_status status = read_loops(c);
    if (status != PW_OK)
        return status;
    write_header(c);
    write_loops(c);
    write_tail(c);
    return PW_OK;
}

pw_status pw_gpu_launch_make(const pw_gpu_plan *plan, const pw_gpu_call *call, const pw_gpu_device *device,
                             uint64_t *params, pw_gpu_launch *out)
{
    uint64_t *w = params + PW_GPU_HEAD_WORDS;
    uint64_t blocks = 0;
    pw_gpu_launch l = {
        .block = PW_GPU_THREADS, .shared = (uint32_t)plan->shared_bytes, .param_bytes = pw_gpu_plan_param_bytes(plan)};
    for (int i = 0; i < plan->nregions; i++) {
        region_call c;
        pw_status status = make_region(&plan->regions[i], call, w, &c);
        if (status != PW_OK)
            return status;
        c.rec[PW_REC_FIRST] = blocks;
        c.rec[PW_REC_BLOCKS] = (uint64_t)region_blocks(&c, device);
        blocks += c.rec[PW_REC_BLOCKS];
        w[2 * i] = blocks;
        w[2 * i + 1] = (uint64_t)plan->regions[i].record | (uint64_t)plan->regions[i].code << 32;
        l.big |= c.units >= INT64_C(1) << 31;
        if (__builtin_add_overflow(l.total_units, c.units, &l.total_units))
            return PW_ERR_OVERFLOW;
    }
    params[0] = (uint64_t)(uintptr_t)call->dst;
    params[1] = (uint64_t)(uintptr_t)call->src;
    params[2] = blocks;
    l.grid = device->max_grid > 0 && blocks > device->max_grid ? device->max_grid : (uint32_t)blocks;
    *out = l;
    return PW_OK;
}
