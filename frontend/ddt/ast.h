/* The syntax tree of the datatype language: what the parser makes and the evaluator reads. */
#ifndef PW_FRONTEND_DDT_AST_H
#define PW_FRONTEND_DDT_AST_H

#include "base/arena.h"
#include "frontend/ddt/ddt.h"
#include "frontend/ddt/lexer.h"

typedef struct pw_pos {
    int line, col;
} pw_pos;

typedef enum pw_expr_kind {
    PW_EXPR_NUMBER,
    PW_EXPR_NEGATE,
    PW_EXPR_ADD,
    PW_EXPR_SUBTRACT,
    PW_EXPR_MULTIPLY,
    PW_EXPR_DIVIDE,
    PW_EXPR_REMAINDER,
    PW_EXPR_RANGE /* a : b : c, from a by b to c; constant parts */
} pw_expr_kind;

/* Named constants are resolved by the parser, so an expression depends on ranges only. */
typedef struct pw_expr {
    pw_expr_kind kind;
    pw_pos pos;
    int64_t value; /* NUMBER; RANGE: number of values */
    int range;     /* RANGE: its number in the unit */
    const struct pw_expr *a, *b;
    int64_t from, by; /* RANGE */
} pw_expr;

/* An item of a list: an expression, or a generator of many numbers, all times `scale`. */
typedef enum pw_item_kind { PW_ITEM_EXPR, PW_ITEM_RANGE, PW_ITEM_SAMPLE, PW_ITEM_SHUFFLE } pw_item_kind;

typedef struct pw_item {
    pw_item_kind kind;
    pw_pos pos;
    const pw_expr *args[3]; /* EXPR: one. range(start, step, count), sample(count, of, seed), shuffle(count, seed) */
    const pw_expr *scale;   /* NULL: 1 */
    const pw_expr *len;     /* of idx and hidx: block length of each entry */
} pw_item;

typedef struct pw_item_list {
    int64_t n;
    const pw_item *items;
} pw_item_list;

typedef struct pw_ast pw_ast;

typedef struct pw_member {
    const pw_expr *disp, *count; /* count NULL: 1 */
    const pw_ast *type;
} pw_member;

struct pw_ast {
    pw_ast_kind kind;
    pw_pos pos;
    int64_t weight;  /* nodes with named types written out, saturating */
    int64_t element; /* the largest size that all predefined types inside are multiples of; 0: there are none */
    union {
        int basic;
        int64_t entry;
        struct {
            const pw_expr *args[3]; /* ctg: count; vec: count, blocklen, stride; resized: lb, extent; idxb: blocklen */
            const pw_expr *count;   /* of a list written as an MPI call: how many entries it must have; else NULL */
            pw_item_list list;      /* idx, hidx, idxb, hidxb */
            const pw_ast *old;
        } of;
        struct {
            int64_t n;
            const pw_member *members;
        } record;
        struct {
            int64_t ndims;
            const pw_expr *size, *rank;      /* darray */
            const pw_expr *const *parts[3];  /* sub: sizes, subsizes, starts; darray: gsizes, dargs, psizes */
            const pw_distribution *distribs; /* darray */
            pw_order order;
            const pw_ast *old;
        } array;
    };
};

typedef struct pw_ddt_range {
    int64_t count;
    pw_pos pos;
} pw_ddt_range;

typedef struct pw_ddt_def {
    pw_ddt_entry entry;
    const pw_ast *type;
    int nranges;
    int ranges[PW_DDT_MAX_RANGES]; /* numbers of the unit's ranges, in order of appearance */
} pw_ddt_def;

struct pw_ddt_unit {
    pw_arena *arena;
    int64_t ndefs, cap_defs;
    pw_ddt_def *defs;
    int nranges, cap_ranges;
    pw_ddt_range *ranges;
};

/* Predefined types (names.c): index of a name, or -1. */
int pw_basic_find(const char *text, int size);
/* The name of a predefined type; NULL behind the last one. */
const char *pw_basic_name(int basic);
/* The size of its elements: a pair type has two. */
int64_t pw_basic_element(int basic);
pw_dt pw_basic_build(pw_builder *b, int basic);
/* The sizes of its parts: a pair type has two, else the second is 0. */
void pw_basic_sizes(int basic, int *first, int *second);

#endif
