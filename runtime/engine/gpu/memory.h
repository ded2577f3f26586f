/*
 * Where an address lies: in host memory or in a GPU's. The runtime asks this for every buffer of every message.
 *
 * Programs load GPU runtimes when they first need them, perhaps long after their types were committed. A look at the
 * list of loaded objects costs some 60 ns. So each thread remembers the regions of 2 MiB in which it has found host
 * memory: they were in use before a GPU runtime came and could claim addresses. A GPU runtime counts as present once
 * it is initialised; network libraries map the CUDA driver without using it.
 *
 * Once the CUDA driver is present, the runtime asks it, which takes half a microsecond for host memory. The answer
 * "host" does not last: the program may free an array, its pages go back to the system, and the driver may map a GPU's
 * memory there. But memory that the CPU can read is never a GPU's alone: at worst it is managed memory, which the CPU
 * can use, too. So for a remembered region the runtime only tests whether the CPU can read it, by a system call that
 * reports a fault (some 100 ns), and asks the driver again only if it cannot.
 */
#ifndef PW_RUNTIME_MEMORY_H
#define PW_RUNTIME_MEMORY_H

#include "base/attributes.h"
#include "runtime/engine/memory/buffer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum pw_memory_world {
    PW_MEMORY_HOST_ONLY, /* no GPU runtime in use in the process */
    PW_MEMORY_ASK_CUDA,  /* the CUDA driver is there and is asked about each buffer */
    PW_MEMORY_UNKNOWN    /* another GPU runtime is there: nothing is known to be host memory */
} pw_memory_world;

enum { PW_MEMORY_SEEN = 64, PW_MEMORY_REGION_SHIFT = 21 };

extern PW_HIDDEN _Atomic pw_memory_world pw_memory_now;
/* Regions in which this thread has found host memory, in a slot chosen by their low bits; stored plus one, so that 0
 * is a free slot. While there is no GPU runtime, being here is the answer; with CUDA, the region is looked at again. */
extern PW_HIDDEN _Thread_local uintptr_t pw_memory_seen[PW_MEMORY_SEEN];

/* The slow part of pw_memory_place_of: looks for GPU runtimes, and asks the driver. */
pw_memory_place pw_memory_look(const void *address);

/*
 * Keeps in mind that a buffer in GPU memory stays where it is, since an operation is under way that will access it: no
 * address in its allocation is asked about until the operation is over, and pw_memory_release is called for it. False:
 * another allocation is kept in mind, or the driver does not say where this one begins and ends. The buffer's place is
 * what pw_memory_place_of has said of its first byte.
 */
bool pw_memory_hold(const pw_buffer *buffer);
void pw_memory_release(void);
/* Whether no GPU can be in use. */
PW_INLINE bool pw_memory_is_host_only(void)
{
    return atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_HOST_ONLY;
}

/* pw_memory_together, where there may be a GPU. */
void pw_memory_together_now(bool on);
/* Begins, if `on`, or ends a series of questions of this thread about buffers of one call, which stay where they are
 * until then: the first one in GPU memory is kept in mind. */
static inline void pw_memory_together(bool on)
{
    if (!pw_memory_is_host_only())
        pw_memory_together_now(on);
}

/* Returns a number for the allocation that is kept in mind, which no other has, if the address lies in it; else 0. */
unsigned pw_memory_held(const void *address);

/* Whether a buffer's place is still right: the program may have freed the buffer, and have other memory there now. */
bool pw_memory_is_where_it_was(const pw_buffer *buffer);

/* Whether a CUDA driver is in use in the process. Looks for one if none was seen yet. */
bool pw_memory_has_cuda(void);

static inline uintptr_t *pw_memory_slot(uintptr_t region)
{
    return &pw_memory_seen[region % PW_MEMORY_SEEN];
}

static inline uintptr_t pw_memory_region(const void *address)
{
    return (uintptr_t)address >> PW_MEMORY_REGION_SHIFT;
}

/* Whether this thread has found that it is host memory, and it still is. False: only pw_memory_look can tell. */
PW_INLINE bool pw_memory_is_known_host(const void *address)
{
    uintptr_t region = pw_memory_region(address);

    return pw_memory_is_host_only() && *pw_memory_slot(region) == region + 1;
}

static inline pw_memory_place pw_memory_place_of(const void *address)
{
    return pw_memory_is_known_host(address) ? (pw_memory_place){.kind = PW_PLACE_HOST} : pw_memory_look(address);
}

#endif
