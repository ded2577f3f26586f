/*
 * The state of one compile, and the small vocabulary the emitters share. Internal to codegen/llvm.
 *
 * One description serves both directions: emitters see a destination and a source side, each with a step or a table,
 * and only region.c and leaf.c know which of them is the memory. All memory operations have alignment 1; addresses are
 * computed with plain byte offsets (never "inbounds": origins may be NULL or outside of any object).
 */
#ifndef PW_CODEGEN_LLVM_GEN_H
#define PW_CODEGEN_LLVM_GEN_H

#include "codegen/backend.h"

#include <llvm-c/Core.h>

#include <stdbool.h>

enum { PW_KEPT_MASKS = 5 };

typedef struct pw_gen {
    const pw_compile_job *job; /* the one at hand */
    int njob;                  /* its number in the list */
    const pw_shape *shape;
    pw_target_isa isa;
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, ptr;
    /* The function being built. */
    bool unpack;
    LLVMValueRef stream; /* i1: had long copies better bypass the caches? NULL: no */
    LLVMValueRef string; /* i1: had long copies better be one string instruction each? NULL: no */
    bool twice;          /* single moves store their bytes twice; such pairs may be repeated, see row.c */
    LLVMValueRef fn, dst, src, count, params, tables;
    struct pw_kept_mask {
        LLVMValueRef constant, value;
    } masks[PW_KEPT_MASKS]; /* made at the function's start, see pw_mask_keep */
    int nmasks;
    int nloops; /* closed so far */
} pw_gen;

/* A 64-bit number of which the value may be known while compiling. */
typedef struct pw_val {
    LLVMValueRef v;
    int64_t k;
    bool known;
} pw_val;

/* ---- values (gen.c) ---- */

pw_val pw_gen_const(pw_gen *g, int64_t k);
pw_val pw_gen_num(pw_gen *g, pw_num n);
LLVMValueRef pw_gen_k(pw_gen *g, int64_t k); /* i64 constant */
bool pw_gen_is(pw_val a, int64_t k);         /* known, and k */
/* i1: does the relation hold between v, an i64, and the constant? */
LLVMValueRef pw_gen_compare(pw_gen *g, LLVMIntPredicate relation, LLVMValueRef v, int64_t k);
LLVMValueRef pw_gen_packed_bytes(pw_gen *g); /* of the whole call */

LLVMValueRef pw_gen_at(pw_gen *g, LLVMValueRef p, LLVMValueRef bytes);
LLVMValueRef pw_gen_at_k(pw_gen *g, LLVMValueRef p, int64_t bytes);
LLVMValueRef pw_gen_at_val(pw_gen *g, LLVMValueRef p, pw_val bytes);

/* The entries of a table, as a pointer; and the memory offset of entry i, without the table's base. */
LLVMValueRef pw_gen_table(pw_gen *g, const pw_shape_table *t);
LLVMValueRef pw_gen_entry(pw_gen *g, const pw_shape_table *t, LLVMValueRef entries, LLVMValueRef i);

LLVMValueRef pw_gen_load(pw_gen *g, LLVMTypeRef type, LLVMValueRef p);
void pw_gen_store(pw_gen *g, LLVMValueRef value, LLVMValueRef p);
/* Prefetches the line of p into the nearest cache. Nothing need be there. */
void pw_gen_prefetch(pw_gen *g, LLVMValueRef p, bool is_stored);
/* A load of what does not change during the call. */
LLVMValueRef pw_gen_load_fixed(pw_gen *g, LLVMTypeRef type, LLVMValueRef p);

LLVMTypeRef pw_gen_vec(pw_gen *g, int lane_bytes, int lanes);
LLVMTypeRef pw_gen_int(pw_gen *g, int bytes);
LLVMValueRef pw_gen_call(pw_gen *g, const char *intrinsic, LLVMTypeRef *types, int ntypes, LLVMValueRef *args,
                         int nargs);

/* ---- control flow (loops.c) ---- */

typedef struct pw_if {
    LLVMBasicBlockRef then, other, join;
    bool has_else;
} pw_if;

void pw_if_open(pw_gen *g, pw_if *f, LLVMValueRef cond);
void pw_if_else(pw_gen *g, pw_if *f);
void pw_if_close(pw_gen *g, pw_if *f);

enum { PW_LOOP_MAX = 4 };

/* A loop run at least once, with carried values. */
typedef struct pw_loop {
    LLVMBasicBlockRef body;
    int n, loops_before;
    LLVMValueRef phi[PW_LOOP_MAX];
} pw_loop;

void pw_loop_open(pw_gen *g, pw_loop *l, int n, const LLVMValueRef *init);
void pw_loop_close(pw_gen *g, pw_loop *l, const LLVMValueRef *next, LLVMValueRef again);

/* for (i = 0; i < count; i++) with two pointers that advance by a step each time. One known turn makes no loop. */
typedef struct pw_for {
    pw_loop loop;
    pw_if guard;
    bool guarded;
    pw_val count;
    LLVMValueRef step[2];
    LLVMValueRef i, dst, src; /* in this iteration */
} pw_for;

void pw_for_open(pw_gen *g, pw_for *f, pw_val count, LLVMValueRef dst, pw_val dst_step, LLVMValueRef src,
                 pw_val src_step);
void pw_for_close(pw_gen *g, pw_for *f);

/* ---- moving bytes (move.c, copy.c, window.c) ---- */

/* n bytes from src + .src to dst + .dst; all known. `block` numbers the repetitions of a row. */
typedef struct pw_move {
    int64_t dst, src, n;
    int block;
} pw_move;

enum { PW_MOVE_FIXED = 256, PW_MAX_MOVES = 64, PW_COPY_STRING = 3072, PW_COPY_STREAM = 16384 };

/* n <= PW_MOVE_FIXED bytes, straight line. */
void pw_move_fixed(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, int64_t n);
/* The same for a part of a long block, in the vectors that suit those. */
void pw_move_wide(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, int64_t n);
/* A list of moves, straight line; neighbours share vectors where the target can. */
void pw_move_list(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, const pw_move *moves, int n);
/* n > PW_MOVE_FIXED bytes. */
void pw_copy_long(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, pw_val n);
/* n >= 0 bytes, of which most are expected to be small. */
void pw_copy_any(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n);

/*
 * Several moves as few vector loads, shuffles and masked stores. Exact: nothing outside the moves is read or
 * written. With `left` (else NULL) only moves with block < left are done.
 */
bool pw_window_fits(const pw_gen *g, const pw_move *moves, int n);
void pw_window_emit(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, const pw_move *moves, int n, LLVMValueRef left);
/* How many repetitions of `moves`, dst_step and src_step apart, one window had better hold; 0: none. */
int pw_window_blocks(const pw_gen *g, const pw_move *moves, int n, int64_t dst_step, int64_t src_step);

/*
 * A constant mask that stays in its register. LLVM would make it anew in every iteration: it takes a move to a mask
 * register for as cheap as a copy, which on Zen 4 halves the speed of a short loop. There are seven such
 * registers, so only the first few masks of a function are kept.
 */
LLVMValueRef pw_mask_keep(pw_gen *g, LLVMValueRef constant, int lanes, uint64_t bits);
LLVMValueRef pw_masked_load(pw_gen *g, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef mask);
void pw_masked_store(pw_gen *g, LLVMValueRef value, LLVMValueRef p, LLVMValueRef mask);
/* Asks for the line of p, to which a masked store is about to be made. Processors fetch the line of a plain store while
 * it waits, but not all of them that of a masked one. Only memory is asked for, since the packed side is dense. */
void pw_masked_ask(pw_gen *g, LLVMValueRef p);

/* ---- regions (region.c, leaf.c, row.c, tiles.c, transpose.c) ---- */

/* What the innermost loop runs over, seen from the direction of the copy. */
typedef struct pw_leaf {
    const pw_shape_region *region;
    int nmoves; /* 0: not all pieces are known, or they are a list of blocks */
    pw_move moves[PW_MAX_MOVES];
} pw_leaf;

/* Where both sides of a copy are. */
typedef struct pw_at {
    LLVMValueRef dst, src;
} pw_at;

/* The offsets of one side of a loop. */
typedef struct pw_offsets {
    const pw_shape_table *table; /* NULL: the side moves by a step */
    LLVMValueRef entries;
} pw_offsets;

/* One loop. The step of a side with a table is 0, and the table's base has been added already. */
typedef struct pw_row {
    pw_val count, dst_step, src_step;
    pw_offsets dst_offs, src_offs;
} pw_row;

static inline bool pw_row_has_table(const pw_row *row)
{
    return row->dst_offs.table || row->src_offs.table;
}

void pw_leaf_init(const pw_gen *g, const pw_shape_region *region, pw_leaf *leaf);
/* Takes a loop into the leaf by repeating its moves; false when that is not possible or too much. */
bool pw_leaf_unroll(pw_leaf *leaf, const pw_row *row);
void pw_leaf_emit(pw_gen *g, const pw_leaf *leaf, pw_at at);

/* The place with what the tables, if any, have for iteration i added to it. */
pw_at pw_row_offset(pw_gen *g, const pw_row *row, pw_at at, LLVMValueRef i);
/* Where iteration i of the loop is. */
pw_at pw_row_at(pw_gen *g, const pw_row *row, pw_at at, LLVMValueRef i);
void pw_row_emit(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at);

typedef struct pw_tiles {
    pw_for loops[2];
    pw_row part[2]; /* the two loops within this tile */
    pw_at at;       /* its first element */
} pw_tiles;

/* size: iterations of each loop in a tile, at least 1. */
void pw_tiles_open(pw_gen *g, pw_tiles *t, const pw_row *rows, const LLVMValueRef *size, pw_at at);
void pw_tiles_close(pw_gen *g, pw_tiles *t);

/* The two loops of a tiled region; false when leaf or strides do not suit in-register transposition. */
bool pw_transpose_emit(pw_gen *g, const pw_leaf *leaf, const pw_row *outer, const pw_row *inner, pw_at at);

/* Is there a copy in this region that may have `least` bytes or more? */
bool pw_region_copies(const pw_shape_region *region, int64_t least);

/* Declares and builds one function. */
void pw_function_emit(pw_gen *g, const char *name, bool unpack);

#endif
