/*
 * The stress test's parts: lanes, the operations that are under way in one, and what they should have brought.
 *
 * A lane is a thread with a communicator, a window and a file of its own. All ranks draw the same schedule for a lane
 * from the same seed, so each knows what every other does and the expected contents of every buffer can be computed
 * where they arrive: the shadow model is the schedule itself. What a rank decides alone - how and when it completes its
 * requests - comes from a generator of its own.
 *
 * What starts is in the schedule, what completes is not; so nobody ever waits for something of a later step than its
 * own, and the rank that is furthest behind can always go on.
 */
#ifndef PW_TESTS_INTERPOSER_STRESS_H
#define PW_TESTS_INTERPOSER_STRESS_H

#include "tests/mpi/support/harness.h"

enum { LANE_TYPES = 6, LANE_SLOTS = 12, LANE_CHANNELS = 3, LANE_REQUESTS = LANE_SLOTS + LANE_CHANNELS };
/* Tags of blocking messages; those of the others are below. */
enum { STRESS_TAG_RING = 31000, STRESS_TAG_PAIR, STRESS_TAG_TOKEN, STRESS_TAG_NOBODY };

/* What operations are counted by. */
typedef enum family {
    NONBLOCKING,
    PERSISTENT,
    BLOCKING,
    COLLECTIVE,
    COLLECTIVE_NONBLOCKING,
    COLLECTIVE_PERSISTENT,
    ONE_SIDED,
    FILE_IO,
    PACKING,
    TYPE,
    COMMUNICATOR,
    FAMILIES
} family;

/* An operation of this rank under way. */
typedef struct slot {
    bool used, started, receives;
    family family;
    const char *what;
    MPI_Datatype type; /* of a message's status */
    bool owns_type;    /* the slot is a channel, and the user has let go of the type */
    int count, bytes, tag, peer;
    unsigned fill;         /* of the sender */
    test_buffer memory;    /* received into, or sent */
    test_buffer expected;  /* of what is received */
    test_buffer other;     /* what a collective sends */
    void *arrays;          /* of counts and types, which a collective may read to its end */
    MPI_Datatype reserved; /* of a channel that is to be filled again */
} slot;

/* A persistent message between two ranks; the slot and request behind those of plain messages are its. */
typedef struct channel {
    bool open;
    int from, to;
} channel;

/* A lane's window, and what this rank's memory in it should hold. */
typedef struct stress_window {
    MPI_Win win;
    unsigned char *memory, *mirror;
} stress_window;

typedef struct lane {
    int id, rank, ranks;
    bool alone; /* there is no other */
    MPI_Comm comm;
    uint64_t schedule, own;
    long step, operations[FAMILIES];
    MPI_Datatype types[LANE_TYPES];
    bool mixed[LANE_TYPES]; /* of basic types of several sizes */
    slot slots[LANE_REQUESTS];
    MPI_Request requests[LANE_REQUESTS];
    channel channels[LANE_CHANNELS];
    stress_window window;
    MPI_File file;
    int failures;
    char text[160]; /* of stress_difference */
} lane;

/* `s` may be NULL. */
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

/* ---- types and contents ---- */

/* The schedule's next type of the pool; some are made anew first. Never of size 0; objects never overlap. */
MPI_Datatype stress_type(lane *l);
/* MPICH does not always deliver what it sends of such a type from contiguous memory (docs/mpi-libraries.md), as
 * buffered messages, those that replace and collectives are. */
bool stress_is_split(const lane *l, MPI_Datatype type);
/* The user lets go of a type of the pool, whatever is under way with it. */
void stress_drop_type(lane *l, MPI_Datatype type);
/* n elements of a predefined type in a new type, without anything that makes them differ from the elements alone. The
 * user frees. */
MPI_Datatype stress_plain_type(lane *l, MPI_Datatype basic, int n);

/* What `rank` fills its buffers with in this step. */
unsigned stress_fill(const lane *l, int rank);
/* The contents of a buffer of `count` objects that was filled with `fill`, in packed form. The caller frees. */
unsigned char *stress_packed(MPI_Datatype type, int count, unsigned fill);
/* Puts `count` objects with those contents to `at`, natively. */
void stress_place(MPI_Datatype type, int count, unsigned fill, void *at);
/* Says where two buffers of the same size differ. */
const char *stress_difference(lane *l, const test_buffer *got, const test_buffer *want);
/* Counts an operation, and looks at what it brought. */
void stress_check(lane *l, family f, const char *what, const test_buffer *got, const test_buffer *want);

/* ---- operations with requests ---- */

/* Waits until n slots are free. */
void stress_make_room(lane *l, int n);
/* Takes one that is free. */
slot *stress_take_slot(lane *l, slot with);
MPI_Request *stress_request(lane *l, const slot *s);
/* Starts one message between two ranks: in some mode, received by type or as MPI_PACKED. */
void stress_start_message(lane *l);
/* Opens, starts again or closes one of the channels. */
void stress_channel(lane *l);
void stress_close_channels(lane *l);
/* Completes some of what is under way, by a call of this rank's choice. `all`: until nothing is left. */
void stress_complete(lane *l, bool all);

/* ---- operations of all ranks at once ---- */

/* One collective: blocking, nonblocking (then it takes a slot) or persistent. */
void stress_collective(lane *l);
/* One blocking exchange of messages, in some mode, or packing. */
void stress_blocking(lane *l);
/* Goes on with a duplicate of the communicator. */
void stress_change_comm(lane *l);

void stress_open_window(lane *l);
/* One epoch: each rank puts to, or gets from, the next. */
void stress_one_sided(lane *l);
void stress_close_window(lane *l);

void stress_open_file(lane *l);
/* Each rank writes, and reads what another has written. */
void stress_file(lane *l);
void stress_close_file(lane *l);

#endif
