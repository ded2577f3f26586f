/*
 * Models as files: JSON, described in docs/model.md. Written whole or not at all, read strictly; what cannot be read
 * changes nothing.
 */
#ifndef PW_RUNTIME_MODEL_FILE_H
#define PW_RUNTIME_MODEL_FILE_H

#include "runtime/engine/model/tables.h"

#include <stddef.h>

enum { PW_MODEL_VERSION = 1, PW_MODEL_PATH = 4096 };

/* From text. PW_ERR_INVALID: no JSON, or no model; PW_ERR_UNSUPPORTED: of a later version. */
pw_status pw_model_parse(const char *text, size_t size, pw_model **out, pw_diag *diag);
/* To text, malloc'ed. NULL: out of memory. */
char *pw_model_text(const pw_model *m);

/* PW_ERR_NOT_FOUND, PW_ERR_IO, PW_ERR_DENIED (others may write to it), or as pw_model_parse. */
pw_status pw_model_read(const char *path, pw_model **out, pw_diag *diag);
/* Makes the directory of `path`, if need be, for this user alone. */
pw_status pw_model_write(const char *path, const pw_model *m, pw_diag *diag);

/*
 * Where the model of this machine and this MPI lies: model-<mpi>-<cpu>-<gpu>.json in the cache directory, so that
 * machines of several kinds can share one. The GPU is asked of /proc, without loading its driver. False: no directory
 * is known.
 */
bool pw_model_path(const char *mpi, char *out, size_t size);

/* The name of the first GPU, as the kernel's driver has it; "" without one. */
void pw_model_gpu_name(char *out, size_t size);

/* Does the model tell of this MPI and this CPU, or leave that open? Otherwise the difference goes to `diag`. */
bool pw_model_fits(const pw_model *m, const char *mpi, const char *cpu, pw_diag *diag);

#endif
