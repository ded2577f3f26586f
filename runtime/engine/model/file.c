/*
 * Purpose: models as JSON text and as files. Data: none of its own. Invariant: a fact is taken only if its value is
 * positive and not absurd, and a file is replaced whole.
 */
#include "runtime/engine/model/file.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/replace.h"
#include "jit-cache/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20 };
static const char format[] = "packwright-model";
/* No time of a fact is so long on a quiet machine. */
static const double absurd_ns = 1e6;

/* ---- facts ------------------------------------------------------------------------------------------------------- */

pw_status pw_model_set(pw_model *m, pw_fact fact, double value, pw_diag *diag)
{
    const struct pw_fact_info *info = &pw_fact_infos[fact];

    if (!(value > 0) || (isinf(value) && fact != PW_FACT_remote_least))
        return pw_diag_set(diag, PW_ERR_INVALID, "%s: %g %s is not positive", info->name, value, info->unit);
    if (!strcmp(info->unit, "ns") && value > absurd_ns)
        return pw_diag_set(diag, PW_ERR_INVALID, "%s: %g ns is absurd", info->name, value);
    *pw_fact_at(&m->facts, fact) = value;
    m->measured |= 1U << fact;
    return PW_OK;
}

void pw_model_take(pw_model *m, const pw_model *from)
{
    pw_facts facts = from->facts;

    for (int fact = 0; fact < PW_FACT_COUNT; fact++)
        if (pw_model_has(from, (pw_fact)fact))
            *pw_fact_at(&m->facts, (pw_fact)fact) = *pw_fact_at(&facts, (pw_fact)fact);
    m->measured |= from->measured;
    if (pw_model_has(from, PW_FACT_remote_least))
        memcpy(m->origin.network, from->origin.network, sizeof m->origin.network);
}

/* ---- from JSON --------------------------------------------------------------------------------------------------- */

/* Facts of other names are not read: another Packwright may have measured them. */
static pw_status read_facts(pw_model *m, const pw_json_value *facts, pw_diag *diag)
{
    pw_status status = PW_OK;

    for (int fact = 0; fact < PW_FACT_COUNT && !status; fact++) {
        const char *name = pw_fact_infos[fact].name;
        const pw_json_value *number = pw_json_member(facts, name, PW_JSON_NUMBER);
        bool never = pw_json_member(facts, name, PW_JSON_NULL);

        if (number || never)
            status = pw_model_set(m, (pw_fact)fact, never ? INFINITY : number->number, diag);
    }
    return status;
}

/* Reads the name of an MPI or a device. Characters other than ASCII's become blanks, since a cut could divide them. */
static void read_text(const pw_json_value *top, const char *name, char *out, size_t size)
{
    const pw_json_value *v = pw_json_member(top, name, PW_JSON_STRING);

    snprintf(out, size, "%s", v ? v->text : "");
    for (char *c = out; *c; c++)
        *c = *c < ' ' || *c > '~' ? ' ' : *c;
}

static pw_status check_version(const pw_json_value *top, pw_diag *diag)
{
    const pw_json_value *what = pw_json_member(top, "format", PW_JSON_STRING);
    const pw_json_value *version = pw_json_member(top, "version", PW_JSON_NUMBER);

    if (!what || strcmp(what->text, format) || !version)
        return pw_diag_set(diag, PW_ERR_INVALID, "format: this is no model of Packwright");
    if (version->number != PW_MODEL_VERSION)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "version %g, written by %s Packwright", version->number,
                           version->number < PW_MODEL_VERSION ? "an earlier" : "a later");
    return PW_OK;
}

static pw_status read_model(pw_model *m, const pw_json_value *top, pw_diag *diag)
{
    const pw_json_value *facts = pw_json_member(top, "facts", PW_JSON_OBJECT);
    pw_status status = check_version(top, diag);

    if (!status)
        status = facts ? read_facts(m, facts, diag) : pw_diag_set(diag, PW_ERR_INVALID, "facts: there are none");
    read_text(top, "mpi", m->origin.mpi, sizeof m->origin.mpi);
    read_text(top, "mpi_version", m->origin.mpi_version, sizeof m->origin.mpi_version);
    read_text(top, "network", m->origin.network, sizeof m->origin.network);
    read_text(top, "cpu", m->origin.cpu, sizeof m->origin.cpu);
    read_text(top, "gpu", m->origin.gpu, sizeof m->origin.gpu);
    read_text(top, "date", m->origin.date, sizeof m->origin.date);
    return status;
}

pw_status pw_model_parse(const char *text, size_t size, pw_model *out, pw_diag *diag)
{
    pw_arena *arena = pw_arena_create();
    pw_model m = {.facts = pw_facts_default};
    const pw_json_value *top = NULL;
    pw_status status = arena ? pw_json_parse(text, size, arena, &top, diag) : pw_diag_status(diag, PW_ERR_NOMEM);

    if (!status)
        status = read_model(&m, top, diag);
    pw_arena_destroy(arena);
    if (!status)
        *out = m;
    return status;
}

/* ---- to JSON ----------------------------------------------------------------------------------------------------- */

char *pw_model_text(const pw_model *m)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    pw_facts facts = m->facts;
    pw_json json;

    if (!out)
        return NULL;
    pw_json_begin(&json, out);
    pw_json_open(&json, NULL, '{');
    pw_json_string(&json, "format", format);
    pw_json_int(&json, "version", PW_MODEL_VERSION);
    pw_json_string(&json, "mpi", m->origin.mpi);
    pw_json_string(&json, "mpi_version", m->origin.mpi_version);
    if (*m->origin.network)
        pw_json_string(&json, "network", m->origin.network);
    pw_json_string(&json, "cpu", m->origin.cpu);
    pw_json_string(&json, "gpu", m->origin.gpu);
    pw_json_string(&json, "date", m->origin.date);
    pw_json_open(&json, "facts", '{');
    for (int fact = 0; fact < PW_FACT_COUNT; fact++)
        if (pw_model_has(m, (pw_fact)fact))
            pw_json_double(&json, pw_fact_infos[fact].name, *pw_fact_at(&facts, (pw_fact)fact));
    pw_json_close(&json, '}');
    pw_json_close(&json, '}');
    return fclose(out) == 0 ? text : (free(text), NULL);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static pw_status system_error(pw_diag *diag, const char *what)
{
    return pw_diag_set(diag, errno == ENOENT || errno == ENOTDIR ? PW_ERR_NOT_FOUND : PW_ERR_IO, "cannot %s it: %s",
                       what, strerror(errno));
}

/* Refuses a file that other users may write. Wrong numbers could only make programs slow, but there is no reason to
 * trust them. */
static pw_status check_file(int fd, size_t *size, pw_diag *diag)
{
    struct stat st;

    if (fstat(fd, &st))
        return system_error(diag, "examine");
    if (!S_ISREG(st.st_mode))
        return pw_diag_set(diag, PW_ERR_INVALID, "it is no file");
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & S_IWOTH))
        return pw_diag_set(diag, PW_ERR_DENIED, "it is another user's, or others may write to it");
    if (st.st_size > MAX_FILE)
        return pw_diag_set(diag, PW_ERR_INVALID, "it is too long for a model");
    *size = (size_t)st.st_size;
    return PW_OK;
}

pw_status pw_model_read(const char *path, pw_model *out, pw_diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t size = 0;
    char *text = NULL;
    pw_status status;

    if (fd < 0)
        return system_error(diag, "open");
    status = check_file(fd, &size, diag);
    if (!status && !(text = malloc(size + 1)))
        status = pw_diag_status(diag, PW_ERR_NOMEM);
    errno = 0;
    if (!status && !pw_file_read(fd, text, size))
        status =
            errno ? system_error(diag, "read") : pw_diag_set(diag, PW_ERR_IO, "it became shorter while it was read");
    close(fd);
    if (!status)
        status = pw_model_parse(text, size, out, diag);
    free(text);
    return status;
}

pw_status pw_model_write(const char *path, const pw_model *m, pw_diag *diag)
{
    const char *name = strrchr(path, '/');
    char *text = pw_model_text(m), *dir = strndup(path, name ? (size_t)(name - path) : 0);
    pw_status status = text && dir ? PW_OK : pw_diag_status(diag, PW_ERR_NOMEM);

    if (!status && *dir)
        status = pw_file_make_dirs(dir, 0700, diag);
    if (!status)
        status = pw_replace_file(path, text, strlen(text), diag);
    free(text);
    free(dir);
    return status;
}
