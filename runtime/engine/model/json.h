/*
 * Reading JSON (RFC 8259), strictly: one value, nothing after it, no duplicate names, no comments, UTF-8 as it comes.
 *
 * Written here because the interposer is loaded into other people's programs, so that a library would have to be linked
 * into it whole: docs/model.md says which there are and why not.
 */
#ifndef PW_RUNTIME_MODEL_JSON_H
#define PW_RUNTIME_MODEL_JSON_H

#include "base/arena.h"
#include "base/status.h"

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
    double number;                     /* of a number, of true (1) and false (0) */
    const char *text;                  /* of a string, ended by NUL; strings that contain one are refused */
    const char *name;                  /* as a member of an object, else NULL */
    const struct pw_json_value *first; /* of elements or members */
    const struct pw_json_value *next;  /* beside this one */
} pw_json_value;

/* Values live in the arena. On failure PW_ERR_INVALID with line and column, or PW_ERR_NOMEM. */
pw_status pw_json_parse(const char *text, size_t size, pw_arena *arena, const pw_json_value **out, pw_diag *diag);

/* The member of this name and kind, or NULL. `object` may be anything, also NULL. */
const pw_json_value *pw_json_member(const pw_json_value *object, const char *name, pw_json_kind kind);

#endif
