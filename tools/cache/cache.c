/* packwright cache: the entries of a cache directory. */
#include "jit-cache/cache.h"
#include "base/grow.h"
#include "base/json.h"
#include "tools/cache/seed.h"
#include "tools/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct cache_options {
    char dir[4096], from[4096];
    bool json, system;
} cache_options;

static int fail(const pw_diag *diag)
{
    pw_command_error("cache", "%s", diag->text);
    return PW_EXIT_FAILURE;
}

/* Explains why there is nothing to show. A directory in which nothing was stored yet is no error, but a misspelt name
 * must show. */
static const char *absence(const cache_options *o)
{
    return access(o->dir, F_OK) == 0 ? "" : ", which is not there";
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

typedef struct entry_list {
    pw_cache_entry *at;
    size_t n;
    int64_t room;
    int64_t bytes;
    bool no_memory;
} entry_list;

static bool take_entry(void *arg, const pw_cache_entry *entry)
{
    entry_list *list = arg;
    pw_cache_entry *at = pw_grow(list->at, (int64_t)list->n, &list->room, sizeof *at);

    list->no_memory = !at;
    if (!at)
        return false;
    list->at = at;
    list->at[list->n++] = *entry;
    list->bytes += entry->bytes;
    return true;
}

static int by_use(const void *a, const void *b)
{
    const pw_cache_entry *x = a, *y = b;

    if (x->used_at != y->used_at)
        return x->used_at > y->used_at ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Reads the entries and sorts them, the one that was used last first. */
static bool read_entries(const cache_options *o, entry_list *list)
{
    pw_diag diag = {0};
    pw_status status = (o->system ? pw_cache_list_system : pw_cache_list)(o->dir, take_entry, list, &diag);

    if (status == PW_OK && list->no_memory)
        status = pw_diag_status(&diag, PW_ERR_NOMEM);
    if (status != PW_OK)
        return fail(&diag) == PW_EXIT_OK;
    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_use);
    return true;
}

/* Returns whether this machine refuses the entry. Such entries are not removed: home directories are shared, and the
 * code may be right for another machine. */
static bool is_refused(const pw_cache_entry *e)
{
    return e->status != PW_OK && e->status != PW_ERR_UNSUPPORTED;
}

static const char *state_of(const pw_cache_entry *e)
{
    return e->status == PW_OK ? "good" : is_refused(e) ? "refused" : "other machine";
}

static void print_age(int64_t used_at)
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    int64_t age = (int64_t)time(NULL) - used_at;
    size_t i = 0;

    if (age < 0)
        age = 0;
    while (i < 3 && age < 2 * units[i].seconds)
        i++;
    printf("%5" PRId64 "%c", age / units[i].seconds, units[i].unit);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void list_text(const cache_options *o, const entry_list *list)
{
    char key[PW_HASH_TEXT];

    for (size_t i = 0; i < list->n; i++) {
        const pw_cache_entry *e = &list->at[i];

        pw_hash_text(e->key, key);
        printf("%s %8" PRId64, key, e->bytes);
        print_age(e->used_at);
        printf("  %-22s %s%s%s\n", *e->target ? e->target : "-", state_of(e), *e->why ? ": " : "", e->why);
    }
    printf("%zu entr%s, %" PRId64 " bytes in %s%s\n", list->n, list->n == 1 ? "y" : "ies", list->bytes, o->dir,
           absence(o));
}

static void list_json(const cache_options *o, const entry_list *list)
{
    pw_json json;

    pw_json_begin(&json, stdout);
    pw_json_open(&json, NULL, '{');
    pw_json_string(&json, "directory", o->dir);
    pw_json_int(&json, "bytes", list->bytes);
    pw_json_open(&json, "entries", '[');
    for (size_t i = 0; i < list->n; i++) {
        const pw_cache_entry *e = &list->at[i];

        pw_json_open(&json, NULL, '{');
        pw_json_hash(&json, "key", e->key);
        pw_json_string(&json, "path", e->path);
        pw_json_int(&json, "bytes", e->bytes);
        pw_json_int(&json, "used_at", e->used_at);
        if (*e->target)
            pw_json_string(&json, "target", e->target);
        else
            pw_json_null(&json, "target");
        pw_json_string(&json, "state", state_of(e));
        pw_json_string(&json, "why", e->why);
        pw_json_close(&json, '}');
    }
    pw_json_close(&json, ']');
    pw_json_close(&json, '}');
}

static int list_entries(const cache_options *o)
{
    entry_list list = {0};
    bool ok = read_entries(o, &list);

    if (ok)
        (o->json ? list_json : list_text)(o, &list);
    free(list.at);
    return ok ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

/* ---- verify, clear, path ----------------------------------------------------------------------------------------- */

static int verify_entries(const cache_options *o)
{
    entry_list list = {0};
    bool ok = read_entries(o, &list);
    size_t refused = 0;

    for (size_t i = 0; i < list.n; i++)
        refused += is_refused(&list.at[i]);
    if (ok && o->json)
        list_json(o, &list);
    for (size_t i = 0; i < list.n && !o->json; i++)
        if (is_refused(&list.at[i]))
            printf("%s: %s\n", list.at[i].path, list.at[i].why);
    if (ok && !o->json)
        printf("%zu of %zu entries would be refused\n", refused, list.n);
    free(list.at);
    return ok && refused == 0 ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

static int clear_entries(const cache_options *o)
{
    pw_diag diag = {0};
    int64_t removed = 0;
    pw_json json;

    if (pw_cache_clear(o->dir, &removed, &diag) != PW_OK)
        return fail(&diag);
    if (!o->json) {
        printf("%" PRId64 " entr%s removed from %s%s\n", removed, removed == 1 ? "y" : "ies", o->dir, absence(o));
        return PW_EXIT_OK;
    }
    pw_json_begin(&json, stdout);
    pw_json_open(&json, NULL, '{');
    pw_json_string(&json, "directory", o->dir);
    pw_json_int(&json, "removed", removed);
    pw_json_close(&json, '}');
    return PW_EXIT_OK;
}

static int print_path(const cache_options *o)
{
    pw_json json;

    if (!o->json) {
        puts(o->dir);
        return PW_EXIT_OK;
    }
    pw_json_begin(&json, stdout);
    pw_json_open(&json, NULL, '{');
    pw_json_string(&json, "directory", o->dir);
    pw_json_close(&json, '}');
    return PW_EXIT_OK;
}

static int seed(const cache_options *o)
{
    return pw_seed(o->from, o->dir, o->json);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(const cache_options *o);
} actions[] = {
    {"list", list_entries}, {"verify", verify_entries}, {"clear", clear_entries}, {"path", print_path}, {"seed", seed}};

enum { ACTIONS = sizeof actions / sizeof *actions };

/* Takes "--name=DIR". Returns whether it is that option; *wrong: it has no value, or one that is too long. */
static bool take_dir(const char *arg, const char *name, char out[4096], bool *wrong)
{
    size_t n = strlen(name);

    if (strncmp(arg, name, n) || (arg[n] && arg[n] != '='))
        return false;
    *wrong = !arg[n] || !arg[n + 1] || snprintf(out, 4096, "%s", arg + n + 1) >= 4096;
    if (*wrong)
        pw_usage_error(&pw_command_cache, "%s needs a value: %s=DIR", name, name);
    return true;
}

static int unknown_action(const char *word)
{
    const char *names[ACTIONS + 1] = {NULL};

    for (int i = 0; i < ACTIONS; i++)
        names[i] = actions[i].name;
    return pw_unknown_word(&pw_command_cache, "action", word, names);
}

static int take_option(cache_options *o, const char *arg)
{
    bool wrong = false;

    if (!strcmp(arg, "--json"))
        o->json = true;
    else if (!strcmp(arg, "--system"))
        o->system = true;
    else if (!take_dir(arg, "--dir", o->dir, &wrong) && !take_dir(arg, "--from", o->from, &wrong))
        return arg[0] == '-' ? pw_wrong_argument(&pw_command_cache, arg) : unknown_action(arg);
    return wrong ? PW_EXIT_USAGE : PW_EXIT_OK;
}

/* Fills in the directories that were not named. */
static bool find_dirs(cache_options *o, bool seeds)
{
    bool system = o->system || seeds;

    if (!*o->dir && !(system ? pw_cache_system_dir : pw_cache_default_dir)(o->dir, sizeof o->dir)) {
        if (system)
            return pw_command_error("cache", "PACKWRIGHT_SYSTEM_CACHE turns the directory for all users off; --dir=DIR "
                                             "names one");
        return pw_command_error("cache",
                                "neither PACKWRIGHT_CACHE_DIR nor XDG_CACHE_HOME nor HOME says where the cache "
                                "is; --dir=DIR does");
    }
    if (seeds && !*o->from && !pw_cache_default_dir(o->from, sizeof o->from))
        return pw_command_error("cache", "nothing says where the cache is that is to be copied; --from=DIR does");
    return true;
}

static int run(int argc, char **argv)
{
    const pw_command *self = &pw_command_cache;
    cache_options o = {0};
    int action = -1;

    for (int i = 1; i < argc; i++) {
        int found = -1, status;

        for (int k = 0; k < ACTIONS && action < 0; k++)
            if (!strcmp(argv[i], actions[k].name))
                found = k;
        if (found >= 0) {
            action = found;
            continue;
        }
        status = take_option(&o, argv[i]);
        if (status != PW_EXIT_OK)
            return status;
    }
    if (action < 0)
        return pw_usage_error(self, "what is to be done? One of list, verify, clear, path, seed");
    if (*o.from && actions[action].run != seed)
        return pw_usage_error(self, "--from is for seed");
    if (o.system && actions[action].run == clear_entries)
        return pw_usage_error(self, "the directory for all users is only read; --dir=DIR names one to clear");
    if (!find_dirs(&o, actions[action].run == seed))
        return PW_EXIT_FAILURE;
    return actions[action].run(&o);
}

const pw_command pw_command_cache = {
    "cache", "list, verify, clear or share the kernels kept on disk",
    "usage: packwright cache list|verify|clear|path [--dir=DIR] [--system] [--json]\n"
    "       packwright cache seed [--from=DIR] [--dir=DIR] [--json]\n\n"
    "  list      every entry: key, bytes, time since its last use, target, state\n"
    "  verify    names the entries that a run would refuse, and why; status 1 if there are any\n"
    "  clear     removes all entries\n"
    "  path      prints the directory\n"
    "  seed      copies the entries and models of a cache directory to the one for all users\n\n"
    "  --dir=DIR     another directory than the one that a run would use; with seed, where to copy to\n"
    "  --from=DIR    with seed: another directory to copy from than this user's\n"
    "  --system      the directory for all users ($PACKWRIGHT_SYSTEM_CACHE, else /usr/share/packwright)\n"
    "  --json        output for programs\n",
    run};
