/*
 * The segment: memory of this process that others on the node can map, for packed messages that leave this rank. An
 * anonymous file, so nothing stays behind whatever ends the process; who may read a process's memory (process_vm_readv
 * asks the same) finds it among the open files of /proc/PID/fd (runtime/node/peers.h). Its addresses are reserved at
 * once, its pages come with use.
 *
 * Others may keep a block pinned for their GPU (runtime/gpu/foreign.h), and then the pages that it had. So the header
 * has a directory of all blocks, in which is counted how often a block has lost its pages. The directory also says how
 * long the message in a block is: who is asked for its first piece knows that it can read all of it.
 *
 * Beside a block there may be memory of a GPU that holds the same message, and that others may open
 * (runtime/gpu/replica.h). The directory has what they need for it, and says whether the message that is in the block
 * is there, too.
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

enum {
    PW_SEGMENT_VERSION = 3,
    PW_SEGMENT_HEADER = 1 << 18, /* bytes before the first block */
    PW_SEGMENT_BLOCKS = 2000
};

/* Memory of a GPU, for who opens it: what the driver and the hardware call it. */
typedef struct pw_segment_replica {
    uint64_t number; /* of this process's; never that of another memory. 0: none */
    unsigned char handle[64], gpu[16];
} pw_segment_replica;

/* A block. Once it is there, it stays where it is. */
typedef struct pw_segment_block {
    uint64_t at, bytes;          /* `at`: from the segment's beginning */
    _Atomic uint64_t message;    /* bytes, from the block's beginning, of what has been packed there; 0: not known */
    _Atomic uint64_t removed;    /* how often its pages went back to the system */
    _Atomic uint64_t replicated; /* the message is at the beginning of the replica, too */
    pw_segment_replica replica;  /* stays as it is while a message is replicated */
} pw_segment_block;

/* What others look at before they map the segment. */
typedef struct pw_segment_title {
    char name[24]; /* PW_SEGMENT_NAME */
    uint32_t version;
    int32_t pid; /* a child has its parent's open files: not every holder is the owner */
    uint64_t base, bytes;
} pw_segment_title;

/* What others find at the segment's beginning. */
typedef struct pw_segment_header {
    pw_segment_title title;
    _Atomic uint32_t open;    /* 0: the owner has ended, or has ended MPI; its addresses may mean other memory */
    _Atomic uint32_t read;    /* another process has read a message here; theirs to set */
    _Atomic uint32_t wanted;  /* a GPU of another process would read replicas; theirs to set */
    _Atomic uint32_t nblocks; /* with the first so many the directory is filled, in the order of their addresses */
    pw_segment_block blocks[PW_SEGMENT_BLOCKS];
} pw_segment_header;

_Static_assert(sizeof(pw_segment_header) <= PW_SEGMENT_HEADER, "the header has room for the directory");

/* Creates the segment, or opens it again, unless the environment says that there is to be none (PACKWRIGHT_SHARED,
 * _DISABLE). Where that cannot be, pw_segment_take gives nothing. */
void pw_segment_open(void);
/* Others look into it no longer. Blocks stay valid. */
void pw_segment_close(void);

bool pw_segment_is_open(void);
/* Has another process read a message here? */
bool pw_segment_is_read(void);
/* Would one read replicas? */
bool pw_segment_wants_replicas(void);

/* `bytes` bytes, a power of two from 4 KiB on, aligned to as much or to 2 MiB. NULL: no segment, or it is full. */
void *pw_segment_take(size_t bytes);
/* A message of `bytes` bytes has been packed to `data`, and stays there until MPI says that it has been sent. To be
 * said of every message in a block of more than 4 KiB: what was said of the one before would be taken for it. For
 * smaller blocks, and what is not the beginning of one, this does nothing. */
void pw_segment_note_message(const void *data, size_t bytes);
/* The same of a message that is in the block's replica, too. */
void pw_segment_note_replicated(const void *data, size_t bytes);
/* From now on that is the replica of the block that begins there, until the block is given back. False: the directory
 * does not have the block. */
bool pw_segment_add_replica(const void *block, const pw_segment_replica *replica);
/* True: the block was the segment's, `bytes` as it was taken; its pages go back to the system. No GPU of this process
 * may know of it any longer. In a child of fork, which may hold blocks of its parent in its copy of a pool, it is true
 * as well, and nothing happens. */
bool pw_segment_give(void *block, size_t bytes);

/* The block of a directory in which the byte is, `at` bytes from the beginning of the segment. NULL: none. */
pw_segment_block *pw_segment_find(pw_segment_header *header, uint64_t at);

#endif
