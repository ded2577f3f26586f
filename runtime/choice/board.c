/* Purpose: finding records. Data: an open hash table. Invariant: a tag, once set, stays. */
#include "runtime/choice/board.h"

#include <stddef.h>

enum { PROBES = 64 };

pw_trial_record *pw_board_find(pw_board *b, uint64_t tag)
{
    tag = tag ? tag : 1;
    for (uint64_t i = 0; i < PROBES; i++) {
        pw_trial_record *r = &b->records[((tag >> 32) + i) % PW_BOARD_RECORDS];
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(&r->tag, &found, tag) || found == tag)
            return r;
    }
    return NULL;
}
