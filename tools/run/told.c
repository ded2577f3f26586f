#include "tools/run/told.h"

#include "base/env.h"
#include "base/log.h"
#include "tools/run/options.h"
#include "tools/run/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool pw_told_begin(pw_run_settings *settings, char *path, size_t size)
{
    const char *tmp = pw_env_foreign("TMPDIR");
    int fd;

    snprintf(path, size, "%s/packwright-run-XXXXXX", tmp ? tmp : "/tmp");
    fd = mkstemp(path);
    if (fd < 0) {
        pw_log(PW_LOG_ERROR, "%s: %s", path, strerror(errno));
        *path = '\0';
        return false;
    }
    close(fd);
    pw_run_set(settings, PW_ENV_RUN, path);
    return true;
}

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ',' || !at[n]))
            return true;
    return false;
}

static void add_name(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    if (!has_word(list, name) && used + strlen(name) + 3 < size)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

static void take_line(pw_told *told, char *line)
{
    char *name = strchr(line, ' ');

    line[strcspn(line, "\n")] = '\0';
    if (!name)
        return;
    *name++ = '\0';
    for (int event = 0; event < PW_EVENT_COUNT; event++)
        told->count[event] += !strcmp(line, pw_event_word((pw_event)event));
    if (!strcmp(line, pw_event_word(PW_EVENT_LOADED)))
        add_name(told->loaded, sizeof told->loaded, name);
}

void pw_told_read(const char *path, pw_told *out)
{
    FILE *file = fopen(path, "r");
    char line[PW_EVENT_LINE];

    *out = (pw_told){0};
    while (file && fgets(line, sizeof line, file))
        take_line(out, line);
    if (file)
        fclose(file);
}

bool pw_told_is_without_mpi(const pw_told *told)
{
    return told->count[PW_EVENT_LOADED] && !told->count[PW_EVENT_STARTED] && !told->count[PW_EVENT_REPORTED];
}

/* Returns whether a script speaks of LD_PRELOAD. Its beginning is looked at. */
static bool is_preloading_script(const char *word)
{
    char path[4096], text[65536];
    pw_program program;
    FILE *file;
    size_t n;

    if (!pw_program_find(word, path, sizeof path))
        return false;
    pw_program_examine(path, &program);
    if (program.kind != PW_PROGRAM_SCRIPT || !(file = fopen(path, "r")))
        return false;
    n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    return strstr(text, "LD_PRELOAD=");
}

/* Returns the first word that replaces LD_PRELOAD: one for `env`, or a script that does. NULL: there is none. */
static const char *preloading_word(char *const *command)
{
    for (; *command; command++)
        if (!strncmp(*command, "LD_PRELOAD=", 11) || is_preloading_script(*command))
            return *command;
    return NULL;
}

void pw_told_why(const pw_told *told, char *const *command, char *out, size_t size)
{
    const char *preloads = preloading_word(command);

    if (told->count[PW_EVENT_ABORTED])
        snprintf(out, size, "MPI_Abort ended it");
    else if (told->count[PW_EVENT_OFF])
        snprintf(out, size, "Packwright is off there");
    else if (told->count[PW_EVENT_STARTED])
        snprintf(out, size, "MPI has started, but the end of MPI_Finalize was not reached");
    else if (preloads)
        snprintf(out, size, "%s replaces LD_PRELOAD, by which Packwright comes into a program; add to it instead",
                 preloads);
    else if (told->count[PW_EVENT_LOADED])
        snprintf(out, size,
                 "MPI has not started in %s; what these start may be statically linked, or be given another LD_PRELOAD",
                 told->loaded);
    else
        snprintf(
            out, size,
            "no program of this machine had Packwright; LD_PRELOAD may be replaced on the way, or ranks be elsewhere");
}
