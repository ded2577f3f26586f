/* Errors of commands: what is wrong with a command line, and what a command could not do. */
#include "tools/command.h"

#include "base/suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool pw_command_error(const char *command, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "packwright %s: ", command);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return false;
}

int pw_usage_error(const pw_command *command, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "packwright %s: ", command->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry 'packwright help %s'.\n", command->name);
    return PW_EXIT_USAGE;
}

int pw_unknown_word(const pw_command *command, const char *what, const char *word, const char *const *candidates)
{
    const char *best = pw_suggest(word, candidates);

    if (best)
        return pw_usage_error(command, "unknown %s '%s' (did you mean '%s'?)", what, word, best);
    return pw_usage_error(command, "unknown %s '%s'", what, word);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

enum { OPTIONS = 48, OPTION_LENGTH = 32 };

/* The long options that a help text lists: "--name" at the beginning of a line, or behind "-o, ". */
typedef struct option_list {
    int n;
    char text[OPTIONS][OPTION_LENGTH];
    bool valued[OPTIONS]; /* "--name=..." */
    const char *name[OPTIONS + 1];
} option_list;

static void list_options(const char *help, option_list *out)
{
    for (const char *line = help; line && out->n < OPTIONS; line = strchr(line, '\n')) {
        size_t length;

        line += strspn(line, "\n ");
        if (line[0] == '-' && line[1] != '-' && line[1] && line[2] == ',')
            line += 3 + strspn(line + 3, " ");
        length = strcspn(line, "=, \n");
        if (strncmp(line, "--", 2) != 0 || length >= OPTION_LENGTH)
            continue;
        memcpy(out->text[out->n], line, length);
        out->valued[out->n] = line[length] == '=';
        out->name[out->n] = out->text[out->n];
        out->n++;
    }
}

int pw_wrong_argument(const pw_command *command, const char *word)
{
    option_list known = {.n = 0};
    bool listed = false, valued = false;
    char name[64];

    if (word[0] != '-')
        return pw_usage_error(command, "unexpected argument '%s'", word);
    list_options(command->help, &known);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < known.n; i++) {
        bool same = !strcmp(name, known.name[i]);

        listed |= same;
        valued |= same && known.valued[i];
    }
    if (valued)
        return pw_usage_error(command, "%s needs a value: %s=...", name, name);
    if (listed)
        return pw_usage_error(command, "%s takes no value", name);
    return pw_unknown_word(command, "option", name, known.name);
}
