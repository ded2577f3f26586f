/*
 * Copies past the caches, for packed messages that another core will read.
 *
 * The receiver's caches keep copies of the lines that it has read, which the sender's next store to such a line must
 * first invalidate. A non-temporal store does not wait for that, but the next reader finds the line in memory in place
 * of a cache. Which of the two takes longer depends on where the two cores are, so trials find out.
 */
#ifndef PW_RUNTIME_STREAMED_H
#define PW_RUNTIME_STREAMED_H

#include <stdint.h>

/* Whether the processor has such stores; otherwise they are plain ones. */
#if defined(__SSE2__)
#define PW_HAS_STREAMED 1
#else
#define PW_HAS_STREAMED 0
#endif

/* Copies `bytes` bytes past the caches. `from` should lie in this core's caches. The buffers do not overlap. */
void pw_streamed_copy(void *to, const void *from, int64_t bytes);

#endif
