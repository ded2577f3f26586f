/*
 * Typed access to the environment, through the one table of env_table.h.
 *
 * Values are read from the process environment when first asked for and kept; a malformed value is
 * reported by pw_env_check and the default taken. Thread safe. Returned strings live as long as the process.
 *
 * In a process that runs with rights which its caller does not have (AT_SECURE: set-uid, set-gid, file capabilities)
 * every variable is unset, those that are not ours included.
 */
#ifndef PW_BASE_ENV_H
#define PW_BASE_ENV_H

#include "base/env_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum pw_env_id {
#define X(symbol, name, type, def, help) PW_ENV_##symbol,
    PW_ENV_TABLE(X)
#undef X
        PW_ENV_COUNT
} pw_env_id;

typedef enum pw_env_type {
    PW_ENV_TYPE_BOOL,
    PW_ENV_TYPE_SIZE,
    PW_ENV_TYPE_STRING,
    PW_ENV_TYPE_PATH,
    PW_ENV_TYPE_CHOICE
} pw_env_type;

typedef struct pw_env_info {
    const char *name;
    pw_env_type type;
    const char *choices; /* "a|b|c" for PW_ENV_TYPE_CHOICE, else NULL */
    const char *def;
    const char *help;
} pw_env_info;

const pw_env_info *pw_env_describe(pw_env_id id);

/* What values it may have, in words: "a|b|c", "0 or 1", "path". */
const char *pw_env_values(const pw_env_info *info);

bool pw_env_bool(pw_env_id id);
int64_t pw_env_size(pw_env_id id);       /* bytes */
int pw_env_choice(pw_env_id id);         /* index of the word in the table's list */
const char *pw_env_string(pw_env_id id); /* "" when unset and no default */
/* A PATH that does not depend on where the process goes: a relative one is meant from the directory in which the
 * environment was read. */
const char *pw_env_path(pw_env_id id);

/* Whether the environment has a value that means nothing for this variable, so that the default holds. */
bool pw_env_is_malformed(pw_env_id id);

/* True when the variable is present in the environment (whatever its value). */
bool pw_env_is_set(pw_env_id id);

/* From now on the variable counts as set to `text`: for programs that say so by a call. False: out of memory, or `text`
 * is malformed. To be called before other threads ask for the variable; strings that were returned before are gone. */
bool pw_env_replace(pw_env_id id, const char *text);

/* The same for a CHOICE, by the index of its word. */
bool pw_env_replace_choice(pw_env_id id, int choice);

/* Plain lookups of variables that are not ours (HOME, XDG_CACHE_HOME, …): NULL when unset. */
const char *pw_env_foreign(const char *name);

/* base/env_check.c: warns about malformed values, and about unknown PACKWRIGHT_* names, each with the closest known
 * one. Returns how many warnings that were. */
int pw_env_check(void);

/* Reads everything again, for tests that change the environment. Strings that were returned before are gone. */
void pw_env_reload(void);

#endif
