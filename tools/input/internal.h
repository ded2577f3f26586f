/* What the files of the loader share: an input holds either a unit of the datatype language or places of IR texts. */
#ifndef PW_TOOLS_INPUT_INTERNAL_H
#define PW_TOOLS_INPUT_INTERNAL_H

#include "frontend/ddt/ddt.h"
#include "tools/input/input.h"
#include "tools/input/source.h"

enum { PW_INPUT_MAX_ERRORS = PW_DDT_MAX_ERRORS };
/* The most memory that all trees of an input may take together, which is a few seconds' work. */
#define PW_INPUT_MAX_BYTES ((uint64_t)2 << 30)

/* A type in IR text. */
typedef struct pw_input_ir {
    const char *from; /* points into the source */
    int line, col;
} pw_input_ir;

/* An item: a variant of an entry. */
typedef struct pw_input_ref {
    int64_t entry, variant;
} pw_input_ref;

typedef struct pw_input_place {
    const char *from;
    int line, col;
} pw_input_place;

struct pw_input {
    pw_source source;
    pw_ddt_unit *unit; /* NULL: the input is IR text */
    pw_input_ir *ir;
    int64_t nir, room_ir;
    pw_input_ref *items;
    int64_t nitems, room_items;
    pw_input_place reported[PW_INPUT_MAX_ERRORS];
    int nerrors;
};

/* Reports an error at a place relative to `from`, once each and up to the limit. */
void pw_input_report(pw_input *in, const char *from, const pw_diag *diag);

typedef const char *pw_skip_fn(const char *text);

/* These fill the entries and report errors. */
void pw_input_parse_ddt(pw_input *in);
void pw_input_parse_ir(pw_input *in, pw_skip_fn *skip_blanks);

int64_t pw_input_entries(const pw_input *in);
pw_ddt_entry pw_input_entry(const pw_input *in, int64_t entry);

/* Builds item i. Places in `diag` are relative to pw_input_from(in, i). */
pw_status pw_input_make(const pw_input *in, int64_t i, pw_arena *arena, pw_type *out, pw_diag *diag);
const char *pw_input_from(const pw_input *in, int64_t i);

#endif
