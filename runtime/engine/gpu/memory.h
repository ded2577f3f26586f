/*
 * Where does an address lie: in host memory, or in a GPU's? Asked for every buffer of every message.
 *
 * Programs load GPU runtimes when they first need them, perhaps long after their types were committed. Looking at the
 * list of loaded objects costs some 60 ns, so each thread remembers where it has already found host memory: those
 * regions of 2 MiB were in use before a GPU runtime came and could claim addresses. It has come when somebody has
 * initialised it; that it is mapped says little, since libraries of networks do that.
 *
 * Once the CUDA driver is there it is asked, which takes it half a microsecond for host memory. An answer "host"
 * cannot simply be kept: an array may be freed, its pages go back to the system, and the driver may map a GPU's memory
 * there. But what the CPU can read is never a GPU's memory: at worst it is managed memory, with which the CPU can work,
 * too. So a remembered region is looked at again, by a system call that reads a word of it and reports a fault (some
 * 100 ns); only regions that cannot be read are asked about anew.
 */
#ifndef PW_RUNTIME_MEMORY_H
#define PW_RUNTIME_MEMORY_H

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

/* Hidden, so that they are addressed directly and not through the global offset table. */
#pragma GCC visibility push(hidden)
extern _Atomic pw_memory_world pw_memory_now;
/* Goes up after each change of pw_memory_now. A cache of answers that rest on where buffers lie is out of date when
 * this number differs from the one that was read before the answers were worked out. */
extern _Atomic unsigned pw_memory_generation;
/* Regions in which this thread has found host memory, in a slot chosen by their low bits; stored plus one, so that 0
 * is a free slot. While there is no GPU runtime, being here is the answer; with CUDA, the region is looked at again. */
extern _Thread_local uintptr_t pw_memory_seen[PW_MEMORY_SEEN];
#pragma GCC visibility pop

pw_memory_place pw_memory_look(const void *address);

/* Is a CUDA driver in use in the process? */
bool pw_memory_has_cuda(void);

static inline uintptr_t *pw_memory_slot(uintptr_t region)
{
    return &pw_memory_seen[region % PW_MEMORY_SEEN];
}

static inline uintptr_t pw_memory_region(const void *address)
{
    return (uintptr_t)address >> PW_MEMORY_REGION_SHIFT;
}

/* False: not known without looking. */
static inline bool pw_memory_is_known_host(const void *address)
{
    uintptr_t region = pw_memory_region(address);

    return atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_HOST_ONLY &&
           *pw_memory_slot(region) == region + 1;
}

static inline pw_memory_place pw_memory_place_of(const void *address)
{
    return pw_memory_is_known_host(address) ? (pw_memory_place){.kind = PW_PLACE_HOST} : pw_memory_look(address);
}

static inline bool pw_memory_is_host(const void *address)
{
    return pw_memory_place_of(address).kind == PW_PLACE_HOST;
}

#endif
