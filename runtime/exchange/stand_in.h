/*
 * Messages that the receiver takes from the sender's own memory, the receiver's side (direct.h has the sender's). MPI
 * asks this process to read bytes of a stand-in of another process. The message's offer says where the objects are;
 * their layout comes from the board. This process has the sender's memory mapped where it can, as a block of the
 * segment (peers.h) or by XPMEM (xpmem.h), and copies from there once. Where it
 * cannot, the system reads all the addresses that the objects stretch over into memory of this process first. Objects
 * in GPU memory are for a GPU of this process to move (runtime/exchange/gpu/foreign.h).
 */
#ifndef PW_RUNTIME_STAND_IN_H
#define PW_RUNTIME_STAND_IN_H

#include "runtime/engine/layout/layout.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/xpmem.h"

typedef struct pw_stand_in {
    const pw_peer_block *block; /* the stand-in; its `replica` is the allocation that has objects in GPU memory */
    pw_layout *layout;          /* of the objects, with a reference; NULL: one block of bytes */
    uint64_t remote;            /* address of the first object in the sender */
    const char *memory;         /* where it is in this process; NULL: not mapped, nor read */
    uint64_t lowest;            /* lowest address in the sender that the objects touch */
    size_t stretch;             /* bytes from there to the highest one */
    int64_t count, bytes;       /* the whole message */
    int64_t first;              /* of its bytes, the one that was asked for */
    pw_reached *attached;       /* NULL: it is not by XPMEM that the memory is here */
    void *copy;                 /* `stretch` bytes that pw_stand_in_close unmaps; NULL: none */
    bool whole;                 /* the message was moved */
} pw_stand_in;

/* Gives the engine that layouts of other processes are made in, or NULL. Called in any thread, also inside MPI. */
typedef pw_layout_engine *pw_stand_in_engine(void);
/* Must be called before any message is read. */
void pw_stand_in_start(pw_stand_in_engine *engine);

/* Packs `bytes` bytes, from the one that was asked for, of a message in GPU memory. False: it cannot be read. */
typedef bool pw_stand_in_packer(const pw_stand_in *s, void *to, int64_t bytes);
/* From now on a GPU of this process packs such messages for receives into host memory. */
void pw_stand_in_pack_by(pw_stand_in_packer *packer);

/* Finds the objects that a block stands for, of whose bytes `bytes` are wanted, at `from` in the block. False: it
 * stands for none that have them. *block must stay until pw_stand_in_close. */
bool pw_stand_in_open(const pw_peer_block *block, const void *from, size_t bytes, pw_stand_in *out);
/* Packs `bytes` bytes from the one that was asked for. False: the objects cannot be read. */
bool pw_stand_in_pack(pw_stand_in *s, void *to, int64_t bytes);
/* Moves the whole message to objects of `layout` at `to`. False: the objects cannot be read. */
bool pw_stand_in_move(pw_stand_in *s, pw_layout *layout, void *to);
/* Releases what the message takes, and tells the sender that `bytes` bytes of it were answered. Parts of a message do
 * not count where all of its objects had to be read for each. */
void pw_stand_in_close(pw_stand_in *s, int64_t bytes);

#endif
