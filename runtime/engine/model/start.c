/*
 * Purpose: finds the model of this process, in the file for its machine and its MPI. Data: `here`, which is set at
 * start and only read afterwards. Invariant: a model that was measured on another processor or with another MPI is
 * reported and not used. Without a model that fits, the default facts hold.
 */
#include "base/card.h"
#include "base/env.h"
#include "base/log.h"
#include "codegen/target.h"
#include "jit-cache/cache.h"
#include "runtime/engine/model/file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- where models lie -------------------------------------------------------------------------------------------- */

/* Makes a name a part of a file name: "nvidia-h100-80gb-hbm3". */
static void make_slug(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (; *name && n + 2 < size; name++) {
        unsigned char c = (unsigned char)*name;

        if (isascii(c) && isalnum(c))
            out[n++] = (char)tolower(c);
        else if (n > 0 && out[n - 1] != '-')
            out[n++] = '-';
    }
    n -= n > 0 && out[n - 1] == '-';
    out[n] = '\0';
}

static bool path_of(bool (*find)(char *out, size_t size), const char *mpi, char *out, size_t size)
{
    char dir[PW_MODEL_PATH], gpu[96], slug[96], cpu[64];
    int n;

    if (!find(dir, sizeof dir))
        return false;
    pw_card_name(gpu, sizeof gpu);
    make_slug(gpu, slug, sizeof slug);
    make_slug(pw_target_host()->cpu, cpu, sizeof cpu);
    n = snprintf(out, size, "%s/model-%s-%s%s%s.json", dir, mpi, cpu, *slug ? "-" : "", slug);
    return n > 0 && (size_t)n < size;
}

bool pw_model_path(const char *mpi, char *out, size_t size)
{
    return path_of(pw_cache_default_dir, mpi, out, size);
}

bool pw_model_system_path(const char *mpi, char *out, size_t size)
{
    return path_of(pw_cache_system_dir, mpi, out, size);
}

bool pw_model_fits(const pw_model *m, const char *mpi, const char *cpu, pw_diag *diag)
{
    if (*m->origin.mpi && strcmp(m->origin.mpi, mpi))
        pw_diag_set(diag, PW_ERR_UNSUPPORTED, "it was measured with %s, and this is %s", m->origin.mpi, mpi);
    else if (*m->origin.cpu && strcmp(m->origin.cpu, cpu))
        pw_diag_set(diag, PW_ERR_UNSUPPORTED, "it was measured on %s, and this is %s", m->origin.cpu, cpu);
    else
        return true;
    return false;
}

/* ---- the process's model ----------------------------------------------------------------------------------------- */

/* The singleton, set once at start. */
static pw_model here = {.facts = PW_FACTS_DEFAULT};

const pw_model *pw_model_now(void)
{
    return &here;
}

/* Returns false if there is no such file, unless it was named. */
static bool load(const char *path, const char *mpi, bool named)
{
    pw_diag diag = {0};
    pw_model m;
    pw_status status = pw_model_read(path, &m, &diag);

    if (!status && !pw_model_fits(&m, mpi, pw_target_host()->cpu, &diag))
        status = diag.status;
    if (!status) {
        here = m;
        pw_log(PW_LOG_INFO, "the model of %s", path);
    } else if (status != PW_ERR_NOT_FOUND || named) {
        pw_log_for_node("the model %s is not used: %s; strategies are chosen by the defaults", path, diag.text);
    }
    return status != PW_ERR_NOT_FOUND || named;
}

/* What this user has measured counts more than what was measured for all. */
void pw_model_start(const char *mpi)
{
    const char *named = pw_env_string(PW_ENV_MODEL);
    char path[PW_MODEL_PATH];

    here = (pw_model){.facts = PW_FACTS_DEFAULT};
    if (!strcmp(named, "off"))
        return;
    if (*named)
        load(named, mpi, true);
    else if (!(pw_model_path(mpi, path, sizeof path) && load(path, mpi, false)) &&
             pw_model_system_path(mpi, path, sizeof path))
        load(path, mpi, false);
}
