/*
 * Memory of MPI windows. For MPI_Win_allocate and MPI_Win_allocate_shared, MPIs map one file in all processes of a
 * node. A process that reads a message in the memory of another process's window thus has that memory already, at an
 * address of its own: the two find each other's addresses by the file (/proc/self/maps). Nothing is mapped here.
 *
 * The memory stays mapped in all processes until all of them free the window, and so as long as a message in it.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_WINDOW_H
#define PW_RUNTIME_WINDOW_H

#include "runtime/exchange/directory.h"

#include <stddef.h>

/* A shared mapping of this process: the file, whose byte at an address is at offset address + file.shift. */
typedef struct pw_window_mapping {
    uint64_t begin, end;
    pw_segment_file file;
} pw_window_mapping;

/* Finds the shared mapping in which memory of this process lies. Takes long. */
bool pw_window_mapping_of(const void *memory, pw_window_mapping *out);
/* Lists up to `most` shared mappings, and returns their number. Takes long. */
int pw_window_mappings(pw_window_mapping *out, int most);

/* To be called after each window has come, with its memory here; NULL: it has none here. */
void pw_window_enter(const void *memory);
/* To be called before each window goes. */
void pw_window_leave(const void *memory);

/* Whether windows of this process hold these bytes, and in which file. */
bool pw_window_holds(const void *memory, size_t bytes, pw_segment_file *out);

/* Returns the address in this process of `bytes` bytes that another process has at `address` in the file. NULL: this
 * process has not mapped them. The first call for a file takes long. */
const void *pw_window_find(const pw_segment_file *file, uint64_t address, size_t bytes);

#endif
