/* Finds the model of this process: the file for its machine and its MPI. */
#include "base/env.h"
#include "base/launch.h"
#include "base/log.h"
#include "codegen/target.h"
#include "jit-cache/cache.h"
#include "runtime/engine/model/file.h"

#include <ctype.h>
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static const char cards[] = "/proc/driver/nvidia/gpus";

/* Reads the name from a card's information: "Model: \t NVIDIA H100 80GB HBM3". */
static bool read_card(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    char line[256];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        const char *name = line + strlen("Model:");

        if (strncmp(line, "Model:", strlen("Model:")))
            continue;
        name += strspn(name, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(name, "\n"), name);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

void pw_model_gpu_name(char *out, size_t size)
{
    DIR *dir = opendir(cards);
    char path[sizeof cards + 256 + 16], first[256] = "";

    *out = '\0';
    if (!dir)
        return;
    /* Takes the first card by name, since directories have no order. */
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.' && (!*first || strcmp(e->d_name, first) < 0))
            snprintf(first, sizeof first, "%s", e->d_name);
    closedir(dir);
    snprintf(path, sizeof path, "%s/%s/information", cards, first);
    if (!read_card(path, out, size))
        *out = '\0';
}

int pw_model_gpu_count(void)
{
    DIR *dir = opendir(cards);
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

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

    pw_model_gpu_name(gpu, sizeof gpu);
    make_slug(gpu, slug, sizeof slug);
    make_slug(pw_target_host()->cpu, cpu, sizeof cpu);
    n = snprintf(out, size, "%s/model-%s-%s%s%s%s.json", dir, mpi, cpu, *slug ? "-" : "", slug,
                 r == NETWORK ? "-network" : "");
    return n > 0 && (size_t)n < size;
}

static bool user_path(const char *mpi, reach r, char *out, size_t size)
{
    char dir[PW_MODEL_PATH];

    return pw_cache_default_dir(dir, sizeof dir) && path_in(dir, mpi, r, out, size);
}

static bool system_path(const char *mpi, reach r, char *out, size_t size)
{
    char dir[PW_MODEL_PATH];

    return pw_cache_system_dir(dir, sizeof dir) && path_in(dir, mpi, r, out, size);
}

bool pw_model_path(const char *mpi, char *out, size_t size)
{
    return user_path(mpi, reach_here(), out, size);
}

bool pw_model_system_path(const char *mpi, char *out, size_t size)
{
    return system_path(mpi, reach_here(), out, size);
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

/* ---- the process's model --------------------------------------------------------------------------------------- */

static const pw_model defaults;

/* The singleton. It is never freed, since other threads may be asking for costs when the process ends. */
static _Atomic(const pw_model *) now = &defaults;
/* The model of ranks on different nodes, which some of this process's peers may be. NULL: there is none. */
static _Atomic(const pw_model *) between_nodes;

const pw_model *pw_model_now(void)
{
    return atomic_load_explicit(&now, memory_order_acquire);
}

const pw_model *pw_model_over(const char *transports)
{
    const pw_model *here = pw_model_now(), *there = atomic_load_explicit(&between_nodes, memory_order_acquire);

    return there && !pw_model_is_of(here, transports) && pw_model_is_of(there, transports) ? there : here;
}

/* Returns false if there is no such file, unless it was named. *out is NULL if the file cannot be used. */
static bool load(const char *path, const char *mpi, bool named, pw_model **out)
{
    pw_diag diag = {0};
    pw_status status = pw_model_read(path, out, &diag);

    if (!status && !pw_model_fits(*out, mpi, pw_target_host()->cpu, &diag)) {
        pw_model_destroy(*out);
        *out = NULL;
        status = diag.status;
    }
    if (!status)
        pw_log(PW_LOG_INFO, "the model of %s", path);
    else if (status != PW_ERR_NOT_FOUND || named)
        pw_log_for_node("the model %s is not used: %s; strategies are chosen by the defaults", path, diag.text);
    return status != PW_ERR_NOT_FOUND || named;
}

/* Returns the model of this reach, or NULL. What this user has measured counts more than what was measured for all. */
static pw_model *find(const char *mpi, reach r)
{
    char path[PW_MODEL_PATH];
    pw_model *m = NULL;

    if (!(user_path(mpi, r, path, sizeof path) && load(path, mpi, false, &m)) && system_path(mpi, r, path, sizeof path))
        load(path, mpi, false, &m);
    return m;
}

/* Returns what ranks that each have a node are to take: their own tables, and of their node's those that are not about
 * messages. What stores cost says whether ranks share a cache, which ranks of two nodes do not, nor does it matter. */
static pw_model *find_for_network(const char *mpi)
{
    pw_model *node = find(mpi, NODE), *network = find(mpi, NETWORK);
    pw_diag diag = {0};

    if (network)
        pw_model_drop(network, PW_TABLE_STORES_HOST);
    if (!node)
        return network;
    pw_model_drop_messages(node);
    if (network && pw_model_take(node, network, &diag) != PW_OK)
        pw_log(PW_LOG_WARN, "the model of the network is not used: %s", diag.text);
    pw_model_destroy(network);
    return node;
}

void pw_model_start(const char *mpi)
{
    const char *named = pw_env_string(PW_ENV_MODEL);
    pw_model *m = NULL;

    if (!strcmp(named, "off"))
        return;
    if (*named)
        load(named, mpi, true, &m);
    else
        m = reach_here() == NETWORK ? find_for_network(mpi) : find(mpi, NODE);
    if (!*named && reach_here() == NODE && pw_env_choice(PW_ENV_NET) != 0)
        atomic_store_explicit(&between_nodes, find(mpi, NETWORK), memory_order_release);
    if (m)
        atomic_store_explicit(&now, m, memory_order_release);
}
