#include "codegen/nvrtc/nvrtc.h"

#include "base/env.h"
#include "base/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

typedef void *program;

/* X(result type, name, parameters): what is used of NVRTC. */
#define NVRTC_FUNCTIONS(X)                                                                          \
    X(int, nvrtcVersion, (int *major, int *minor))                                                  \
    X(const char *, nvrtcGetErrorString, (int result))                                              \
    X(int, nvrtcGetNumSupportedArchs, (int *n))                                                     \
    X(int, nvrtcGetSupportedArchs, (int *archs))                                                    \
    X(int, nvrtcCreateProgram,                                                                      \
      (program * p, const char *source, const char *name, int nheaders, const char *const *headers, \
       const char *const *names))                                                                   \
    X(int, nvrtcDestroyProgram, (program * p))                                                      \
    X(int, nvrtcCompileProgram, (program p, int noptions, const char *const *options))              \
    X(int, nvrtcGetProgramLogSize, (program p, size_t *size))                                       \
    X(int, nvrtcGetProgramLog, (program p, char *log))                                              \
    X(int, nvrtcGetPTXSize, (program p, size_t *size))                                              \
    X(int, nvrtcGetPTX, (program p, char *out))                                                     \
    X(int, nvrtcGetCUBINSize, (program p, size_t *size))                                            \
    X(int, nvrtcGetCUBIN, (program p, char *out))

/* The singleton: the library; written once. */
static struct {
    pw_status status;
    pw_diag diag;
    pw_nvrtc_version version;
#define X(result, name, parameters) result(*name) parameters;
    NVRTC_FUNCTIONS(X)
#undef X
} lib;

static once_flag lib_once = ONCE_FLAG_INIT;

static void *open_in(const char *dir, const char *sub)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    char path[PATH_MAX];
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        if (snprintf(path, sizeof path, "%s%s%s", dir, sub, names[i]) < PATH_MAX)
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return handle;
}

/* Opens the library: where the loader looks, else in the toolkit that the environment names, else in the usual one. */
static void *open_library(void)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    void *handle = open_in("", "");
    for (int i = 0; i < 2 && !handle; i++) {
        const char *dir = pw_env_foreign(variables[i]);
        handle = dir && *dir ? open_in(dir, "/lib64/") : NULL;
    }
    return handle ? handle : open_in("/usr/local/cuda", "/lib64/");
}

static pw_status find_functions(void *handle)
{
    const char *missing = NULL;
#define X(result, name, parameters)                        \
    lib.name = (result(*) parameters)dlsym(handle, #name); \
    missing = lib.name ? missing : #name;
    NVRTC_FUNCTIONS(X)
#undef X
    if (missing)
        return pw_diag_set(&lib.diag, PW_ERR_UNSUPPORTED, "this NVRTC has no %s: version 11.2 or later is needed",
                           missing);
    if (lib.nvrtcVersion(&lib.version.major, &lib.version.minor) != 0)
        return pw_diag_set(&lib.diag, PW_ERR_UNSUPPORTED, "NVRTC does not tell its version");
    return PW_OK;
}

static void load(void)
{
    void *handle = open_library();
    if (!handle) {
        lib.status = pw_diag_set(&lib.diag, PW_ERR_NOT_FOUND,
                                 "libnvrtc.so is neither in the loader's path nor in /usr/local/cuda/lib64");
        return;
    }
    lib.status = find_functions(handle);
    if (lib.status != PW_OK)
        dlclose(handle);
}

pw_status pw_nvrtc_load(pw_nvrtc_version *version, pw_diag *diag)
{
    call_once(&lib_once, load);
    if (lib.status == PW_OK && version)
        *version = lib.version;
    if (lib.status != PW_OK && diag)
        *diag = lib.diag;
    return lib.status;
}

int pw_nvrtc_architectures(int *archs, int max)
{
    int all[128], n = 0;
    if (pw_nvrtc_load(NULL, NULL) != PW_OK || lib.nvrtcGetNumSupportedArchs(&n) != 0 || n > 128 ||
        lib.nvrtcGetSupportedArchs(all) != 0)
        return 0;
    for (int i = 0; i < n && i < max; i++)
        archs[i] = all[i];
    return n;
}

/* ---- compiling ------------------------------------------------------------------------------------------------- */

static pw_status failed(int result, const char *doing, pw_diag *diag)
{
    return pw_diag_set(diag, PW_ERR_COMPILE, "NVRTC: %s: %.160s", doing, lib.nvrtcGetErrorString(result));
}

/* Reports the first of the compiler's errors as the cause of the failure. */
static pw_status report(program p, int result, pw_diag *diag)
{
    size_t size = 0;
    char *text = NULL, *error;
    if (lib.nvrtcGetProgramLogSize(p, &size) == 0 && size > 1)
        text = calloc(1, size + 1);
    if (!text || lib.nvrtcGetProgramLog(p, text) != 0) {
        free(text);
        return failed(result, "compiling", diag);
    }
    pw_log(PW_LOG_INFO, "NVRTC: %s", text);
    error = strstr(text, "error");
    error = error ? error : text;
    error[strcspn(error, "\n")] = '\0';
    pw_diag_set(diag, PW_ERR_COMPILE, "NVRTC: %.200s", error);
    free(text);
    return PW_ERR_COMPILE;
}

static pw_status take(program p, bool ptx, pw_blob *out, pw_diag *diag)
{
    size_t size = 0;
    int result = ptx ? lib.nvrtcGetPTXSize(p, &size) : lib.nvrtcGetCUBINSize(p, &size);
    if (result != 0 || size == 0)
        return failed(result, ptx ? "asking for PTX" : "asking for a cubin", diag);
    char *data = malloc(size + 1);
    if (!data)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    result = ptx ? lib.nvrtcGetPTX(p, data) : lib.nvrtcGetCUBIN(p, data);
    if (result != 0) {
        free(data);
        return failed(result, ptx ? "asking for PTX" : "asking for a cubin", diag);
    }
    data[size] = '\0';
    /* NVRTC counts the NUL of a text, a blob does not. */
    *out = (pw_blob){.data = data, .size = ptx ? strlen(data) : size};
    return PW_OK;
}

pw_status pw_nvrtc_compile(const char *source, int arch, pw_emit emit, pw_blob *out, pw_diag *diag)
{
    char target[48];
    const char *options[] = {target, "--std=c++17", "--generate-line-info"};
    bool ptx = emit == PW_EMIT_ASM || emit == PW_EMIT_LINES;
    int noptions = emit == PW_EMIT_LINES || emit == PW_EMIT_SHARED_LINES ? 3 : 2;
    program p = NULL;
    pw_status status = pw_nvrtc_load(NULL, diag);
    if (status != PW_OK)
        return status;
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d", arch);
    int result = lib.nvrtcCreateProgram(&p, source, "packwright.cu", 0, NULL, NULL);
    if (result != 0)
        return failed(result, "creating a program", diag);
    result = lib.nvrtcCompileProgram(p, noptions, options);
    status = result != 0 ? report(p, result, diag) : take(p, ptx, out, diag);
    lib.nvrtcDestroyProgram(&p);
    return status;
}
