/*
 * The subcommands of `packwright`: a new one is a file that defines a pw_command, a declaration here and a row
 * in the table of main.c.
 */
#ifndef PW_TOOLS_COMMAND_H
#define PW_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

/* Exit status: 1 when the input or the system failed the command, 2 when the command line is wrong. */
enum { PW_EXIT_OK = 0, PW_EXIT_FAILURE = 1, PW_EXIT_USAGE = 2 };

typedef struct pw_command {
    const char *name;
    const char *summary; /* one line in lower case, without a full stop */
    const char *help;    /* what `packwright help NAME` prints: usage, text and options; ends with a newline */
    /* argv[0] is the command's name. main answers --help and -h when they stand before the first operand,
     * and flushes stdout. Returns an exit status. */
    int (*run)(int argc, char **argv);
} pw_command;

extern const pw_command pw_command_cache;
extern const pw_command pw_command_compare;
extern const pw_command pw_command_compile;
extern const pw_command pw_command_doctor;
extern const pw_command pw_command_draw;
extern const pw_command pw_command_env;
extern const pw_command pw_command_inspect;
extern const pw_command pw_command_measure;
extern const pw_command pw_command_plan;
extern const pw_command pw_command_report;
extern const pw_command pw_command_run;
extern const pw_command pw_command_trace;
extern const pw_command pw_command_version;

/* Prints how types are written, for `packwright help types`. */
void pw_help_types(void);

/* Reports on stderr what the command of this name could not do ("packwright NAME: text"), the only form of such errors:
 * what failed, where, and what to do if that does not follow. Returns false. */
bool pw_command_error(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reports a wrong command line on stderr ("packwright NAME: text") with a pointer to the help. Returns PW_EXIT_USAGE.
 */
int pw_usage_error(const pw_command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Reports a word that is none of `candidates`, which end with a NULL, and the one that it is close to, or all of them.
 * `what` says what kind of word it is. Returns PW_EXIT_USAGE. */
int pw_unknown_word(const pw_command *command, const char *what, const char *word, const char *const *candidates);
/* Reports what is wrong with a word that the command did not take: an option without a value or with one too many, an
 * option that the help does not list, or a word that is no option. Returns PW_EXIT_USAGE. */
int pw_wrong_argument(const pw_command *command, const char *word);

/* tools/number.c: takes the value of `option` (its name without hyphens), a whole number from `least` to `most`. Any
 * other word is reported. INT64_MAX: there is no upper limit. Returns PW_EXIT_OK or PW_EXIT_USAGE. */
int pw_take_number(const pw_command *command, const char *option, const char *word, int64_t least, int64_t most,
                   int64_t *out);

#endif
