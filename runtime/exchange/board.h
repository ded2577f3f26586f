/*
 * The board: layouts that a process shows to the other processes of its node, as text of the IR. The text of a layout
 * is written once, to a block of the segment (segment.h) that is never given back. Another process reads the text
 * unless its engine knows the layout.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_BOARD_H
#define PW_RUNTIME_BOARD_H

#include "runtime/engine/layout/layout.h"
#include "runtime/exchange/directory.h"

#include <sys/types.h>

enum { PW_BOARD_TEXTS = 256 };

/* Finds the text of a layout; writes it if it is not there yet. False: there is no segment, or no room in it, the board
 * is full, the text is longer than PW_SEGMENT_TEXT_BYTES, or there is no memory. Must not be called with a joined
 * layout. */
bool pw_board_put(const pw_layout *layout, pw_segment_text *out);

/* Returns the layout of this text of another process, as a layout of `engine`, with a reference. NULL: the text cannot
 * be read, or what it says is not what its hash says. *text may hold anything. Takes long when called first. */
pw_layout *pw_board_get(pid_t pid, const pw_segment_text *text, pw_layout_engine *engine);

#endif
