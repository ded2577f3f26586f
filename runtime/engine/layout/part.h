/*
 * Parts of one object's packed bytes, at the speed of its kernel.
 *
 * A kernel takes counts and tables of the long loops as arguments, so it also moves some of a loop's iterations: from
 * another address, with another count, and with tables from another entry on. A plan says which loops these are. The
 * iterations that a part has whole are moved by the kernel, and what is cut at either end is copied, or left to the
 * interpreter where the loops inside have counts that the code contains.
 */
#ifndef PW_RUNTIME_LAYOUT_PART_H
#define PW_RUNTIME_LAYOUT_PART_H

#include "base/direction.h"
#include "codegen/backend.h"

/* A loop whose iterations can be told apart in a call of the kernel. */
typedef struct pw_part_loop {
    int64_t below; /* packed bytes from the first to the last of one iteration */
    int16_t dim;   /* of the nest's region */
    int16_t count; /* the place of the loop's count in the kernel's arguments */
    int16_t table; /* the place of its table there; -1: it has none */
} pw_part_loop;

/* How the objects of a nest are cut. Constant. */
typedef struct pw_part_plan {
    const pw_nest *nest;
    int size; /* the place of the object's size in the kernel's arguments; -1: none */
    int nparams, ntables;
    int blocks, offs, starts; /* of the leaf's list of blocks; `blocks` -1: the list is not cut */
    bool copies;              /* below the loops of the plan there is nothing but the leaf */
    int nloops;
    pw_part_loop loops[]; /* by descending packed stride */
} pw_part_plan;

/* The bytes of an arena that the longest plan of a nest takes. */
size_t pw_part_plan_bytes(const pw_nest *nest);

/* Makes the plan of a nest with its shape. *out is NULL if the kernel cannot move parts of an object. */
pw_status pw_part_plan_make(const pw_nest *nest, const pw_shape *shape, pw_arena *arena, const pw_part_plan **out);

/* Moves the packed bytes [first, last) of the object at `mem`; `packed` is where byte `first` is. */
void pw_part_move(const pw_part_plan *plan, pw_kernel_fn *fn, const pw_kernel_args *args, pw_direction direction,
                  char *mem, char *packed, int64_t first, int64_t last);

#endif
