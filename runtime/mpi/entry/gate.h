/*
 * The gate that every wrapper passes: it starts the runtime, keeps it out of the way in the inert mode, and protects it
 * against re-entry. Only calls that are certain to be left to MPI (runtime/mpi/strategy/is_native.h) go past the gate.
 *
 * The runtime starts in the first wrapped call of the process, whatever it is, so calls before MPI_Init and sessions
 * need no code of their own. While a wrapped call of a thread is under way, the MPI below or a callback of the program
 * may call MPI again: such a call goes straight to the next function. Calls that may complete an operation are the
 * exception. A callback may make them (an attribute's delete callback, an error handler), and no other code would
 * unpack what the operation has received. Calls that free memory are another one: the MPI below knows nothing of memory
 * that it was not asked for.
 */
#ifndef PW_RUNTIME_GATE_H
#define PW_RUNTIME_GATE_H

#include "base/attributes.h"
#include "base/epoch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a hook tells its wrapper to do. */
typedef enum pw_verdict {
    PW_PASS, /* call the next function with the caller's arguments */
    PW_DONE  /* the hook has carried out the call; *rc is its result */
} pw_verdict;

typedef enum pw_gate_state {
    PW_GATE_COLD, /* the runtime has not started */
    PW_GATE_OPEN, /* wrappers ask their hooks */
    PW_GATE_INERT /* every call goes to the next function */
} pw_gate_state;

extern PW_HIDDEN _Atomic pw_gate_state pw_gate_now;

/* A wrapped call of this thread is under way. One that an error handler leaves by longjmp or an exception stays so. */
extern PW_HIDDEN _Thread_local bool pw_gate_inside;

/*
 * What wrapped calls have to look after, as one number, so that one load tells whether a call may go past the gate:
 *
 *   - orphans, operations whose request the program has freed while they were under way, count 1 each. Each wrapped
 *     call looks after them on its way out (pw_pending_pass in runtime/mpi/requests/pending.h);
 *   - deferred sends (runtime/mpi/requests/deferred.h) count PW_GATE_DEFERRED each. The gate starts them on the way in.
 */
extern PW_HIDDEN _Atomic int64_t pw_gate_unfinished;

#define PW_GATE_DEFERRED ((int64_t)1 << 32)

PW_INLINE bool pw_gate_has_unfinished(void)
{
    return atomic_load_explicit(&pw_gate_unfinished, memory_order_acquire) != 0;
}

PW_INLINE bool pw_gate_has_orphans(void)
{
    return atomic_load_explicit(&pw_gate_unfinished, memory_order_acquire) % PW_GATE_DEFERRED != 0;
}

PW_INLINE bool pw_gate_has_deferred(void)
{
    return atomic_load_explicit(&pw_gate_unfinished, memory_order_acquire) >= PW_GATE_DEFERRED;
}

/*
 * What trials of choices (runtime/mpi/strategy/judge.h) want to know of this thread's calls: whether the call that is
 * under way is timed, whether operations in flight are, whether the next call is to be timed from its beginning, and
 * whether this one makes a persistent collective, whose way cannot change. 0: nothing.
 */
enum { PW_GATE_TIMED = 1, PW_GATE_FLIGHT = 2, PW_GATE_WATCHED = 4, PW_GATE_LASTING = 8 };
extern PW_HIDDEN _Thread_local unsigned pw_gate_judged;

/* The judge (strategy/judge.c) is told so: the call is timed from here on; it completes operations; it is about to call
 * MPI with the caller's own arguments; it leaves, and has started an operation that another call completes, or not. */
void pw_judge_begin(void);
void pw_judge_completes(void);
void pw_judge_passes(void);
void pw_judge_leaves(bool posted);
/* One round of operations more or less is timed (start/parts.c). */
void pw_parts_flight(int change);

/* The entries return true if the wrapper is to ask its hook and call pw_gate_leave after it, and false if it is to
 * call the next function. Either way the table of next functions is loaded. */
bool pw_gate_enter_slow(void);

/* Whether hooks are asked and no wrapped call of this thread is under way. */
PW_INLINE bool pw_gate_is_open(void)
{
    return PW_LIKELY(!pw_gate_inside) &&
           PW_LIKELY(atomic_load_explicit(&pw_gate_now, memory_order_acquire) == PW_GATE_OPEN);
}

/* Whether the runtime has started and leaves all calls to MPI. */
PW_INLINE bool pw_gate_is_inert(void)
{
    return PW_UNLIKELY(atomic_load_explicit(&pw_gate_now, memory_order_acquire) == PW_GATE_INERT);
}

/* For calls that no other process waits for, or that look after deferred sends themselves. */
PW_INLINE bool pw_gate_enter_deferring(void)
{
    if (!pw_gate_is_open())
        return pw_gate_enter_slow();
    pw_gate_inside = true;
    if (PW_UNLIKELY(pw_gate_judged & PW_GATE_WATCHED))
        pw_judge_begin();
    return true;
}

/* Packs and starts all deferred sends (requests/deferred.c). */
void pw_deferred_flush_slow(void);

static inline void pw_deferred_flush(void)
{
    if (pw_gate_has_deferred())
        pw_deferred_flush_slow();
}

static inline bool pw_gate_enter(void)
{
    if (!pw_gate_enter_deferring())
        return false;
    pw_deferred_flush();
    return true;
}

/* `posted`: the call has started an operation that another call completes. */
static inline void pw_gate_leave_as(bool posted)
{
    if (PW_UNLIKELY(pw_gate_judged))
        pw_judge_leaves(posted);
    pw_gate_inside = false;
}

/* To be called by a wrapper whose hook has left the call to MPI. */
PW_INLINE void pw_gate_pass(void)
{
    if (PW_UNLIKELY(pw_gate_judged))
        pw_judge_passes();
}

static inline void pw_gate_leave(void)
{
    pw_gate_leave_as(false);
}

/* In place of pw_gate_enter and pw_gate_leave for calls that may complete operations: they enter from within a wrapped
 * call, too. *within is set to whether that is so. */
static inline bool pw_gate_enter_again(bool *within)
{
    *within = pw_gate_inside;
    if (!*within && pw_gate_enter()) {
        if (PW_UNLIKELY(pw_gate_judged & PW_GATE_FLIGHT))
            pw_judge_completes();
        return true;
    }
    if (!*within || atomic_load_explicit(&pw_gate_now, memory_order_acquire) != PW_GATE_OPEN)
        return false;
    pw_deferred_flush();
    return true;
}

static inline void pw_gate_leave_again(bool within, bool posted)
{
    if (!within)
        pw_gate_leave_as(posted);
}

/* For wrapped calls without a hook that may wait for another process: starts all deferred sends. */
void pw_gate_flush_slow(void);

static inline void pw_gate_flush(void)
{
    if (pw_gate_has_deferred())
        pw_gate_flush_slow();
}

/* ---- what the gate needs of the parts that start behind it ------------------------------------------------------ */

/* This folder knows none of these parts. runtime/mpi/start/parts.c, which lists them all, defines the functions. */

/* Starts the parts: once, in the first wrapped call of the process, when the next functions are known. `open`: the gate
 * is about to open; otherwise every call is going to be left to MPI. */
void pw_parts_start(bool open);

/* Stands in for a function that the MPI below does not have: logs an error and returns an MPI error code. */
int pw_gate_missing(const char *symbol);

#endif
