/*
 * What a segment (segment.h) tells other processes of itself: the header at the beginning of its file, which they map,
 * and the records behind the blocks of each piece.
 *
 * A header of another process may hold anything: that process may be broken. So it is read through the functions below,
 * which copy what they look at and give out nothing that does not lie in the file.
 */
#ifndef PW_RUNTIME_DIRECTORY_H
#define PW_RUNTIME_DIRECTORY_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The name of the file, as /proc shows it. */
#define PW_SEGMENT_NAME "packwright-outbound"

enum {
    PW_SEGMENT_VERSION = 4,
    PW_SEGMENT_GRAIN = 64 << 10, /* pieces begin at multiples in the file: the largest page that Linux has */
    PW_SEGMENT_PIECES = 300,
    PW_SEGMENT_FIRST_SHIFT = 12,
    PW_SEGMENT_LAST_SHIFT = 28,    /* the largest message that is staged, unless PACKWRIGHT_STAGING says otherwise */
    PW_SEGMENT_PIECE_BLOCKS = 8192 /* in one piece, at most */
};

/* Memory of a GPU for other processes to open: what the driver and the hardware call it. */
typedef struct pw_segment_replica {
    uint64_t number; /* differs from that of any other memory of the process. 0: none */
    unsigned char handle[64], gpu[16];
} pw_segment_replica;

/* The record of a block. A piece's records lie behind its blocks, in the same order. */
typedef struct pw_segment_block {
    _Atomic uint64_t message;    /* length of the message that begins with the block; 0: not known */
    _Atomic uint64_t removed;    /* how often the block's pages went back to the system */
    _Atomic uint64_t replicated; /* the message is at the beginning of the replica, too */
    pw_segment_replica replica;  /* constant while a message is replicated */
} pw_segment_block;

/* A piece: `count` blocks of 1 << shift bytes each, and their records. It never changes and never goes. */
typedef struct pw_segment_piece {
    uint64_t address; /* of the first block, in the owner */
    uint64_t at;      /* the same in the file */
    uint32_t shift, count;
} pw_segment_piece;

/* A piece in the header, which its owner may be writing. */
typedef struct pw_segment_entry {
    _Atomic uint64_t address, at;
    _Atomic uint32_t shift, count;
} pw_segment_entry;

/* What is read before anything is mapped. */
typedef struct pw_segment_title {
    char name[24]; /* PW_SEGMENT_NAME */
    uint32_t version;
    int32_t pid; /* a child has its parent's open files: not every process that holds the file owns it */
} pw_segment_title;

typedef struct pw_segment_header {
    pw_segment_title title;
    /* The thread that opened the segment holds this robust mutex. When it ends, however it does, the kernel removes its
     * number from the mutex: so others see that the process is gone before its pid can mean another one. */
    pthread_mutex_t owner;
    _Atomic uint32_t open;    /* 0: the owner has ended MPI, and its addresses may mean other memory */
    _Atomic uint32_t read;    /* others set it when they read a message here */
    _Atomic uint32_t wanted;  /* others set it when a GPU of theirs would read replicas */
    _Atomic uint32_t npieces; /* so many entries are filled */
    pw_segment_entry pieces[PW_SEGMENT_PIECES];
} pw_segment_header;

_Static_assert(sizeof(pw_segment_header) <= PW_SEGMENT_GRAIN, "the first piece begins behind the header");

static inline uint64_t pw_segment_piece_bytes(const pw_segment_piece *p)
{
    return (uint64_t)p->count << p->shift;
}

/* With the records. */
static inline uint64_t pw_segment_mapped_bytes(const pw_segment_piece *p)
{
    return pw_segment_piece_bytes(p) + p->count * sizeof(pw_segment_block);
}

static inline bool pw_segment_owner_lives(const pw_segment_header *h)
{
    return __atomic_load_n(&h->owner.__data.__lock, __ATOMIC_ACQUIRE) & FUTEX_TID_MASK;
}

/* Is that the title of a segment of process `pid`, as this version makes them? */
bool pw_segment_is_titled(const pw_segment_title *title, pid_t pid);

/* Do the piece's blocks and records lie in a file of so many bytes, and its addresses in an address space? */
bool pw_segment_piece_is_sound(const pw_segment_piece *piece, uint64_t file_bytes);

/* Does one block of the piece hold the `bytes` bytes at `address`? */
bool pw_segment_piece_holds(const pw_segment_piece *piece, uint64_t address, uint64_t bytes);

/* Finds the piece of which one block holds the `bytes` bytes at `address`, among those that are sound. `header` may
 * hold anything and change at any time. */
bool pw_segment_find(const pw_segment_header *header, uint64_t file_bytes, uint64_t address, uint64_t bytes,
                     pw_segment_piece *out);

#endif
