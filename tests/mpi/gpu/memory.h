/*
 * Memory of every kind for the tests of MPI calls on GPU buffers, through the CUDA driver or the stand-in for it
 * (fake.h), found with dlopen. Programs that use this need no CUDA to build.
 */
#ifndef PW_TESTS_MPI_GPU_MEMORY_H
#define PW_TESTS_MPI_GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gpu_kind { GPU_DEVICE, GPU_HOST, GPU_PINNED, GPU_REGISTERED, GPU_MANAGED, GPU_KINDS } gpu_kind;

const char *gpu_kind_name(gpu_kind kind);

/* Maps the driver from `path`, as gpu_start does, and leaves it asleep, that is, not initialised. False: there is none.
 */
bool gpu_map(const char *path);
/* Takes the driver from `path` (the stand-in), or the system's if `path` is NULL, and makes the first device's primary
 * context current. Returns false after printing that there is no GPU. */
bool gpu_start(const char *path);
/* Returns whether PACKWRIGHT_GPU_AWARE says that the MPI takes GPU memory. */
bool gpu_mpi_is_said_aware(void);
/* Calls gpu_start as the program's first argument says: a stand-in's path, or "-" or nothing for the system's driver.
 * The CPU can touch a stand-in's memory if the MPI is said to take it. */
bool gpu_start_as_told(int argc, char **argv);
/* Returns whether the driver is the stand-in. */
bool gpu_is_fake(void);
int gpu_devices(void);
/* Returns a function of the driver. Ends the program if there is none. */
void *gpu_symbol(const char *name);
/* What the stand-in has counted in this process (fake_calls and fake_launches in fake.h). 0 on a GPU. */
long gpu_calls(const char *call);
long gpu_launches(const char *prefix);
/* Returns how many launches the stand-in has counted in this process, of any kernel. 0 on a GPU. */
long gpu_all_launches(void);
/* Contexts: the primary one of a device, a new one; which is current. */
void *gpu_primary(int device);
void *gpu_new_context(int device);
void gpu_set_current(void *context);
/* Makes the primary context of this rank's GPU current, if there are several that are real. */
void gpu_set_current_of(int rank);
void *gpu_current(void);

typedef struct gpu_memory {
    gpu_kind kind;
    unsigned char *at; /* the CPU must not touch device memory */
    size_t bytes;
} gpu_memory;

/* Allocates in the current context. Ends the program if there is no memory. */
gpu_memory gpu_memory_make(gpu_kind kind, size_t bytes);
void gpu_memory_free(gpu_memory *m); /* of kind GPU_DEVICE or GPU_PINNED */
void gpu_write(const gpu_memory *m, size_t offset, const void *from, size_t bytes);
/* Prints how many kernels the stand-in has run; on a GPU, nothing. */
void gpu_report(void);
void gpu_read(const gpu_memory *m, size_t offset, void *to, size_t bytes);

#endif
