/* Checks of the kernel cache, of the models, and of what makes pictures. */
#include "base/card.h"
#include "base/env.h"
#include "codegen/target.h"
#include "jit-cache/cache.h"
#include "runtime/engine/model/file.h"
#include "tools/doctor/doctor.h"
#include "tools/run/interposer.h"
#include "tools/run/program.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- the kernel cache -------------------------------------------------------------------------------------------- */

typedef struct cache_sum {
    int64_t entries, refused, bytes;
    char why[256];
} cache_sum;

static bool add_entry(void *arg, const pw_cache_entry *entry)
{
    cache_sum *sum = arg;

    sum->entries++;
    sum->bytes += entry->bytes;
    if (entry->status != PW_OK && sum->refused++ == 0)
        snprintf(sum->why, sizeof sum->why, "%s", entry->why);
    return true;
}

/* Finds the directory that is there, of which the cache's would be made. */
static void existing_parent(const char *dir, char *out, size_t size)
{
    snprintf(out, size, "%s", dir);
    while (access(out, F_OK) != 0 && strchr(out + 1, '/'))
        *strrchr(out, '/') = '\0';
}

/* Returns whether a directory's file system has no room for kernels, of some 20 KiB each. */
static bool is_full(const char *dir, double *free_mib)
{
    enum { LEAST_MIB = 1 };
    struct statvfs fs;

    if (statvfs(dir, &fs) != 0 || fs.f_blocks == 0)
        return false;
    *free_mib = (double)fs.f_bavail * (double)fs.f_frsize / 0x1p20;
    return *free_mib < LEAST_MIB;
}

void pw_doctor_cache(pw_finding *f)
{
    char dir[4096], parent[4096];
    cache_sum sum = {0};
    pw_diag diag = {0};
    double free_mib;

    if (!pw_env_bool(PW_ENV_CACHE)) {
        pw_doctor_off(f, PW_DOCTOR_OFF, "unset PACKWRIGHT_CACHE", "off: each process compiles its kernels anew");
        return;
    }
    if (!pw_cache_default_dir(dir, sizeof dir)) {
        pw_doctor_off(f, PW_DOCTOR_OFF, "set PACKWRIGHT_CACHE_DIR",
                      "none: neither PACKWRIGHT_CACHE_DIR nor HOME is set");
        return;
    }
    existing_parent(dir, parent, sizeof parent);
    if (pw_cache_list(dir, add_entry, &sum, &diag) != PW_OK)
        pw_doctor_off(f, PW_DOCTOR_OFF, "mend the directory, or set PACKWRIGHT_CACHE_DIR", "unfit: %.800s", diag.text);
    else if (access(parent, W_OK) != 0)
        pw_doctor_off(f, PW_DOCTOR_OFF, "make it writable, or set PACKWRIGHT_CACHE_DIR",
                      "%.800s is not writable: no kernel is kept", parent);
    else if (is_full(parent, &free_mib))
        pw_doctor_off(f, PW_DOCTOR_OFF, "make room there, or set PACKWRIGHT_CACHE_DIR",
                      "the disk of %.800s is full (%.1f MiB are free): no kernel is kept", parent, free_mib);
    else if (sum.refused > 0)
        pw_doctor_off(f, PW_DOCTOR_OFF, "packwright cache clear", "%.600s: %lld of %lld kernels are refused: %s", dir,
                      (long long)sum.refused, (long long)sum.entries, sum.why);
    else
        pw_doctor_ok(f, "%.800s: %lld kernel%s, %.1f of %.0f MiB", dir, (long long)sum.entries,
                     sum.entries == 1 ? "" : "s", (double)sum.bytes / 0x1p20,
                     (double)pw_env_size(PW_ENV_CACHE_SIZE) / 0x1p20);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

/* Whether there is a model for this MPI and machine. If not, `why` says so. */
static bool has_model(const pw_mpi_abi *abi, char *why, size_t size)
{
    char path[4096];
    pw_model model;
    pw_diag diag = {0};
    const char *named = pw_env_string(PW_ENV_MODEL);
    pw_status status;

    if (*named)
        snprintf(path, sizeof path, "%s", pw_env_path(PW_ENV_MODEL));
    else if (!pw_model_path(abi->name, path, sizeof path))
        return snprintf(why, size, "no directory is known"), false;
    status = pw_model_read(path, &model, &diag);
    if (status == PW_OK && !pw_model_fits(&model, abi->name, pw_target_host()->cpu, &diag))
        status = PW_ERR_INVALID;
    if (status == PW_ERR_NOT_FOUND)
        snprintf(why, size, "not measured");
    else if (status != PW_OK)
        snprintf(why, size, "%.200s", diag.text);
    else
        return true;
    return false;
}

/* Only GPUs, and networks that PACKWRIGHT_NET names, have facts that are measured. */
void pw_doctor_model(pw_finding *f)
{
    char have[128] = "", lack[600] = "", why[256], gpu[96];
    const pw_mpi_abi *abi;

    pw_card_name(gpu, sizeof gpu);
    if (!strcmp(pw_env_string(PW_ENV_MODEL), "off")) {
        pw_doctor_off(f, PW_DOCTOR_OFF, "unset PACKWRIGHT_MODEL", "off: choices are by the defaults");
        return;
    }
    if (!*gpu && !*pw_env_string(PW_ENV_MODEL)) {
        pw_doctor_ok(f, "none is needed without a GPU: programs try their ways");
        return;
    }
    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++) {
        if (!pw_mpi_is_built(abi) || pw_mpi_abi_is_standard(abi)) /* that has the models of its MPIs */
            continue;
        if (has_model(abi, why, sizeof why))
            snprintf(have + strlen(have), sizeof have - strlen(have), "%s%s", *have ? ", " : "", abi->title);
        else
            snprintf(lack + strlen(lack), sizeof lack - strlen(lack), "%s%s: %s", *lack ? "; " : "", abi->title, why);
    }
    if (*lack)
        pw_doctor_off(f, PW_DOCTOR_OFF, "packwright measure", "choices are by the defaults (%s)", lack);
    else
        pw_doctor_ok(f, "measured on this machine for %s", *have ? have : "no MPI");
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

void pw_doctor_pictures(pw_finding *f)
{
    char path[4096];

    if (pw_program_find("rsvg-convert", path, sizeof path))
        pw_doctor_ok(f, "SVG, and PNG by %.800s", path);
    else
        pw_doctor_off(f, PW_DOCTOR_OFF, "install rsvg-convert (Debian and Ubuntu: librsvg2-bin)",
                      "SVG only: FILE.png of packwright draw and plan needs rsvg-convert, which is not on the PATH");
}
