/* Directories, whole reads that survive interruptions (whole writes: base/replace.h), and file names of entries. */
#ifndef PW_JIT_CACHE_FILE_H
#define PW_JIT_CACHE_FILE_H

#include "base/hash.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Makes a directory, and those above it that are missing. A mode that lets others in is set whatever the mask of new
 * files is; a private one is what the mask leaves of it. */
pw_status pw_file_make_dirs(const char *dir, mode_t mode, pw_diag *diag);

/* Exactly `size` bytes from the start; false with errno set, 0 when the file is shorter. */
bool pw_file_read(int fd, void *data, size_t size);

typedef enum pw_name_kind { PW_NAME_OTHER, PW_NAME_ENTRY, PW_NAME_LOCK, PW_NAME_TEMP } pw_name_kind;

enum { PW_NAME_TEXT = 128 };

void pw_name_entry(pw_hash key, char out[PW_NAME_TEXT]); /* <32 hex>.so */
void pw_name_lock(pw_hash key, char out[PW_NAME_TEXT]);  /* <32 hex>.lock */
/* <32 hex>.tmp-<host>-<pid>-<n>: unlike any other process's on any host. */
void pw_name_temp(pw_hash key, char out[PW_NAME_TEXT]);
/* What a name in the directory is; the key of those that are ours. */
pw_name_kind pw_name_parse(const char *name, pw_hash *key);

/* This machine's name, shortened to letters, digits, '.' and '-'. */
void pw_host_name(char out[64]);

#endif
