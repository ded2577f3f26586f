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
typedef void *gpu_stream; /* NULL: the default stream */

typedef struct gpu_info {
    char name[128];
    int multiprocessors, threads, major, minor;
} gpu_info;

/* Returns false, with the cause in `why`, if there is no driver or no GPU. */
bool gpu_open(gpu_info *info, const char **why);

/* The number of GPUs. gpu_use makes the primary context of one current; all other functions work there. */
int gpu_count(void);
void gpu_use(int device);
/* Lets kernels of the current context use the memory of another GPU. False: they cannot. */
bool gpu_reach(int device);

gpu_ptr gpu_alloc(size_t bytes);
/* Returns host memory that kernels can use; *device is its address for them. */
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
void gpu_launch_on(gpu_stream s, gpu_function f, uint32_t grid, uint32_t block, void *params, size_t bytes);
void gpu_launch_3d(gpu_stream s, gpu_function f, const uint32_t grid[3], const uint32_t block[3], void *params,
                   size_t bytes);
/* Does the same with the parameters in kernelParams rather than in a buffer. */
void gpu_launch_params(gpu_stream s, gpu_function f, uint32_t grid, uint32_t block, void *params);
void gpu_wait(void);

gpu_stream gpu_stream_make(void);
void gpu_stream_wait(gpu_stream s);
bool gpu_stream_is_done(gpu_stream s);
void gpu_copy_on(gpu_stream s, gpu_ptr to, gpu_ptr from, size_t bytes);
/* Copies `rows` rows of `width` bytes. False: the driver refuses these pitches. */
bool gpu_copy_2d_on(gpu_stream s, gpu_ptr to, size_t to_pitch, gpu_ptr from, size_t from_pitch, size_t width,
                    size_t rows);
/* Writes a 32-bit word when all earlier work of the stream is done. */
void gpu_write_on(gpu_stream s, gpu_ptr to, uint32_t value);

/* A graph of one kernel, whose grid and parameters can be changed. */
typedef struct gpu_graph {
    void *graph, *node, *exec;
} gpu_graph;

gpu_graph gpu_graph_make(gpu_function f, uint32_t grid, uint32_t block, void *params);
void gpu_graph_set(gpu_graph g, gpu_function f, uint32_t grid, uint32_t block, void *params);
void gpu_graph_launch(gpu_graph g, gpu_stream s);

/* Makes waits for the GPU spin, or leaves that to the driver. */
void gpu_spin(bool spin);

gpu_event gpu_event_make(void);
void gpu_event_free(gpu_event e);
void gpu_event_record(gpu_event e);
void gpu_event_record_on(gpu_event e, gpu_stream s);
bool gpu_event_is_done(gpu_event e);
float gpu_event_microseconds(gpu_event from, gpu_event to);

#endif
