/*
 * The segment: memory of this process that others on the node can map, for packed messages that leave this rank. An
 * anonymous file, so nothing stays behind whatever ends the process; who may read a process's memory (process_vm_readv
 * asks the same) finds it among the open files of /proc/PID/fd (runtime/node/peers.h). Its addresses are reserved at
 * once, its pages come with use.
 *
 * All functions are thread safe. A child process of fork does not have the segment.
 */
#ifndef PW_RUNTIME_SEGMENT_H
#define PW_RUNTIME_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the file, as /proc shows it. */
#define PW_SEGMENT_NAME "packwright-outbound"

enum { PW_SEGMENT_VERSION = 1, PW_SEGMENT_HEADER = 4096 /* bytes before the first block */ };

/* What others find at the segment's beginning. */
typedef struct pw_segment_header {
    char name[24]; /* PW_SEGMENT_NAME */
    uint32_t version;
    int32_t pid; /* a child has its parent's open files: not every holder is the owner */
    uint64_t base, bytes;
    _Atomic uint32_t open; /* 0: the owner has ended, or has ended MPI; its addresses may mean other memory */
    _Atomic uint32_t read; /* another process has read a message here; theirs to set */
} pw_segment_header;

/* Creates the segment, or opens it again. Where that cannot be, pw_segment_take gives nothing. */
void pw_segment_open(void);
/* Others look into it no longer. Blocks stay valid. */
void pw_segment_close(void);

bool pw_segment_is_open(void);
/* Has another process read a message here? */
bool pw_segment_is_read(void);

/* `bytes` bytes, a power of two from 4 KiB on, aligned to as much or to 2 MiB. NULL: no segment, or it is full. */
void *pw_segment_take(size_t bytes);
/* True: the block was the segment's, `bytes` as it was taken; its pages go back to the system. */
bool pw_segment_give(void *block, size_t bytes);

#endif
