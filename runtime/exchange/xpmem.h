/*
 * XPMEM (https://github.com/hpc/xpmem): a kernel module by which a process maps memory of another one, of any kind. It
 * is used where its library, libxpmem.so.0, is installed and its device can be opened.
 *
 * A process makes one segment of its whole address space, whose number is in the header that other processes read
 * (directory.h). Others attach ranges of it, which stay attached (reach.h). XPMEM follows what the owner maps and
 * unmaps. The owner counts what it gives back to MPI, so that others let go of its pages.
 *
 * Reading an attached page that its owner has not mapped, or whose owner has ended, raises SIGBUS. A page is therefore
 * read only for a message that the owner's MPI has not yet sent.
 *
 * Attaching is thread safe; one thread at a time shows or ends.
 */
#ifndef PW_RUNTIME_XPMEM_H
#define PW_RUNTIME_XPMEM_H

#include "runtime/exchange/directory.h"
#include "runtime/exchange/reach.h"

#include <stddef.h>

/* Makes the segment of this process and enters it into its header, if there are XPMEM and a header. */
void pw_xpmem_show(void);
/* Whether other processes can attach memory of this one. */
bool pw_xpmem_is_shown(void);
/* Tells other processes that this one is about to give memory back. */
void pw_xpmem_note_removal(void);
/* Removes the segment, and lets go of what this process has attached. No message may be under way. */
void pw_xpmem_end(void);

/* Attaches the `bytes` bytes at `address` of the process with this header, and sets *use, which the caller gives back
 * (pw_reach_give). Returns their address here. NULL: that is not possible, and *use is NULL. */
const void *pw_xpmem_attach(const pw_segment_header *header, uint64_t address, size_t bytes, pw_reached **use);

#endif
