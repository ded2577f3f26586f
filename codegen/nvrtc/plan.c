/* Makes a plan from a shape: a kind for each region, its loops in packed order, and the layout of the parameters. */
#include "codegen/nvrtc/plan.h"

#include "codegen/backend.h"
#include "codegen/nvrtc/record.h"

enum {
    MAX_PARAM_BYTES = 32000, /* of the 32764 that a launch may have (CUDA 12.1 and later; 4096 before) */
    PARTS_FROM = 24,         /* narrow pieces of at least so many bytes on average are cut into parts */
    WORD_FOR_THREADS = 4,    /* a narrower word is worth a thread only in short pieces */
    MAX_OFFSETS = 2048,      /* a leaf of at most so many words gets a table of them */
    PLAIN_FROM = 3,          /* from so many regions on, regions share code */
    SHORT_BYTES = 40,        /* shorter blocks fill no sector */
    RESIDENT_PLAIN = 4,      /* blocks of a multiprocessor: 64 registers a thread; all numbers from the record */
    RESIDENT_LARGE_TILE = 5, /* 48 */
    RESIDENT_WIDE_TILE = 6,  /* 40 */
    RESIDENT_HEAVY = 6,
    RESIDENT_MOST = 8,                                            /* 32 */
    WINDOW_BYTES = PW_LIST_WINDOW * 12 + PW_LIST_GROUPS * 6 + 16, /* the size of pw_window */
    JOINED_WINDOW_BYTES = WINDOW_BYTES + PW_LIST_WINDOW * 8,      /* of pw_window_joined */
    ODD_BYTES = PW_ODD_GROUPS * 8 + 96                            /* the size of pw_odd */
};

static bool is_baked(pw_num n)
{
    return n.slot < 0;
}

static pw_num baked(int64_t value)
{
    return (pw_num){.value = value, .slot = -1};
}

static const pw_shape_table no_table = {.slot = -1};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool pw_gpu_pieces_are_baked(const pw_shape_region *r)
{
    bool all = r->npieces > 0;
    for (int i = 0; i < r->npieces; i++)
        all &= is_baked(r->pieces[i].mem_off) && is_baked(r->pieces[i].packed_off) && is_baked(r->pieces[i].bytes);
    return all;
}

bool pw_gpu_pieces_are_dense(const pw_shape_region *r)
{
    int64_t at = r->npieces > 0 && is_baked(r->pieces[0].packed_off) ? r->pieces[0].packed_off.value : 0;
    if (r->npieces == 1)
        return true;
    for (int i = 0; i < r->npieces; i++) {
        if (!is_baked(r->pieces[i].packed_off) || !is_baked(r->pieces[i].bytes) || r->pieces[i].packed_off.value != at)
            return false;
        at += r->pieces[i].bytes.value;
    }
    return true;
}

/* Returns the mean length of the pieces; a large number if they are not baked. */
static int64_t mean_piece(const pw_shape_region *r)
{
    int64_t sum = 0;
    for (int i = 0; i < r->npieces; i++) {
        if (!is_baked(r->pieces[i].bytes))
            return INT64_MAX;
        sum += r->pieces[i].bytes.value;
    }
    return sum / r->npieces;
}

/* ---- the tiled pair of loops -------------------------------------------------------------------------- */

static bool is_close(pw_num stride, int64_t bytes)
{
    return is_baked(stride) && stride.value == bytes;
}

/* Finds the loops of a tile that are close in packed order (a) and in memory (b). False: there are none. */
static bool find_tile(const pw_shape_region *r, int word, int *a, int *b)
{
    if (r->tile_outer == 0 || r->ndims < 2 || r->npieces != 1 || !is_close(r->pieces[0].bytes, word))
        return false;
    for (int swap = 0; swap < 2; swap++) {
        *a = r->ndims - 1 - swap;
        *b = r->ndims - 2 + swap;
        const pw_shape_dim *da = &r->dims[*a], *db = &r->dims[*b];
        if (da->table.slot < 0 && db->table.slot < 0 && da->packed_table.slot < 0 && db->packed_table.slot < 0 &&
            is_close(da->packed_stride, word) && is_close(db->mem_stride, word))
            return true;
    }
    return false;
}

static pw_gpu_kind kind_of(const pw_shape_region *r, int word, int *a, int *b)
{
    if (r->npieces == 0)
        return PW_GPU_LIST;
    if (find_tile(r, word, a, b))
        return PW_GPU_TILE;
    if (r->npieces > 1 && !pw_gpu_pieces_are_baked(r))
        return PW_GPU_PIECES;
    return word < WORD_FOR_THREADS && mean_piece(r) >= PARTS_FROM ? PW_GPU_PIECES : PW_GPU_WORDS;
}

/* ---- loops ---------------------------------------------------------------------------------------------- */

/* Inserts a loop behind those with larger packed strides. Unknown strides count as large. The loops of a joined nest
 * are sorted by what a step costs on both sides, innermost the cheapest, and stay in that order. */
static void insert(pw_gpu_region *g, pw_gpu_dim dim)
{
    int at = g->ndims++;
    if (g->joined) {
        g->dims[at] = dim;
        return;
    }
    for (; at > 0 && is_baked(g->dims[at - 1].packed) &&
           (!is_baked(dim.packed) || dim.packed.value > g->dims[at - 1].packed.value);
         at--)
        g->dims[at] = g->dims[at - 1];
    dim.free = (dim.is_object || !is_baked(dim.count)) && !is_baked(dim.mem) && !is_baked(dim.packed) &&
               dim.table.slot < 0 && dim.per == 1;
    g->dims[at] = dim;
}

static void append(pw_gpu_region *g, pw_gpu_role role, pw_num count, int64_t per, int64_t stride)
{
    g->dims[g->ndims++] = (pw_gpu_dim){.role = role,
                                       .count = count,
                                       .per = per,
                                       .mem = baked(stride),
                                       .packed = baked(stride),
                                       .table = no_table,
                                       .packed_table = no_table};
}

static void add_loops(const pw_shape *shape, pw_gpu_region *g, int skip_a, int skip_b)
{
    const pw_shape_region *r = g->shape;
    if (shape->object_outer)
        insert(g, (pw_gpu_dim){.role = PW_GPU_OBJECTS,
                               .is_object = true,
                               .per = 1,
                               .mem = shape->extent,
                               .packed = g->joined ? shape->packed_extent : shape->size,
                               .table = no_table,
                               .packed_table = no_table});
    for (int i = 0; i < r->ndims; i++) {
        const pw_shape_dim *d = &r->dims[i];
        if (i != skip_a && i != skip_b)
            insert(g, (pw_gpu_dim){.role = PW_GPU_LOOP,
                                   .is_object = d->is_object,
                                   .count = d->count,
                                   .per = 1,
                                   .mem = d->mem_stride,
                                   .packed = d->packed_stride,
                                   .table = d->table,
                                   .packed_table = g->joined ? d->packed_table : no_table});
    }
}

static void add_tiles(pw_gpu_region *g, pw_gpu_role role, const pw_shape_dim *d)
{
    g->dims[g->ndims++] = (pw_gpu_dim){.role = role,
                                       .is_object = d->is_object,
                                       .count = d->count,
                                       .per = g->side,
                                       .mem = d->mem_stride,
                                       .packed = d->packed_stride,
                                       .table = no_table,
                                       .packed_table = no_table};
}

/* Bytes and shorts of several pieces: a table in shared memory is faster than comparisons for each of them. */
static int offsets_of(const pw_gpu_region *g, int64_t bytes)
{
    const pw_shape_region *r = g->shape;
    if (g->joined || g->word >= WORD_FOR_THREADS || r->npieces < 2 || bytes / g->word > MAX_OFFSETS)
        return 0;
    for (int i = 0; i < r->npieces; i++)
        if (r->pieces[i].mem_off.value < 0 || r->pieces[i].mem_off.value > INT32_MAX - bytes)
            return 0;
    return (int)(bytes / g->word);
}

static void add_words(pw_gpu_region *g)
{
    const pw_shape_region *r = g->shape;
    int64_t bytes = 0;
    if (r->npieces == 1 && !is_baked(r->pieces[0].bytes)) {
        append(g, PW_GPU_WORD, r->pieces[0].bytes, g->word, g->word);
        return;
    }
    for (int i = 0; i < r->npieces; i++)
        bytes += r->pieces[i].bytes.value;
    g->offs = offsets_of(g, bytes);
    append(g, PW_GPU_WORD, baked(bytes / g->word), 1, g->word);
}

static void plan_region(const pw_shape *shape, const pw_shape_region *r, pw_gpu_region *g)
{
    int a = -1, b = -1, tail = 0;
    g->shape = r;
    g->joined = shape->joined;
    g->word = (int)least(r->word, least(r->align, r->packed_align));
    g->kind = kind_of(r, g->word, &a, &b);
    g->side = g->word <= 4 ? 64 : 32;
    if (g->kind != PW_GPU_TILE)
        a = b = -1;
    add_loops(shape, g, a, b);
    if (g->kind == PW_GPU_TILE) {
        add_tiles(g, PW_GPU_TILE_B, &r->dims[b]);
        add_tiles(g, PW_GPU_TILE_A, &r->dims[a]);
        tail = PW_TAIL_TILE;
    } else if (g->kind == PW_GPU_WORDS) {
        add_words(g);
    } else if (g->kind == PW_GPU_PIECES) {
        append(g, PW_GPU_PART, baked(1), 1, 0);
        tail = PW_TAIL_PIECE * r->npieces + PW_TAIL_RANGES;
    } else {
        append(g, PW_GPU_ENTRY, r->nblocks, 1, 0);
        tail = g->joined ? PW_TAIL_JOINED_LIST : PW_TAIL_LIST;
    }
    g->tail_words = tail;
}

/* ---- regions in plain form --------------------------------------------------------------------------------- */

static bool can_be_plain(const pw_gpu_region *g)
{
    return g->kind == PW_GPU_WORDS && g->shape->npieces == 1;
}

/* Makes the region look like the others: adds outer loops of one iteration, and takes nothing as baked but tables and
 * words. */
static void make_plain(pw_gpu_region *g, int ndims)
{
    int more = ndims - g->ndims;
    for (int i = g->ndims - 1; i >= 0; i--)
        g->dims[i + more] = g->dims[i];
    for (int i = 0; i < more; i++)
        g->dims[i] = (pw_gpu_dim){.count = baked(1),
                                  .per = 1,
                                  .mem = baked(0),
                                  .packed = baked(0),
                                  .table = no_table,
                                  .packed_table = no_table};
    g->ndims = ndims;
    for (int i = 0; i < ndims; i++) {
        g->dims[i].plain = true;
        g->dims[i].free = !g->joined && g->dims[i].role != PW_GPU_WORD && g->dims[i].table.slot < 0;
    }
}

/*
 * Many regions, such as the faces, edges and corners of a box, are each a little different in what is baked. Code for
 * each would be long, and take more registers than the largest of them alone.
 */
static void make_regions_plain(pw_gpu_plan *plan)
{
    int most = 0;
    if (plan->nregions < PLAIN_FROM)
        return;
    for (int i = 0; i < plan->nregions; i++)
        if (can_be_plain(&plan->regions[i]) && plan->regions[i].ndims > most)
            most = plan->regions[i].ndims;
    for (int i = 0; i < plan->nregions; i++)
        if (can_be_plain(&plan->regions[i]))
            make_plain(&plan->regions[i], most);
}

/* ---- shared code --------------------------------------------------------------------------------------- */

static bool same_num(pw_num a, pw_num b)
{
    return is_baked(a) == is_baked(b) && (!is_baked(a) || a.value == b.value);
}

static bool same_table(const pw_shape_table *a, const pw_shape_table *b)
{
    bool there = pw_gpu_table_is_there(a);
    return there == pw_gpu_table_is_there(b) && (!there || (a->width == b->width && same_num(a->scale, b->scale)));
}

static bool same_loops(const pw_gpu_region *a, const pw_gpu_region *b)
{
    if (a->ndims != b->ndims)
        return false;
    for (int i = 0; i < a->ndims; i++) {
        const pw_gpu_dim *x = &a->dims[i], *y = &b->dims[i];
        if (x->plain != y->plain || !same_table(&x->table, &y->table) ||
            !same_table(&x->packed_table, &y->packed_table))
            return false;
        if (x->plain)
            continue;
        if (x->role != y->role || x->per != y->per || pw_gpu_dim_is_counted(x) != pw_gpu_dim_is_counted(y))
            return false;
        if (!pw_gpu_dim_is_counted(x) && x->count.value != y->count.value)
            return false;
        if (!same_num(x->mem, y->mem) || !same_num(x->packed, y->packed))
            return false;
    }
    return true;
}

/* Returns whether the emitter would write the same code for both regions. What is not baked comes from the record. */
static bool same_code(const pw_gpu_region *a, const pw_gpu_region *b)
{
    const pw_shape_region *r = a->shape, *s = b->shape;
    if (a->kind != b->kind || a->word != b->word || r->npieces != s->npieces || !same_loops(a, b))
        return false;
    if (a->kind == PW_GPU_LIST)
        return r->block_offs.width == s->block_offs.width && r->block_starts.width == s->block_starts.width &&
               r->block_packed.width == s->block_packed.width;
    if (a->kind != PW_GPU_PIECES && (a->kind != PW_GPU_WORDS || r->npieces == 1))
        return true;
    for (int i = 0; i < r->npieces; i++)
        if (!same_num(r->pieces[i].mem_off, s->pieces[i].mem_off) ||
            !same_num(r->pieces[i].packed_off, s->pieces[i].packed_off) ||
            !same_num(r->pieces[i].bytes, s->pieces[i].bytes))
            return false;
    return true;
}

/* Returns whether a coordinate comes from a table. A table that may be missing counts as `maybe`. */
static bool has_table(const pw_gpu_region *g, bool maybe)
{
    bool has = false;
    for (int i = 0; i < g->ndims; i++) {
        has |= pw_gpu_table_is_there(&g->dims[i].table) && (maybe || g->dims[i].table.width > 0);
        has |= pw_gpu_table_is_there(&g->dims[i].packed_table);
    }
    return has;
}

/*
 * Returns how many words a thread has in flight at once. One of 16 bytes is enough, and memory is faster if what moves
 * at a time is close together. Narrower words need more, and so do words whose coordinates come from the record.
 */
static int batch_of(const pw_gpu_region *g)
{
    bool plain = g->ndims > 0 && g->dims[0].plain;
    switch (g->word) {
    case 16: return plain ? 4 : has_table(g, true) ? 2 : 1;
    case 8: return plain ? 4 : 2;
    case 4: return plain ? 8 : has_table(g, false) ? 1 : 4;
    case 2: return 4;
    default: return g->offs ? 4 : 2;
    }
}

static bool is_short(const pw_gpu_region *g)
{
    int64_t bytes = 0;
    for (int i = 0; i < g->shape->npieces; i++)
        bytes += is_baked(g->shape->pieces[i].bytes) ? g->shape->pieces[i].bytes.value : SHORT_BYTES;
    return bytes < SHORT_BYTES;
}

static int find_code(const pw_gpu_plan *plan, int region)
{
    int next = 0;
    for (int i = 0; i < region; i++) {
        if (same_code(&plan->regions[i], &plan->regions[region]))
            return plan->regions[i].code;
        next = plan->regions[i].code >= next ? plan->regions[i].code + 1 : next;
    }
    return next;
}

/* Returns whether the coordinates take many registers, because all their numbers come from the record. */
static bool is_parametric(const pw_gpu_region *g)
{
    return (g->ndims > 0 && g->dims[0].plain) || has_table(g, true) != has_table(g, false);
}

/*
 * Returns how many blocks a multiprocessor holds; they get as many registers as that leaves. Most kernels depend on
 * having enough in flight. Odd bytes lose more by spilling registers than by fewer threads, except for lists that are
 * packed.
 */
static int resident_of(const pw_gpu_region *g, bool unpack)
{
    if (g->kind == PW_GPU_TILE)
        return g->word <= 4 ? RESIDENT_LARGE_TILE : g->word == 16 ? RESIDENT_WIDE_TILE : RESIDENT_MOST;
    if (is_parametric(g))
        return RESIDENT_PLAIN;
    if (g->kind == PW_GPU_PIECES || (g->kind == PW_GPU_LIST && (g->joined || (g->word < PW_NARROW_BYTES && unpack))))
        return RESIDENT_HEAVY;
    if (g->kind != PW_GPU_WORDS)
        return RESIDENT_MOST;
    return (g->offs && unpack) || has_table(g, true) || (g->word == 4 && is_short(g)) ? RESIDENT_HEAVY : RESIDENT_MOST;
}

/* Returns the shared memory that a list takes. */
static int list_bytes(const pw_gpu_region *g)
{
    int odd = pw_gpu_region_is_odd(g), blocks = odd ? PW_LIST_WINDOW : PW_ASKEW_WINDOW;
    int stage = (odd ? PW_GPU_ODD_SPAN : PW_GPU_ASKEW_SPAN) + 2 * PW_GPU_PART_BYTES,
        bytes = ODD_BYTES + 16 * blocks + stage;
    if (g->joined)
        return odd ? 0 : JOINED_WINDOW_BYTES;
    return odd || bytes > WINDOW_BYTES ? bytes : WINDOW_BYTES;
}

/* Gives the tables of the packed side their places behind the tail. */
static void place_packed_tables(pw_gpu_region *g)
{
    for (int i = 0; i < g->ndims; i++)
        if (pw_gpu_table_is_there(&g->dims[i].packed_table)) {
            g->dims[i].packed_word = g->tail + g->tail_words;
            g->tail_words += PW_TAIL_TABLE;
        }
}

static void plan_shape(pw_gpu_plan *plan)
{
    const pw_shape *shape = plan->shape;
    plan->words = 2 * shape->nregions;
    plan->resident[0] = plan->resident[1] = RESIDENT_MOST;
    for (int i = 0; i < shape->nregions; i++)
        plan_region(shape, &shape->regions[i], &plan->regions[i]);
    make_regions_plain(plan);
    for (int i = 0; i < shape->nregions; i++) {
        pw_gpu_region *g = &plan->regions[i];
        int shared = 0;
        g->tail = PW_REC_DIMS + PW_DIM_WORDS * g->ndims;
        place_packed_tables(g);
        g->words = g->tail + g->tail_words;
        g->code = find_code(plan, i);
        g->record = plan->words;
        plan->words += g->words;
        if (g->kind == PW_GPU_TILE)
            shared = g->side * (g->side + 1) * g->word;
        else if (g->kind == PW_GPU_LIST)
            shared = list_bytes(g);
        else
            shared = g->offs * 4;
        g->batch = batch_of(g);
        for (int unpack = 0; unpack < 2; unpack++) {
            if (shared > plan->shared_bytes[unpack])
                plan->shared_bytes[unpack] = shared;
            if (resident_of(g, unpack) < plan->resident[unpack])
                plan->resident[unpack] = resident_of(g, unpack);
        }
    }
}

size_t pw_gpu_plan_param_bytes(const pw_gpu_plan *plan)
{
    return ((size_t)plan->words + PW_GPU_HEAD_WORDS) * 8;
}

pw_status pw_gpu_plan_create(const pw_shape *shape, pw_gpu_plan **out, pw_diag *diag)
{
    pw_arena *arena = pw_arena_create();
    pw_gpu_plan *plan = arena ? pw_arena_alloc(arena, sizeof *plan) : NULL;
    int n = shape->nregions;
    if (plan)
        plan->regions = pw_arena_array(arena, (size_t)(n > 0 ? n : 1), sizeof *plan->regions);
    if (!plan || !plan->regions) {
        pw_arena_destroy(arena);
        return pw_diag_status(diag, PW_ERR_NOMEM);
    }
    plan->arena = arena;
    plan->shape = shape;
    plan->nregions = n;
    plan_shape(plan);
    if (!pw_backend_takes(shape) || pw_gpu_plan_param_bytes(plan) > MAX_PARAM_BYTES) {
        pw_gpu_plan_destroy(plan);
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "%d regions: too large for the parameters of a GPU kernel", n);
    }
    *out = plan;
    return PW_OK;
}

void pw_gpu_plan_destroy(pw_gpu_plan *plan)
{
    if (plan)
        pw_arena_destroy(plan->arena);
}
