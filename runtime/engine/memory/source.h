/*
 * Where blocks come from that other processes can read. The engine itself has none, and its pools allocate from the
 * process's own memory. Who shares memory with other processes sets this source (runtime/exchange/segment.h).
 */
#ifndef PW_RUNTIME_SOURCE_H
#define PW_RUNTIME_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words that other processes watch, in whole pages of this process that a GPU's driver can register. */
typedef struct pw_source_words {
    void *pages;
    size_t bytes;            /* of the pages */
    _Atomic uint64_t *first; /* word i lies i * stride bytes behind it */
    size_t stride;
    int count; /* at most 64 */
} pw_source_words;

/* All functions are thread safe. */
typedef struct pw_source {
    void *(*take)(size_t bytes);      /* a block of a power of two of bytes; NULL: there is none */
    void *(*take_lazy)(size_t bytes); /* the same of memory without pages; NULL: there is none */
    bool (*give)(void *block);        /* false: the memory is no block of this source */
    bool (*words)(pw_source_words *words);
} pw_source;

/* NULL: there is no such source. It is set once and stays. */
extern _Atomic(const pw_source *) pw_shared_source;

static inline const pw_source *pw_source_shared(void)
{
    return atomic_load_explicit(&pw_shared_source, memory_order_acquire);
}

static inline void *pw_source_take(size_t bytes)
{
    const pw_source *s = pw_source_shared();

    return s ? s->take(bytes) : NULL;
}

static inline void *pw_source_take_lazy(size_t bytes)
{
    const pw_source *s = pw_source_shared();

    return s ? s->take_lazy(bytes) : NULL;
}

static inline bool pw_source_give(void *block)
{
    const pw_source *s = pw_source_shared();

    return s && s->give(block);
}

#endif
