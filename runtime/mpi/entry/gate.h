/*
 * The gate of the wrappers: lazy start, the inert mode, and protection against re-entry. Calls that certainly stay
 * native (runtime/mpi/strategy/stays.h) go past it.
 *
 * Start happens in the first wrapped call of the process, whatever it is, so calls before MPI_Init and
 * sessions need nothing special. A call made by the MPI below, or by a callback of the application, while a
 * wrapped call of the same thread is under way goes straight to the next function; but not one that may complete an
 * operation of ours, since a callback may do that (one that deletes an attribute, an error handler), and nobody else
 * would unpack what has come.
 */
#ifndef PW_RUNTIME_GATE_H
#define PW_RUNTIME_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a hook says to its wrapper. */
typedef enum pw_verdict {
    PW_PASS,  /* not ours: call the next function with the caller's arguments */
    PW_LEARN, /* the same, and note the datatype when the MPI below has accepted it */
    PW_DONE   /* the call is carried out; *rc is its result */
} pw_verdict;

typedef enum pw_gate_state {
    PW_GATE_COLD, /* nothing has started */
    PW_GATE_OPEN, /* hooks are asked */
    PW_GATE_INERT /* every call goes to the next function */
} pw_gate_state;

extern _Atomic pw_gate_state pw_gate_now;

/* On the stack of a wrapped call while it is under way: its own address. */
typedef struct pw_gate_mark {
    volatile uintptr_t itself;
} pw_gate_mark;

/* Where the mark of the outermost wrapped call of this thread is; 0: none is under way. */
extern _Thread_local uintptr_t pw_gate_inside;

/*
 * How many operations there are whose request the program has freed while they were under way. Each wrapped call looks
 * after them on its way out (pw_pending_pass in runtime/mpi/requests/pending.h), so while there are any, no call may go
 * past the gate.
 */
extern _Atomic int64_t pw_gate_orphans;

static inline bool pw_gate_has_orphans(void)
{
    return atomic_load_explicit(&pw_gate_orphans, memory_order_relaxed) != 0;
}

/* How many stages that call has opened and holds (runtime/mpi/strategy/strategy.h). */
extern _Thread_local int pw_gate_holds;

/*
 * Whether the call that pw_gate_inside tells of is under way. An error handler may have left it by longjmp or an
 * exception: then it is forgotten, and the stages that it holds are closed. That is seen by the stack, if both calls
 * are on the one that the thread was made with; of calls on other stacks (coroutines) it cannot be known, and they are
 * under way for ever.
 */
bool pw_gate_is_inside(uintptr_t mark);

/* True: ask the hook, then pw_gate_leave. False: call the next function; the table is loaded. */
bool pw_gate_enter_slow(uintptr_t mark);

static inline bool pw_gate_enter(pw_gate_mark *mark)
{
    mark->itself = (uintptr_t)mark;
    if (pw_gate_inside || atomic_load_explicit(&pw_gate_now, memory_order_acquire) != PW_GATE_OPEN)
        return pw_gate_enter_slow((uintptr_t)mark);
    pw_gate_inside = (uintptr_t)mark;
    return true;
}

static inline void pw_gate_leave(void)
{
    pw_gate_inside = 0;
    pw_gate_holds = 0;
}

/* For calls that complete operations, in place of these two: also from within a wrapped call. *within: that is so. */
static inline bool pw_gate_enter_again(pw_gate_mark *mark, bool *within)
{
    *within = pw_gate_inside && pw_gate_is_inside((uintptr_t)mark);
    return *within ? atomic_load_explicit(&pw_gate_now, memory_order_acquire) == PW_GATE_OPEN : pw_gate_enter(mark);
}

static inline void pw_gate_leave_again(bool within)
{
    if (!within)
        pw_gate_leave();
}

/* ---- what the gate needs of the parts that start behind it ---------------------------------------------------------
 */

/* This folder knows none of these parts. runtime/mpi/start/parts.c, which lists them all, defines the functions. */

/* Starts the parts: once, in the first wrapped call of the process, when the next functions are known. `open`: the gate
 * is about to open; otherwise every call is going to be left to MPI. */
void pw_parts_start(bool open);
/* An error handler has left a wrapped call of this thread by longjmp: releases what the call held. */
void pw_parts_abandon_call(void);

/* Stands in for a function that the MPI below does not have: says so and returns an MPI error code. */
int pw_gate_missing(const char *symbol);

#endif
