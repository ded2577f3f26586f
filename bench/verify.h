/* Every peer against the naive expansion, byte for byte, before anything is timed. */
#ifndef PW_BENCH_VERIFY_H
#define PW_BENCH_VERIFY_H

#include "bench/peers.h"

/*
 * Packs from random memory and unpacks random bytes, and compares: the packed bytes with the expansion's,
 * unpacked memory with the expansion's, memory outside the layout and guard bytes around the packed buffer
 * with what they were. Prints the first difference. `packed` must have BENCH_LINE bytes before it and
 * behind it.
 */
bool bench_verify(bench_run *run, bench_peer_id id);

#endif
