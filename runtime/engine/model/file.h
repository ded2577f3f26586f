/*
 * Models as files: JSON, described in docs/model.md. Written whole or not at all, read strictly; what cannot be read
 * changes nothing.
 */
#ifndef PW_RUNTIME_MODEL_FILE_H
#define PW_RUNTIME_MODEL_FILE_H

#include "base/status.h"
#include "runtime/engine/model/model.h"

#include <stddef.h>

enum { PW_MODEL_VERSION = 2, PW_MODEL_PATH = 4096 };

/* Reads a model from text; facts that it does not have get their defaults. PW_ERR_INVALID: the text is no JSON, or no
 * model. PW_ERR_UNSUPPORTED: it is of another version. */
pw_status pw_model_parse(const char *text, size_t size, pw_model *out, pw_diag *diag);
/* Returns the model as text, malloc'ed. NULL: out of memory. */
char *pw_model_text(const pw_model *m);
/* Sets a measured fact. PW_ERR_INVALID: it is not positive, or no machine has it. Infinite remote_least: no gain. */
pw_status pw_model_set(pw_model *m, pw_fact fact, double value, pw_diag *diag);
/* Takes all facts that were measured in `from`, and what network they are of. */
void pw_model_take(pw_model *m, const pw_model *from);

/* Reads a model. PW_ERR_NOT_FOUND, PW_ERR_IO, PW_ERR_DENIED (others may write to the file), or as pw_model_parse. */
pw_status pw_model_read(const char *path, pw_model *out, pw_diag *diag);
/* Writes a model to a file. Makes the directory of `path` if it does not exist, for this user alone. */
pw_status pw_model_write(const char *path, const pw_model *m, pw_diag *diag);

/*
 * Returns the path of the model for this machine and MPI: model-<mpi>-<cpu>-<gpu>.json in the cache directory, so that
 * machines of several kinds can share the directory. The GPU's name is read from /proc, without loading its driver.
 * False: no directory is known.
 */
bool pw_model_path(const char *mpi, char *out, size_t size);
/* Returns the path of the model of that name in the cache directory for all users. False: no directory is known. */
bool pw_model_system_path(const char *mpi, char *out, size_t size);

/* Returns whether the model is of this MPI and this CPU, or does not say. If not, `diag` describes the difference. */
bool pw_model_fits(const pw_model *m, const char *mpi, const char *cpu, pw_diag *diag);

#endif
