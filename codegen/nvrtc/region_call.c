/* Writes the record of a region: what its kernel is told of one call. */
#include "codegen/nvrtc/region_call.h"

enum {
    LEAST_WINDOW = 16,
    SPARSE_BYTES = 40, /* blocks shorter than this, at SPARSE_TIMES their length, have granules of their own */
    SPARSE_TIMES = 8,
    FILLED_FROM = 15 << 20, /* packed bytes from which ends of blocks are read before they are written */
    FILLED_MOST = 2048,     /* and lengths of such blocks, from PW_GPU_FILLED_BYTES in general */
    SHORT_BYTES = 8,        /* mean bytes of blocks that are not worth cutting */
    SHORT_UNPACKED = 16,    /* the same when they are unpacked: then every end is a write of its own to the L2 */
    LANE_BYTES = 16,        /* of a block of bytes per lane that works on it */
    MAX_LANES_LOG = 5
};

static uint64_t table_pointer(const pw_region_call *c, const pw_shape_table *t)
{
    return (uint64_t)(uintptr_t)c->call->args->tables[t->slot];
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Returns how many parts a piece of so many bytes can be cut into, wherever it begins. */
static int64_t parts_of(const pw_region_call *c, int piece)
{
    return pw_gpu_parts(pw_region_value(c, c->g->shape->pieces[piece].bytes));
}

static int64_t parts_of_leaf(const pw_region_call *c)
{
    int64_t n = 0;
    for (int i = 0; i < c->g->shape->npieces; i++)
        n += parts_of(c, i);
    return n;
}

static int64_t bytes_of_leaf(const pw_region_call *c)
{
    int64_t n = 0;
    for (int i = 0; i < c->g->shape->npieces; i++)
        n += pw_region_value(c, c->g->shape->pieces[i].bytes);
    return n;
}

static int64_t whole_count(const pw_region_call *c, const pw_gpu_dim *d)
{
    const pw_shape_region *r = c->g->shape;
    if (d->is_object)
        return c->call->count;
    if (d->role == PW_GPU_PART)
        return parts_of_leaf(c);
    if (d->role == PW_GPU_ENTRY)
        return c->chunked ? pw_ceil_div(pw_region_value(c, r->leaf_size), c->span) : pw_region_value(c, r->nblocks);
    return pw_region_value(c, d->count);
}

/* Returns whether loop i goes inside loop j. Loops of one iteration go inside, so that they keep no other loop from its
 * place. */
static bool is_inner(const pw_region_call *c, int i, int j)
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

/* Sorts loops in packed order that the code knows nothing about. */
static void sort_free(pw_region_call *c)
{
    for (int i = 0; i < c->g->ndims; i++)
        for (int j = i + 1; j < c->g->ndims; j++)
            if (c->g->dims[i].free && c->g->dims[j].free && is_inner(c, i, j)) {
                exchange(c->count, i, j);
                exchange(c->mem, i, j);
                exchange(c->packed, i, j);
            }
}

static pw_status read_loops(pw_region_call *c)
{
    c->units = 1;
    for (int i = 0; i < c->g->ndims; i++) {
        const pw_gpu_dim *d = &c->g->dims[i];
        c->count[i] = pw_ceil_div(whole_count(c, d), d->per);
        c->mem[i] = pw_region_value(c, d->mem);
        c->packed[i] = pw_region_value(c, d->packed);
        if (c->count[i] <= 0)
            c->count[i] = 0;
        if (__builtin_mul_overflow(c->units, c->count[i], &c->units) || c->units >= INT64_C(1) << 62)
            return PW_ERR_OVERFLOW;
    }
    sort_free(c);
    return PW_OK;
}

/* Returns whether the u-th word of the region is at u * word in the packed bytes. */
static bool is_dense(const pw_region_call *c)
{
    int64_t next = c->g->word;
    if (c->g->joined || c->g->kind != PW_GPU_WORDS || !pw_gpu_pieces_are_dense(c->g->shape))
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
static int log_of(uint64_t d)
{
    return d > 1 ? 64 - __builtin_clzll(d - 1) : 0;
}

static void write_magic32(uint64_t *dim, uint64_t d)
{
    int l = log_of(d);
    if (d <= UINT64_C(1) << 31)
        dim[PW_DIM_MAGIC32] = (((UINT64_C(1) << (31 + l)) + d - 1) / d & UINT32_MAX) | (uint64_t)(31 + l) << 32;
}

static void write_magic64(uint64_t *dim, uint64_t d)
{
    int l = log_of(d);
    if (d > 1) {
        unsigned __int128 top = (unsigned __int128)1 << (63 + l);
        dim[PW_DIM_MAGIC64] = (uint64_t)((top + d - 1) / d);
        dim[PW_DIM_SHIFT64] = (uint64_t)(l - 1);
    }
}

void pw_region_write_magics64(const pw_gpu_plan *plan, uint64_t *w)
{
    for (int i = 0; i < plan->nregions; i++)
        for (int k = 0; k < plan->regions[i].ndims; k++) {
            uint64_t *dim = w + plan->regions[i].record + PW_REC_DIMS + PW_DIM_WORDS * k;
            if (dim[PW_DIM_COUNT] > 0)
                write_magic64(dim, dim[PW_DIM_COUNT]);
        }
}

static void write_loops(pw_region_call *c)
{
    for (int i = 0; i < c->g->ndims; i++) {
        const pw_gpu_dim *d = &c->g->dims[i];
        uint64_t *dim = c->rec + PW_REC_DIMS + PW_DIM_WORDS * i;
        for (int k = 0; k < PW_DIM_WORDS; k++)
            dim[k] = 0;
        dim[PW_DIM_COUNT] = (uint64_t)c->count[i];
        if (c->count[i] > 0)
            write_magic32(dim, (uint64_t)c->count[i]);
        dim[PW_DIM_MEM] = (uint64_t)c->mem[i];
        dim[PW_DIM_PACKED] = (uint64_t)c->packed[i];
        if (pw_gpu_table_is_there(&d->table)) {
            dim[PW_DIM_TABLE] = table_pointer(c, &d->table);
            dim[PW_DIM_SCALE] = (uint64_t)pw_region_value(c, d->table.scale);
        }
        if (pw_gpu_table_is_there(&d->packed_table)) {
            c->rec[d->packed_word] = table_pointer(c, &d->packed_table);
            c->rec[d->packed_word + 1] = (uint64_t)pw_region_value(c, d->packed_table.scale);
        }
    }
}

bool pw_region_is_aligned(const pw_region_call *c)
{
    uint64_t bits = (uint64_t)(uintptr_t)c->call->dst | (uint64_t)(uintptr_t)c->call->src;
    return (bits & (uint64_t)(c->g->word - 1)) == 0;
}

/* Returns how many blocks of a list fit shared memory at once: somewhat more than a span has on average. */
static uint64_t list_window(const pw_region_call *c)
{
    int64_t leaf = pw_region_value(c, c->g->shape->leaf_size), n = pw_region_value(c, c->g->shape->nblocks);
    int64_t most = pw_gpu_region_is_odd(c->g) || pw_region_is_aligned(c) ? PW_LIST_WINDOW : PW_ASKEW_WINDOW;
    int64_t wanted = leaf > 0 ? c->span * n / leaf * 5 / 4 + 2 + PW_LIST_SLACK : 1;
    wanted = wanted < n ? wanted : n;
    return (uint64_t)(wanted < LEAST_WINDOW ? LEAST_WINDOW : wanted < most ? wanted : most);
}

/* Writes where a list is searched: around the place that its mean length gives, as far away as random lengths would
 * vary it. */
static void write_guess(const pw_region_call *c, uint64_t *tail)
{
    int64_t leaf = pw_region_value(c, c->g->shape->leaf_size), n = pw_region_value(c, c->g->shape->nblocks);
    double guess = leaf > 0 ? (double)c->span * (double)n / (double)leaf * 65536 : 0;
    uint64_t stride = 1;
    while (stride * stride * PW_GPU_THREADS * PW_GPU_THREADS / 8 < (uint64_t)n)
        stride *= 2;
    tail[PW_TAIL_GUESS] = guess < 0x1p40 ? (uint64_t)guess : 0;
    tail[PW_TAIL_STRIDE] = stride;
}

/* Writes where aligned words of the region may be read: on each side, unless it has a table. */
static void write_ranges(const pw_region_call *c, uint64_t *ranges)
{
    const pw_shape_region *r = c->g->shape;
    int64_t lo[2] = {INT64_MAX, INT64_MAX}, hi[2] = {INT64_MIN, INT64_MIN};
    bool table[2] = {false, false};
    for (int i = 0; i < r->npieces; i++) {
        const int64_t at[] = {pw_region_value(c, r->pieces[i].mem_off), pw_region_value(c, r->pieces[i].packed_off)};
        int64_t n = pw_region_value(c, r->pieces[i].bytes);
        for (int side = 0; side < 2; side++) {
            lo[side] = at[side] < lo[side] ? at[side] : lo[side];
            hi[side] = at[side] + n > hi[side] ? at[side] + n : hi[side];
        }
    }
    for (int i = 0; i < c->g->ndims; i++) {
        const int64_t stride[] = {c->mem[i], c->packed[i]};
        table[0] |= pw_gpu_table_is_there(&c->g->dims[i].table);
        table[1] |= pw_gpu_table_is_there(&c->g->dims[i].packed_table);
        for (int side = 0; side < 2 && c->count[i] > 0; side++)
            *(stride[side] < 0 ? &lo[side] : &hi[side]) += (c->count[i] - 1) * stride[side];
    }
    for (int side = 0; side < 2; side++) {
        uint64_t bytes = (uint64_t)hi[side] - (uint64_t)lo[side];
        bool known = !table[side] && hi[side] > lo[side] && bytes >= 2 * PW_GPU_PART_BYTES;
        ranges[2 * side] = c->rec[side ? PW_REC_PACKED : PW_REC_MEM] + (uint64_t)lo[side];
        ranges[2 * side + 1] = known ? bytes - 2 * PW_GPU_PART_BYTES + 1 : 0;
    }
}

static void write_tail(pw_region_call *c)
{
    const pw_shape_region *r = c->g->shape;
    const pw_gpu_dim *inner = &c->g->dims[c->g->ndims - 1];
    uint64_t *tail = c->rec + c->g->tail;
    if (c->g->kind == PW_GPU_TILE) {
        tail[PW_TAIL_COUNT_A] = (uint64_t)whole_count(c, inner);
        tail[PW_TAIL_COUNT_B] = (uint64_t)whole_count(c, inner - 1);
    } else if (c->g->kind == PW_GPU_PIECES) {
        int64_t first = 0;
        for (int i = 0; i < r->npieces; i++, tail += PW_TAIL_PIECE) {
            tail[0] = (uint64_t)pw_region_value(c, r->pieces[i].mem_off);
            tail[1] = (uint64_t)pw_region_value(c, r->pieces[i].packed_off);
            tail[2] = (uint64_t)pw_region_value(c, r->pieces[i].bytes);
            tail[3] = (uint64_t)first;
            first += parts_of(c, i);
        }
        write_ranges(c, tail);
    } else if (c->g->kind == PW_GPU_LIST) {
        tail[PW_TAIL_OFFS] = table_pointer(c, &r->block_offs);
        tail[PW_TAIL_OFFS_SCALE] = (uint64_t)pw_region_value(c, r->block_offs.scale);
        tail[PW_TAIL_STARTS] = table_pointer(c, &r->block_starts);
        tail[PW_TAIL_STARTS_BASE] = (uint64_t)pw_region_value(c, r->block_starts.base);
        tail[PW_TAIL_STARTS_SCALE] = (uint64_t)pw_region_value(c, r->block_starts.scale);
        tail[PW_TAIL_N] = (uint64_t)pw_region_value(c, r->nblocks);
        tail[PW_TAIL_LEAF] = (uint64_t)pw_region_value(c, r->leaf_size);
        tail[PW_TAIL_SPAN] = (uint64_t)c->span;
        tail[PW_TAIL_WINDOW] = list_window(c);
        write_guess(c, tail);
        if (c->g->joined) {
            tail[PW_TAIL_PACKED_OFFS] = table_pointer(c, &r->block_packed);
            tail[PW_TAIL_PACKED_SCALE] = (uint64_t)pw_region_value(c, r->block_packed.scale);
        }
    }
}

/* Returns log2 of the lanes that share `bytes` bytes. */
static uint64_t lanes_log(int64_t bytes)
{
    int log = 0;
    while (log < MAX_LANES_LOG && (int64_t)LANE_BYTES << log < bytes)
        log++;
    return (uint64_t)log;
}

int64_t pw_region_mean_block(const pw_region_call *c)
{
    int64_t n = pw_region_value(c, c->g->shape->nblocks);
    return n > 0 ? pw_region_value(c, c->g->shape->leaf_size) / n : 1;
}

bool pw_region_is_short(const pw_region_call *c)
{
    return pw_region_mean_block(c) < (c->call->direction == PW_UNPACK ? SHORT_UNPACKED : SHORT_BYTES);
}

/* Returns the mean length of a region's blocks. */
static int64_t block_bytes(const pw_region_call *c)
{
    const pw_shape_region *r = c->g->shape;
    return r->npieces == 0 ? pw_region_mean_block(c) : bytes_of_leaf(c) / r->npieces;
}

/* Returns the distance between the closest blocks of a region on one side, without tables. INT64_MAX: there is one
 * block. */
static int64_t block_distance(const pw_region_call *c, bool packed)
{
    int64_t closest = INT64_MAX;
    for (int i = 0; i < c->g->ndims; i++) {
        const pw_gpu_dim *d = &c->g->dims[i];
        int64_t stride = packed ? c->packed[i] : c->mem[i];
        bool inside = d->role == PW_GPU_WORD || d->role == PW_GPU_PART;
        if (stride < 0)
            stride = -stride;
        if (!inside && !pw_gpu_table_is_there(packed ? &d->packed_table : &d->table) && c->count[i] > 1 &&
            stride < closest)
            closest = stride;
    }
    return closest;
}

static bool is_spread(int64_t bytes, int64_t distance)
{
    return distance != INT64_MAX && distance / SPARSE_TIMES >= bytes;
}

/* Returns whether every block of the region is alone in its granules of memory, on one side at least. */
static bool is_sparse(const pw_region_call *c)
{
    int64_t bytes;
    if (c->g->kind != PW_GPU_WORDS || c->g->shape->npieces != 1)
        return false;
    for (int i = 0; i < c->g->ndims; i++)
        if (pw_gpu_table_is_there(&c->g->dims[i].table) || pw_gpu_table_is_there(&c->g->dims[i].packed_table))
            return false;
    bytes = block_bytes(c);
    return bytes < SPARSE_BYTES &&
           (is_spread(bytes, block_distance(c, false)) || (c->g->joined && is_spread(bytes, block_distance(c, true))));
}

/*
 * Returns whether ends of blocks are read before they are written, by an unpack or on either side of a join. If many do
 * not end with a sector, reading these sectors early makes writing up to twice as fast. It does not where sectors hold
 * hardly anything else, where blocks are very long, or where all stays in the cache.
 */
static uint64_t filled_flag(const pw_region_call *c)
{
    bool narrow = c->g->kind == PW_GPU_WORDS && c->g->word < PW_NARROW_BYTES;
    int64_t bytes, distance;
    if ((c->call->direction == PW_PACK && !c->g->joined) || c->total < FILLED_FROM || narrow ||
        c->g->kind == PW_GPU_TILE || (c->g->kind == PW_GPU_LIST && !c->chunked))
        return 0;
    bytes = block_bytes(c);
    if (bytes >= PW_GPU_FILLED_BYTES)
        return bytes < FILLED_MOST ? PW_FLAG_FILLED : 0;
    distance = block_distance(c, c->call->direction == PW_PACK);
    return distance <= PW_GPU_SECTOR && 2 * bytes >= distance ? PW_FLAG_FILLED_WIDE : 0;
}

/*
 * Returns whether few blocks of threads shall take several turns. A kernel that writes a flag waits for its writes at
 * the end of every block. Blocks that move little in a short time, a wide word for each thread, are then faster in
 * several turns; for others it makes no difference.
 */
static bool shall_be_few(const pw_region_call *c)
{
    const pw_gpu_region *g = c->g;
    return c->call->flag.where && g->kind == PW_GPU_WORDS && g->word == 16 && g->batch == 1 &&
           (g->shape->npieces > 1 || pw_region_value(c, g->shape->pieces[0].bytes) >= SPARSE_BYTES);
}

static void write_header(pw_region_call *c)
{
    const pw_shape_region *r = c->g->shape;
    const uint64_t both = PW_FLAG_ALIGNED | PW_FLAG_DENSE;
    uint64_t *rec = c->rec;
    int64_t mem = pw_region_value(c, r->mem_off), packed = pw_region_value(c, r->packed_off);
    uint64_t bits = (uint64_t)(uintptr_t)c->call->dst | (uint64_t)(uintptr_t)c->call->src;
    for (int i = 0; i < c->g->ndims; i++)
        if (pw_gpu_table_is_there(&c->g->dims[i].table))
            mem += pw_region_value(c, c->g->dims[i].table.base);
    for (int i = 0; i < c->g->ndims; i++)
        if (pw_gpu_table_is_there(&c->g->dims[i].packed_table))
            packed += pw_region_value(c, c->g->dims[i].packed_table.base);
    if (c->g->kind == PW_GPU_LIST)
        mem += pw_region_value(c, r->block_offs.base);
    if (c->g->kind == PW_GPU_LIST && c->g->joined)
        packed += pw_region_value(c, r->block_packed.base);
    if (r->npieces == 1 && c->g->kind != PW_GPU_PIECES) {
        mem += pw_region_value(c, r->pieces[0].mem_off);
        packed += pw_region_value(c, r->pieces[0].packed_off);
    }
    rec[PW_REC_UNITS] = (uint64_t)c->units;
    rec[PW_REC_MEM] = (uint64_t)mem;
    rec[PW_REC_PACKED] = (uint64_t)packed;
    rec[PW_REC_LANES] = c->g->kind == PW_GPU_LIST && !c->chunked ? lanes_log(pw_region_mean_block(c)) : 0;
    rec[PW_REC_FLAGS] = pw_region_is_aligned(c) ? PW_FLAG_ALIGNED : 0;
    rec[PW_REC_FLAGS] |= is_dense(c) ? PW_FLAG_DENSE : 0;
    rec[PW_REC_FLAGS] |= c->chunked ? PW_FLAG_CHUNKED : 0;
    rec[PW_REC_FLAGS] |= c->chunked && pw_region_is_short(c) ? PW_FLAG_SHORT : 0;
    rec[PW_REC_FLAGS] |= is_sparse(c) ? PW_FLAG_SPARSE : 0;
    rec[PW_REC_FLAGS] |= filled_flag(c);
    rec[PW_REC_FLAGS] |= shall_be_few(c) ? PW_FLAG_FEW : 0;
    if (c->g->kind == PW_GPU_WORDS && c->g->word < PW_NARROW_BYTES && rec[PW_REC_FLAGS] == both &&
        !(c->g->offs && c->call->direction == PW_UNPACK) && ((bits | (uint64_t)packed) & (PW_NARROW_BYTES - 1)) == 0)
        rec[PW_REC_FLAGS] |= PW_FLAG_NARROW;
    rec[PW_REC_SPARE] = 0;
}

pw_status pw_region_write(pw_region_call *c)
{
    pw_status status = read_loops(c);

    if (status != PW_OK)
        return status;
    write_header(c);
    write_loops(c);
    write_tail(c);
    return PW_OK;
}
