/* One region with the numbers of a call: its outer loops, and the choice of a kernel for the inner ones. */
#include "codegen/interp/internal.h"

/*
 * Several regions or pieces share cache lines of memory, so they take turns. A turn has as many iterations as fit the
 * L1 cache with room to spare, but enough to amortise a kernel's start.
 */
enum { TURN_BYTES = 8192, TURN_MIN = 16, SHORT_LOOP = 8 };

void pw_run_init(pw_run *run, const pw_region *region, pw_direction direction)
{
    run->direction = direction;
    run->region = region;
    run->nloops = 0;
    run->empty = false;
    run->tiled = region->tile_outer > 0;
    run->mem_off = region->mem_off;
    run->packed_off = region->packed_off;
    run->width = 0;
    if (region->npieces == 1) {
        run->mem_off = (int64_t)((pw_addr)run->mem_off + (pw_addr)region->pieces[0].mem_off);
        run->packed_off = (int64_t)((pw_addr)run->packed_off + (pw_addr)region->pieces[0].packed_off);
        run->width = region->pieces[0].bytes;
    }
}

static void add_loop(pw_run *run, pw_loop loop)
{
    if (loop.count > 1) {
        run->loops[run->nloops++] = loop;
        return;
    }
    run->empty |= loop.count <= 0;
    if (loop.count == 1) {
        run->mem_off = (int64_t)((pw_addr)run->mem_off + pw_loop_mem(&loop, 0));
        run->packed_off = (int64_t)((pw_addr)run->packed_off + pw_loop_packed(&loop, 0));
    }
}

void pw_run_dim(pw_run *run, const pw_dim *dim, int64_t first, int64_t count)
{
    /* Tiles are of the region's last two loops; without either there is nothing to tile. */
    if (count <= 1 && dim - run->region->dims >= run->region->ndims - 2)
        run->tiled = false;
    if (!dim->table)
        run->mem_off = (int64_t)((pw_addr)run->mem_off + (pw_addr)first * (pw_addr)dim->mem_stride);
    if (!dim->packed_table)
        run->packed_off += first * dim->packed_stride;
    add_loop(run, (pw_loop){.count = count,
                            .mem = dim->mem_stride,
                            .packed = dim->packed_stride,
                            .table = dim->table,
                            .packed_table = dim->packed_table,
                            .first = first});
}

/* ---- loops that the numbers of this call make superfluous ------------------------------------------ */

static void remove_loop(pw_run *run, int i)
{
    if (i >= run->nloops - 2)
        run->tiled = false;
    run->nloops--;
    for (; i < run->nloops; i++)
        run->loops[i] = run->loops[i + 1];
}

static bool continues(const pw_loop *outer, const pw_loop *inner)
{
    return (pw_addr)inner->mem * (pw_addr)inner->count == (pw_addr)outer->mem &&
           (pw_addr)inner->packed * (pw_addr)inner->count == (pw_addr)outer->packed && !pw_loop_has_table(outer) &&
           !pw_loop_has_table(inner);
}

static bool fuse_one(pw_run *run)
{
    for (int i = 0; i < run->nloops; i++) {
        for (int k = 0; k < run->nloops; k++) {
            if (i != k && continues(&run->loops[i], &run->loops[k])) {
                run->loops[k].count *= run->loops[i].count;
                remove_loop(run, i);
                return true;
            }
        }
    }
    return false;
}

static bool widen_once(pw_run *run)
{
    for (int i = 0; i < run->nloops && run->width > 0; i++) {
        pw_loop *l = &run->loops[i];

        if (!pw_loop_has_table(l) && l->mem == run->width && l->packed == run->width) {
            run->width *= l->count;
            remove_loop(run, i);
            return true;
        }
    }
    return false;
}

/* ---- what the innermost loops are handed to ---------------------------------------------------------- */

static void inner_once(const pw_run *run, pw_addr mem, pw_addr packed)
{
    pw_copy_block(run->direction, mem, packed, run->width);
}

static const pw_loop once = {.count = 1};

/* Returns the last loop, and the one before it if the odometer has left it to the kernel. */
static const pw_loop *loop1(const pw_run *run)
{
    return &run->loops[run->nloops - 1];
}

static const pw_loop *loop0(const pw_run *run)
{
    return run->outer == run->nloops - 2 ? &run->loops[run->nloops - 2] : &once;
}

static pw_grid make_grid(pw_direction direction, pw_addr mem, pw_addr packed, const pw_loop *l0, const pw_loop *l1)
{
    if (direction == PW_PACK)
        return (pw_grid){.dst = packed,
                         .src = mem,
                         .n0 = l0->count,
                         .n1 = l1->count,
                         .dst0 = l0->packed,
                         .dst1 = l1->packed,
                         .src0 = l0->mem,
                         .src1 = l1->mem};
    return (pw_grid){.dst = mem,
                     .src = packed,
                     .n0 = l0->count,
                     .n1 = l1->count,
                     .dst0 = l0->mem,
                     .dst1 = l1->mem,
                     .src0 = l0->packed,
                     .src1 = l1->packed};
}

static void inner_grid(const pw_run *run, pw_addr mem, pw_addr packed)
{
    pw_grid g = make_grid(run->direction, mem, packed, loop0(run), loop1(run));

    g.width = run->width;
    pw_grid_copy(&g);
}

static int64_t magnitude(int64_t v)
{
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

/* The loop that is dense, or denser, where bytes are written becomes the inner loop of a tile. */
static void inner_tile(const pw_run *run, pw_addr mem, pw_addr packed)
{
    const pw_loop *l0 = loop0(run), *l1 = loop1(run);
    bool swap = run->direction == PW_PACK ? magnitude(l0->packed) < magnitude(l1->packed)
                                          : magnitude(l0->mem) < magnitude(l1->mem);
    pw_grid g = make_grid(run->direction, mem, packed, swap ? l1 : l0, swap ? l0 : l1);

    g.width = run->width;
    pw_tile_copy(&g);
}

/* Iterations [at, at + n) of a loop with a table on the memory side, on the packed side, or on both. A table on the
 * packed side alone is a table on the memory side of a move the other way. */
static void copy_list(const pw_run *run, const pw_loop *l, pw_addr mem, pw_addr packed, int64_t at, int64_t n,
                      int64_t width)
{
    bool pack = run->direction == PW_PACK;

    if (!l->packed_table) {
        pw_list list = {mem, packed + (pw_addr)at * (pw_addr)l->packed, l->table, l->first + at, n, l->packed, width};

        pw_list_copy(&list, run->direction);
    } else if (!l->table) {
        pw_list list = {packed, mem + (pw_addr)at * (pw_addr)l->mem, l->packed_table, l->first + at, n, l->mem, width};

        pw_list_copy(&list, pack ? PW_UNPACK : PW_PACK);
    } else {
        pw_lists lists = {.dst = pack ? packed : mem,
                          .src = pack ? mem : packed,
                          .dst_table = pack ? l->packed_table : l->table,
                          .src_table = pack ? l->table : l->packed_table,
                          .first = l->first + at,
                          .n = n,
                          .width = width};

        pw_lists_copy(&lists);
    }
}

static void inner_list(const pw_run *run, pw_addr mem, pw_addr packed)
{
    const pw_loop *l = loop1(run);

    copy_list(run, l, mem, packed, 0, l->count, run->width);
}

static void inner_blocks(const pw_run *run, pw_addr mem, pw_addr packed)
{
    pw_blocks_copy(run->region->blocks, run->direction, mem, packed);
}

/* ---- leaves of several pieces: each piece runs over a turn of the loops ------------------------------- */

static void pieces_once(const pw_run *run, pw_addr mem, pw_addr packed)
{
    for (int i = 0; i < run->region->npieces; i++) {
        const pw_piece *p = &run->region->pieces[i];

        pw_copy_block(run->direction, mem + (pw_addr)p->mem_off, packed + (pw_addr)p->packed_off, p->bytes);
    }
}

static int64_t turn_length(const pw_loop *l, int64_t bytes)
{
    int64_t step = pw_loop_has_table(l) ? bytes : magnitude(l->mem), n = TURN_BYTES / (step > bytes ? step : bytes);

    return n < TURN_MIN ? TURN_MIN : n;
}

static void pieces_list(const pw_run *run, pw_addr mem, pw_addr packed)
{
    const pw_loop *l = loop1(run);
    int64_t turn = turn_length(l, run->region->leaf_size);

    for (int64_t done = 0; done < l->count; done += turn) {
        int64_t n = l->count - done < turn ? l->count - done : turn;

        for (int i = 0; i < run->region->npieces; i++) {
            const pw_piece *p = &run->region->pieces[i];

            copy_list(run, l, mem + (pw_addr)p->mem_off, packed + (pw_addr)p->packed_off, done, n, p->bytes);
        }
    }
}

static pw_grid piece_grid(const pw_run *run, int i, pw_addr mem, pw_addr packed, const pw_loop *l0, const pw_loop *l1)
{
    const pw_piece *p = &run->region->pieces[i];
    pw_grid g = make_grid(run->direction, mem + (pw_addr)p->mem_off, packed + (pw_addr)p->packed_off, l0, l1);

    g.width = p->bytes;
    return g;
}

/* Moves all pieces for the iterations of l0 and l1. */
static void pieces_turn(const pw_run *run, pw_addr mem, pw_addr packed, const pw_loop *l0, const pw_loop *l1)
{
    int n = run->region->npieces;

    for (int i = 0; i < n; i++) {
        pw_grid g = piece_grid(run, i, mem, packed, l0, l1);

        if (i + 1 < n && pw_pair_has(g.width, run->region->pieces[i + 1].bytes)) {
            pw_grid next = piece_grid(run, ++i, mem, packed, l0, l1);

            pw_pair_copy(&g, &next);
        } else {
            pw_grid_copy(&g);
        }
    }
}

/* Returns whether one pass moves all pieces; then no turns are needed. */
static bool is_one_pass(const pw_run *run)
{
    const pw_region *r = run->region;

    return r->npieces == 2 && pw_pair_has(r->pieces[0].bytes, r->pieces[1].bytes);
}

static void pieces_grid(const pw_run *run, pw_addr mem, pw_addr packed)
{
    pw_loop l0 = *loop0(run), l1 = *loop1(run);
    pw_loop *cut = l0.count > 1 ? &l0 : &l1;
    int64_t total = cut->count, bytes = run->region->leaf_size * (l0.count > 1 ? l1.count : 1);
    int64_t turn = is_one_pass(run) ? total : turn_length(cut, bytes);

    for (int64_t done = 0; done < total; done += turn) {
        cut->count = total - done < turn ? total - done : turn;
        pieces_turn(run, mem, packed, &l0, &l1);
        mem += (pw_addr)turn * (pw_addr)cut->mem;
        packed += (pw_addr)turn * (pw_addr)cut->packed;
    }
}

/* ---- the odometer ------------------------------------------------------------------------------------ */

static bool is_strided(const pw_run *run, int level)
{
    return level >= 0 && !pw_loop_has_table(&run->loops[level]);
}

/* Sets the kernel and how many loops are left to the odometer. */
static void choose_inner(pw_run *run)
{
    int n = run->nloops;
    bool single = run->region->npieces == 1;

    run->outer = n;
    if (run->region->blocks) {
        run->inner = inner_blocks;
    } else if (n == 0) {
        run->inner = single ? inner_once : pieces_once;
    } else if (!is_strided(run, n - 1)) {
        run->outer = n - 1;
        run->inner = single ? inner_list : pieces_list;
    } else if (single) {
        run->outer = is_strided(run, n - 2) ? n - 2 : n - 1;
        run->inner = run->tiled ? inner_tile : inner_grid;
    } else {
        run->outer = is_strided(run, n - 2) && run->loops[n - 1].count < SHORT_LOOP ? n - 2 : n - 1;
        run->inner = pieces_grid;
    }
}

static void walk(const pw_run *run, int level, pw_addr mem, pw_addr packed)
{
    const pw_loop *l = &run->loops[level];

    if (level == run->outer) {
        run->inner(run, mem, packed);
        return;
    }
    for (int64_t i = 0; i < l->count; i++)
        walk(run, level + 1, mem + pw_loop_mem(l, i), packed + pw_loop_packed(l, i));
}

void pw_run_go(pw_run *run, pw_addr mem, pw_addr packed)
{
    if (run->empty)
        return;
    while (fuse_one(run))
        continue;
    while (widen_once(run))
        continue;
    choose_inner(run);
    walk(run, 0, mem + (pw_addr)run->mem_off, packed + (pw_addr)run->packed_off);
}

static void run_region(const pw_nest *nest, const pw_region *region, pw_direction direction, pw_addr mem,
                       pw_addr packed, int64_t objects)
{
    pw_run run;

    pw_run_init(&run, region, direction);
    if (nest->object_outer)
        add_loop(&run, (pw_loop){.count = objects, .mem = nest->extent, .packed = nest->packed_extent});
    for (int i = 0; i < region->ndims; i++)
        pw_run_dim(&run, &region->dims[i], 0, region->dims[i].is_object ? objects : region->dims[i].count);
    pw_run_go(&run, mem, packed);
}

void pw_run_objects(const pw_nest *nest, pw_direction direction, pw_addr mem, pw_addr packed, int64_t objects)
{
    int64_t turn = objects;

    if (nest->nregions > 1) {
        turn = TURN_BYTES / nest->size;
        turn = turn < 1 ? 1 : turn;
    }
    for (int64_t done = 0; done < objects; done += turn) {
        int64_t n = objects - done < turn ? objects - done : turn;

        for (int i = 0; i < nest->nregions; i++)
            run_region(nest, &nest->regions[i], direction, mem, packed, n);
        mem += (pw_addr)n * (pw_addr)nest->extent;
        packed += (pw_addr)n * (pw_addr)nest->packed_extent;
    }
}
