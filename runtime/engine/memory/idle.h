/*
 * Idle blocks of memory, kept by size class for the next user. Any thread gives and takes them without a lock. The
 * owner of the blocks says how many bytes may be idle. Beyond that the blocks are freed which have been idle longest,
 * whatever their size; and what is no longer used is freed in the end.
 */
#ifndef PW_RUNTIME_IDLE_H
#define PW_RUNTIME_IDLE_H

#include <stdatomic.h>
#include <stdint.h>

/* ---- size classes -------------------------------------------------------------------------------------- */

/* Sizes of blocks are powers of two: class 0 has blocks of 4 KiB, the last class blocks of 1 TiB. */
enum {
    PW_SIZE_FIRST_SHIFT = 12,
    PW_SIZE_LAST_SHIFT = 40,
    PW_SIZE_CLASSES = PW_SIZE_LAST_SHIFT - PW_SIZE_FIRST_SHIFT + 1
};

/* The smallest class whose blocks have at least `bytes` bytes. PW_SIZE_CLASSES or more: no class is large enough. */
static inline int pw_size_class(int64_t bytes)
{
    int shift = bytes <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)bytes - 1);

    return shift < PW_SIZE_FIRST_SHIFT ? 0 : shift - PW_SIZE_FIRST_SHIFT;
}

static inline int64_t pw_size_class_bytes(int size_class)
{
    return (int64_t)1 << (size_class + PW_SIZE_FIRST_SHIFT);
}

/* ---- shelves of idle blocks ---------------------------------------------------------------------------- */

enum {
    PW_IDLE_KEPT = 64, /* blocks of one shelf: a halo has 52 messages under way */
    PW_IDLE_PUTS = 256
};

/* A thread puts a block by a compare-exchange from NULL, and then sets the slot's bit in `full`. The thread that clears
 * the bit has taken the block. There is no list, so the ABA problem does not arise. */
typedef struct pw_idle_slot {
    _Atomic(void *) block;
    _Atomic uint64_t since; /* the clock when the block came */
} pw_idle_slot;

/* The slots of one shelf. Those in front are taken and filled first: a program that takes and gives back some blocks in
 * the same order each time gets them at the same places. */
typedef struct pw_idle_slots {
    pw_idle_slot all[PW_IDLE_KEPT];
    _Atomic uint64_t full; /* a bit for each slot that has a block */
} pw_idle_slots;

/* The blocks are on shelves: PW_SIZE_CLASSES shelves for each kind of memory that the owner distinguishes. The owner
 * sets all but the last two fields, which start as zero. */
typedef struct pw_idle {
    pw_idle_slots *slots; /* of each shelf; all zero at first */
    int shelves;
    int at_once;  /* the most blocks that a call frees for one reason; pw_idle_clear frees all */
    int64_t most; /* the bytes that may be idle */
    void (*release)(void *owner, void *block);
    void *owner;
    _Atomic int64_t bytes;
    _Atomic uint64_t clock; /* ticks about once for each block that is put; threads may lose each other's ticks */
} pw_idle;

static inline int pw_idle_shelf(int kind, int size_class)
{
    return kind * PW_SIZE_CLASSES + size_class;
}

static inline int64_t pw_idle_shelf_bytes(int shelf)
{
    return pw_size_class_bytes(shelf % PW_SIZE_CLASSES);
}

/* Takes a block from a shelf. NULL: the shelf is empty, and the caller makes a block. */
void *pw_idle_take(pw_idle *idle, int shelf);
/* Puts a block on a shelf, or frees it if there is no room. Frees what is too much or was not taken for long. */
void pw_idle_give(pw_idle *idle, void *block, int shelf);
/* Frees all idle blocks. */
void pw_idle_clear(pw_idle *idle);

static inline int64_t pw_idle_bytes(const pw_idle *idle)
{
    return atomic_load_explicit(&idle->bytes, memory_order_relaxed);
}

#endif
