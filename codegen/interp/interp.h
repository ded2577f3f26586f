/*
 * Tier 0: the interpreter over the nest. Runs at once on any type, needs no compiler, and also moves
 * arbitrary byte ranges of the packed stream. Reentrant and thread safe; allocates nothing.
 */
#ifndef PW_CODEGEN_INTERP_INTERP_H
#define PW_CODEGEN_INTERP_INTERP_H

#include "base/direction.h"
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

/* What a range of an object has whole: iterations [a, b) of loop order[k], the k loops before which happen once, or
 * blocks [a, b) of the leaf's list if k is n. */
typedef struct pw_interp_whole {
    const int *order; /* the loops of the nest's region by descending packed stride, without the objects */
    int n, k;
    int64_t a, b, bytes;
    uintptr_t mem, packed; /* what a kernel of the whole object would get, but for the offsets of loop k or the list */
} pw_interp_whole;

/* Moves it in the interpreter's place. False: it cannot. */
typedef bool pw_interp_mover(const void *arg, const pw_interp_whole *whole);

/* Moves bytes [first, last) of one object at `mem`, of whose nest `move` is offered what they have whole; `packed`
 * points to byte `first`. */
void pw_interp_range_by(const pw_nest *nest, pw_direction direction, void *mem, void *packed, int64_t first,
                        int64_t last, pw_interp_mover *move, const void *arg);

#endif
