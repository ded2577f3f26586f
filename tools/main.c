/* The packwright command: finds the subcommand and runs it. */
#include "tools/command.h"

#include "base/suggest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* In the order in which the overview lists them. */
static const pw_command *const commands[] = {
    &pw_command_run,    &pw_command_compare, &pw_command_inspect, &pw_command_draw, &pw_command_compile,
    &pw_command_trace,  &pw_command_report,  &pw_command_measure, &pw_command_plan, &pw_command_cache,
    &pw_command_doctor, &pw_command_env,     &pw_command_version,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_overview(void)
{
    puts("usage: packwright COMMAND [ARGUMENTS]\n\nA compiler for MPI datatypes.\n\nCommands:");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-10s %s\n", "help", "explain a command; 'packwright help types': how types are written");
}

static const pw_command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(name, commands[i]->name))
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[COMMANDS + 3] = {NULL};
    const char *best;

    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    names[COMMANDS] = "help";
    names[COMMANDS + 1] = "types";
    best = pw_suggest(name, names);
    fprintf(stderr, "packwright: unknown command '%s'", name);
    if (best)
        fprintf(stderr, " (did you mean '%s'?)", best);
    fputs("\nTry 'packwright help'.\n", stderr);
    return PW_EXIT_USAGE;
}

static bool is_help_option(const char *arg)
{
    return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

static int run_help(int argc, char **argv)
{
    const pw_command *command;

    if (argc < 2 || !strcmp(argv[1], "help") || is_help_option(argv[1])) {
        print_overview();
        return PW_EXIT_OK;
    }
    if (!strcmp(argv[1], "types")) {
        pw_help_types();
        return PW_EXIT_OK;
    }
    command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    fputs(command->help, stdout);
    return PW_EXIT_OK;
}

/* Whether what follows the options is a command line of others, which the command starts. */
static bool starts_programs(const pw_command *command)
{
    return command == &pw_command_run || command == &pw_command_compare;
}

/* Returns whether the options ask for the help of `packwright`. In `packwright run mpiexec --help` they do not. */
static bool asks_for_help(const pw_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (is_help_option(argv[i]))
            return true;
        if (argv[i][0] != '-' && starts_programs(command))
            return false;
    }
    return false;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    const pw_command *command;

    if (is_help_option(name) || !strcmp(name, "help"))
        return run_help(argc - 1, argv + 1);
    command = find_command(strcmp(name, "--version") ? name : "version");
    if (!command)
        return unknown_command(name);
    if (asks_for_help(command, argc - 1, argv + 1)) {
        fputs(command->help, stdout);
        return PW_EXIT_OK;
    }
    /* A file that gets too large must lead to a reported error, not to a signal. What `run` and `compare` start would
     * inherit this setting. */
    if (!starts_programs(command))
        signal(SIGXFSZ, SIG_IGN);
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);

    /* A full disk or a closed pipe must not look like success. */
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "packwright: cannot write to standard output: %s\n", strerror(errno));
        return status == PW_EXIT_OK ? PW_EXIT_FAILURE : status;
    }
    return status;
}
