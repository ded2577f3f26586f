/*
 * Messages that the receiver takes from the sender's own memory, the receiver's side (direct.h has the sender's). MPI
 * asks this process to read bytes of a stand-in of another process. The message's record says where the objects are;
 * their layout comes from the board. This process maps the sender's memory where it can, and copies from there once.
 * Where it cannot, it reads all the addresses that the objects stretch over into memory of its own first.
 */
#ifndef PW_RUNTIME_STAND_IN_H
#define PW_RUNTIME_STAND_IN_H

#include "runtime/engine/layout/layout.h"
#include "runtime/engine/node/directory.h"

typedef struct pw_stand_in {
    pw_layout *layout;          /* of the objects, with a reference */
    const char *memory;         /* where the first object is in this process */
    int64_t count, bytes;       /* the whole message */
    const void *message;        /* address of the stand-in in the sender, which identifies the message */
    int64_t first;              /* of its bytes, the one that was asked for */
    _Atomic uint64_t *answered; /* pw_segment_stand_in.answered */
    void *copy;                 /* memory that pw_stand_in_close unmaps; NULL: none */
    size_t copy_bytes;
} pw_stand_in;

/* Gives the engine that layouts of other processes are made in. May be called from any thread, also from inside MPI.
 * NULL: there is none. */
typedef pw_layout_engine *pw_stand_in_engine(void);
/* Must be called before any message is read. */
void pw_stand_in_start(pw_stand_in_engine *engine);

/* Finds the message of which process `pid` has these bytes in a stand-in. False: they are in none, or the objects
 * cannot be read. */
bool pw_stand_in_open(pid_t pid, const void *remote, size_t bytes, pw_stand_in *out);
/* Packs `bytes` bytes from the one that was asked for. */
void pw_stand_in_pack(const pw_stand_in *s, void *to, int64_t bytes);
/* Moves the whole message to objects of `layout` at `to`, of which not more than `room` bytes are written. False: it is
 * longer. */
bool pw_stand_in_move(const pw_stand_in *s, pw_layout *layout, void *to, int64_t room);
/* Releases what the message takes, and tells the sender that `bytes` bytes of it were answered. */
void pw_stand_in_close(pw_stand_in *s, int64_t bytes);

#endif
