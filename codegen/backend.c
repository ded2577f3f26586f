/* Loads code generator modules, and knows facts about them without loading them. */
#define _GNU_SOURCE /* dladdr */
#include "codegen/backend.h"

#include "base/env.h"
#include "codegen/generator.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

/* One module and the result of loading it; written once, under the lock. */
typedef struct module {
    const char *name, *file, *version;
    pw_env_id path; /* the variable that overrides the file */
    bool tried;
    const pw_backend *backend;
    pw_diag diag;
} module;

static module modules[] = {
    {.name = "llvm", .file = "libpackwright-llvm.so", .version = PW_LLVM_GENERATOR_VERSION, .path = PW_ENV_LLVM_MODULE},
    {.name = "nvrtc",
     .file = "libpackwright-nvrtc.so",
     .version = PW_NVRTC_GENERATOR_VERSION,
     .path = PW_ENV_NVRTC_MODULE},
};

static mtx_t lock;
static once_flag lock_once = ONCE_FLAG_INIT;

static void init_lock(void)
{
    mtx_init(&lock, mtx_plain);
}

static module *find_module(const char *name)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i].name, name) == 0)
            return &modules[i];
    return NULL;
}

const char *pw_backend_version(const char *name)
{
    const module *m = find_module(name);
    return m ? m->version : NULL;
}

/* The directory of the library (or program) that this code is linked into. */
static bool own_directory(char out[PATH_MAX])
{
    Dl_info info;
    char *slash;
    if (!dladdr((void *)&modules, &info) || !info.dli_fname)
        return false;
    /* The main program is reported under the name it was started by, which need not be a path. */
    if (!strchr(info.dli_fname, '/') || !realpath(info.dli_fname, out)) {
        ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
        if (n <= 0)
            return false;
        out[n] = '\0';
    }
    slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static bool join(char out[PATH_MAX], const char *dir, const char *middle, const char *file)
{
    return snprintf(out, PATH_MAX, "%s%s/%s", dir, middle, file) < PATH_MAX;
}

/* The variable's value: a path, or a name for the dynamic linker to find. */
static const char *given_file(const module *m)
{
    const char *given = pw_env_string(m->path);
    return strchr(given, '/') ? pw_env_path(m->path) : given;
}

/* An interposer may lie in a folder packwright/<mpi> of the library directory. */
static bool find_beside(const char *dir, const char *file, char out[PATH_MAX])
{
    static const char *const places[] = {"", "/../..", "/../lib", "/../" PW_MODULE_LIBDIR};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (join(out, dir, places[i], file) && access(out, R_OK) == 0)
            return true;
    return false;
}

bool pw_backend_find(const char *file, char *out)
{
    char dir[PATH_MAX];
    return own_directory(dir) && find_beside(dir, file, out);
}

/* Finds the module: where the variable says, else beside this library, else in the prefix's library directory. */
static bool locate(const module *m, char out[PATH_MAX], pw_diag *diag)
{
    const char *given = given_file(m);
    char dir[PATH_MAX];
    if (*given) {
        if (snprintf(out, PATH_MAX, "%s", given) < PATH_MAX)
            return true;
        pw_diag_set(diag, PW_ERR_NOT_FOUND, "the path of the code generator is too long: %.90s...", given);
        return false;
    }
    if (!own_directory(dir)) {
        pw_diag_set(diag, PW_ERR_NOT_FOUND, "cannot tell which directory %s should be in", m->file);
        return false;
    }
    if (find_beside(dir, m->file, out))
        return true;
    pw_diag_set(diag, PW_ERR_NOT_FOUND, "%s is neither in %.90s nor in ../lib", m->file, dir);
    return false;
}

bool pw_backend_beside(const char *backend, const char *name, char *out)
{
    const module *m = find_module(backend);
    char path[PATH_MAX];
    pw_diag diag;
    char *slash = m && locate(m, path, &diag) ? strrchr(path, '/') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    return join(out, path, "", name) && access(out, R_OK) == 0;
}

static const pw_backend *check(const module *m, void *handle, const char *path, pw_diag *diag)
{
    pw_backend_entry_fn *entry = (pw_backend_entry_fn *)dlsym(handle, PW_BACKEND_ENTRY);
    const pw_backend *backend = entry ? entry() : NULL;
    if (!backend) {
        pw_diag_set(diag, PW_ERR_CORRUPT, "%.160s is not a Packwright code generator", path);
        return NULL;
    }
    if (strcmp(backend->name, m->name) != 0 || strcmp(backend->version, m->version) != 0) {
        pw_diag_set(diag, PW_ERR_CORRUPT, "%.100s is generator %s %s, expected %s %s", path, backend->name,
                    backend->version, m->name, m->version);
        return NULL;
    }
    return backend;
}

static void load(module *m)
{
    char path[PATH_MAX];
    void *handle;
    m->tried = true;
    if (!locate(m, path, &m->diag))
        return;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        pw_diag_set(&m->diag, PW_ERR_NOT_FOUND, "cannot load the code generator: %s", dlerror());
        return;
    }
    m->backend = check(m, handle, path, &m->diag);
    if (!m->backend)
        dlclose(handle);
}

const pw_backend *pw_backend_load(const char *name, pw_diag *diag)
{
    module *m = find_module(name);
    if (!m) {
        pw_diag_set(diag, PW_ERR_NOT_FOUND, "there is no code generator '%s'", name);
        return NULL;
    }
    call_once(&lock_once, init_lock);
    mtx_lock(&lock);
    if (!m->tried)
        load(m);
    if (!m->backend && diag)
        *diag = m->diag;
    mtx_unlock(&lock);
    return m->backend;
}

/* Larger shapes are not worth compiling. */
enum { MAX_REGIONS = 128, MAX_PIECES = 1024 };

bool pw_backend_takes(const pw_shape *shape)
{
    int64_t pieces = 0;
    for (int r = 0; r < shape->nregions; r++)
        pieces += shape->regions[r].npieces;
    return shape->nregions <= MAX_REGIONS && pieces <= MAX_PIECES;
}

void pw_blob_free(pw_blob *blob)
{
    free(blob->data);
    *blob = (pw_blob){0};
}

void pw_kernel_symbols(pw_hash key, char pack[PW_SYMBOL_TEXT], char unpack[PW_SYMBOL_TEXT])
{
    char text[PW_HASH_TEXT];
    pw_hash_text(key, text);
    snprintf(pack, PW_SYMBOL_TEXT, "pw_pack_%s", text);
    snprintf(unpack, PW_SYMBOL_TEXT, "pw_unpack_%s", text);
}
