#include "tools/measure/report.h"

#include "runtime/engine/model/file.h"
#include "tools/command.h"
#include "tools/run/interposer.h"

#include <stdio.h>

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void show(const pw_model *m)
{
    const pw_model_origin *o = &m->origin;
    pw_facts facts = m->facts;

    printf("MPI: %s%s%s%s\nCPU: %s\nGPU: %s\nmeasured: %s\n", *o->mpi ? o->mpi : "any", *o->mpi_version ? " (" : "",
           o->mpi_version, *o->mpi_version ? ")" : "", *o->cpu ? o->cpu : "any", *o->gpu ? o->gpu : "none",
           *o->date ? o->date : "unknown");
    if (*o->network)
        printf("network: %s\n", o->network);
    for (int fact = 0; fact < PW_FACT_COUNT; fact++) {
        const struct pw_fact_info *info = &pw_fact_infos[fact];

        printf("%-14s %9.4g %-7s %s%s\n", info->name, *pw_fact_at(&facts, (pw_fact)fact), info->unit, info->meaning,
               pw_model_has(m, (pw_fact)fact) ? "" : " (default)");
    }
}

/* ---- which model ------------------------------------------------------------------------------------------------- */

static bool is_there(const char *path)
{
    FILE *f = fopen(path, "re");

    if (f)
        fclose(f);
    return f;
}

/* Finds a model's file: `file` itself, else that of this machine for `mpi`, else the first one of any MPI that exists.
 * If there is none, takes the path for the first MPI, so that its absence can be reported. */
static bool find_model(const char *file, const char *mpi, char *path, size_t size)
{
    const pw_mpi_abi *abi;

    if (file)
        return snprintf(path, size, "%s", file) < (int)size;
    if (mpi)
        return pw_model_path(mpi, path, size);
    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++)
        if (pw_model_path(abi->name, path, size) && is_there(path))
            return true;
    return pw_model_path(pw_mpi_abi_at(0)->name, path, size);
}

bool pw_measure_show(const pw_measure_options *o)
{
    char path[PW_MODEL_PATH];
    pw_diag diag = {0};
    pw_model m = {.facts = PW_FACTS_DEFAULT};

    if (!find_model(o->file, o->mpi, path, sizeof path))
        return pw_command_error("measure", "there is no cache directory; name a file");
    if (!o->file && !is_there(path))
        printf("there is no model yet, %s; these are the defaults\n", path);
    else if (pw_model_read(path, &m, &diag) != PW_OK)
        return pw_command_error("measure", "%s: %s", path, diag.text);
    show(&m);
    return true;
}
