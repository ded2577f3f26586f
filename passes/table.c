#include "passes/internal.h"
#include "passes/nest_passes.h"

#include <string.h>

static const pw_pass table[] = {
    {.name = "drop-empty",
     .contract = "Removes members, blocks and repetitions that move no byte; a type without bytes becomes 'bytes 0'.",
     .kinds = PW_ANY_KIND,
     .on_tree = pw_pass_drop_empty},
    {.name = "dense-fold",
     .contract = "A stream of leaves that touch is one leaf (TEMPI 3.2).",
     .kinds = PW_STREAMS,
     .on_tree = pw_pass_dense_fold},
    {.name = "stream-elide",
     .contract = "Repetition that happens once is no repetition (TEMPI 3.2).",
     .kinds = PW_STREAMS | PW_LISTS,
     .on_tree = pw_pass_stream_elide},
    {.name = "stream-flatten",
     .contract = "A stream that its child continues is one stream (TEMPI 3.2).",
     .kinds = PW_STREAMS,
     .on_tree = pw_pass_stream_flatten},
    {.name = "lift-offset",
     .contract = "Moves constant displacements to the root; lists begin at offset 0.",
     .kinds = PW_LISTS,
     .on_tree = pw_pass_lift_offset},
    {.name = "seq-flatten",
     .contract = "Members that are sequences themselves become members of the outer one.",
     .kinds = PW_SEQS,
     .on_tree = pw_pass_seq_flatten},
    {.name = "merge-blocks",
     .contract = "Blocks that touch, in memory and in packed order, are one block.",
     .kinds = PW_LISTS,
     .on_tree = pw_pass_merge_blocks},
    {.name = "recover-streams",
     .contract = "Finds the streams and repeated patterns that a list hides.",
     .kinds = PW_LISTS,
     .on_tree = pw_pass_recover_streams},
    {.name = "expand",
     .contract = "Writes a small type out as merged blocks and finds its structure anew, so that equal layouts "
                 "become equal however they were built.",
     .kinds = PW_STREAMS | PW_LISTS,
     .on_tree = pw_pass_expand},
    {.name = "align-leaves",
     .contract = "Writes on each leaf the alignment that all its instances have.",
     .once = true,
     .kinds = PW_ANY_KIND,
     .on_tree = pw_pass_align_leaves},
    {.name = "drop-unit-loops", .contract = PW_NEST_DROP_UNIT_LOOPS_CONTRACT, .on_nest = pw_nest_drop_unit_loops},
    {.name = "fuse-loops", .contract = PW_NEST_FUSE_LOOPS_CONTRACT, .on_nest = pw_nest_fuse_loops},
    {.name = "widen-leaf", .contract = PW_NEST_WIDEN_LEAF_CONTRACT, .on_nest = pw_nest_widen_leaf},
    {.name = "sort-loops", .contract = PW_NEST_SORT_LOOPS_CONTRACT, .on_nest = pw_nest_sort_loops},
    {.name = "tile-transpose", .contract = PW_NEST_TILE_TRANSPOSE_CONTRACT, .on_nest = pw_nest_tile_transpose},
    {.name = "narrow-tables", .contract = PW_NEST_NARROW_TABLES_CONTRACT, .on_nest = pw_nest_narrow_tables},
    {.name = "align-leaf", .contract = PW_NEST_ALIGN_LEAF_CONTRACT, .on_nest = pw_nest_align_leaf},
};

enum { ROWS = sizeof table / sizeof *table };

_Static_assert(ROWS <= (int)PW_MAX_PASSES, "pw_pass_options counts rewrites per row");

const pw_pass *pw_pass_table(int *n)
{
    *n = ROWS;
    return table;
}

const pw_pass *pw_pass_find(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    return NULL;
}
