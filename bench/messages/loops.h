/*
 * The loops that a programmer would write for a message of one of the benchmark's own rows, with element types and
 * lengths of blocks known to the compiler (bench/hand.h), compiled as those of the pack benchmark (bench/main.c).
 */
#ifndef PW_BENCH_MESSAGES_LOOPS_H
#define PW_BENCH_MESSAGES_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

/* n blocks of `block` bytes: every `stride` bytes, or floats at the places of `list`. */
typedef struct msg_loop {
    int64_t n, block, stride; /* n 0: there is none */
    int *list;                /* owned; NULL: by stride */
} msg_loop;

static inline bool msg_loop_is_there(const msg_loop *l)
{
    return l->n > 0;
}

/* `memory` is what the datatype is relative to. */
void msg_loop_pack(const msg_loop *l, char *memory, char *packed);
void msg_loop_unpack(const msg_loop *l, char *memory, char *packed);
void msg_loop_free(msg_loop *l);

#endif
