/* packwright doctor: does Packwright work here, what is off, and how is it turned on? One table of checks. */
#include "tools/doctor/doctor.h"

#include "base/json.h"
#include "tools/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_OFF = 3 }; /* programs run, and something is off */

static const struct {
    const char *name;
    void (*check)(pw_finding *f);
} checks[] = {
    {"version", pw_doctor_version},
    {"interposers", pw_doctor_interposers},
    {"launchers", pw_doctor_launcher},
    {"variables", pw_doctor_variables},
    {"tools", pw_doctor_tools},
    {"compiler", pw_doctor_compiler},
    {"gpu", pw_doctor_gpu},
    {"gpu-compiler", pw_doctor_gpu_compiler},
    {"cache", pw_doctor_cache},
    {"model", pw_doctor_model},
    {"memory-files", pw_doctor_memfd},
    {"peers", pw_doctor_peers},
    {"userfaultfd", pw_doctor_userfaultfd},
    {"limits", pw_doctor_limits},
    {"pictures", pw_doctor_pictures},
};

enum { CHECKS = sizeof checks / sizeof *checks };

static const char *const levels[] = {"ok", "off", "bad"};

/* ---- findings ---------------------------------------------------------------------------------------------------- */

void pw_doctor_ok(pw_finding *f, const char *fmt, ...)
{
    va_list ap;

    f->level = PW_DOCTOR_OK;
    va_start(ap, fmt);
    vsnprintf(f->what, sizeof f->what, fmt, ap);
    va_end(ap);
}

void pw_doctor_off(pw_finding *f, pw_doctor_level level, const char *remedy, const char *fmt, ...)
{
    va_list ap;

    f->level = level;
    snprintf(f->remedy, sizeof f->remedy, "%s", remedy);
    va_start(ap, fmt);
    vsnprintf(f->what, sizeof f->what, fmt, ap);
    va_end(ap);
}

static pw_doctor_level worst_of(const pw_finding *findings)
{
    pw_doctor_level worst = PW_DOCTOR_OK;

    for (int i = 0; i < CHECKS; i++)
        worst = findings[i].level > worst ? findings[i].level : worst;
    return worst;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static void print_text(const pw_finding *findings)
{
    static const char *const sums[] = {"All is on.", "Programs run with Packwright; what is off is marked.",
                                       "Packwright does not work here as it should; see what is marked bad."};

    for (int i = 0; i < CHECKS; i++) {
        printf("%-4s %-13s %s\n", levels[findings[i].level], checks[i].name, findings[i].what);
        if (*findings[i].remedy)
            printf("%-4s %-13s -> %s\n", "", "", findings[i].remedy);
    }
    printf("\n%s\n", sums[worst_of(findings)]);
}

static void print_json(const pw_finding *findings)
{
    pw_json json;

    pw_json_begin(&json, stdout);
    pw_json_open(&json, NULL, '{');
    pw_json_string(&json, "worst", levels[worst_of(findings)]);
    pw_json_open(&json, "checks", '[');
    for (int i = 0; i < CHECKS; i++) {
        pw_json_open(&json, NULL, '{');
        pw_json_string(&json, "name", checks[i].name);
        pw_json_string(&json, "level", levels[findings[i].level]);
        pw_json_string(&json, "what", findings[i].what);
        pw_json_string(&json, "remedy", findings[i].remedy);
        pw_json_close(&json, '}');
    }
    pw_json_close(&json, ']');
    pw_json_close(&json, '}');
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(int argc, char **argv)
{
    static const int statuses[] = {PW_EXIT_OK, EXIT_OFF, PW_EXIT_FAILURE};
    pw_finding findings[CHECKS];
    bool json = argc > 1 && !strcmp(argv[1], "--json");

    if (argc > 1 + json)
        return pw_wrong_argument(&pw_command_doctor, argv[1 + json]);
    memset(findings, 0, sizeof findings);
    for (int i = 0; i < CHECKS; i++)
        checks[i].check(&findings[i]);
    if (json)
        print_json(findings);
    else
        print_text(findings);
    return statuses[worst_of(findings)];
}

const pw_command pw_command_doctor = {
    "doctor", "check what works here, what is off, and how to turn it on",
    "usage: packwright doctor [--json]\n\n"
    "Looks at the MPIs and launchers, the compilers, the GPU, the kernel cache, the model, what the system's kernel\n"
    "permits, limits, and what makes pictures. Says of each whether it is in order, what is off otherwise, and how to "
    "turn it on.\n\n"
    "  --json              print the findings as JSON\n\n"
    "Exit status: 0 all is on; 3 programs run with Packwright, and something is off; 1 something is bad: programs do\n"
    "not run with it, or no kernel is compiled; 2 when the command line is wrong.\n",
    run};
