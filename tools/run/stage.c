#include "tools/run/stage.h"

#include "base/env.h"
#include "base/log.h"
#include "tools/run/built.h"
#include "tools/run/child.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * What the file does on a node, in the shell, since nothing of Packwright is there yet. Whoever comes while another
 * rank unpacks waits for its lock, which ends with it, and a directory has its name only when it is whole. The
 * directory above must be this user's, for others may create one of that name. d and n, set before: the directory, and
 * the line at which the archive begins.
 */
static const char unpack[] =
    "umask 077\n"
    "p=${d%/*}\n"
    "fail() { echo \"packwright: error: $(uname -n): $d $1\" >&2; exit 126; }\n"
    "end() { case $0 in *.copied) rm -f \"$0\";; esac; }\n"
    "trap end EXIT\n"
    "mkdir -p \"$p\" 2>/dev/null\n"
    "[ -d \"$p\" ] && [ -O \"$p\" ] && [ ! -L \"$p\" ] || fail \"cannot be made: $p is no directory of this user\"\n"
    "touch \"$p/lock\" || fail 'cannot be written'\n"
    "exec 9>\"$p/lock\"\n"
    "flock 9 || fail 'cannot be locked'\n"
    "[ ! -d \"$d\" ] || exit 0\n"
    "t=$(mktemp -d \"$p/XXXXXXXX\") || fail 'cannot be made'\n"
    "drop() { rm -rf \"$t\"; fail \"$1\"; }\n"
    "tail -n \"+$n\" \"$0\" | tar -xf - -C \"$t\" || drop \"cannot be unpacked from $0: see above\"\n"
    "\"$t/bin/packwright\" --version >/dev/null || drop 'cannot be used: nothing can be run from there'\n"
    "mv -T \"$t\" \"$d\" || drop 'cannot be renamed to'\n"
    "exit 0\n";

/*
 * Writes the file, named by a checksum of all that is in it, so that a run that changes nothing finds it. $1: the
 * libraries' directory, $2: this command, $3: the cache, $4: where directories are made on nodes, $5: the text above.
 * Prints the names of the file and of the directory. Files that no run has asked for in a day are removed.
 */
static const char pack[] =
    "set -e\n"
    "umask 077\n"
    "out=$3/stage\n"
    "mkdir -p \"$out\"\n"
    "t=$(mktemp \"$out/XXXXXXXX\")\n"
    "trap 'rm -f \"$t\" \"$t.sh\"' EXIT\n"
    "section() { tar -rf \"$t\" --sort=name --transform=\"s,^,$1/,S\" -C \"$2\" -- $3; }\n"
    "section lib \"$1\" \"$(cd \"$1\" && ls -d libpackwright* packwright-kernels packwright 2>/dev/null || :)\"\n"
    "section bin \"${2%/*}\" \"${2##*/}\"\n"
    "[ ! -d \"$3/v1\" ] || section cache \"$3\" v1\n"
    "name=$({ echo \"$4 $5\"; cat \"$t\"; } | cksum | tr ' ' -)\n"
    "d=$4/$name\n"
    "n=$(($(printf '%s' \"$5\" | wc -l) + 3))\n"
    "if [ ! -e \"$out/$name.sh\" ]; then\n"
    "  { printf \"#!/bin/sh\\nd='%s' n=%s\\n%s\" \"$d\" \"$n\" \"$5\"; cat \"$t\"; } >\"$t.sh\"\n"
    "  chmod 700 \"$t.sh\"\n"
    "  mv \"$t.sh\" \"$out/$name.sh\"\n"
    "fi\n"
    "touch \"$out/$name.sh\"\n"
    "find \"$out\" -name '*.sh' -mtime +0 -exec rm -f {} +\n"
    "printf '%s\\n%s\\n' \"$out/$name.sh\" \"$d\"\n";

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
