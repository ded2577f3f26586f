/*
 * The stress test's parts: lanes, the messages that are under way in one, and what they should have brought.
 *
 * A lane is a thread with a communicator of its own. All ranks draw the same schedule for a lane from the same seed, so
 * each knows what every other does and the expected contents of every buffer can be computed where they arrive: the
 * shadow model is the schedule itself. What a rank decides alone - how and when it completes its requests - comes from
 * a generator of its own.
 */
#ifndef PW_TESTS_INTERPOSER_STRESS_H
#define PW_TESTS_INTERPOSER_STRESS_H

#include "harness.h"

enum { LANE_TYPES = 6, LANE_SLOTS = 12, LANE_CHANNELS = 3, LANE_REQUESTS = LANE_SLOTS + LANE_CHANNELS };

/* A message of this rank under way. */
typedef struct slot {
    bool used, receives, started, as_packed;
    MPI_Datatype type; /* freed when `owns_type` and the message is done; the user's handle may be gone long before */
    bool owns_type;
    int count, tag, peer;
    unsigned fill; /* of the sender */
    test_buffer memory, expected;
    unsigned char *packed; /* of a receiver that takes the message as MPI_PACKED, and room for the expected contents */
    int packed_bytes;
} slot;

/* A persistent message between two ranks; the slot and request behind those of plain messages are its. */
typedef struct channel {
    bool open;
    int from, to;
} channel;

typedef struct lane {
    int id, rank, ranks;
    MPI_Comm comm;
    uint64_t schedule, own;
    long operations, step;
    MPI_Datatype types[LANE_TYPES];
    slot slots[LANE_REQUESTS];
    MPI_Request requests[LANE_REQUESTS];
    channel channels[LANE_CHANNELS];
    int failures;
} lane;

void stress_fail(lane *l, const char *what, const slot *s);

/* A number below n that all ranks draw; one that is this rank's alone. */
static inline int stress_draw(lane *l, int n)
{
    return (int)(test_random(&l->schedule) % (uint64_t)n);
}

static inline int stress_draw_own(lane *l, int n)
{
    return (int)(test_random(&l->own) % (uint64_t)n);
}

/* The schedule's next type of the pool; some are made anew first. Never of size 0. */
MPI_Datatype stress_type(lane *l);

/*
 * What starts is in the schedule, what completes is not; so nobody ever waits for a message of a later step than its
 * own, and the rank that is furthest behind can always go on.
 */

/* Starts one message between two ranks: in some mode, received by type or as MPI_PACKED. Uses a slot on both; waits for
 * one to be free. */
void stress_start_message(lane *l);
/* Opens, starts again or closes one of the channels. */
void stress_channel(lane *l);
void stress_close_channels(lane *l);
/* Completes some of the messages under way, by a call of this rank's choice. `all`: until none is left. */
void stress_complete(lane *l, bool all);

/* One blocking exchange or collective of all ranks. */
void stress_blocking(lane *l);

#endif
