/* Checks of code generators, of the GPU and of its compiler. */
#include "codegen/backend.h"
#include "codegen/nvrtc/nvrtc.h"
#include "tools/doctor/doctor.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

void pw_doctor_compiler(pw_finding *f)
{
    pw_diag diag = {0};
    const pw_backend *backend = pw_backend_load("llvm", &diag);

    /* The version is that of the generator, then that of the library: "4-llvm19.1.7". */
    if (backend)
        pw_doctor_ok(f, "%s, generator %.*s", strchr(backend->version, '-') + 1, (int)strcspn(backend->version, "-"),
                     backend->version);
    else
        pw_doctor_off(f, PW_DOCTOR_BAD, "build with LLVM (PW_LLVM=ON); kernels in the cache work without it",
                      "no kernel is compiled: %s", diag.text);
}

/* The kernel's driver for NVIDIA GPUs is loaded. */
static bool has_gpu(void)
{
    return access("/proc/driver/nvidia/version", R_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0;
}

static void describe_gpu(pw_finding *f, void *driver)
{
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*count)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    int (*name)(char *, int, int) = (int (*)(char *, int, int))dlsym(driver, "cuDeviceGetName");
    int (*version)(int *) = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
    int devices = 0, number = 0;
    char first[96] = "?";

    if (!init || !count || !name || !version || init(0) || count(&devices) || devices == 0) {
        pw_doctor_off(f, PW_DOCTOR_OFF, "see nvidia-smi; containers must be given the GPU",
                      "there is a CUDA driver, and it finds no GPU");
        return;
    }
    name(first, sizeof first, 0);
    version(&number);
    pw_doctor_ok(f, "%d GPU%s, first %s; driver of CUDA %d.%d", devices, devices == 1 ? "" : "s", first, number / 1000,
                 number % 1000 / 10);
}

void pw_doctor_gpu(pw_finding *f)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (driver)
        describe_gpu(f, driver);
    else if (has_gpu())
        pw_doctor_off(f, PW_DOCTOR_OFF, "install the driver's libcuda.so.1, or give it to the container",
                      "there is a GPU, and no CUDA driver library");
    else
        pw_doctor_ok(f, "no NVIDIA GPU");
}

void pw_doctor_gpu_compiler(pw_finding *f)
{
    pw_nvrtc_version nvrtc;
    pw_diag diag = {0};

    if (pw_nvrtc_load(&nvrtc, &diag) == PW_OK)
        pw_doctor_ok(f, "NVRTC %d.%d", nvrtc.major, nvrtc.minor);
    else if (has_gpu())
        pw_doctor_off(f, PW_DOCTOR_OFF, "install NVRTC (libnvrtc.so) of CUDA 11.2 or later",
                      "GPU kernels of fixed shapes only: %s", diag.text);
    else
        pw_doctor_ok(f, "not needed without a GPU");
}
