/* packwright env: prints the table of environment variables, for people, for docs/environment.md, and for scripts. */
#include "base/env.h"
#include "base/json.h"
#include "tools/command.h"

#include <stdio.h>
#include <string.h>

static void print_text(void)
{
    for (int i = 0; i < PW_ENV_COUNT; i++) {
        const pw_env_info *info = pw_env_describe((pw_env_id)i);
        const char *value = pw_env_string((pw_env_id)i);

        printf("%s=%s%s\n", info->name, value, pw_env_is_set((pw_env_id)i) ? "" : "  (default)");
        printf("    %s\n    %s\n", info->help, pw_env_values(info));
    }
}

/* Prints a cell, with escapes for characters that would end it. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        fputs(*text == '|' ? "\\|" : (char[]){*text, '\0'}, stdout);
}

/* Prints defaults and no current values, so that the table is the same on every machine. */
static void print_markdown(void)
{
    puts("| variable | values | default | meaning |\n|---|---|---|---|");
    for (int i = 0; i < PW_ENV_COUNT; i++) {
        const pw_env_info *info = pw_env_describe((pw_env_id)i);

        printf("| `%s` | ", info->name);
        print_cell(pw_env_values(info));
        printf(*info->def ? " | `%s` | " : " | %s | ", info->def);
        print_cell(info->help);
        puts(" |");
    }
}

static void print_json(void)
{
    pw_json json;

    pw_json_begin(&json, stdout);
    pw_json_open(&json, NULL, '[');
    for (int i = 0; i < PW_ENV_COUNT; i++) {
        const pw_env_info *info = pw_env_describe((pw_env_id)i);

        pw_json_open(&json, NULL, '{');
        pw_json_string(&json, "name", info->name);
        pw_json_string(&json, "values", pw_env_values(info));
        pw_json_string(&json, "default", info->def);
        pw_json_string(&json, "value", pw_env_string((pw_env_id)i));
        pw_json_bool(&json, "set", pw_env_is_set((pw_env_id)i));
        pw_json_string(&json, "meaning", info->help);
        pw_json_close(&json, '}');
    }
    pw_json_close(&json, ']');
}

static int run(int argc, char **argv)
{
    void (*print)(void) = print_text;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--markdown"))
            print = print_markdown;
        else if (!strcmp(argv[i], "--json"))
            print = print_json;
        else
            return pw_wrong_argument(&pw_command_env, argv[i]);
    }
    pw_env_check();
    print();
    return PW_EXIT_OK;
}

const pw_command pw_command_env = {
    "env", "list the environment variables and their values",
    "usage: packwright env [--markdown | --json]\n\n"
    "Lists the environment variables that Packwright reads, with their values here,\n"
    "and warns about unknown ones.\n\n"
    "  --markdown    the table of docs/environment.md: names, values, defaults, meanings\n"
    "  --json        the same as JSON, with the values here\n",
    run};
