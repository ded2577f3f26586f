/* Preloaded into a program: a clock by which everything takes as long as it has readings of the clock. */
#include "tests/support/held_clock.h"

/* A message of 64 bytes that takes 1 ms cannot have been measured properly, and one tick is a message's time. */
#ifndef TICK_NS
#define TICK_NS 800000
#endif

__attribute__((constructor)) static void begin(void)
{
    test_clock_hold(TICK_NS);
}
