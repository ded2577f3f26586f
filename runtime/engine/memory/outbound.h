/*
 * How packed messages are written that another core will read.
 *
 * Within a node the receiver reads a message where the sender packed it, and the receiver's caches then keep copies of
 * those lines. The next store to such a line must first invalidate the copies. On a Zen 4 host a store costs 1 ns if no
 * other core has a copy, 7 ns if a core of the same complex has one, and 27 ns between complexes: packing then takes
 * longer than everything else. A non-temporal store does not wait (3 ns), but the next reader finds the line in DRAM
 * instead of a cache, which costs it 5 ns more.
 *
 * So this file times plain stores for a part of every 16th message of medium length. Where they cost more than the
 * detour, the sender packs into memory that only its core uses, and streams the message from there to the memory that
 * MPI gets. One rule holds for the process. Other messages are written directly: short ones are read by the sender
 * itself, and long ones leave the receiver's caches before they are written again; so are all where the processor has
 * no such stores.
 *
 * All functions are thread safe. PACKWRIGHT_STREAMING turns this off, or on for every message.
 */
#ifndef PW_RUNTIME_OUTBOUND_H
#define PW_RUNTIME_OUTBOUND_H

#include <stdbool.h>
#include <stdint.h>

/* Streaming pays when a plain store to a line takes longer than this, in nanoseconds. Between cores that share a cache
 * (7 ns) it makes messages slower. Between cores that do not (27 ns) it halves their time, or takes a quarter of it
 * when two ranks exchange all of their blocks. */
enum { PW_OUTBOUND_DEAR_NS = 12 };

typedef enum pw_outbound_path {
    PW_OUTBOUND_DIRECT,   /* packed into the memory that MPI gets */
    PW_OUTBOUND_STREAMED, /* packed elsewhere, and copied there by non-temporal stores */
    PW_OUTBOUND_PROBED    /* packed elsewhere, and copied there by plain stores, which are timed */
} pw_outbound_path;

/* Chooses the path of the next message of `bytes` bytes, and counts that message. */
pw_outbound_path pw_outbound_path_of(int64_t bytes);

/* Copies `bytes` bytes to `data`, which another core will read. `from` should be memory that only this core has used
 * lately. The buffers do not overlap. */
void pw_outbound_write(pw_outbound_path way, void *data, const void *from, int64_t bytes);

/* Records the result of a probe: nanoseconds for a plain store to a line of 64 bytes. The mean of
 * eight probes sets the rule. */
void pw_outbound_learn(double line_ns);
/* Whether the rule is to stream messages of medium length. */
bool pw_outbound_streams(void);

#endif
