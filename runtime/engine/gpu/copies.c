/*
 * Moves a nest by copies of the driver. The longest suitable loop becomes the rows of 2-D copies, one for each
 * iteration of the other loops; each block of a list is one plain copy. This needs no kernel, so it also works without
 * NVRTC.
 */
#include "runtime/engine/gpu/move.h"

enum { MAX_LOOPS = PW_NEST_MAX_DIMS + 1 };
static const int64_t max_pitch = INT32_MAX;

/* The loops of a region, with the loop over the objects. `row` is the loop that 2-D copies do; -1: none. */
typedef struct walk {
    const pw_region *region;
    int n, row;
    int64_t count[MAX_LOOPS], mem[MAX_LOOPS], packed[MAX_LOOPS];
    const pw_table *table[MAX_LOOPS], *packed_table[MAX_LOOPS];
} walk;

static void add_loop(walk *w, int64_t count, const pw_dim *d)
{
    w->count[w->n] = count;
    w->mem[w->n] = d->mem_stride;
    w->packed[w->n] = d->packed_stride;
    w->table[w->n] = d->table;
    w->packed_table[w->n++] = d->packed_table;
}

/* Whether a loop can be rows: they must not overlap, their addresses must go up, and the driver limits the pitch. */
static bool may_be_rows(const walk *w, int loop)
{
    int64_t widest = 0;

    for (int i = 0; i < w->region->npieces; i++)
        widest = w->region->pieces[i].bytes > widest ? w->region->pieces[i].bytes : widest;
    return widest > 0 && !w->table[loop] && !w->packed_table[loop] && w->mem[loop] >= widest &&
           w->packed[loop] >= widest && w->mem[loop] <= max_pitch && w->packed[loop] <= max_pitch;
}

static walk make_walk(const pw_nest *nest, const pw_region *region, int64_t count)
{
    const pw_dim objects = {.mem_stride = nest->extent, .packed_stride = nest->packed_extent};
    walk w = {.region = region, .row = -1};

    if (nest->object_outer)
        add_loop(&w, count, &objects);
    for (int i = 0; i < region->ndims; i++) {
        const pw_dim *d = &region->dims[i];

        add_loop(&w, d->is_object ? count : d->count, d);
    }
    for (int i = 0; i < w.n; i++)
        if (may_be_rows(&w, i) && (w.row < 0 || w.count[i] > w.count[w.row]))
            w.row = i;
    return w;
}

int64_t pw_gpu_copies_calls(const pw_nest *nest, int64_t count)
{
    int64_t sum = 0;

    for (int r = 0; r < nest->nregions; r++) {
        const pw_region *region = &nest->regions[r];
        walk w = make_walk(nest, region, count);
        int64_t calls = region->blocks ? region->blocks->n : region->npieces;

        for (int i = 0; i < w.n; i++)
            if (i != w.row && __builtin_mul_overflow(calls, w.count[i], &calls))
                return INT64_MAX;
        if (__builtin_add_overflow(sum, calls, &sum))
            return INT64_MAX;
    }
    return sum;
}

typedef struct copier {
    void *stream;
    char *mem;
    pw_gpu_packed packed;
    pw_direction direction;
} copier;

static pw_status copy_plain(const copier *c, int64_t mem, int64_t packed, int64_t bytes)
{
    pw_gpu_packed p = pw_gpu_packed_at(c->packed, packed);
    pw_cu_ptr there = p.host ? pw_cu_address(p.host) : p.device, here = pw_cu_address(c->mem) + (pw_cu_ptr)mem;

    return pw_cu_check(pw_cu.copy(c->direction == PW_UNPACK ? here : there, c->direction == PW_UNPACK ? there : here,
                                  (size_t)bytes, c->stream),
                       "cuMemcpyAsync");
}

static pw_status copy_rows(const copier *c, const walk *w, int64_t mem, int64_t packed, int64_t bytes)
{
    pw_gpu_packed p = pw_gpu_packed_at(c->packed, packed);
    pw_cu_copy_2d copy = {.width = (size_t)bytes, .height = (size_t)w->count[w->row]};
    pw_cu_ptr here = pw_cu_address(c->mem) + (pw_cu_ptr)mem;
    int there = p.host ? PW_CU_MEMORY_HOST : PW_CU_MEMORY_DEVICE;
    size_t pitch = (size_t)w->mem[w->row], packed_pitch = (size_t)w->packed[w->row];

    if (c->direction == PW_UNPACK) {
        copy.src_type = there, copy.src_host = p.host, copy.src_device = p.device, copy.src_pitch = packed_pitch;
        copy.dst_type = PW_CU_MEMORY_UNIFIED, copy.dst_device = here, copy.dst_pitch = pitch;
    } else {
        copy.src_type = PW_CU_MEMORY_UNIFIED, copy.src_device = here, copy.src_pitch = pitch;
        copy.dst_type = there, copy.dst_host = p.host, copy.dst_device = p.device, copy.dst_pitch = packed_pitch;
    }
    return pw_cu_check(pw_cu.copy_2d(&copy, c->stream), "cuMemcpy2DAsync");
}

static pw_status copy_leaf(const copier *c, const walk *w, int64_t mem, int64_t packed)
{
    const pw_region *r = w->region;
    pw_status status = PW_OK;

    for (int i = 0; i < r->npieces && status == PW_OK; i++) {
        const pw_piece *p = &r->pieces[i];

        status = w->row >= 0 ? copy_rows(c, w, mem + p->mem_off, packed + p->packed_off, p->bytes)
                             : copy_plain(c, mem + p->mem_off, packed + p->packed_off, p->bytes);
    }
    for (int64_t i = 0; r->blocks && i < r->blocks->n && status == PW_OK; i++) {
        const pw_block_list *list = r->blocks;
        int64_t start = pw_table_get(&list->starts, i);
        int64_t at = list->packed_offs.data ? pw_table_get(&list->packed_offs, i) : start;

        status =
            copy_plain(c, mem + pw_table_get(&list->offs, i), packed + at, pw_table_get(&list->starts, i + 1) - start);
    }
    return status;
}

static pw_status copy_loops(const copier *c, const walk *w, int loop, int64_t mem, int64_t packed)
{
    pw_status status = PW_OK;

    if (loop == w->n)
        return copy_leaf(c, w, mem, packed);
    if (loop == w->row)
        return copy_loops(c, w, loop + 1, mem, packed);
    for (int64_t i = 0; i < w->count[loop] && status == PW_OK; i++) {
        int64_t off = w->table[loop] ? pw_table_get(w->table[loop], i) : i * w->mem[loop];
        int64_t packed_off = w->packed_table[loop] ? pw_table_get(w->packed_table[loop], i) : i * w->packed[loop];

        status = copy_loops(c, w, loop + 1, mem + off, packed + packed_off);
    }
    return status;
}

pw_status pw_gpu_copies_move(void *stream, const pw_nest *nest, char *mem, int64_t count, pw_gpu_packed packed,
                             pw_direction direction)
{
    const copier c = {.stream = stream, .mem = mem, .packed = packed, .direction = direction};
    pw_status status = PW_OK;

    for (int r = 0; r < nest->nregions && status == PW_OK; r++) {
        walk w = make_walk(nest, &nest->regions[r], count);

        status = copy_loops(&c, &w, 0, nest->regions[r].mem_off, nest->regions[r].packed_off);
    }
    return status;
}
