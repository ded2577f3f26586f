#include "bench/messages/loops.h"

#include "bench/hand.h"

#include <stdlib.h>

enum { LONGEST_ROW = 512 }; /* of hand_rows */

static void gather(const msg_loop *l, const float *restrict memory, float *restrict packed)
{
    for (int64_t i = 0; i < l->n; i++)
        packed[i] = memory[l->list[i]];
}

static void scatter(const msg_loop *l, float *restrict memory, const float *restrict packed)
{
    for (int64_t i = 0; i < l->n; i++)
        memory[l->list[i]] = packed[i];
}

static hand_rows rows_of(const msg_loop *l, char *memory)
{
    return (hand_rows){.array = memory, .count = 1, .n = l->n, .b = l->block, .stride = l->stride};
}

static hand_lattice lattice_of(const msg_loop *l, char *memory)
{
    return (hand_lattice){
        .base = memory, .outer_count = {1, 1, 1}, .count = l->n, .block = l->block, .stride = l->stride};
}

void msg_loop_pack(const msg_loop *l, char *memory, char *packed)
{
    if (l->list)
        gather(l, (const float *)(void *)memory, (float *)(void *)packed);
    else if (l->block <= LONGEST_ROW)
        hand_pack_rows(&(hand_rows[]){rows_of(l, memory)}, packed);
    else
        hand_pack_lattice(&(hand_lattice[]){lattice_of(l, memory)}, packed);
}

void msg_loop_unpack(const msg_loop *l, char *memory, char *packed)
{
    if (l->list)
        scatter(l, (float *)(void *)memory, (const float *)(void *)packed);
    else if (l->block <= LONGEST_ROW)
        hand_unpack_rows(&(hand_rows[]){rows_of(l, memory)}, packed);
    else
        hand_unpack_lattice(&(hand_lattice[]){lattice_of(l, memory)}, packed);
}

void msg_loop_free(msg_loop *l)
{
    free(l->list);
    *l = (msg_loop){.n = 0};
}
