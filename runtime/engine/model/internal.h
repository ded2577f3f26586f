/* What the files of this folder share, by the file that defines it. Only they and their tests include this. */
#ifndef PW_RUNTIME_MODEL_INTERNAL_H
#define PW_RUNTIME_MODEL_INTERNAL_H

#include "base/arena.h"
#include "base/status.h"
#include "runtime/engine/model/model.h"

/* ---- default.c --------------------------------------------------------------------------------------------------- */

/*
 * The answers of a model without measurements for GPU memory: figures of an H100 with PCIe 5, and of two H200s with
 * NVLink for memory of another GPU. docs/model.md lists them. Nanoseconds and bytes.
 */

double pw_model_default_move(pw_model_memory packed, pw_direction direction, pw_model_shape s);
double pw_model_default_send(bool device, int64_t bytes);
double pw_model_default_native_device(int64_t bytes, int64_t blocks);
double pw_model_default_copy(pw_model_copy_way way, int64_t bytes);
double pw_model_default_launch(void);
double pw_model_default_across(pw_model_shape s);

/* ---- json.c ------------------------------------------------------------------------------------------------------ */

/*
 * Reads JSON (RFC 8259), strictly: one value, nothing after it, no duplicate names, no comments, UTF-8 as it comes.
 * The reader is written here because the interposer is loaded into other people's programs, and a library would have to
 * be linked into it as a whole.
 */

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
