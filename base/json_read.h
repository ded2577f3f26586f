/*
 * Reads JSON (RFC 8259), strictly: one value, nothing after it, no duplicate names, no comments, UTF-8 as it comes.
 * The reader is written here because the interposer is loaded into other people's programs, and a library would have to
 * be linked into it as a whole.
 */
#ifndef PW_BASE_JSON_READ_H
#define PW_BASE_JSON_READ_H

#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>

typedef enum pw_json_kind {
    PW_JSON_NULL,
    PW_JSON_BOOL,
    PW_JSON_NUMBER,
    PW_JSON_STRING,
    PW_JSON_ARRAY,
    PW_JSON_OBJECT
} pw_json_kind;

typedef struct pw_json_value {
    pw_json_kind kind;
    int n;                             /* elements or members */
    double number;                     /* of a number; 1 for true and 0 for false */
    const char *text;                  /* of a string, ended by NUL; strings that contain NUL are refused */
    const char *name;                  /* the name of a member of an object; NULL for other values */
    const struct pw_json_value *first; /* the first element or member */
    const struct pw_json_value *next;  /* the next element or member of the same parent */
} pw_json_value;

/* Parses a text. The values are in the arena. On failure PW_ERR_INVALID with line and column, or PW_ERR_NOMEM. */
pw_status pw_json_parse(const char *text, size_t size, pw_arena *arena, const pw_json_value **out, pw_diag *diag);

/* Returns the member of this name and kind, or NULL. `object` may be a value of any kind, or NULL. */
const pw_json_value *pw_json_member(const pw_json_value *object, const char *name, pw_json_kind kind);

#endif
