#include "tools/run/stage.h"

#include "base/env.h"
#include "base/log.h"
#include "tools/run/built.h"
#include "tools/run/child.h"
#include "tools/run/stage_text.h" /* generated: stage_pack.sh and stage_unpack.sh, as `pack` and `unpack` */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char pw_stage_first[] =
    "p=${0%/*}; [ -d \"$0\" ] && [ -O \"$p\" ] && [ ! -L \"$p\" ] || \"$1\" || exit; shift; exec \"$@\"";

static bool read_line(FILE *f, char out[4096])
{
    size_t n;

    if (!fgets(out, 4096, f))
        return false;
    n = strcspn(out, "\n");
    if (!n || !out[n])
        return false;
    out[n] = '\0';
    return true;
}

const char *pw_staged_name(const char *interposer)
{
    const char *name = strrchr(interposer, '/') + 1;
    const pw_built *built;

    for (int i = 0; (built = pw_built_at(i)); i++) {
        size_t n = strlen(built->folder);
        const char *at = name - n - 1;

        if (n && at > interposer && at[-1] == '/' && !strncmp(at, built->folder, n))
            return at;
    }
    return name;
}

bool pw_stage_pack(pw_stage *stage, const char *interposer)
{
    char libraries[PATH_MAX], own[PATH_MAX], parent[4096];
    const char *words[] = {"/bin/sh", "-c", pack, "stage", libraries, own, stage->cache, parent, unpack, NULL};
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    FILE *said;
    int state = 0;
    bool good;

    if (*stage->file)
        return true;
    own[n > 0 ? n : 0] = '\0';
    snprintf(libraries, sizeof libraries, "%.*s", (int)(pw_staged_name(interposer) - interposer - 1), interposer);
    snprintf(parent, sizeof parent, "%s/packwright-%ld", stage->parent, (long)getuid());
    said = tmpfile();
    good = said && !pw_child_run(words, said, &state) && !state;
    if (good)
        rewind(said);
    good = good && read_line(said, stage->file) && read_line(said, stage->directory);
    snprintf(stage->setting, sizeof stage->setting, "%s=%.4000s/cache", pw_env_describe(PW_ENV_CACHE_DIR)->name,
             stage->directory);
    if (said)
        fclose(said);
    if (!good)
        pw_log(PW_LOG_ERROR, "--stage: %s and kernels of %s cannot be packed to %s/stage", libraries, stage->cache,
               stage->cache);
    return good;
}

bool pw_stage_by_slurm(const char *launcher)
{
    const char *slash = launcher ? strrchr(launcher, '/') : NULL, *job = pw_env_foreign("SLURM_JOB_ID");

    return launcher && !strcmp(slash ? slash + 1 : launcher, "srun") && job && *job;
}

bool pw_stage_broadcast(const pw_stage *stage, const char *launcher)
{
    const char *nodes = pw_env_foreign("SLURM_JOB_NUM_NODES");
    char bcast[4200], n_nodes[64], n_tasks[64];
    const char *words[] = {launcher, n_nodes, n_tasks, "--ntasks-per-node=1", bcast, stage->file, NULL};
    int state = 0;

    /* Beside the directories, which only the unpacking makes. */
    snprintf(bcast, sizeof bcast, "--bcast=%s/packwright-%s.copied", stage->parent, strrchr(stage->directory, '/') + 1);
    snprintf(n_nodes, sizeof n_nodes, "--nodes=%s", nodes ? nodes : "1");
    snprintf(n_tasks, sizeof n_tasks, "--ntasks=%s", nodes ? nodes : "1");
    if (!pw_child_run(words, NULL, &state) && !state)
        return true;
    pw_log(PW_LOG_ERROR, "--stage: %s could not copy %s to %s on each of %s nodes", launcher, stage->file,
           stage->directory, nodes ? nodes : "1");
    return false;
}
