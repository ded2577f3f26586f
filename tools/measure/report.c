#include "tools/measure/report.h"

#include "runtime/engine/model/file.h"
#include "runtime/engine/model/tables.h"
#include "tools/command.h"
#include "tools/run/interposer.h"

#include <math.h>
#include <stdio.h>

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_size(double bytes)
{
    if (bytes < 1024)
        printf("%9.0f", bytes);
    else
        printf("%8.4g%c", bytes < 1 << 20 ? bytes / 1024 : bytes / (1 << 20), bytes < 1 << 20 ? 'K' : 'M');
}

static void print_time(double microseconds)
{
    if (isnan(microseconds))
        printf(" %8s", "-");
    else
        printf(microseconds < 1000 ? " %8.4g" : " %8.0f", microseconds);
}

static void print_table(const pw_model *m, pw_model_table_id id)
{
    const pw_model_table_info *info = pw_model_table_describe(id);
    const pw_model_table *t = &m->tables[id];

    printf("\n%s: %s; microseconds\n%9s", info->name, info->meaning, info->axes > 0 ? "bytes" : "");
    for (int k = 0; info->axes > 1 && k < t->ny; k++)
        print_size(t->y[k]);
    putchar('\n');
    for (int i = 0; i < t->nx; i++) {
        if (info->axes > 0)
            print_size(t->x[i]);
        else
            printf("%9s", "");
        for (int k = 0; k < t->ny; k++)
            print_time(t->t[(size_t)i * (size_t)t->ny + (size_t)k] * 1e-3);
        putchar('\n');
    }
}

static void show(const pw_model *m)
{
    const pw_model_origin *o = &m->origin;

    printf("MPI: %s%s%s%s\nCPU: %s\nGPU: %s\nmeasured: %s\n", *o->mpi ? o->mpi : "any", *o->mpi_version ? " (" : "",
           o->mpi_version, *o->mpi_version ? ")" : "", *o->cpu ? o->cpu : "any", *o->gpu ? o->gpu : "none",
           *o->date ? o->date : "unknown");
    if (*o->network)
        printf("network: %s\n", o->network);
    for (int id = 0; id < PW_TABLE_COUNT; id++)
        if (pw_model_has(m, (pw_model_table_id)id))
            print_table(m, (pw_model_table_id)id);
}

/* ---- which model ------------------------------------------------------------------------------------------------- */

static bool is_there(const char *path)
{
    FILE *f = fopen(path, "re");

    if (f)
        fclose(f);
    return f;
}

bool pw_measure_find(const char *file, const char *mpi, char *path, size_t size)
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

bool pw_measure_report(const pw_measure_options *o)
{
    char path[PW_MODEL_PATH];
    pw_diag diag = {0};
    pw_model *m = NULL;
    bool ok = true;

    if (!pw_measure_find(o->file, o->mpi, path, sizeof path))
        return pw_command_error("measure", "there is no cache directory; name a file");
    if (o->check && !o->show && !o->plot && !o->file && !is_there(path)) {
        puts("there is no model: checking the defaults");
        m = pw_model_create();
        ok = m && pw_measure_check(m, o);
        pw_model_destroy(m);
        return ok;
    }
    if (!o->file && !is_there(path))
        return pw_command_error("measure", "there is no model yet, %s; 'packwright measure' makes it", path);
    if (pw_model_read(path, &m, &diag) != PW_OK)
        return pw_command_error("measure", "%s: %s", path, diag.text);
    if (o->show)
        show(m);
    if (o->plot)
        ok = pw_measure_plot(m, o->plot);
    if (o->check)
        ok = pw_measure_check(m, o) && ok;
    pw_model_destroy(m);
    return ok;
}
