/*
 * Packs messages that another core will read.
 *
 * The reader's caches keep the lines that it has read. The next store to such a line waits until the reader's core has
 * given it up: some 26 ns where the two cores share no cache, which is longer than all the rest of packing. A
 * non-temporal store does not wait, but the reader then finds the line in memory in place of a cache. Which of the two
 * is better depends on where the ranks run, so now and then a message is written in both ways, and timed.
 */
#ifndef PW_RUNTIME_OUTBOUND_H
#define PW_RUNTIME_OUTBOUND_H

#include "runtime/engine/layout/layout.h"

/* Does what pw_layout_pack does. `bytes`: count * size. Thread safe. */
void pw_outbound_pack(pw_layout *layout, const void *mem, int64_t count, int64_t bytes, void *packed);

/* What a message has shown: nanoseconds a byte, stored as usual and past the caches. */
void pw_outbound_learn(double usual, double past);
/* Returns whether long messages go past the caches. */
bool pw_outbound_is_past(void);

#endif
