/*
 * What a segment (segment.h) tells other processes about itself: the header at the beginning of its file, which they
 * map, and the offers behind the blocks of each piece.
 *
 * The header of another process may hold anything, since that process may be broken. So this process reads it through
 * the functions below, which copy each value before they check it, and return only what lies in the file.
 */
#ifndef PW_RUNTIME_DIRECTORY_H
#define PW_RUNTIME_DIRECTORY_H

#include "base/hash.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The name of the file, as /proc shows it. */
#define PW_SEGMENT_NAME "packwright-outbound"

enum {
    PW_SEGMENT_VERSION = 14,
    PW_SEGMENT_GRAIN = 64 << 10, /* pieces begin at multiples of it in the file; the largest base page of Linux */
    PW_SEGMENT_PIECES = 332,
    PW_SEGMENT_FIRST_SHIFT = 12,
    PW_SEGMENT_LAST_SHIFT = 28,      /* the largest message that is staged, unless PACKWRIGHT_STAGING says otherwise */
    PW_SEGMENT_PIECE_BLOCKS = 8192,  /* in one piece, at most */
    PW_SEGMENT_TEXT_BYTES = 1 << 20, /* the longest text of a layout */
    PW_SEGMENT_SIGNALS = 32,
    PW_SEGMENT_NO_SIGNAL = PW_SEGMENT_SIGNALS,
    PW_SEGMENT_WATCHED = 64,
    PW_SEGMENT_PARTS = 128
};

/* An allocation of GPU memory that other processes may open, as the driver and the hardware identify it. */
typedef struct pw_segment_exported {
    uint64_t number;         /* the driver's: no other allocation of the process ever has the same. 0: none */
    uint64_t address, bytes; /* where it is in the owning process */
    unsigned char handle[64], gpu[16];
} pw_segment_exported;

/* Whether the allocation has all of these bytes. */
static inline bool pw_segment_exported_has(const pw_segment_exported *e, uint64_t lowest, uint64_t bytes)
{
    return lowest >= e->address && bytes <= e->bytes && lowest - e->address <= e->bytes - bytes;
}

/* Says whether another process may read a message late that is being sent, and which one does (late.h). */
typedef struct pw_segment_late {
    _Atomic uint32_t allowed; /* the owner waits for late reads */
    _Atomic int32_t reader;   /* the process that reads the message late, or asks to be watched; 0: none */
    _Atomic uint32_t signal;  /* the reader's; PW_SEGMENT_NO_SIGNAL: it asks to be watched */
    _Atomic uint64_t value;   /* of the signal when the read is over; or the identity of the reader's segment */
} pw_segment_late;

/* A part of a block that one process reads: one of the blocks of an exchange, which all lie in one of the segment. */
typedef struct pw_segment_part {
    _Atomic uint64_t address; /* in the owning process; 0: there is none */
    pw_segment_late late;
} pw_segment_part;

/* A word of its own cache line that launches of the owner set, each to the number after the last. */
typedef struct pw_segment_signal {
    _Alignas(64) _Atomic uint64_t value;
} pw_segment_signal;

/* Where the message lies that an offer is of. */
typedef enum pw_offer_form {
    PW_OFFER_BLOCK,   /* packed, in the block */
    PW_OFFER_REPLICA, /* the same, and in GPU memory, too; a block of lazy memory stands for what is there */
    PW_OFFER_OBJECTS  /* not packed, in the owner's memory, also that of a GPU; the block is lazy memory */
} pw_offer_form;

/* A layout as text of the IR, in memory of the owner that is never given back. */
typedef struct pw_segment_text {
    uint64_t address; /* 0: there is none */
    uint64_t bytes;   /* without an end mark */
    pw_hash hash;     /* of the layout */
} pw_segment_text;

/* An offer: a message that others may read. Each block has one; those of a piece lie behind its blocks, in the same
 * order. It holds from before the owner's MPI gets the message until that MPI has sent it. */
typedef struct pw_segment_offer {
    _Atomic uint64_t bytes;       /* of the message that begins with the block; 0: there is none, or not known */
    _Atomic uint64_t removed;     /* how often the owner has given the block's pages back to the system */
    _Atomic uint32_t form;        /* pw_offer_form */
    _Atomic uint64_t memory;      /* address of the first object in the owning process */
    _Atomic uint64_t count;       /* objects; bytes of a message that is one block */
    _Atomic uint64_t answered;    /* bytes of objects that others have asked for, and have got from `memory` */
    pw_segment_exported exported; /* the block's replica, or the allocation that has the objects; constant while it has
                                     a message of that form. Number 0: the objects are in host memory */
    pw_segment_text text;         /* of the objects' layout; constant as `exported` is. None: one block of bytes */
    pw_segment_late late;
    /* An offer of a block of collectives (runtime/mpi/collective/remote_near.c) has what its sender and its receiver
     * have said last, and the call in which it was written. */
    _Atomic uint64_t told, heard, since;
} pw_segment_offer;

/* A piece: `count` blocks of 1 << shift bytes each, and their offers. It never changes, and stays as long as the
 * segment. The file has only the offers of a lazy piece, whose blocks are lazy memory (lazy.h). */
typedef struct pw_segment_piece {
    uint64_t address; /* address of the first block in the owning process */
    uint64_t at;      /* offset in the file, of the first block or else of the first offer */
    uint32_t shift, count;
    uint32_t lazy; /* 0 or not; no bool, since another process may have written anything */
} pw_segment_piece;

/* The part of the header that another process reads before it maps anything. */
typedef struct pw_segment_title {
    char name[24]; /* PW_SEGMENT_NAME */
    uint32_t version;
    int32_t pid; /* of the owner: a child process also has the file open, but does not own it */
} pw_segment_title;

typedef struct pw_segment_header {
    pw_segment_title title;
    /* The thread that opened the segment holds this robust mutex. However that thread ends, the kernel then removes its
     * number from the mutex. So other processes see that the owner is gone before its pid can mean another process. */
    pthread_mutex_t owner;
    uint64_t identity;        /* no other segment of the node has the same; constant */
    uint64_t commons;         /* offset in the file of memory for all ranks of the node (commons.h); 0: there is none */
    _Atomic uint32_t ended;   /* the owner has ended MPI in order: all that others read here was read before */
    _Atomic uint32_t open;    /* 0: the owner has ended MPI, and its addresses may mean other memory now */
    _Atomic uint32_t wanted;  /* another process sets it when one of its GPUs would read replicas */
    _Atomic uint32_t npieces; /* entries of `pieces` in use */
    pw_segment_piece pieces[PW_SEGMENT_PIECES];
    _Atomic uint64_t xpmem;   /* number of the owner's segment of XPMEM (xpmem.h); 0: there is none */
    _Atomic uint64_t removed; /* how often the owner has given back memory that others may have attached */
    pw_segment_signal signals[PW_SEGMENT_SIGNALS];
    _Atomic int32_t watched[PW_SEGMENT_WATCHED]; /* processes whose segment the owner sees, by their numbers */
    _Atomic uint32_t nparts;                     /* entries of `parts` that were ever used */
    pw_segment_part parts[PW_SEGMENT_PARTS];
} pw_segment_header;

_Static_assert(sizeof(pw_segment_header) <= PW_SEGMENT_GRAIN, "the first piece begins behind the header");

static inline uint64_t pw_segment_piece_bytes(const pw_segment_piece *p)
{
    return (uint64_t)p->count << p->shift;
}

/* The bytes of a piece with its offers, as addresses and in the file. */
static inline uint64_t pw_segment_mapped_bytes(const pw_segment_piece *p)
{
    return pw_segment_piece_bytes(p) + p->count * sizeof(pw_segment_offer);
}

static inline uint64_t pw_segment_file_bytes(const pw_segment_piece *p)
{
    return (p->lazy ? 0 : pw_segment_piece_bytes(p)) + p->count * sizeof(pw_segment_offer);
}

static inline bool pw_segment_owner_lives(const pw_segment_header *h)
{
    return __atomic_load_n(&h->owner.__data.__lock, __ATOMIC_ACQUIRE) & FUTEX_TID_MASK;
}

/* Whether what was read in the owner's memory until now was there: it lives, or has ended after all reads were over. */
static inline bool pw_segment_owner_has_waited(const pw_segment_header *h)
{
    return pw_segment_owner_lives(h) || atomic_load_explicit(&h->ended, memory_order_acquire);
}

/* Whether this is the title of a segment of process `pid` in this version's format. */
bool pw_segment_is_titled(const pw_segment_title *title, pid_t pid);

/* Whether the piece's blocks and offers lie in a file of `file_bytes` bytes, and its addresses do not overflow. */
bool pw_segment_piece_is_sound(const pw_segment_piece *piece, uint64_t file_bytes);

/* Whether one block of the piece holds the `bytes` bytes at `address`. */
bool pw_segment_piece_holds(const pw_segment_piece *piece, uint64_t address, uint64_t bytes);

/* Copies the sound piece with one block that holds the `bytes` bytes at `address`. False: there is none, and *out may
 * hold anything. `header` may do so, too, and change at any time. */
bool pw_segment_find(const pw_segment_header *header, uint64_t file_bytes, uint64_t address, uint64_t bytes,
                     pw_segment_piece *out);

#endif
