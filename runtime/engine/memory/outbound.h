/*
 * Writing what another core will read: the packed bytes of messages that leave this rank.
 *
 * Within a node the peer, or the MPI on its behalf, reads a message where it was packed, and its caches then keep
 * copies of those lines. A store must first take the copies away, whatever was fetched ahead. On a Zen 4 host a store
 * to a line of which nobody has a copy costs 1 ns, if a core of the same complex has one 7 ns, and between complexes 27
 * ns: packing a message then takes longer than all else. A non-temporal store waits for nobody (3 ns), but the next
 * reader finds the line in DRAM instead of a cache, which costs him 5 ns more.
 *
 * So the price of plain stores is measured, by timing them for every 16th message, and where they cost more
 * than the detour, messages are packed into memory that only this core uses and streamed from there to where MPI gets
 * them. The rule is one for the process. Messages of other lengths, and processors without such stores, are written
 * directly: short ones are read by the sender itself, long ones leave the peer's caches before they are written again.
 *
 * All functions are thread safe. PACKWRIGHT_STREAMING turns this off, or on for every message.
 */
#ifndef PW_RUNTIME_OUTBOUND_H
#define PW_RUNTIME_OUTBOUND_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds for a plain store to a line, above which streaming pays: between the 7 ns of cores that share a cache,
 * where it makes messages slower, and 27 of those that do not, where it halves their time, or takes a quarter of it
 * when two ranks exchange all of their blocks. */
enum { PW_OUTBOUND_DEAR_NS = 12 };

typedef enum pw_outbound_way {
    PW_OUTBOUND_DIRECT, /* to be packed where MPI gets it */
    PW_OUTBOUND_STREAMED,
    PW_OUTBOUND_PROBED /* the same by a detour, with plain stores that are timed */
} pw_outbound_way;

/* How the next message of so many bytes is to be written; counts it. */
pw_outbound_way pw_outbound_way_of(int64_t bytes);

/* Copies `bytes` bytes to `data`, which another core will read, from memory that only this one has used lately, or from
 * anywhere. The buffers do not overlap. */
void pw_outbound_write(pw_outbound_way way, void *data, const void *from, int64_t bytes);

/* What a probe of so many bytes saw: nanoseconds for a plain store to a line of 64 bytes. The mean of eight makes the
 * rule. */
void pw_outbound_learn(double line_ns, int64_t bytes);
/* The rule: are messages of medium length streamed? */
bool pw_outbound_streams(void);
/* Is it known that messages are read by cores that share no cache with this one? True also while streaming is on trial,
 * and after long messages, which leave all caches, have found it of no use. */
bool pw_outbound_is_apart(void);

#endif
