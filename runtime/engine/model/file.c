#include "runtime/engine/model/file.h"

#include "base/json_read.h"
#include "base/replace.h"
#include "runtime/engine/model/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20, SIZE_DIGITS = 15, TIME_DIGITS = 6 };
static const char format[] = "packwright-model";

/* ---- from JSON ------------------------------------------------------------------------------------------------- */

static pw_status not_a_model(pw_diag *diag, const char *name, const char *why)
{
    return pw_diag_set(diag, PW_ERR_INVALID, "%s: %s", name, why);
}

/* Reads the numbers of an array, and returns how many there are. -1: the array has other values, or too many. `gaps`:
 * null is read as NaN. */
static int numbers(const pw_json_value *array, double *out, int room, bool gaps)
{
    int n = 0;

    if (!array || array->n > room)
        return -1;
    for (const pw_json_value *v = array->first; v; v = v->next) {
        if (v->kind != PW_JSON_NUMBER && !(gaps && v->kind == PW_JSON_NULL))
            return -1;
        out[n++] = v->kind == PW_JSON_NULL ? NAN : v->number;
    }
    return n;
}

/* Reads rows of times into `t`. False: there are not nx rows of ny times. */
static bool read_rows(const pw_json_value *times, int nx, int ny, double *t)
{
    if (!times || times->n != nx)
        return false;
    for (const pw_json_value *row = times->first; row; row = row->next, t += ny)
        if (row->kind != PW_JSON_ARRAY || numbers(row, t, ny, true) != ny)
            return false;
    return true;
}

static pw_status read_table(pw_model *m, const pw_json_value *v, pw_diag *diag)
{
    const pw_json_value *name = pw_json_member(v, "name", PW_JSON_STRING);
    const pw_json_value *times = pw_json_member(v, "times", PW_JSON_ARRAY);
    double x[PW_MODEL_MAX_POINTS], y[PW_MODEL_MAX_POINTS], t[PW_MODEL_MAX_POINTS * PW_MODEL_MAX_POINTS];
    pw_model_table_id id;
    int axes, nx = 1, ny = 1;
    bool ok;

    if (!name)
        return not_a_model(diag, "tables", "one has no name");
    id = pw_model_table_named(name->text);
    if (id == PW_TABLE_COUNT)
        return not_a_model(diag, name->text, "no such table");
    if (pw_model_has(m, id))
        return not_a_model(diag, name->text, "was there before");
    axes = pw_model_table_describe(id)->axes;
    if (axes > 0)
        nx = numbers(pw_json_member(v, "bytes", PW_JSON_ARRAY), x, PW_MODEL_MAX_POINTS, false);
    if (axes > 1)
        ny = numbers(pw_json_member(v, "blocks", PW_JSON_ARRAY), y, PW_MODEL_MAX_POINTS, false);
    if (nx < 1 || ny < 1)
        return not_a_model(diag, name->text, "its sizes are missing, too many, or no numbers");
    ok = axes > 1 ? read_rows(times, nx, ny, t) : numbers(times, t, nx, true) == nx;
    if (!ok)
        return not_a_model(diag, name->text, "its times are no numbers, or not as many as its sizes");
    return pw_model_set(m, id, x, nx, y, ny, t, diag);
}

static void read_text(const pw_json_value *top, const char *name, char *out, size_t size)
{
    const pw_json_value *v = pw_json_member(top, name, PW_JSON_STRING);

    snprintf(out, size, "%s", v ? v->text : "");
}

static pw_status read_version(const pw_json_value *top, pw_diag *diag)
{
    const pw_json_value *what = pw_json_member(top, "format", PW_JSON_STRING);
    const pw_json_value *version = pw_json_member(top, "version", PW_JSON_NUMBER);

    if (!what || strcmp(what->text, format) || !version)
        return not_a_model(diag, "format", "this is no model of Packwright");
    if (version->number > PW_MODEL_VERSION)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "version %g, written by a later Packwright", version->number);
    return version->number == PW_MODEL_VERSION ? PW_OK : not_a_model(diag, "version", "there is no such version");
}

static pw_status read_model(pw_model *m, const pw_json_value *top, pw_diag *diag)
{
    const pw_json_value *tables = pw_json_member(top, "tables", PW_JSON_ARRAY);
    pw_status status = read_version(top, diag);

    if (!status && !tables)
        status = not_a_model(diag, "tables", "there are none");
    for (const pw_json_value *v = status ? NULL : tables->first; v && !status; v = v->next)
        status = read_table(m, v, diag);
    read_text(top, "mpi", m->origin.mpi, sizeof m->origin.mpi);
    read_text(top, "mpi_version", m->origin.mpi_version, sizeof m->origin.mpi_version);
    read_text(top, "network", m->origin.network, sizeof m->origin.network);
    read_text(top, "cpu", m->origin.cpu, sizeof m->origin.cpu);
    read_text(top, "gpu", m->origin.gpu, sizeof m->origin.gpu);
    read_text(top, "date", m->origin.date, sizeof m->origin.date);
    return status;
}

pw_status pw_model_parse(const char *text, size_t size, pw_model **out, pw_diag *diag)
{
    pw_arena *arena = pw_arena_create();
    pw_model *m = pw_model_create();
    const pw_json_value *top = NULL;
    pw_status status = arena && m ? pw_json_parse(text, size, arena, &top, diag) : pw_diag_status(diag, PW_ERR_NOMEM);

    if (!status)
        status = read_model(m, top, diag);
    pw_arena_destroy(arena);
    if (status) {
        pw_model_destroy(m);
        return status;
    }
    *out = m;
    return PW_OK;
}

/* ---- to JSON --------------------------------------------------------------------------------------------------- */

/* Writes the name of an MPI or a device. A character that JSON would escape becomes a blank. */
static void put_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, "  \"%s\": \"", name);
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == '"' || *text == '\\' ? ' ' : *text, out);
    fputs("\",\n", out);
}

/* Writes sizes in full, times with as many digits as mean something, and NaN as null. */
static void put_numbers(FILE *out, const double *v, int n, int digits)
{
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "[", out);
        if (isnan(v[i]))
            fputs("null", out);
        else
            fprintf(out, "%.*g", digits, v[i]);
    }
    fputc(']', out);
}

static void put_table(FILE *out, pw_model_table_id id, const pw_model_table *t)
{
    const pw_model_table_info *info = pw_model_table_describe(id);

    fprintf(out, "    {\"name\": \"%s\"", info->name);
    if (info->axes > 0) {
        fputs(",\n     \"bytes\": ", out);
        put_numbers(out, t->x, t->nx, SIZE_DIGITS);
    }
    if (info->axes > 1) {
        fputs(",\n     \"blocks\": ", out);
        put_numbers(out, t->y, t->ny, SIZE_DIGITS);
    }
    fputs(",\n     \"times\": ", out);
    if (info->axes < 2)
        put_numbers(out, t->t, t->nx, TIME_DIGITS);
    for (int i = 0; info->axes == 2 && i < t->nx; i++) {
        fputs(i ? ",\n       " : "[\n       ", out);
        put_numbers(out, t->t + (size_t)i * (size_t)t->ny, t->ny, TIME_DIGITS);
    }
    fputs(info->axes == 2 ? "]}" : "}", out);
}

char *pw_model_text(const pw_model *m)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    bool first = true;

    if (!out)
        return NULL;
    fprintf(out, "{\n  \"format\": \"%s\",\n  \"version\": %d,\n", format, PW_MODEL_VERSION);
    put_text(out, "mpi", m->origin.mpi);
    put_text(out, "mpi_version", m->origin.mpi_version);
    if (*m->origin.network)
        put_text(out, "network", m->origin.network);
    put_text(out, "cpu", m->origin.cpu);
    put_text(out, "gpu", m->origin.gpu);
    put_text(out, "date", m->origin.date);
    fputs("  \"tables\": [\n", out);
    for (int id = 0; id < PW_TABLE_COUNT; id++) {
        if (!pw_model_has(m, (pw_model_table_id)id))
            continue;
        fputs(first ? "" : ",\n", out);
        first = false;
        put_table(out, (pw_model_table_id)id, &m->tables[id]);
    }
    fputs("\n  ]\n}\n", out);
    return fclose(out) == 0 ? text : (free(text), NULL);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

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

static pw_status read_all(int fd, char *text, size_t size, pw_diag *diag)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(fd, text + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_error(diag, "read");
        if (n == 0)
            return pw_diag_set(diag, PW_ERR_IO, "it became shorter while it was read");
        done += (size_t)n;
    }
    return PW_OK;
}

pw_status pw_model_read(const char *path, pw_model **out, pw_diag *diag)
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
    if (!status)
        status = read_all(fd, text, size, diag);
    close(fd);
    if (!status)
        status = pw_model_parse(text, size, out, diag);
    free(text);
    return status;
}

static void make_directory_of(const char *path)
{
    char dir[PW_MODEL_PATH];

    snprintf(dir, sizeof dir, "%s", path);
    for (char *at = dir + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(dir, 0700); /* if this fails, writing the file reports why */
        *at = '/';
    }
}

pw_status pw_model_write(const char *path, const pw_model *m, pw_diag *diag)
{
    char *text = pw_model_text(m);
    pw_status status;

    if (!text)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    make_directory_of(path);
    status = pw_replace_file(path, text, strlen(text), diag);
    free(text);
    return status;
}
