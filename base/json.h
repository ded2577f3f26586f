/*
 * Writes JSON (RFC 8259), indented by two columns a level. Every value gets its name in an object, or NULL in an array
 * and at the top.
 */
#ifndef PW_BASE_JSON_H
#define PW_BASE_JSON_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct pw_json {
    FILE *out;
    int depth;
    bool first; /* the open object or array is empty so far */
} pw_json;

void pw_json_begin(pw_json *json, FILE *out);
/* Opens an object ('{') or an array ('['), or closes it. Closing the outermost one ends the line. */
void pw_json_open(pw_json *json, const char *name, char bracket);
void pw_json_close(pw_json *json, char bracket);

/* Bytes that are no UTF-8 are written as U+FFFD. */
void pw_json_string(pw_json *json, const char *name, const char *text);
void pw_json_int(pw_json *json, const char *name, int64_t value);
/* Writes six significant digits, and null for a number that is not finite. */
void pw_json_double(pw_json *json, const char *name, double value);
void pw_json_bool(pw_json *json, const char *name, bool value);
void pw_json_null(pw_json *json, const char *name);
void pw_json_hash(pw_json *json, const char *name, pw_hash hash);

#endif
