/*
 * Tier 0: the interpreter over the nest. Runs at once on any type, needs no compiler, and also moves
 * arbitrary byte ranges of the packed stream. Reentrant and thread safe; allocates nothing.
 */
#ifndef PW_CODEGEN_INTERP_INTERP_H
#define PW_CODEGEN_INTERP_INTERP_H

#include "ir/nest.h"

/* Move all of `count` objects. `mem` is the address of the first object (may be NULL for absolute layouts), `packed`
 * has room for count * nest->size bytes. Buffers must not overlap. */
void pw_interp_pack(const pw_nest *nest, const void *mem, int64_t count, void *packed);
void pw_interp_unpack(const pw_nest *nest, void *mem, int64_t count, const void *packed);

/* Move bytes [first, last) of the packed stream of `count` objects, 0 <= first <= last <= count * size. `packed` points
 * to where byte `first` is, not to where byte 0 would be. */
void pw_interp_pack_range(const pw_nest *nest, const void *mem, int64_t count, int64_t first, int64_t last,
                          void *packed);
void pw_interp_unpack_range(const pw_nest *nest, void *mem, int64_t count, int64_t first, int64_t last,
                            const void *packed);

#endif
