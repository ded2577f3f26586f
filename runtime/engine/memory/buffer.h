/*
 * A buffer: objects of one type, and the memory that they lie in. Every record of a message or a transfer under way
 * embeds this one, so that what is known of the buffer is said and copied once.
 */
#ifndef PW_RUNTIME_BUFFER_H
#define PW_RUNTIME_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

/* Where a buffer lies. */
typedef enum pw_place_kind {
    PW_PLACE_HOST,   /* ordinary memory, or memory that the CPU reads and writes as fast */
    PW_PLACE_DEVICE, /* memory of a GPU */
    PW_PLACE_UNKNOWN /* neither is certain: the library must not touch it */
} pw_place_kind;

typedef struct pw_memory_place {
    pw_place_kind kind;
    int device;         /* PW_PLACE_DEVICE: the CUDA driver's ordinal */
    struct pw_gpu *gpu; /* PW_PLACE_DEVICE: its context (runtime/engine/gpu/device.h) */
} pw_memory_place;

typedef struct pw_buffer {
    struct pw_layout *layout; /* of one object; NULL: a dense buffer, `bytes` bytes from base + offset on */
    pw_memory_place place;    /* the kind of memory; for a GPU's memory also the GPU and its context */
    void *base;               /* the address from which the type's displacements count; no byte need lie there */
    int64_t offset;           /* bytes from base to the first byte of a dense buffer; else not used */
    int64_t count;            /* objects */
    int64_t bytes;            /* the length of the packed form of all objects */
} pw_buffer;

static inline bool pw_buffer_is_on_device(const pw_buffer *b)
{
    return b->place.kind == PW_PLACE_DEVICE;
}

#endif
