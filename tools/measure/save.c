#include "tools/measure/save.h"

#include "codegen/target.h"
#include "runtime/engine/model/file.h"
#include "tools/command.h"
#include "tools/measure/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

pw_status pw_measure_machine(const pw_measure_options *o, double seconds, pw_model *m, pw_diag *diag)
{
    pw_probe_list list = {.n = 0};
    pw_measure_gpu gpu;
    pw_status status = o->gpu ? pw_measure_gpu_begin(&gpu, diag) : PW_ERR_NOT_FOUND;

    if (o->gpu && status != PW_OK && !o->quiet)
        fprintf(stderr, "GPU: %s\n", diag->text);
    if (status != PW_OK)
        return status == PW_ERR_NOT_FOUND ? PW_OK : status;
    pw_measure_gpu_add(&gpu, &list);
    pw_probe_sample(&list, &(pw_sampling){.title = o->quiet ? NULL : "GPU", .seconds = seconds, .spread = o->spread});
    pw_measure_gpu_facts(&list, o->spread, o->quiet, m);
    snprintf(m->origin.gpu, sizeof m->origin.gpu, "%s", gpu.name);
    pw_measure_gpu_end(&gpu, &list);
    return PW_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool find_file(const pw_measure_options *o, const char *mpi, char *path, size_t size)
{
    if (o->output) {
        snprintf(path, size, "%s", o->output);
        return true;
    }
    if (pw_model_path(mpi, path, size))
        return true;
    fputs("packwright measure: no cache directory: none of PACKWRIGHT_CACHE_DIR, XDG_CACHE_HOME and HOME says where\n",
          stderr);
    return false;
}

/* Returns 0 or an errno. */
static int check_directory(const char *path)
{
    struct stat there;

    if (stat(path, &there) != 0)
        return errno;
    if (!S_ISDIR(there.st_mode))
        return ENOTDIR;
    return access(path, W_OK | X_OK) == 0 ? 0 : errno;
}

/* Checks whether a file can be written. Directories that do not exist will be made, so the last one on the path that
 * exists counts. Shortens `path`. */
static int check_directories(char *path)
{
    int error = ENOENT;

    for (char *slash; error == ENOENT && (slash = strrchr(path, '/')) && slash != path;) {
        *slash = '\0';
        error = check_directory(path);
    }
    return error == ENOENT ? check_directory(*path == '/' ? "/" : ".") : error;
}

bool pw_measure_can_save(const pw_measure_options *o, const char *mpi)
{
    char path[PW_MODEL_PATH], start[PW_MODEL_PATH];
    int error;

    if (!find_file(o, mpi, path, sizeof path))
        return false;
    memcpy(start, path, sizeof start);
    error = check_directories(start);
    if (error)
        pw_command_error("measure", "cannot write %s: %s", path, strerror(error));
    return !error;
}

/* Loads the facts that the file already has. Takes none if there is no file, or if it cannot be used, which is
 * reported. */
static pw_model load(const char *path, const char *mpi, const char *cpu)
{
    pw_model none = {.facts = PW_FACTS_DEFAULT}, m;
    pw_diag diag = {0};
    pw_status status = pw_model_read(path, &m, &diag);

    if (status == PW_OK && pw_model_fits(&m, mpi, cpu, &diag))
        return m;
    if (status != PW_ERR_NOT_FOUND)
        pw_command_error("measure", "%s is replaced: %s", path, diag.text);
    return none;
}

static void set_origin(pw_model_origin *to, const pw_model_origin *from, const char *mpi, const char *cpu)
{
    time_t now = time(NULL);
    struct tm utc;

    snprintf(to->mpi, sizeof to->mpi, "%s", mpi);
    snprintf(to->cpu, sizeof to->cpu, "%s", cpu);
    if (*from->gpu)
        memcpy(to->gpu, from->gpu, sizeof to->gpu);
    if (*from->mpi_version)
        memcpy(to->mpi_version, from->mpi_version, sizeof to->mpi_version);
    if (gmtime_r(&now, &utc))
        strftime(to->date, sizeof to->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

bool pw_measure_save(const pw_measure_options *o, const pw_model *m, const char *mpi)
{
    const char *cpu = pw_target_host()->cpu;
    char path[PW_MODEL_PATH];
    pw_diag diag = {0};
    pw_model all;

    if (!m->measured) {
        fputs(
            "packwright measure: there is nothing to measure here, and nothing is written; how messages in host memory "
            "go is found out in each program\n",
            stderr);
        return true;
    }
    if (!find_file(o, mpi, path, sizeof path))
        return false;
    all = load(path, mpi, cpu);
    pw_model_take(&all, m);
    set_origin(&all.origin, &m->origin, mpi, cpu);
    if (pw_model_write(path, &all, &diag) != PW_OK)
        return pw_command_error("measure", "%s", diag.text);
    printf("%s\n", path);
    return true;
}
