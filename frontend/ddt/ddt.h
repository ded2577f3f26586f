/*
 * The datatype language: .ddt text -> IR, and IR -> .ddt text. docs/ddt.md is its reference.
 *
 * A file is parsed once into a unit (syntax only; names are resolved). Each of its entries then builds one
 * type, or several where it contains ranges. A unit is immutable after parsing and may be used by threads.
 */
#ifndef PW_FRONTEND_DDT_DDT_H
#define PW_FRONTEND_DDT_DDT_H

#include "frontend/combiner.h"

#include <stddef.h>

typedef struct pw_ddt_unit pw_ddt_unit;

/* Receives one error: position in diag->line and diag->col (1-based; columns count bytes). */
typedef void pw_ddt_report_fn(void *arg, const pw_diag *diag);

/* Bounds on input, so that absurd text is refused quickly and in bounded memory. */
enum {
    PW_DDT_MAX_TEXT = 256 << 20,  /* bytes of one file */
    PW_DDT_MAX_DEPTH = 300,       /* nesting of types and of parentheses */
    PW_DDT_MAX_ERRORS = 20,       /* reported before parsing gives up */
    PW_DDT_MAX_RANGES = 16,       /* ranges in one entry */
    PW_DDT_MAX_VARIANTS = 100000, /* types one entry stands for */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    PW_DDT_MAX_LIST = 1 << 26 /* entries of one list, generated ones included */
#else
    PW_DDT_MAX_LIST = 1 << 12 /* fuzzers look for many inputs, not for long lists */
#endif
};

/*
 * Parses `size` bytes of text (no terminator needed). All errors found, up to PW_DDT_MAX_ERRORS, go to
 * `report`; any error makes the result PW_ERR_INVALID (or PW_ERR_NOMEM) and leaves *out untouched.
 */
pw_status pw_ddt_parse(const char *text, size_t size, pw_ddt_report_fn *report, void *arg, pw_ddt_unit **out);
void pw_ddt_destroy(pw_ddt_unit *unit); /* NULL is allowed */

/* Entries are the types of the file in order: the named ones and those that just stand there. */
typedef struct pw_ddt_entry {
    const char *name; /* "" for a type without a name */
    int line, col;
    int64_t variants;   /* >= 1: how many types its ranges make */
    size_t begin, size; /* where the type stands in the text, without its name */
    int64_t element;    /* the largest size that all predefined types in it are multiples of; 0: there are none */
} pw_ddt_entry;

int64_t pw_ddt_count(const pw_ddt_unit *unit);
pw_ddt_entry pw_ddt_get(const pw_ddt_unit *unit, int64_t i);

/* Returns the entry named `name`, or -1. */
int64_t pw_ddt_find(const pw_ddt_unit *unit, const char *name);
/* Describes that no entry is named `name`, with the closest name that there is; a NULL unit has no names. Returns
 * PW_ERR_NOT_FOUND. */
pw_status pw_ddt_unknown(const pw_ddt_unit *unit, const char *name, pw_diag *diag);

/* Builds variant `variant` of entry i in the builder's arena. The first range written runs slowest. Errors
 * (overflow, illegal arguments) have the position of what caused them in `diag`. */
pw_status pw_ddt_build(const pw_ddt_unit *unit, int64_t i, int64_t variant, pw_builder *b, pw_dt *out, pw_diag *diag);

typedef enum pw_ast_kind {
    PW_AST_BASIC, /* a predefined type */
    PW_AST_NAMED, /* another entry of the unit */
    PW_AST_CTG,
    PW_AST_VEC,
    PW_AST_HVEC,
    PW_AST_IDX,
    PW_AST_HIDX,
    PW_AST_IDXB,
    PW_AST_HIDXB,
    PW_AST_STRUCT,
    PW_AST_SUB,
    PW_AST_DARRAY,
    PW_AST_RESIZED,
    PW_AST_DUP
} pw_ast_kind;

/* One constructor of a type, with its arguments as numbers in the order and the units of MPI's. `old` has what the
 * listener returned for the old types: `n` of a struct, none of a predefined type, else one. */
typedef struct pw_ddt_call {
    pw_ast_kind kind; /* never NAMED */
    const int64_t *old;
    const char *name;             /* BASIC */
    int first, second;            /* BASIC: its bytes; of a pair type the bytes of either part */
    int64_t n;                    /* count; for lists and struct their entries, for arrays their dimensions */
    int64_t blocklen, stride;     /* VEC, HVEC; blocklen of IDXB, HIDXB */
    const int64_t *lens, *displs; /* lists and struct */
    const int64_t *parts[3];      /* SUB: sizes, subsizes, starts; DARRAY: gsizes, dargs, psizes */
    const pw_distribution *distribs;
    pw_order order;
    int64_t size, rank; /* DARRAY */
    int64_t lb, extent; /* RESIZED */
} pw_ddt_call;

/* Makes the type of one constructor. Returns what later calls are to name it by, or a negative number to give up. */
typedef int64_t pw_ddt_listen_fn(void *arg, const pw_ddt_call *call);

/* Tells a listener the constructors of variant `variant` of entry i, inner ones first, as they are written; a named
 * type once. *out: what the listener returned for the whole type. PW_ERR_UNSUPPORTED: it gave up. */
pw_status pw_ddt_tell(const pw_ddt_unit *unit, int64_t i, int64_t variant, pw_ddt_listen_fn *listen, void *arg,
                      int64_t *out, pw_diag *diag);

/* Text of any type, on one line; parses back to an equal type (equal after canonicalisation, with the same
 * lb and extent). malloc'ed, the caller frees; NULL when out of memory. */
char *pw_ddt_print(const pw_type *type);
/* Text as by pw_ddt_print, for people: shortens lists beyond `elide` entries, so that it does not parse back. 0
 * shortens nothing. */
char *pw_ddt_print_short(const pw_type *type, int64_t elide);

#endif
