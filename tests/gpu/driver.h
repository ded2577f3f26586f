/*
 * The few calls of the CUDA driver that the GPU tests need, found with dlopen, so that they build and skip on
 * machines without CUDA. One context on the first device. Calls that fail end the program with the call's name.
 */
#ifndef PW_TESTS_GPU_DRIVER_H
#define PW_TESTS_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t gpu_ptr;
typedef void *gpu_module;
typedef void *gpu_function;
typedef void *gpu_event;

typedef struct gpu_info {
    char name[128];
    int multiprocessors, threads, major, minor;
} gpu_info;

/* False, with the cause in `why`, when there is no driver or no GPU. */
bool gpu_open(gpu_info *info, const char **why);

gpu_ptr gpu_alloc(size_t bytes);
/* Host memory that kernels can use; *device is its address for them. */
void *gpu_alloc_mapped(size_t bytes, gpu_ptr *device);
void gpu_free(gpu_ptr p);
void gpu_free_mapped(void *p);
void gpu_upload(gpu_ptr to, const void *from, size_t bytes);
void gpu_download(void *to, gpu_ptr from, size_t bytes);
void gpu_fill(gpu_ptr p, unsigned char value, size_t bytes);
void gpu_copy(gpu_ptr to, gpu_ptr from, size_t bytes);

gpu_module gpu_load(const void *cubin);
gpu_function gpu_find(gpu_module module, const char *name);
void gpu_unload(gpu_module module);
/* `params` is the one struct that the kernel takes. */
void gpu_launch(gpu_function f, uint32_t grid, uint32_t block, void *params, size_t bytes);
void gpu_wait(void);

gpu_event gpu_event_make(void);
void gpu_event_record(gpu_event e);
float gpu_event_microseconds(gpu_event from, gpu_event to);

#endif
