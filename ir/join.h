/*
 * Joins: two layouts of equal size as one nest, which copies from one memory to the other in one pass.
 *
 * Byte p of the packed stream of `a` objects and byte p of that of `b` objects are the two ends of one copy. The join
 * walks both trees in packed order: loops of which one's step divides the other's are split, blocks are cut at the
 * other's ends, and what fits in no such way is refined to lists. The result is a joined nest (ir/nest.h): `a` is its
 * memory side, the source of a pack, `b` its packed side. Unpacking moves the other way.
 *
 * A joined object is the smallest number of bytes of which both layouts repeat: a call moves `bytes / nest->size`
 * joined objects, whatever the counts of either side are. So one joined nest serves all counts of a pair of types.
 */
#ifndef PW_IR_JOIN_H
#define PW_IR_JOIN_H

#include "ir/nest.h"

/*
 * The joined nest before the nest passes have run (passes/passes.h: pw_lower_join). Loops over tables borrow the lists
 * of the trees. PW_ERR_UNSUPPORTED, with the cause in `diag`, when a side moves no byte, or when the refinement exceeds
 * its bounds: the caller packs and unpacks.
 */
pw_status pw_join_trees(const pw_type *a, const pw_type *b, pw_nest **out, pw_diag *diag);

/* The tree of a nest that was lowered: the blocks of one object in packed order, with the structure of its loops. For
 * layouts of which only the nest was kept. NULL with the builder's status set: out of memory, or no such tree. */
const pw_node *pw_nest_raise(pw_builder *b, const pw_nest *nest);

#endif
