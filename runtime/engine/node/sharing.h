/*
 * Do packed messages of this process go from the sender's segment to the receiver's buffer, without a copy by MPI? What
 * packing costs depends on it, and no rank is told: whether the peer is on this node, has Packwright, and whether the
 * MPI below reads memory so. It is assumed until several messages that could have gone so have not, and known as soon
 * as one has, in either direction.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_SHARING_H
#define PW_RUNTIME_SHARING_H

#include <stdbool.h>
#include <stdint.h>

/* True: reckon with it. */
bool pw_sharing_is_likely(void);

/* True: processes of this node may not read each other's memory, so a long packed message, which is contiguous to the
 * MPI, would have it fail where it would not try with a derived type. Open MPI then prints a line and copies, MPICH
 * ends the program. Known from the first read that was refused, or from what this process allows others; it counts on
 * them to be like itself. */
bool pw_sharing_is_refused(void);
/* The system has refused to read another process's memory. */
void pw_sharing_note_refusal(void);

/* This process reads in another's segment. */
void pw_sharing_note_read(void);
/* A packed message of so many bytes has been sent or received, point to point. Short ones say nothing. */
void pw_sharing_note_message(int64_t bytes);

#endif
