/* Finds the model of this process: the file for its machine and its MPI. */
#include "base/card.h"
#include "base/env.h"
#include "base/launch.h"
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

/* The two models of a machine: of ranks on one node, and of ranks that each have a node. */
typedef enum reach { NODE, NETWORK } reach;

static reach reach_here(void)
{
    return pw_launch_is_alone_on_node() ? NETWORK : NODE;
}

static bool path_in(const char *dir, const char *mpi, reach r, char *out, size_t size)
{
    char gpu[96], slug[96], cpu[64];
    int n;

    pw_card_name(gpu, sizeof gpu);
    make_slug(gpu, slug, sizeof slug);
    make_slug(pw_target_host()->cpu, cpu, sizeof cpu);
    n = snprintf(out, size, "%s/model-%s-%s%s%s%s.json", dir, mpi, cpu, *slug ? "-" : "", slug,
                 r == NETWORK ? "-network" : "");
    return n > 0 && (size_t)n < size;
}

typedef bool find_dir(char *out, size_t size);

static bool path_of(find_dir *find, const char *mpi, reach r, char *out, size_t size)
{
    char dir[PW_MODEL_PATH];

    return find(dir, sizeof dir) && path_in(dir, mpi, r, out, size);
}

bool pw_model_path(const char *mpi, char *out, size_t size)
{
    return path_of(pw_cache_default_dir, mpi, reach_here(), out, size);
}

bool pw_model_system_path(const char *mpi, char *out, size_t size)
{
    return path_of(pw_cache_system_dir, mpi, reach_here(), out, size);
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

/* The singletons, set once at start: the model of ranks of one node, and that of ranks on different nodes, which some
 * of this process's peers may be. */
static pw_model here = {.facts = PW_FACTS_DEFAULT}, between_nodes = {.facts = PW_FACTS_DEFAULT};

const pw_model *pw_model_now(void)
{
    return &here;
}

const pw_model *pw_model_over(const char *transports)
{
    return !strcmp(between_nodes.origin.network, transports) && strcmp(here.origin.network, transports) ? &between_nodes
                                                                                                        : &here;
}

/* Returns false if there is no such file, unless it was named. *out changes only if the file can be used. */
static bool load(const char *path, const char *mpi, bool named, pw_model *out)
{
    pw_diag diag = {0};
    pw_model m;
    pw_status status = pw_model_read(path, &m, &diag);

    if (!status && !pw_model_fits(&m, mpi, pw_target_host()->cpu, &diag))
        status = diag.status;
    if (!status) {
        *out = m;
        pw_log(PW_LOG_INFO, "the model of %s", path);
    } else if (status != PW_ERR_NOT_FOUND || named) {
        pw_log_for_node("the model %s is not used: %s; strategies are chosen by the defaults", path, diag.text);
    }
    return status != PW_ERR_NOT_FOUND || named;
}

/* Finds the model of this reach. What this user has measured counts more than what was measured for all. */
static void find(const char *mpi, reach r, pw_model *out)
{
    char path[PW_MODEL_PATH];

    if (!(path_of(pw_cache_default_dir, mpi, r, path, sizeof path) && load(path, mpi, false, out)) &&
        path_of(pw_cache_system_dir, mpi, r, path, sizeof path))
        load(path, mpi, false, out);
}

void pw_model_start(const char *mpi)
{
    const char *named = pw_env_string(PW_ENV_MODEL);

    here = between_nodes = (pw_model){.facts = PW_FACTS_DEFAULT};
    if (!strcmp(named, "off"))
        return;
    if (*named) {
        load(named, mpi, true, &here);
        return;
    }
    find(mpi, NODE, &here);
    if (reach_here() == NETWORK || pw_env_choice(PW_ENV_NET) != 0)
        find(mpi, NETWORK, &between_nodes);
    /* What ranks alone on their nodes have measured counts most for such ranks. */
    if (reach_here() == NETWORK && between_nodes.measured) {
        pw_model_take(&here, &between_nodes);
        memcpy(here.origin.date, between_nodes.origin.date, sizeof here.origin.date);
    }
}
