/*
 * The types that a command is to work on: from a file, from standard input, or written out on the command line; in the
 * datatype language (docs/ddt.md) or as IR text (docs/ir.md; the input then begins with "type(").
 *
 * Loading reads everything and builds every chosen type once, so that all errors come out together, as
 * "file:line:col: error: text" with the line and a caret, before a command writes anything. Types are built again on
 * demand, each in the caller's arena: a file may stand for more of them than memory holds.
 */
#ifndef PW_TOOLS_INPUT_H
#define PW_TOOLS_INPUT_H

#include "ir/ir.h"

/* The most types in one input, variants included. */
enum { PW_INPUT_MAX_TYPES = 1000000 };

typedef struct pw_input pw_input;

/* Which types to take. All zeros: all of them. */
typedef struct pw_input_choice {
    const char *name;  /* NULL: every entry */
    int64_t variant;   /* the variant of each chosen entry, if only_variant is set */
    bool only_variant; /* false: all variants that the entry's ranges make */
} pw_input_choice;

typedef struct pw_input_item {
    const char *name; /* "" for a type without a name */
    int line, col;    /* where its entry stands in the input */
    int64_t entry;    /* its number in the input, from 0 */
    int64_t variant;  /* 0 <= variant < variants */
    int64_t variants; /* how many types the entry stands for */
    const char *text; /* the type as the user wrote it, `size` bytes; NULL for IR text */
    size_t size;
    int64_t element; /* the size of the elements that it is made from; 0: not known */
} pw_input_item;

/*
 * Loads an input. `arg` is an argument of the command line: a file, "-" for standard input, or else the text of a type.
 * `choice` may be NULL. Reports errors on stderr; the status is then not PW_OK, and *out stays as it was. It is an
 * error if no type is chosen. `arg` must outlive the input.
 */
pw_status pw_input_load(const char *arg, const pw_input_choice *choice, pw_input **out);
void pw_input_free(pw_input *input); /* NULL is allowed */

/* The name for messages: the file's, "<stdin>" or "<argument>". */
const char *pw_input_name(const pw_input *input);

/* The whole text of the input; the lines of items count in it. */
const char *pw_input_text(const pw_input *input);

int64_t pw_input_count(const pw_input *input); /* at least 1 */
pw_input_item pw_input_get(const pw_input *input, int64_t i);

/* Builds the type of item i in `arena`. Loading has built it before, so only lack of memory can make this fail, which
 * is reported. */
pw_status pw_input_build(const pw_input *input, int64_t i, pw_arena *arena, pw_type *out);

/* Writes the label of an item for messages: "halo", "halo.3" (a variant), "line 7", "line 7.3". */
enum { PW_INPUT_LABEL = 80 };
void pw_input_label(const pw_input *input, int64_t i, char out[PW_INPUT_LABEL]);

/* Reports that a later step failed on item i, at the entry's place and with the label of what the place leaves open. */
void pw_input_error(const pw_input *input, int64_t i, const pw_diag *diag);
/* Reports an error at the place that `diag` names. */
void pw_input_error_at(const pw_input *input, const pw_diag *diag);

#endif
