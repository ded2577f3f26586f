/*
 * How tier 0 works: a *run* is one region with the numbers of one call filled in (the objects' count, a
 * clipped loop); loops that happen once or continue each other are gone. An odometer walks the outer loops and
 * hands the innermost one or two to a kernel that was compiled for the leaf's class of lengths.
 */
#ifndef PW_CODEGEN_INTERP_INTERNAL_H
#define PW_CODEGEN_INTERP_INTERNAL_H

#include "base/direction.h"
#include "codegen/interp/copy.h"
#include "codegen/interp/interp.h"
#include "ir/nest.h"

typedef struct pw_loop {
    int64_t count;
    int64_t mem, packed;          /* strides; the stride of a side with a table is unused */
    const pw_table *table;        /* entries of the memory side, from `first` on; NULL: no table */
    const pw_table *packed_table; /* entries of the packed side, in joined nests; NULL: no table */
    int64_t first;
} pw_loop;

typedef struct pw_run pw_run;
typedef void pw_inner_fn(const pw_run *run, pw_addr mem, pw_addr packed);

struct pw_run {
    pw_direction direction;
    const pw_region *region;
    int nloops;
    bool empty, tiled;
    int64_t mem_off, packed_off; /* the sums of loops that happen once, and of a single piece's offsets */
    int64_t width;               /* the bytes of a single piece */
    int outer;                   /* the number of loops that the odometer walks */
    pw_inner_fn *inner;
    pw_loop loops[PW_NEST_MAX_DIMS + 1]; /* outermost first */
};

/* codegen/interp/run.c. Loops are added outermost first; pw_run_go then moves the bytes. */
void pw_run_init(pw_run *run, const pw_region *region, pw_direction direction);
void pw_run_dim(pw_run *run, const pw_dim *dim, int64_t first, int64_t count);
void pw_run_go(pw_run *run, pw_addr mem, pw_addr packed);

/* All loops of a region; `objects` is the count of the loop over objects, which is outermost when the
 * region itself has none. */
void pw_run_objects(const pw_nest *nest, pw_direction direction, pw_addr mem, pw_addr packed, int64_t objects);

/* codegen/interp/grid.c: n0 x n1 blocks, strided on both sides. */
typedef struct pw_grid {
    pw_addr dst, src;
    int64_t n0, n1;
    int64_t dst0, dst1, src0, src1;
    int64_t width;
} pw_grid;

void pw_grid_copy(const pw_grid *grid);
/* codegen/interp/pair.c: moves two pieces of one leaf, which differ in dst, src and width only, in one pass.
 * pw_pair_has says whether there is a kernel for these lengths. */
bool pw_pair_has(int64_t first, int64_t second);
void pw_pair_copy(const pw_grid *first, const pw_grid *second);
/* codegen/interp/tile.c: moves a grid in tiles, where dst is close along loop 1 and src along loop 0. */
void pw_tile_copy(const pw_grid *grid);

/* codegen/interp/list.c: moves n blocks, at table entries [first, first + n) from `mem` and `stride` apart at `packed`.
 */
typedef struct pw_list {
    pw_addr mem, packed;
    const pw_table *table;
    int64_t first, n, stride, width;
} pw_list;

void pw_list_copy(const pw_list *list, pw_direction direction);

/* codegen/interp/lists.c: moves n blocks, at entries [first, first + n) of a table on either side. */
typedef struct pw_lists {
    pw_addr dst, src;
    const pw_table *dst_table, *src_table;
    int64_t first, n, width;
} pw_lists;

void pw_lists_copy(const pw_lists *lists);

/* codegen/interp/blocks.c: moves a leaf that is a list of blocks, or packed bytes [first, last) of it, of which `first`
 * belongs to block i; and finds the block that a packed byte belongs to. */
int64_t pw_blocks_find(const pw_block_list *blocks, int64_t at);
void pw_blocks_copy(const pw_block_list *blocks, pw_direction direction, pw_addr mem, pw_addr packed);
void pw_blocks_range(const pw_block_list *blocks, pw_direction direction, pw_addr mem, pw_addr packed, int64_t i,
                     int64_t first, int64_t last);

/* codegen/interp/range.c: moves bytes [first, last) of one object, whose packed byte 0 would be at `packed`. `move` is
 * offered what they have whole; NULL: nobody is. */
void pw_range_object(const pw_nest *nest, pw_direction direction, pw_addr mem, pw_addr packed, int64_t first,
                     int64_t last, pw_interp_mover *move, const void *arg);

PW_INLINE pw_addr pw_loop_mem(const pw_loop *loop, int64_t i)
{
    return loop->table ? (pw_addr)pw_table_get(loop->table, loop->first + i) : (pw_addr)i * (pw_addr)loop->mem;
}

PW_INLINE pw_addr pw_loop_packed(const pw_loop *loop, int64_t i)
{
    return loop->packed_table ? (pw_addr)pw_table_get(loop->packed_table, loop->first + i)
                              : (pw_addr)i * (pw_addr)loop->packed;
}

PW_INLINE bool pw_loop_has_table(const pw_loop *loop)
{
    return loop->table || loop->packed_table;
}

PW_INLINE void pw_copy_block(pw_direction direction, pw_addr mem, pw_addr packed, int64_t n)
{
    if (direction == PW_PACK)
        pw_copy(packed, mem, n);
    else
        pw_copy(mem, packed, n);
}

#endif
