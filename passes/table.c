/* All passes in order, with their contracts. */
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
    {.name = "drop-unit-loops",
     .contract = "Removes loops of count 1, moving a table's only offset into the region. Keeps the loop over "
                 "objects.",
     .on_nest = pw_nest_drop_unit_loops},
    {.name = "fuse-loops",
     .contract = "Two loops of a region of which one continues the other in memory and in packed order become one, "
                 "at whatever depths they stand. The loop over objects stays by itself, for its count is not known "
                 "before the call.",
     .on_nest = pw_nest_fuse_loops},
    {.name = "widen-leaf",
     .contract = "A loop that moves on by the leaf's length in memory and in packed order becomes part of the leaf; "
                 "pieces that continue each other on both sides become one. The loop over objects stays.",
     .on_nest = pw_nest_widen_leaf},
    {.name = "sort-loops",
     .contract = "Orders the loops of a region by what one step costs in cache lines and pages touched on both "
                 "sides, the dearest outermost. Loops of equal cost keep the packed order. Legal because each loop "
                 "has both strides.",
     .on_nest = pw_nest_sort_loops},
    {.name = "tile-transpose",
     .contract = "Finds the innermost loop's counterpart with opposite locality (one walks memory closely, the "
                 "other the packed side), makes it the second innermost, and sets tile sizes such that a tile's "
                 "cache lines stay in the L1 cache. Sets nothing when the innermost loop is so short that the lines "
                 "stay there anyway.",
     .on_nest = pw_nest_tile_transpose},
    {.name = "narrow-tables",
     .contract = "Copies tables of 64-bit offsets into the nest as 16- or 32-bit entries with a common scale where "
                 "that holds them; the smallest offset moves into the region. After this pass the nest borrows "
                 "nothing from the tree.",
     .on_nest = pw_nest_narrow_tables},
    {.name = "align-leaf",
     .contract = "Computes the alignment known for every memory and every packed offset of a region (object strides "
                 "included) and the word that copies should move. Needs nothing; run it last, since other passes do "
                 "not update these.",
     .on_nest = pw_nest_align_leaf},
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
