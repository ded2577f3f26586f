/* The shapes of tier 0, and nests as their arguments. */
#include "codegen/nvrtc/tier0.h"

#include "codegen/nvrtc/record.h"

#include <stdio.h>
#include <string.h>

/* Parameters of the shapes. LENGTH is the piece's bytes, or the blocks of the list. */
enum {
    SLOT_SIZE,
    SLOT_EXTENT,
    SLOT_MEM,
    SLOT_PACKED,
    SLOT_LENGTH,
    SLOT_LEAF,
    SLOT_OFFS_SCALE, /* of the list's offsets, or of the first loop's table */
    SLOT_STARTS_BASE,
    SLOT_STARTS_SCALE,
    SLOT_LOOPS,
    LOOP_SLOTS = 3, /* count, memory and packed stride */
    SLOTS = SLOT_LOOPS + LOOP_SLOTS * PW_GPU_TIER0_LOOPS
};

enum { LIST_KERNEL = PW_GPU_TIER0_KERNELS - 1 };
static const int kernel_word[PW_GPU_TIER0_KERNELS] = {1, 4, 8, 16, 1};
static const char *const kernel_name[PW_GPU_TIER0_KERNELS] = {"bytes", "w4", "w8", "w16", "list"};

struct pw_gpu_tier0 {
    pw_arena *arena;
    pw_shape *shapes[PW_GPU_TIER0_KERNELS];
    pw_gpu_plan *plans[PW_GPU_TIER0_KERNELS];
    pw_compile_job jobs[PW_GPU_TIER0_KERNELS];
    char names[PW_GPU_TIER0_KERNELS][2][32];
};

/* ---- shapes ----------------------------------------------------------------------------------------------- */

static pw_num param(int slot)
{
    return (pw_num){.slot = slot};
}

static pw_num baked(int64_t value)
{
    return (pw_num){.value = value, .slot = -1};
}

static pw_shape_table table(int slot, pw_num base, int scale)
{
    return (pw_shape_table){.slot = slot, .base = base, .scale = param(scale)};
}

static void set_loops(pw_shape_region *r)
{
    r->ndims = PW_GPU_TIER0_LOOPS;
    for (int i = 0; i < r->ndims; i++) {
        int slot = SLOT_LOOPS + LOOP_SLOTS * i;
        r->dims[i] = (pw_shape_dim){.count = param(slot),
                                    .mem_stride = param(slot + 1),
                                    .packed_stride = param(slot + 2),
                                    .table = {.slot = -1},
                                    .packed_table = {.slot = -1}};
    }
}

static void set_leaf(pw_shape_region *r, int kernel)
{
    if (kernel == LIST_KERNEL) {
        r->nblocks = param(SLOT_LENGTH);
        r->block_offs = table(0, baked(0), SLOT_OFFS_SCALE);
        r->block_starts = table(1, param(SLOT_STARTS_BASE), SLOT_STARTS_SCALE);
        return;
    }
    r->npieces = 1;
    r->pieces[0] = (pw_shape_piece){.mem_off = baked(0), .packed_off = baked(0), .bytes = param(SLOT_LENGTH)};
    r->dims[0].table = table(0, baked(0), SLOT_OFFS_SCALE);
}

static pw_shape *make_shape(pw_arena *arena, int kernel)
{
    pw_shape *s = pw_arena_alloc(arena, sizeof *s);
    pw_shape_region *r = pw_arena_alloc(arena, sizeof *r);
    if (!s || !r)
        return NULL;
    r->dims = pw_arena_array(arena, PW_GPU_TIER0_LOOPS, sizeof *r->dims);
    r->pieces = pw_arena_alloc(arena, sizeof *r->pieces);
    if (!r->dims || !r->pieces)
        return NULL;
    r->mem_off = param(SLOT_MEM);
    r->packed_off = param(SLOT_PACKED);
    r->leaf_size = param(SLOT_LEAF);
    r->word = kernel_word[kernel];
    r->align = r->packed_align = r->word;
    set_loops(r);
    set_leaf(r, kernel);
    s->size = param(SLOT_SIZE);
    s->extent = param(SLOT_EXTENT);
    s->object_outer = true;
    s->nregions = 1;
    s->regions = r;
    s->nparams = SLOTS;
    s->ntables = 2;
    return s;
}

static pw_status make_kernel(pw_gpu_tier0 *t, int i, pw_diag *diag)
{
    t->shapes[i] = make_shape(t->arena, i);
    if (!t->shapes[i])
        return pw_diag_status(diag, PW_ERR_NOMEM);
    for (int k = 0; k < 2; k++)
        snprintf(t->names[i][k], sizeof t->names[i][k], "pw_t0_%s_%s", k ? "unpack" : "pack", kernel_name[i]);
    return pw_gpu_plan_create(t->shapes[i], &t->plans[i], diag);
}

pw_status pw_gpu_tier0_create(pw_gpu_tier0 **out, pw_diag *diag)
{
    pw_arena *arena = pw_arena_create();
    pw_gpu_tier0 *t = arena ? pw_arena_alloc(arena, sizeof *t) : NULL;
    pw_status status = PW_OK;
    if (!t) {
        pw_arena_destroy(arena);
        return pw_diag_status(diag, PW_ERR_NOMEM);
    }
    t->arena = arena;
    for (int i = 0; i < PW_GPU_TIER0_KERNELS && status == PW_OK; i++)
        status = make_kernel(t, i, diag);
    if (status != PW_OK) {
        pw_gpu_tier0_destroy(t);
        return status;
    }
    *out = t;
    return PW_OK;
}

void pw_gpu_tier0_destroy(pw_gpu_tier0 *t)
{
    if (!t)
        return;
    for (int i = 0; i < PW_GPU_TIER0_KERNELS; i++)
        pw_gpu_plan_destroy(t->plans[i]);
    pw_arena_destroy(t->arena);
}

const pw_compile_job *pw_gpu_tier0_jobs(pw_gpu_tier0 *t, const pw_target *target, pw_emit emit)
{
    for (int i = 0; i < PW_GPU_TIER0_KERNELS; i++)
        t->jobs[i] = (pw_compile_job){.shape = t->shapes[i],
                                      .target = target,
                                      .emit = emit,
                                      .pack_name = t->names[i][0],
                                      .unpack_name = t->names[i][1],
                                      .next = i + 1 < PW_GPU_TIER0_KERNELS ? &t->jobs[i + 1] : NULL};
    return t->jobs;
}

/* ---- nests -------------------------------------------------------------------------------------------------- */

static bool is_simple(const pw_region *r)
{
    int loops = 0, tables = 0;
    for (int i = 0; i < r->ndims; i++) {
        loops += !r->dims[i].is_object;
        tables += (r->dims[i].table != NULL) + (r->dims[i].packed_table != NULL);
    }
    if (r->blocks && r->blocks->packed_offs.data)
        return false;
    return loops <= PW_GPU_TIER0_LOOPS && tables <= (r->blocks ? 0 : 1);
}

/* Returns whether the region's table is on the packed side, so that the sides change places. */
static bool is_swapped(const pw_region *r)
{
    for (int i = 0; i < r->ndims; i++)
        if (r->dims[i].packed_table)
            return true;
    return false;
}

/* Returns the loop with its sides exchanged. */
static pw_dim swapped_dim(const pw_dim *d)
{
    pw_dim out = *d;
    out.mem_stride = d->packed_stride;
    out.packed_stride = d->mem_stride;
    out.table = d->packed_table;
    out.packed_table = d->table;
    return out;
}

static pw_piece swapped_piece(const pw_piece *p)
{
    return (pw_piece){.mem_off = p->packed_off, .packed_off = p->mem_off, .bytes = p->bytes};
}

static int region_launches(const pw_region *r)
{
    return r->blocks ? 1 : r->npieces;
}

pw_shape *pw_gpu_shape_named(const char *name)
{
    pw_arena *arena = pw_arena_create();
    pw_shape *shape = arena ? pw_arena_alloc(arena, sizeof *shape) : NULL;

    if (!shape) {
        pw_arena_destroy(arena);
        return NULL;
    }
    shape->arena = arena;
    shape->hash = pw_hash_bytes(name, strlen(name));
    shape->refs = 1;
    return shape;
}

/* The name that stands for the one module of all five shapes. */
static const char module_name[] = "packwright GPU tier 0";

pw_shape *pw_gpu_tier0_shape(void)
{
    return pw_gpu_shape_named(module_name);
}

bool pw_gpu_is_tier0(const pw_shape *shape)
{
    return pw_hash_equal(shape->hash, pw_hash_bytes(module_name, sizeof module_name - 1));
}

int pw_gpu_tier0_launches(const pw_nest *nest)
{
    int n = 0;
    for (int i = 0; i < nest->nregions; i++) {
        if (!is_simple(&nest->regions[i]))
            return -1;
        n += region_launches(&nest->regions[i]);
    }
    return n;
}

static void set_loop(int64_t *params, int loop, int64_t count, int64_t mem, int64_t packed)
{
    int64_t *slot = params + SLOT_LOOPS + LOOP_SLOTS * loop;
    slot[0] = count;
    slot[1] = mem;
    slot[2] = packed;
}

/* Fills in the region's loops; one with a table comes first. `tables` begins with the region's. */
static void fill_loops(const pw_nest *nest, const pw_region *r, bool swapped, const void *const *tables,
                       int64_t *params, const void **taken, int *width)
{
    int next = 1, fifth = -1;
    params[SLOT_SIZE] = swapped ? nest->extent : nest->packed_extent;
    params[SLOT_EXTENT] = swapped ? nest->packed_extent : nest->extent;
    for (int i = 0; i < PW_GPU_TIER0_LOOPS; i++)
        set_loop(params, i, 1, 0, 0);
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim seen = swapped ? swapped_dim(&r->dims[i]) : r->dims[i], *d = &seen;
        if (d->is_object) {
            params[SLOT_EXTENT] = d->mem_stride;
            params[SLOT_SIZE] = d->packed_stride;
        } else if (d->table) {
            set_loop(params, 0, d->count, 0, d->packed_stride);
            params[SLOT_MEM] += d->table->base;
            params[SLOT_OFFS_SCALE] = d->table->scale;
            *taken = *tables;
            *width = d->table->width;
        } else if (next < PW_GPU_TIER0_LOOPS) {
            set_loop(params, next++, d->count, d->mem_stride, d->packed_stride);
        } else {
            fifth = i;
        }
    }
    if (fifth >= 0) /* five loops, none of which has a table */
        set_loop(params, 0, r->dims[fifth].count, r->dims[fifth].mem_stride, r->dims[fifth].packed_stride);
}

static int64_t words_of(const pw_region *r, const pw_piece *p)
{
    int64_t bits = r->align | r->packed_align | p->bytes | 16;
    return bits & -bits;
}

static int kernel_of(int64_t word)
{
    for (int k = LIST_KERNEL - 1; k > 0; k--)
        if (word >= kernel_word[k])
            return k;
    return 0;
}

/* Finds the region and piece of launch i, and the region's first table. */
static const pw_region *find_region(const pw_nest *nest, int i, int *piece, int *tables)
{
    *tables = 0;
    for (int r = 0; r < nest->nregions; r++) {
        const pw_region *region = &nest->regions[r];
        if (i < region_launches(region)) {
            *piece = i;
            return region;
        }
        i -= region_launches(region);
        *tables += region->blocks ? 2 : 0;
        for (int k = 0; k < region->ndims; k++)
            *tables += (region->dims[k].table != NULL) + (region->dims[k].packed_table != NULL);
    }
    return NULL;
}

static int fill_leaf(const pw_region *r, int piece, bool swapped, int64_t *params)
{
    if (r->blocks) {
        params[SLOT_MEM] += r->blocks->offs.base;
        params[SLOT_LENGTH] = r->blocks->n;
        params[SLOT_LEAF] = r->leaf_size;
        params[SLOT_OFFS_SCALE] = r->blocks->offs.scale;
        params[SLOT_STARTS_BASE] = r->blocks->starts.base;
        params[SLOT_STARTS_SCALE] = r->blocks->starts.scale;
        return LIST_KERNEL;
    }
    const pw_piece seen = swapped ? swapped_piece(&r->pieces[piece]) : r->pieces[piece], *p = &seen;
    params[SLOT_MEM] += p->mem_off;
    params[SLOT_PACKED] += p->packed_off;
    params[SLOT_LENGTH] = params[SLOT_LEAF] = p->bytes;
    return kernel_of(words_of(r, p));
}

pw_status pw_gpu_tier0_launch(const pw_gpu_tier0 *t, const pw_nest *nest, int i, const void *const *tables,
                              const pw_gpu_call *call, const pw_gpu_device *device, uint64_t *params, int *kernel,
                              pw_gpu_launch *out)
{
    int64_t slots[SLOTS] = {0};
    const void *taken[2] = {NULL, NULL};
    int piece, first, width = 0;
    const pw_region *r = find_region(nest, i, &piece, &first);
    if (!r || !is_simple(r))
        return PW_ERR_INVALID;
    bool swapped = is_swapped(r);
    slots[SLOT_MEM] = swapped ? r->packed_off : r->mem_off;
    slots[SLOT_PACKED] = swapped ? r->mem_off : r->packed_off;
    fill_loops(nest, r, swapped, tables + first, slots, &taken[0], &width);
    *kernel = fill_leaf(r, piece, swapped, slots);
    if (r->blocks) {
        taken[0] = tables[first];
        taken[1] = tables[first + 1];
        width = r->blocks->offs.width | r->blocks->starts.width << 8;
    }
    const pw_kernel_args args = {.params = slots, .tables = taken};
    pw_gpu_call bound = *call;
    bound.args = &args;
    if (swapped)
        bound.direction = call->direction == PW_PACK ? PW_UNPACK : PW_PACK;
    pw_status status = pw_gpu_launch_make(t->plans[*kernel], &bound, device, params, out);
    if (status == PW_OK)
        params[PW_GPU_HEAD_WORDS + t->plans[*kernel]->regions[0].record + PW_REC_SPARE] = (uint64_t)width;
    out->swapped = swapped;
    return status;
}
