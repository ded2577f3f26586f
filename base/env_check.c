/* Warns about PACKWRIGHT_* variables that are misspelt or have no meaning. */
#include "base/env.h"

#include "base/log.h"
#include "base/suggest.h"

#include <string.h>
#include <unistd.h>

extern char **environ;

static const char *closest_name(const char *name)
{
    const char *names[PW_ENV_COUNT + 1] = {0};

    for (int id = 0; id < PW_ENV_COUNT; id++)
        names[id] = pw_env_describe((pw_env_id)id)->name;
    return pw_suggest(name, names);
}

static bool is_known(const char *name)
{
    for (int id = 0; id < PW_ENV_COUNT; id++)
        if (!strcmp(name, pw_env_describe((pw_env_id)id)->name))
            return true;
    return false;
}

static int report_unknown(const char *entry)
{
    char name[65];
    size_t len = strcspn(entry, "=");
    const char *best;

    if (strncmp(entry, "PACKWRIGHT_", 11) || len >= sizeof name)
        return 0;
    memcpy(name, entry, len);
    name[len] = '\0';
    if (is_known(name) || !pw_env_foreign(name))
        return 0;
    best = closest_name(name);
    if (best)
        pw_log(PW_LOG_WARN, "unknown environment variable %s (did you mean %s?)", name, best);
    else
        pw_log(PW_LOG_WARN, "unknown environment variable %s (see 'packwright env')", name);
    return 1;
}

static int report_malformed(pw_env_id id)
{
    const pw_env_info *info = pw_env_describe(id);
    const char *text = pw_env_foreign(info->name);

    if (!pw_env_is_malformed(id))
        return 0;
    pw_log(PW_LOG_WARN, "%s: malformed value '%.80s', expected %s; taking the default '%s'", info->name,
           text ? text : "", pw_env_values(info), info->def);
    return 1;
}

int pw_env_check(void)
{
    int warnings = 0;

    for (int id = 0; id < PW_ENV_COUNT; id++)
        warnings += report_malformed((pw_env_id)id);
    for (char **entry = environ; entry && *entry; entry++)
        warnings += report_unknown(*entry);
    return warnings;
}
