/* Checks of the version, interposers, launchers and variables. */
#include "base/env.h"
#include "codegen/target.h"
#include "tools/doctor/doctor.h"
#include "tools/run/program.h"
#include "tools/run/words.h"

#include <packwright/packwright.h>

#include <stdio.h>
#include <string.h>

void pw_doctor_version(pw_finding *f)
{
    const pw_target *host = pw_target_host();

    pw_doctor_ok(f, "packwright %s on %s %s", packwright_version(), host->arch, host->cpu);
}

/* Appends to a list with commas. */
static void append(char *list, size_t size, const char *text, const char *more)
{
    size_t used = strlen(list);

    snprintf(list + used, size - used, "%s%s%s", used ? ", " : "", text, more);
}

void pw_doctor_interposers(pw_finding *f)
{
    char there[512] = "", missing[256] = "", path[4096];
    const pw_built *built;
    const pw_mpi_abi *abi;

    for (int i = 0; (built = pw_built_at(i)); i++)
        if (pw_find_built(built, path, sizeof path))
            append(there, sizeof there, "built for ", built->mpi);
        else
            append(missing, sizeof missing, built->mpi, "");
    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++)
        if (!pw_mpi_is_built(abi))
            append(missing, sizeof missing, abi->title, "");
    if (!*there)
        pw_doctor_off(f, PW_DOCTOR_BAD, "build Packwright where the MPI's compiler wrapper (mpicc) is found",
                      "none, for %s", missing);
    else
        pw_doctor_ok(f, "%s%s%s", there, *missing ? "; none for " : "", missing);
}

void pw_doctor_launcher(pw_finding *f)
{
    static const char *const names[] = {"mpiexec", "mpiexec.mpich", "mpiexec.openmpi", "srun"};
    char found[512] = "", missing[64] = "", path[4096];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const pw_mpi_abi *abi = pw_run_mpi_of_launcher(names[i]);
        char of[80] = "";

        if (!pw_program_find(names[i], path, sizeof path))
            continue;
        if (abi)
            snprintf(of, sizeof of, " (%s)", abi->title);
        append(found, sizeof found, names[i], of);
        if (abi && !pw_mpi_is_built(abi))
            snprintf(missing, sizeof missing, "%s", abi->title);
    }
    if (!*found)
        pw_doctor_off(f, PW_DOCTOR_BAD, "install an MPI, or load its module", "no mpiexec or srun on PATH");
    else if (*missing)
        pw_doctor_off(f, PW_DOCTOR_OFF, "build Packwright for this MPI, too", "%s; %s has no interposer", found,
                      missing);
    else
        pw_doctor_ok(f, "%s", found);
}

void pw_doctor_variables(pw_finding *f)
{
    /* What programs may gain by, and what changes where their memory lies or which network it is read over. */
    static const pw_env_id choices[] = {PW_ENV_ONE_COPY, PW_ENV_NET};
    int warnings = pw_env_check();
    char set[512] = "", unused[128] = "";

    for (int id = 0; id < PW_ENV_COUNT; id++)
        if (pw_env_is_set((pw_env_id)id))
            append(set, sizeof set, pw_env_describe((pw_env_id)id)->name, "");
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (!pw_env_is_set(choices[i]))
            append(unused, sizeof unused, pw_env_describe(choices[i])->name, "");
    if (pw_env_bool(PW_ENV_DISABLE))
        pw_doctor_off(f, PW_DOCTOR_BAD, "unset PACKWRIGHT_DISABLE", "PACKWRIGHT_DISABLE turns Packwright off");
    else if (warnings > 0)
        pw_doctor_off(f, PW_DOCTOR_OFF, "unset them, or see packwright env",
                      "%d that Packwright does not know, or not with such a value, named on standard error", warnings);
    else
        pw_doctor_ok(f, "%s%s%s%s", *set ? set : "none set", *unused ? "; off unless set: " : "", unused,
                     *unused ? " (packwright env)" : "");
}

void pw_doctor_tools(pw_finding *f)
{
    const char *at = pw_env_foreign("LD_PRELOAD");
    char tools[512] = "", path[256];
    const char *slash;

    while (at && *at) {
        size_t n = strcspn(at, ": ");

        snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : 0), at);
        slash = strrchr(path, '/');
        if (pw_program_is_tool(path))
            append(tools, sizeof tools, slash ? slash + 1 : path, "");
        at += n + (at[n] != '\0');
    }
    if (!*tools)
        pw_doctor_ok(f, "none is preloaded");
    else
        pw_doctor_ok(f, "%s, in LD_PRELOAD; packwright run puts itself before it, and it sees what Packwright calls",
                     tools);
}
