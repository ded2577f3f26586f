/*
 * What PACKWRIGHT_Type_commit_all asks of the interposer: learn a type, compile its kernel, make choices and staging
 * buffers for one object. Nothing here sends a message or reads the program's data.
 */
#include "runtime/mpi/strategy/prepare.h"

#include "base/env.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/board.h"
#include "runtime/exchange/heap.h"
#include "runtime/exchange/peers.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/direct.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

/* The layout by which messages of this type in host memory are moved. NULL: they are left to MPI. */
static pw_layout *layout_of(const pw_entry *entry)
{
    return entry && !entry->gpu_only ? entry->layout : NULL;
}

/* Makes a staging buffer for one object on each side, and leaves it to the messages. Outbound ones get their pages,
 * which takes longer than moving the object. */
static void make_staging(int64_t bytes)
{
    static const pw_pool_side sides[] = {PW_POOL_OWN, PW_POOL_OUTBOUND};

    for (int i = 0; i < 2 && bytes >= PW_LEAST_READ && bytes <= pw_env_size(PW_ENV_STAGING); i++)
        pw_pool_give_to(sides[i], pw_pool_take_from(sides[i], bytes), bytes);
}

static void choose_in(const pw_entry *entry, void *memory, uint64_t channel)
{
    static const pw_role roles[] = {PW_SEND, PW_RECV};
    static const pw_call_kind kinds[] = {PW_CALL_BLOCKING, PW_CALL_NONBLOCKING};

    for (int i = 0; i < 4; i++) {
        pw_message m = {.kind = kinds[i / 2],
                        .role = roles[i % 2],
                        .entry = entry,
                        .buffer = {.base = memory, .count = 1},
                        .channel = channel,
                        .once = true};

        if (pw_message_describe(&m))
            pw_message_is_left(&m);
    }
}

/* Makes the choices for messages of one object, so that the first one does not wait for the tables that choices need.
 * They depend on where the buffer is, and nothing reads it. Messages from memory that `direct` reaches have choices of
 * their own. */
static void choose(const pw_entry *entry, const pw_layout *layout)
{
    enum { ANY_CHANNEL = 1 };
    int64_t lo, bytes;
    char buffer, *reached;

    choose_in(entry, &buffer, 0);
    reached = pw_direct_is_meant() && pw_layout_bounds(layout, 1, &lo, &bytes) ? pw_heap_any((size_t)bytes) : NULL;
    if (reached)
        choose_in(entry, reached - lo, ANY_CHANNEL);
}

static int prepare(const pw_entry *entry, pw_layout *layout)
{
    make_staging(layout->size);
    choose(entry, layout);
    pw_layout_make_kernel(layout);
    return pw_direct_is_on() ? pw_board_put(layout) : -1;
}

int packwright_prepare_type(MPI_Datatype type)
{
    pw_gate_mark mark;
    pw_entry *entry;
    pw_layout *layout;
    int number;

    if (!pw_gate_enter(&mark))
        return -1;
    pw_gate_is_lasting(); /* no message is timed */
    entry = pw_registry_learn(type);
    layout = layout_of(entry);
    number = layout ? prepare(entry, layout) : -1;
    pw_gate_leave();
    return number;
}

static void join(pw_layout *from, pw_layout *to)
{
    pw_joined joined;
    pw_diag diag;

    if (pw_layout_join(from, to, &joined, &diag) != PW_OK)
        return;
    pw_layout_make_kernel(joined.layout);
    pw_layout_unref(joined.layout);
}

void packwright_prepare_peer(MPI_Datatype type, int pid, int number)
{
    pw_gate_mark mark;
    pw_layout *to, *from;

    if (!pw_gate_enter(&mark))
        return;
    to = layout_of(pw_registry_learned(type));
    if (to && pw_direct_is_meant())
        pw_peer_prepare_all(pid);
    else if (to)
        pw_peer_prepare(pid, (size_t)to->size);
    from = to && number >= 0 && pw_direct_is_meant() ? pw_board_get(pid, (uint32_t)number, pw_registry_engine()) : NULL;
    if (from)
        join(from, to);
    pw_layout_unref(from);
    pw_gate_leave();
}
