/*
 * What the blocks of a message in host memory touch: cache lines and pages, against the reach of caches and of the TLB.
 *
 * As long as both are within reach, a walk over blocks costs by block and by byte, as the lines of cost_lines.h and the
 * tables of tables.h say, which were measured on layouts of such kinds. Beyond, every page and every line is waited
 * for. An MPI that sends such a message in pieces, each packed and unpacked on the way, lets both ranks wait at the
 * same time; packing and then unpacking wait one after the other.
 */
#ifndef PW_RUNTIME_MODEL_TOUCH_H
#define PW_RUNTIME_MODEL_TOUCH_H

#include "runtime/engine/model/model.h"

/* Nanoseconds that one walk over the blocks, packing or unpacking, waits for pages and lines out of reach. */
double pw_touch_wait(pw_model_shape s);

/* Bytes of the last-level cache, for tests; 0: as the system says. */
void pw_touch_set_cache(int64_t bytes);

#endif
