/*
 * The board: the records of windows of trials (trial.h), found by a tag that all ranks make alike. It may lie in memory
 * that the processes of a node share, whose bytes are zeroes at first. Records are added and never removed; there is no
 * lock, and all functions are thread safe.
 */
#ifndef PW_RUNTIME_CHOICE_BOARD_H
#define PW_RUNTIME_CHOICE_BOARD_H

#include "runtime/choice/trial.h"

enum { PW_BOARD_RECORDS = 4096 }; /* a power of two */

typedef struct pw_board {
    pw_trial_record records[PW_BOARD_RECORDS];
} pw_board;

/* Returns the record with a tag, and takes a free one if there is none. NULL: there is no room. */
pw_trial_record *pw_board_find(pw_board *b, uint64_t tag);

#endif
