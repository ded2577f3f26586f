/* Errors of commands: what is wrong with a command line, and what a command could not do. */
#define _GNU_SOURCE /* vasprintf */
#include "tools/command.h"

#include "base/suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes an error and `hint` at once: ranks that say the same do not write into each other's lines. */
__attribute__((format(printf, 2, 0))) static void say(const char *command, const char *fmt, va_list ap,
                                                      const char *hint)
{
    char *text;

    if (vasprintf(&text, fmt, ap) < 0)
        return;
    fprintf(stderr, "packwright %s: %s\n%s", command, text, hint);
    free(text);
}

bool pw_command_error(const char *command, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(command, fmt, ap, "");
    va_end(ap);
    return false;
}

int pw_usage_error(const pw_command *command, const char *fmt, ...)
{
    char hint[64];
    va_list ap;

    snprintf(hint, sizeof hint, "Try 'packwright help %s'.\n", command->name);
    va_start(ap, fmt);
    say(command->name, fmt, ap, hint);
    va_end(ap);
    return PW_EXIT_USAGE;
}

/* Reports the first `length` characters of a word. `best`: the closest word that is known, which stands behind
 * `hyphens`; NULL: none is close. */
static int unknown(const pw_command *command, const char *what, const char *word, size_t length, const char *hyphens,
                   const char *best)
{
    if (best)
        return pw_usage_error(command, "unknown %s '%.*s' (did you mean '%s%s'?)", what, (int)length, word, hyphens,
                              best);
    return pw_usage_error(command, "unknown %s '%.*s'", what, (int)length, word);
}

int pw_unknown_word(const pw_command *command, const char *what, const char *word, const char *const *candidates)
{
    const char *best = pw_suggest(word, candidates);
    char all[1024] = "";

    if (best)
        return unknown(command, what, word, strlen(word), "", best);
    for (; *candidates; candidates++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all ? "|" : "", *candidates);
    return pw_usage_error(command, "unknown %s '%s': expected one of %s", what, word, all);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

enum { OPTIONS = 48, OPTION_LENGTH = 32 };

/* The options that a help text lists: "--name" at the beginning of a line, or behind "-o, ". */
typedef struct option_list {
    int n;
    char text[OPTIONS][OPTION_LENGTH]; /* long names, without the hyphens */
    char letter[OPTIONS];              /* '\0' for none */
    bool valued[OPTIONS];              /* "--name=..." */
    const char *name[OPTIONS + 1];
} option_list;

static void list_options(const char *help, option_list *out)
{
    for (const char *line = help; line && out->n < OPTIONS; line = strchr(line, '\n')) {
        size_t length;
        char letter = '\0';

        line += strspn(line, "\n ");
        if (line[0] == '-' && line[1] != '-' && line[1] && line[2] == ',') {
            letter = line[1];
            line += 3 + strspn(line + 3, " ");
        }
        if (strncmp(line, "--", 2) != 0)
            continue;
        line += 2;
        length = strcspn(line, "=, \n");
        if (length >= OPTION_LENGTH)
            continue;
        memcpy(out->text[out->n], line, length);
        out->letter[out->n] = letter;
        out->valued[out->n] = line[length] == '=';
        out->name[out->n] = out->text[out->n];
        out->n++;
    }
}

/* Returns the place of an option in the list, by its long name or its letter. -1: it is not listed. */
static int find_option(const option_list *known, const char *name, size_t hyphens)
{
    for (int i = 0; i < known->n; i++)
        if (hyphens == 2 ? !strcmp(name, known->name[i]) : *name && *name == known->letter[i] && !name[1])
            return i;
    return -1;
}

int pw_wrong_argument(const pw_command *command, const char *word)
{
    option_list known = {.n = 0};
    size_t hyphens = strspn(word, "-");
    char name[64];
    int i;

    if (hyphens == 0)
        return pw_usage_error(command, "unexpected argument '%s'", word);
    list_options(command->help, &known);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + hyphens, "="), word + hyphens);
    i = find_option(&known, name, hyphens);
    if (i >= 0 && !known.valued[i])
        return pw_usage_error(command, "%.*s takes no value", (int)strcspn(word, "="), word);
    if (i >= 0)
        return pw_usage_error(command, "%.*s needs a value: %s%s", (int)strcspn(word, "="), word, word,
                              hyphens == 1                   ? " ..."
                              : word[hyphens + strlen(name)] ? "..."
                                                             : "=...");
    /* The hyphens would make short words alike. */
    return unknown(command, "option", word, strcspn(word, "="), "--", pw_suggest(name, known.name));
}
